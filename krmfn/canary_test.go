package krmfn

import (
	"bytes"
	"context"
	"encoding/base64"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// canary is in every file of testdata/secrets, and must never be printed.
const canary = "hunter-canary-2"

var canaryForms = []string{canary, base64.StdEncoding.EncodeToString([]byte(canary))}

// canaryPolicyFiles are policies of each language that quote their input in errors.
var canaryPolicyFiles = map[string]string{
	"cel.yaml": `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: quote}
spec:
  reinvocationPolicy: Never
  matchConstraints:
    resourceRules: [{apiGroups: ["*"], apiVersions: ["*"], resources: ["*"], operations: ["*"]}]
  variables:
  - {name: all, expression: 'string(object.?data.a.orValue("")) + string(object.?stringData.a.orValue("")) + string(object.metadata.?annotations["kubectl.kubernetes.io/last-applied-configuration"].orValue("")) + string(oldObject == null ? "" : oldObject.data.a)'}
  mutations:
  - {patchType: JSONPatch, jsonPatch: {expression: '[JSONPatch{op: "remove", path: {"/x": "/x"}[variables.all]}]'}}
  - {patchType: JSONPatch, jsonPatch: {expression: '[JSONPatch{op: "remove", path: "/metadata/" + variables.all}]'}}
  - {patchType: JSONPatch, jsonPatch: {expression: '[JSONPatch{op: variables.all, path: "/metadata"}]'}}
  - {patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{metadata: Object.metadata{labels: {"a": string(int(variables.all))}}}'}}
  - {patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{metadata: Object.metadata{labels: {"a": string(timestamp(variables.all))}}}'}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: quote}
spec: {policyName: quote}
`,
	"params.yaml": `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: quote}
spec:
  paramKind: {apiVersion: v1, kind: Secret}
  reinvocationPolicy: Never
  matchConstraints:
    resourceRules: [{apiGroups: ["*"], apiVersions: ["*"], resources: ["*"], operations: ["*"]}]
  mutations:
  - {patchType: JSONPatch, jsonPatch: {expression: '[JSONPatch{op: "remove", path: "/metadata/" + string(params.data.a)}]'}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: quote}
spec: {policyName: quote, paramRef: {name: s, namespace: default, parameterNotFoundAction: Allow}}
`,
	"old.yaml": `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: quote}
spec:
  reinvocationPolicy: Never
  matchConstraints:
    resourceRules: [{apiGroups: ["*"], apiVersions: ["*"], resources: ["*"], operations: [UPDATE]}]
  mutations:
  - {patchType: JSONPatch, jsonPatch: {expression: '[JSONPatch{op: "remove", path: "/metadata/" + string(oldObject.data.a)}]'}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: quote}
spec: {policyName: quote}
`,
	"kyverno.yaml": `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: quote}
spec:
  background: false
  rules:
  - name: path
    match: {any: [{resources: {kinds: ["*"]}}]}
    context: [{name: all, variable: {jmesPath: "to_string(request.object)", default: ""}}]
    mutate: {foreach: [{list: "['x']", patchesJson6902: '[{"op": "test", "path": "/metadata/{{ all }}", "value": "{{ all }}"}]'}]}
  - name: data
    match: {any: [{resources: {kinds: ["*"]}}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {a: "{{ request.object.metadata.\"{{ request.object.data.a }}\" }}"}}}}
  - name: stringData
    match: {any: [{resources: {kinds: ["*"]}}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {a: "{{ request.object.metadata.\"{{ request.object.stringData.a }}\" }}"}}}}
  - name: number
    match: {any: [{resources: {kinds: ["*"]}}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {a: "{{ parse_yaml(to_string(request.object)).nope }} {{ time_parse(to_string(request.object), to_string(request.object)) }}"}}}}
`,
	"gatekeeper.yaml": `apiVersion: mutations.gatekeeper.sh/v1
kind: ModifySet
metadata: {name: quote}
spec:
  applyTo: [{groups: [""], versions: [v1, v2], kinds: [Secret, secret]}]
  location: data.a
  parameters: {values: {fromList: [x]}}
---
apiVersion: mutations.gatekeeper.sh/v1
kind: Assign
metadata: {name: quote}
spec:
  applyTo: [{groups: [""], versions: [v1], kinds: [Secret]}]
  location: stringData.a
  parameters: {assign: {externalData: {provider: quote}}}
---
apiVersion: mutations.gatekeeper.sh/v1alpha1
kind: AssignImage
metadata: {name: quote}
spec:
  applyTo: [{groups: [""], versions: [v1], kinds: [Secret]}]
  match: {name: x}
  location: data.a
  parameters: {assignTag: ":1"}
`,
	"tree.yaml": `apiVersion: json.preadmit.dev/v1alpha1
kind: MutatingPolicy
metadata: {name: quote}
spec:
  rules:
  - {name: key, mutate: {metadata: {labels: {a: "(cel; {'x': 1}[string(bindings.payload.?data.a.orValue('')) + string(bindings.payload.?stringData.a.orValue(''))])"}}}}
  - name: number
    mutate: {metadata: {labels: {a: "(sum([to_string(@), to_string($payload)]))", b: "(json_parse(to_string($payload.data || $payload.stringData || $payload)).nope.nope)", c: "(at($payload.data.a, length($payload.data.a)))"}}}
`,
	"fine.yaml": `apiVersion: json.preadmit.dev/v1alpha1
kind: MutatingPolicy
metadata: {name: fine}
spec:
  rules: [{name: label, mutate: {metadata: {labels: {fine: "yes"}}}}]
`,
}

// canaryRoles are the options with which the document is given.
var canaryRoles = map[string][]string{
	"manifests": {"FILE"},
	"context":   {"-c", "FILE", "web.yaml"},
	"policy":    {"-p", "FILE", "web.yaml"},
	"old":       {"--operation", "UPDATE", "--old", "FILE", "same.yaml"},
	"openapi":   {"--openapi", "FILE", "web.yaml"},
	"values":    {"--values", "FILE", "web.yaml"},
	"user":      {"--user-info", "FILE", "web.yaml"},
	"tree":      {"--tree", "FILE", "web.yaml"},
	"plain":     {"--plain", "FILE"},
}

// TestCanary gives the files of testdata/secrets, with valid and invalid Secrets, in every role to
// every command in every format, with policies that quote their input. No output may contain the
// values, except manifests of commands that print manifests.
func TestCanary(t *testing.T) {
	paths, err := filepath.Glob("../testdata/secrets/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatal("no documents", err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			document, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			writeFile(t, filepath.Join(dir, "secret.yaml"), string(document))
			writeFile(t, filepath.Join(dir, "web.yaml"), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {a: b}\n")
			writeFile(t, filepath.Join(dir, "same.yaml"), "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {a: c29tZXRoaW5nLWVsc2U=}\n")
			writeFile(t, filepath.Join(dir, "preadmit-test.yaml"), "apiVersion: preadmit.dev/v1alpha1\nkind: PreadmitTest\nmetadata: {name: t}\nspec: {manifests: [secret.yaml], expected: secret.yaml}\n"+
				"---\napiVersion: preadmit.dev/v1alpha1\nkind: PreadmitTest\nmetadata: {name: d}\nspec: {manifests: [secret.yaml], denied: nothing}\n")
			for policies, text := range canaryPolicyFiles {
				writeFile(t, filepath.Join(dir, policies), text)
				for role, options := range canaryRoles {
					switch {
					case role == "tree" && name == "no-kind":
						continue // the document is then a tree, not a Secret
					case name == "no-kind" && role == "plain":
						continue // with --plain, documents have no kind
					case role != "manifests" && role != "plain" && slices.Contains([]string{"kyverno.yaml", "gatekeeper.yaml", "tree.yaml"}, policies):
						continue
					}
					for _, command := range canaryCommands(role) {
						args := append(strings.Fields(command), "-p", policies)
						for _, word := range options {
							args = append(args, strings.Replace(word, "FILE", "secret.yaml", 1))
						}
						expectNoCanary(t, dir, args, "")
					}
				}
				for _, format := range reportFormats {
					expectNoCanary(t, dir, []string{"test", "-o", format, "-p", policies, "preadmit-test.yaml"}, "")
				}
			}
			for _, command := range []string{"view secret.yaml", "convert secret.yaml", "test secret.yaml"} {
				expectNoCanary(t, dir, strings.Fields(command), "")
			}
			canaryLists(t, dir, string(document))
		})
	}
}

// canaryCommands are the commands with their output options: all of them for manifests, and some for
// other roles.
func canaryCommands(role string) []string {
	commands := []string{"render --stats"}
	if role == "plain" {
		return commands
	}
	commands = append(commands, "explain -o json")
	if role != "manifests" {
		return commands
	}
	commands = append(commands, "explain -o text", "explain -o html")
	for _, format := range reportFormats {
		commands = append(commands, "diff -o "+format, "check -o "+format)
	}
	return commands
}

// canaryLists returns ResourceLists with the document as an item and in the functionConfig.
func canaryLists(t *testing.T, dir, document string) {
	indented := "  " + strings.ReplaceAll(strings.TrimSuffix(document, "\n"), "\n", "\n  ")
	const head = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"
	config := func(field string) string {
		return head + "items:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {a: b}}\nfunctionConfig:\n" +
			"  apiVersion: preadmit.dev/v1alpha1\n  kind: Preadmit\n  metadata: {name: c}\n  spec:\n    " + field + ":\n    - |\n" +
			"      " + strings.ReplaceAll(strings.TrimSuffix(document, "\n"), "\n", "\n      ") + "\n"
	}
	lists := []string{
		head + "items:\n-" + indented[1:] + "\n", document, head + "functionConfig:\n" + indented + "\nitems: []\n",
		config("policies"), config("context"), config("values"), config("old"), config("userInfo"), config("nope"),
	}
	for policies := range canaryPolicyFiles {
		for _, list := range lists {
			expectNoCanary(t, dir, []string{"fn", "-p", policies}, list)
		}
	}
}

// expectNoCanary runs a command and fails if its output contains the canary.
func expectNoCanary(t *testing.T, dir string, args []string, stdin string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	Main(context.Background(), &Process{Args: args, Dir: dir, Stdin: strings.NewReader(stdin), Stdout: &stdout, Stderr: &stderr, Now: fakeClock()})
	printed := stderr.String()
	switch args[0] {
	case "render", "view", "convert":
	case "fn":
		if _, results, ok := strings.Cut(stdout.String(), "\nresults:"); ok && !strings.Contains(stdin, "results:") {
			printed += results
		}
	default:
		printed += stdout.String()
	}
	if slices.ContainsFunc(canaryForms, func(form string) bool { return strings.Contains(printed, form) }) {
		t.Errorf("%q shows it:\n%s\ninput: %s", args, printed, stdin)
	}
}

// TestCanaryPoliciesQuote shows that the policies of TestCanary quote objects that are not Secrets.
// Otherwise TestCanary would be useless.
func TestCanaryPoliciesQuote(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "map.yaml"), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: "+canary+"}\n")
	for _, name := range []string{"cel.yaml", "tree.yaml"} {
		writeFile(t, filepath.Join(dir, name), canaryPolicyFiles[name])
		if output := runIn(dir, []string{"render", "-p", name, "map.yaml"}); !strings.Contains(output, canary) {
			t.Errorf("%s does not quote it:\n%s", name, output)
		}
	}
}
