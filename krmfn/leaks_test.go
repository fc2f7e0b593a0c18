package krmfn

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// leakValues are the values of the Secrets of TestLeaks by key.
var leakValues = map[string]string{"short": "q8z", "middle": "vx3kpw", "long": "correct-horse-battery-staple-9"}

// leakPolicies are the policies of each language: those that label everything, those that fail and
// quote the values of a Secret, those that fail and are ignored, and those that copy the values.
var leakPolicies = map[string]struct{ labels, fails, ignored, copies string }{
	"MutatingAdmissionPolicy": {
		labels:  nativePolicy("Fail", "", `Object{metadata: Object.metadata{labels: {"seen": "yes"}}}`),
		fails:   nativePolicy("Fail", "", quotingExpressions...),
		ignored: nativePolicy("Ignore", "", quotingExpressions...),
		copies: nativePolicy("Fail", "Secret", `Object{metadata: Object.metadata{labels: {"short": string(params.data.short), "middle": string(params.data.middle), "long": string(params.data.long.upperAscii())}}}`,
			`Object{metadata: Object.metadata{annotations: {"own": string(object.?data.short.orValue(""))}}}`),
	},
	"MutatingPolicy": {
		labels:  kyvernoNativePolicy("Fail", `Object{metadata: Object.metadata{labels: {"seen": "yes"}}}`),
		fails:   kyvernoNativePolicy("Fail", quotingExpressions...),
		ignored: kyvernoNativePolicy("Ignore", quotingExpressions...),
		copies:  kyvernoNativePolicy("Fail", `Object{metadata: Object.metadata{labels: {"short": string(resource.Get("v1", "secrets", "default", "s").data.short)}}}`),
	},
	"ClusterPolicy": {
		labels:  clusterPolicy("Fail", `patchStrategicMerge: {metadata: {labels: {seen: "yes"}}}`),
		fails:   clusterPolicy("Fail", quotingPatches...),
		ignored: clusterPolicy("Ignore", quotingPatches...),
		copies:  clusterPolicy("Fail", `patchStrategicMerge: {metadata: {labels: {short: "{{ base64_decode(found.data.short) }}", middle: "{{ found.data.middle }}"}, annotations: {long: "{{ to_upper(base64_decode(found.data.long)) }}"}}}`),
	},
	"MutatingAdmissionPolicy, changed values": {
		fails:   nativePolicy("Fail", "", changingExpressions...),
		ignored: nativePolicy("Ignore", "", changingExpressions...),
		copies:  nativePolicy("Fail", "", `Object{metadata: Object.metadata{labels: {"own": string(object.?data.long.orValue("none")).upperAscii(), "part": string(object.?data.long.orValue("no long text")).substring(1, 9)}}}`),
	},
	"MutatingAdmissionPolicy, custom resource": {
		fails: strings.Replace(
			nativePolicy("Fail", "Secret", `Object{spec: Object.spec{a: string(params.data.short).upperAscii(), b: string(params.data.middle).upperAscii(), c: string(params.data.long).upperAscii()}}`),
			"apiGroups: [''], apiVersions: [v1], resources: [configmaps, secrets, pods]", "apiGroups: [example.com], apiVersions: [v1], resources: [leaks]", 1,
		),
	},
	"MutatingPolicy, changed values": {
		fails:   kyvernoNativePolicy("Fail", changingExpressions[2:]...),
		ignored: kyvernoNativePolicy("Ignore", changingExpressions...),
	},
	"ClusterPolicy, changed values": {
		fails:   clusterPolicy("Fail", changingPatches...),
		ignored: clusterPolicy("Ignore", changingPatches...),
	},
	"ValidatingAdmissionPolicy": {
		fails:   validatingPolicy("Fail", "[Deny]"),
		ignored: validatingPolicy("Ignore", "[Warn, Audit]"),
	},
	"MutatingTree, changed values": {
		fails: treePolicy(`seen: "(cel; {'x': '1'}[string(bindings.payload.?data.long.orValue('no long text')).upperAscii()])"`),
	},
	"Assign": {
		labels: "apiVersion: mutations.gatekeeper.sh/v1\nkind: AssignMetadata\nmetadata: {name: leak}\nspec: {match: {kinds: [{apiGroups: ['*'], kinds: ['*']}]}, location: metadata.labels.seen, parameters: {assign: {value: \"yes\"}}}\n",
		fails:  "apiVersion: mutations.gatekeeper.sh/v1\nkind: Assign\nmetadata: {name: leak}\nspec: {applyTo: [{groups: [''], versions: [v1], kinds: [Secret, ConfigMap]}], location: data.short.x, parameters: {assign: {value: 1}}}\n",
	},
	"MutatingTree": {
		labels: treePolicy(`seen: "yes"`),
		fails:  treePolicy(`seen: "(cel; {'x': '1'}[string(bindings.payload.data.short) + string(bindings.payload.?data.middle.orValue('')) + string(bindings.payload.?data.long.orValue(''))])"`),
		copies: treePolicy(`short: ($payload.data.short || 'none')`),
	},
}

// quotingExpressions fail with one of the values in the message.
var quotingExpressions = []string{
	`Object{metadata: Object.metadata{labels: {"a": {"x": "1"}[string(object.?data.short.orValue("none"))]}}}`,
	`Object{metadata: Object.metadata{labels: {"a": string(int(string(object.?data.middle.orValue("none"))))}}}`,
	`Object{metadata: Object.metadata{labels: {"a": string(timestamp(string(object.?data.long.orValue("-"))))}}}`,
}

// changingExpressions fail with one of the values in another form.
var changingExpressions = []string{
	`Object{metadata: Object.metadata{labels: {"a": {"x": "1"}[string(object.?data.short.orValue("none")).upperAscii()]}}}`,
	`Object{metadata: Object.metadata{labels: {"a": {"x": "1"}[string(object.?data.middle.orValue("none")).upperAscii()]}}}`,
	`Object{metadata: Object.metadata{labels: {"a": {"x": "1"}[string(object.?data.long.orValue("none")).upperAscii()]}}}`,
	`Object{metadata: Object.metadata{labels: {"a": {"x": "1"}[string(object.?data.long.orValue("no long text")).substring(1, 9)]}}}`,
	`Object{metadata: Object.metadata{labels: {"a": {"x": "1"}[string(object.?data.middle.orValue("none")).split("").join("-")]}}}`,
}

var quotingPatches = []string{
	`patchesJson6902: '[{"op": "copy", "from": "/metadata/{{ base64_decode(request.object.data.short) }}", "path": "/metadata/labels"}]'`,
	`patchesJson6902: '[{"op": "test", "path": "/metadata/name", "value": "{{ request.object.data.middle }}"}]'`,
	`patchStrategicMerge: {metadata: {labels: {a: "{{ request.object.metadata.\"{{ base64_decode(request.object.data.long) }}\" }}"}}}`,
}

var changingPatches = []string{
	`patchesJson6902: '[{"op": "copy", "from": "/metadata/{{ to_upper(request.object.data.long) }}", "path": "/metadata/labels"}]'`,
	`patchesJson6902: '[{"op": "test", "path": "/metadata/name", "value": "{{ to_upper(request.object.data.middle) }}"}]'`,
}

func nativePolicy(failurePolicy, paramKind string, expressions ...string) string {
	var b strings.Builder
	b.WriteString("apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingAdmissionPolicy\nmetadata: {name: leak}\nspec:\n  reinvocationPolicy: Never\n  failurePolicy: " + failurePolicy + "\n")
	reference := ""
	if paramKind != "" {
		b.WriteString("  paramKind: {apiVersion: v1, kind: " + paramKind + "}\n")
		reference = ", paramRef: {name: s, namespace: default, parameterNotFoundAction: Allow}"
	}
	b.WriteString("  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], resources: [configmaps, secrets, pods], operations: ['*']}]}\n  mutations:\n")
	for _, e := range expressions {
		fmt.Fprintf(&b, "  - {patchType: ApplyConfiguration, applyConfiguration: {expression: '%s'}}\n", e)
	}
	return b.String() + "---\napiVersion: admissionregistration.k8s.io/v1\nkind: MutatingAdmissionPolicyBinding\nmetadata: {name: leak}\nspec: {policyName: leak" + reference + "}\n"
}

// validatingPolicy quotes values in messages and audit annotations.
func validatingPolicy(failurePolicy, actions string) string {
	const long, short = `string(object.?data.long.orValue("none of the text"))`, `string(object.?data.short.orValue("none"))`
	return "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: leak}\nspec:\n  failurePolicy: " + failurePolicy + "\n" +
		"  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], resources: [configmaps, secrets], operations: ['*']}]}\n" +
		"  auditAnnotations:\n  - {key: upper, valueExpression: '" + long + ".upperAscii()'}\n  - {key: part, valueExpression: '" + long + ".substring(1, 9)'}\n  - {key: short, valueExpression: '" + short + "'}\n" +
		"  validations:\n  - {expression: 'false', messageExpression: '\"no \" + " + long + ".upperAscii()'}\n  - {expression: 'false', messageExpression: '\"no \" + " + short + "'}\n" +
		"---\napiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nmetadata: {name: leak}\nspec: {policyName: leak, validationActions: " + actions + "}\n"
}

func kyvernoNativePolicy(failurePolicy string, expressions ...string) string {
	var b strings.Builder
	b.WriteString("apiVersion: policies.kyverno.io/v1\nkind: MutatingPolicy\nmetadata: {name: leak}\nspec:\n  failurePolicy: " + failurePolicy + "\n" +
		"  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], resources: [configmaps, secrets], operations: [CREATE]}]}\n  mutations:\n")
	for _, e := range expressions {
		fmt.Fprintf(&b, "  - {patchType: ApplyConfiguration, applyConfiguration: {expression: '%s'}}\n", e)
	}
	return b.String()
}

func clusterPolicy(failurePolicy string, patches ...string) string {
	var b strings.Builder
	b.WriteString("apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: leak}\nspec:\n  failurePolicy: " + failurePolicy + "\n  rules:\n")
	for i, patch := range patches {
		fmt.Fprintf(&b, "  - name: rule-%d\n    match: {any: [{resources: {kinds: [ConfigMap, Secret]}}]}\n"+
			"    context: [{name: found, apiCall: {urlPath: /api/v1/namespaces/default/secrets/s}}]\n    mutate:\n      %s\n", i, patch)
	}
	return b.String()
}

func treePolicy(label string) string {
	return "apiVersion: json.preadmit.dev/v1alpha1\nkind: MutatingPolicy\nmetadata: {name: leak}\nspec:\n  rules:\n  - {name: label, mutate: {metadata: {labels: {" + label + "}}}}\n"
}

// leakSecret is a Secret with the values, and leakMap a public object named name.
var leakSecret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: default}\ndata:\n" + leakData(func(value string) string { return base64.StdEncoding.EncodeToString([]byte(value)) })

func leakMap(name string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n  namespace: default\ndata: {short: public}\n"
}

// leakCustom is a custom resource, with a definition whose refusals quote values.
const leakCustom = `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: leaks.example.com}
spec:
  group: example.com
  names: {kind: Leak, plural: leaks}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {a: {type: string, enum: [x]}, b: {type: string, enum: [x]}, c: {type: string, enum: [x]}}}}}}
---
apiVersion: example.com/v1
kind: Leak
metadata: {name: custom, namespace: default}
spec: {}
`

func leakData(form func(string) string) string {
	var b strings.Builder
	for _, key := range []string{"short", "middle", "long"} {
		fmt.Fprintf(&b, "  %s: %s\n", key, form(leakValues[key]))
	}
	return b.String()
}

// leakSituations return the manifests of each situation, and the policies that run on them.
var leakSituations = []struct {
	name, manifests string
	policy          func(labels, fails, ignored, copies string) string
}{
	{"well-formed", leakSecret + "---\n" + leakMap("web"), func(labels, _, _, _ string) string { return labels }},
	{"malformed sibling", leakMap("web") + "---\n" + leakSecret + leakData(func(value string) string { return value }), func(labels, _, _, _ string) string { return labels }},
	{"sibling without a kind", leakMap("web") + "---\n" + strings.Replace(leakSecret, "kind:", "Kind:", 1), func(labels, _, _, _ string) string { return labels }},
	{"value in an error", leakSecret + "---\n" + leakMap("web") + leakCustom, func(_, fails, _, _ string) string { return fails }},
	{"value in an ignored error", leakSecret + "---\n" + leakMap("web"), func(_, _, ignored, _ string) string { return ignored }},
	{"value copied by a policy", leakSecret + "---\n" + leakMap("web"), func(_, _, _, copies string) string { return copies }},
	{
		"value in a name",
		leakSecret + "---\n" + leakMap("q8z-config") + "---\n" + leakMap("vx3kpw-config") + "---\n" + leakMap("correct-horse-battery-staple-9-config"),
		func(labels, _, _, _ string) string { return labels },
	},
	{"control characters", leakMap(`"a\n::error::evil\e[31m"`), func(labels, _, _, _ string) string { return labels }},
	{
		"commands of CI systems",
		strings.Replace(leakMap("web"), "metadata:\n", "metadata:\n  annotations:\n    text: |\n      ::error::evil\n      ##vso[task.evil]\n", 1),
		func(labels, _, _, _ string) string { return labels },
	},
	{"command of a CI system in a policy", leakMap("web"), func(labels, _, _, _ string) string {
		return labels + "---\napiVersion: policies.kyverno.io/v1\nkind: MutatingPolicy\nmetadata: {name: unreadable}\nspec:\n  ::error::evil: 1\n"
	}},
}

// leakCommands are the commands with their formats.
func leakCommands() []string {
	commands := []string{
		"render -p p.yaml m.yaml", "render --stats -p p.yaml m.yaml", "render --strict -p p.yaml m.yaml", "pods -p p.yaml m.yaml", "view m.yaml", "fn -p p.yaml",
		"exec -p p.yaml -- cat m.yaml", "convert -p p.yaml m.yaml", "diff --stat -p p.yaml m.yaml", "diff -o markdown -p p.yaml m.yaml", "diff -p p.yaml --against none.yaml m.yaml",
		"diff -p none.yaml --against p.yaml m.yaml", "diff --full -p p.yaml m.yaml",
		"diff --base old -p p.yaml m.yaml", "diff --base empty -p p.yaml m.yaml", "diff --base old --full -o markdown -p p.yaml m.yaml", "diff --base empty -o json -p p.yaml m.yaml", "explain --full -p p.yaml m.yaml",
		"cmp generate -p ../p.yaml", "verify -p p.yaml m.yaml", "verify --snapshot p.yaml -o json m.yaml", "verify --context failing -p p.yaml m.yaml", "render -p p.yaml -c hook.yaml --webhook hook=exec:quoting m.yaml", "explain -o json -p p.yaml -c hook.yaml --webhook hook=exec:quoting m.yaml", "check -p p.yaml -c hook.yaml --webhook hook=exec:failing --record-webhooks answers.yaml m.yaml", "snapshot --secrets --resource secrets -o snapshot", "snapshot --from m.yaml --secrets --resource secrets -o snapshot.yaml", "diff --build -p p.yaml app", "diff --build -o markdown -p p.yaml app", "explain --build -p p.yaml app", "check --build -p p.yaml app", "diff --build -p p.yaml kustomized", "explain --build -p p.yaml kustomized", "check --build -p p.yaml kustomized", "diff --build -o markdown -p p.yaml chart", "explain --build -o json -p p.yaml chart", "check --build -o sarif -p p.yaml chart", "explain --normalize -p p.yaml m.yaml", "diff -p p.yaml -p m.yaml web.yaml", "explain -p p.yaml -p m.yaml web.yaml", "verify -p p.yaml -p m.yaml web.yaml", "render -p m.yaml web.yaml", "render -c m.yaml -p p.yaml web.yaml", "diff -c m.yaml -p p.yaml web.yaml", "explain -c m.yaml -p p.yaml web.yaml",
	}
	for _, format := range []string{"text", "json", "html"} {
		commands = append(commands, "explain -o "+format+" -p p.yaml m.yaml")
	}
	for _, format := range []string{"text", "json", "csv", "markdown", "html"} {
		commands = append(commands, "report -o "+format+" -p p.yaml m.yaml", "report -v --build -o "+format+" -p p.yaml kustomized")
	}
	for _, command := range []string{"check", "diff", "diff --base empty"} {
		commands = append(commands, command+" -p p.yaml --baseline baseline.yaml --write-baseline m.yaml", command+" -p p.yaml --baseline baseline.yaml m.yaml")
	}
	for _, format := range reportFormats {
		commands = append(commands, "diff -o "+format+" -p p.yaml m.yaml", "diff --base old -o "+format+" -p p.yaml m.yaml", "check -o "+format+" -p p.yaml m.yaml", "test -o "+format+" preadmit-test.yaml")
	}
	return commands
}

const leakTests = `apiVersion: preadmit.dev/v1alpha1
kind: PreadmitTest
metadata: {name: same}
spec: {policyPaths: [p.yaml], manifests: [m.yaml], expected: m.yaml}
---
apiVersion: preadmit.dev/v1alpha1
kind: PreadmitTest
metadata: {name: denied}
spec: {policyPaths: [p.yaml], manifests: [m.yaml], denied: nothing}
---
apiVersion: preadmit.dev/v1alpha1
kind: PreadmitTest
metadata: {name: objects}
spec:
  policyPaths: [p.yaml]
  manifests: [m.yaml]
  objects:
  - {object: ConfigMap/*, unchanged: true}
  - {object: Secret/*, fields: {metadata.labels.short: x}}
`

// TestLeaks runs every command, in every format, with the policies of every language, in every
// situation. Nothing that is printed about the manifests may contain a value of a Secret, except its
// name. Names are always shown, and no text of the input begins a line.
func TestLeaks(t *testing.T) {
	putInPath(t, map[string]string{"kustomize": "cat m.yaml", "helm": "cat templates/m.yaml", "kubectl": leakKubectl, "quoting": leakWebhook, "failing": "cat; cat >&2; exit 1"})
	for language, policies := range leakPolicies {
		for _, s := range leakSituations {
			policy := s.policy(policies.labels, policies.fails, policies.ignored, policies.copies)
			if policy == "" {
				continue // the language cannot do that
			}
			t.Run(language+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				for name, text := range map[string]string{
					"p.yaml": policy, "m.yaml": s.manifests, "web.yaml": leakMap("web"), "none.yaml": nativePolicy("Fail", "", `Object{}`), "preadmit-test.yaml": leakTests, "app/m.yaml": s.manifests,
					"kustomized/kustomization.yaml": "resources: [m.yaml]\n", "kustomized/m.yaml": s.manifests, "chart/Chart.yaml": "apiVersion: v2\nname: chart\nversion: 1.0.0\n", "chart/templates/m.yaml": s.manifests,
					"old/p.yaml": nativePolicy("Fail", "", `Object{}`), "old/m.yaml": s.manifests, "empty/none.yaml": leakMap("none"), "hook.yaml": leakHook,
				} {
					writeFile(t, filepath.Join(dir, name), text)
				}
				for _, command := range leakCommands() {
					if problem := leakIn(printedBy(t, dir, command, s.manifests)); problem != "" {
						t.Errorf("%s: %s", command, problem)
					}
				}
				if problem := leakIn(shownToEditor(t, policy, s.manifests)); problem != "" {
					t.Errorf("lsp: %s", problem)
				}
			})
		}
	}
}

// leakHook is a webhook for Secrets, and leakWebhook refuses them with a text that quotes the request.
const (
	leakHook = `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: hook}
webhooks:
- name: hook.example.com
  clientConfig: {url: "https://localhost"}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: ["*"], resources: [secrets]}]
  sideEffects: None
  admissionReviewVersions: [v1]
`
	leakWebhook = `review=$(cat)
uid=$(printf %s "$review" | sed 's/.*"uid":"\([^"]*\)".*/\1/')
said=$(printf %s "$review" | tr -d '"\\')
printf '{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"%s","allowed":false,"status":{"message":"%s"},"warnings":["%s"]}}' "$uid" "$said" "$said"`
)

// leakKubectl is a cluster without policies, whose refusals of Secrets quote all of the Secret. In
// another context, it fails with such a text.
const leakKubectl = `
case "$*" in
*"--context=failing create --raw "*/secrets*) echo "Error from server (InternalError): Internal error occurred: failed calling webhook: $(cat)" >&2; exit 1;;
*" create --raw /apis/"*) cat > /dev/null; echo '{}';;
*" create --raw "*/secrets*) echo "The Secret \"s\" is invalid: $(cat)" >&2; exit 1;;
*" create --raw "*) cat;;
*/version) echo '{"gitVersion": "v1.36.3"}';;
*/apis) echo '{"groups": []}';;
*/api/v1) echo '{"resources": [{"name": "configmaps", "kind": "ConfigMap", "namespaced": true}, {"name": "secrets", "kind": "Secret", "namespaced": true}]}';;
*/api/v1/secrets*) echo '{"items": [{"metadata": {"name": "s", "namespace": "default"}, "data": {"short": "cTh6", "middle": "dngza3B3"}}]}';;
*) echo "Error from server (NotFound): nothing here" >&2; exit 1;;
esac`

// TestLeaksRecorded records the requests of a webhook in the situations of TestLeaks: the file has no value
// of a Secret in any form, and it has them with --record-secrets.
func TestLeaksRecorded(t *testing.T) {
	putInPath(t, map[string]string{"labelling": leakLabels})
	recorded, open := 0, 0
	for language, policies := range leakPolicies {
		for _, s := range leakSituations {
			policy := s.policy(policies.labels, policies.fails, policies.ignored, policies.copies)
			if policy == "" {
				continue
			}
			dir := t.TempDir()
			for name, text := range map[string]string{"p.yaml": policy, "m.yaml": s.manifests, "hook.yaml": strings.Replace(leakHook, "[secrets]", "[secrets, configmaps]", 1)} {
				writeFile(t, filepath.Join(dir, name), text)
			}
			command := "render -p p.yaml -c hook.yaml --webhook hook=exec:labelling --record-webhooks answers.yaml m.yaml"
			printedBy(t, dir, command, s.manifests)
			if text, err := os.ReadFile(filepath.Join(dir, "answers.yaml")); err == nil {
				recorded += bytes.Count(text, []byte("request:"))
				if problem := leakedForm(string(text)); problem != "" {
					t.Errorf("%s, %s: %s", language, s.name, problem)
				}
			}
			if s.name == "well-formed" {
				printedBy(t, dir, command+" --record-secrets", s.manifests)
				if text, _ := os.ReadFile(filepath.Join(dir, "answers.yaml")); leakedForm(string(text)) != "" {
					open++
				}
			}
		}
	}
	if recorded == 0 || open == 0 {
		t.Errorf("%d requests were recorded, and %d times values with --record-secrets", recorded, open)
	}
}

// leakLabels is a webhook that labels objects, line by line.
const leakLabels = `while read -r review; do
uid=$(printf %s "$review" | sed 's/.*"uid":"\([^"]*\)".*/\1/')
patch=$(printf '[{"op":"add","path":"/metadata/finalizers","value":["example.com/hook"]}]' | base64 | tr -d '\n')
case $review in *'"finalizers"'*) patch=$(printf '[]' | base64);; esac
printf '{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"%s","allowed":true,"patchType":"JSONPatch","patch":"%s"}}\n' "$uid" "$patch"
done`

// printedBy returns what a command prints, without manifests.
func printedBy(t *testing.T, dir, command, manifests string) string {
	t.Helper()
	stdin := "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
	for part := range strings.SplitSeq(manifests, "---\n") {
		stdin += "- " + strings.ReplaceAll(strings.TrimSuffix(part, "\n"), "\n", "\n  ") + "\n"
	}
	var stdout, stderr bytes.Buffer
	name, _, _ := strings.Cut(command, " ")
	if name == "cmp" { // Argo CD runs it in the directory of the application
		dir = filepath.Join(dir, "app")
	}
	Main(context.Background(), &Process{Args: strings.Fields(command), Dir: dir, Stdin: strings.NewReader(stdin), Stdout: &stdout, Stderr: &stderr, Now: fakeClock(), Run: RunProgram})
	switch name {
	case "render", "pods", "view", "exec", "convert", "cmp":
		return stderr.String()
	case "fn":
		_, results, _ := strings.Cut(stdout.String(), "\nresults:")
		return stderr.String() + results
	}
	recorded, _ := os.ReadFile(filepath.Join(dir, "baseline.yaml"))
	return stderr.String() + stdout.String() + string(recorded)
}

// shownToEditor returns what a language server says about a policy and manifests: diagnostics, lenses with their
// diffs, the actions of each file and of each kind in it with their edits, and for each line a hover in its middle
// and the completions at its end.
func shownToEditor(t *testing.T, policy, manifests string) string {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{"p.yaml": policy, "m.yaml": manifests}
	for name, text := range files {
		writeFile(t, filepath.Join(dir, name), text)
	}
	c := startLSP(t, dir, "")
	defer c.stop()
	for name := range files {
		c.open(name)
	}
	c.check()
	var said []any
	for name, text := range files {
		said = append(said, c.diagnostics[name], c.actions(name, 0, len(text)))
		lenses, _ := c.request("textDocument/codeLens", map[string]any{"textDocument": map[string]any{"uri": c.uri(name)}}).([]any)
		for _, lens := range lenses {
			title := lens.(map[string]any)["command"].(map[string]any)["title"].(string)
			said = append(said, lens, c.run(name, title))
		}
		start := 0
		for line := range strings.Lines(text) {
			end := start + len(strings.TrimRight(line, "\r\n"))
			said = append(said, c.ask("textDocument/hover", name, start+(end-start)/2, nil), c.ask("textDocument/completion", name, end, nil))
			if strings.HasPrefix(line, "kind: ") {
				for _, action := range c.actions(name, start, start) {
					if action.(map[string]any)["data"] != nil {
						action = c.request("codeAction/resolve", action)
					}
					said = append(said, action)
				}
			}
			start += len(line)
		}
	}
	data, err := json.Marshal(said)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// leakForms returns the forms in which policies quote or copy a value.
func leakForms(value string) []string {
	encoded := base64.StdEncoding.EncodeToString([]byte(value))
	forms := []string{value, strings.ToUpper(value), encoded, strings.ToUpper(encoded), strings.Join(strings.Split(encoded, ""), "-")}
	if len(encoded) > 8 {
		forms = append(forms, encoded[1:9])
	}
	return forms
}

// leakedForm says which value is in a text, except in names; "" if none is.
func leakedForm(public string) string {
	for _, value := range leakValues {
		public = strings.ReplaceAll(public, value+"-config", "")
	}
	for _, value := range leakValues {
		for _, form := range leakForms(value) {
			if at := strings.Index(public, form); at >= 0 {
				return fmt.Sprintf("%q is shown: …%s…", form, public[max(0, at-200):min(len(public), at+200)])
			}
		}
	}
	return ""
}

// leakIn returns what is wrong with a text, or "".
func leakIn(printed string) string {
	switch {
	case leakedForm(printed) != "":
		return leakedForm(printed)
	case strings.Contains(printed, "*****-config"):
		return "a name is hidden:\n" + printed
	case strings.Contains(printed, "\x1b"):
		return "an escape sequence is passed:\n" + printed
	case slices.ContainsFunc(strings.Split(printed, "\n"), func(line string) bool {
		line = strings.TrimSpace(line)
		return strings.HasPrefix(line, "::error::evil") || strings.HasPrefix(line, "##vso[task.evil")
	}):
		return "a text of the input begins a line:\n" + printed
	}
	return ""
}

// TestLeaksQuote shows that the policies of TestLeaks quote and copy values, and that the names are
// printed. Otherwise TestLeaks would be useless.
func TestLeaksQuote(t *testing.T) {
	public := strings.Replace(leakSecret, "kind: Secret", "kind: ConfigMap", 1)
	for language, policies := range leakPolicies {
		dir := t.TempDir()
		for name, text := range map[string]string{"fails.yaml": strings.Replace(policies.fails, "kind: Secret}", "kind: ConfigMap}", 1), "copies.yaml": policies.copies, "labels.yaml": policies.labels, "m.yaml": public + leakCustom, "named.yaml": leakMap("vx3kpw-config") + "---\n" + leakSecret} {
			writeFile(t, filepath.Join(dir, name), text)
		}
		if output := runIn(dir, []string{"diff", "-p", "labels.yaml", "named.yaml"}); policies.labels != "" && (!strings.Contains(output, "ConfigMap default/vx3kpw-config, Secret default/s by ") || !strings.Contains(output, "  name: vx3kpw-config\n")) {
			t.Errorf("%s: the name is not printed:\n%s", language, output)
		}
		if language == "Assign" {
			continue // Gatekeeper's messages quote no values
		}
		if output := runIn(dir, []string{"render", "-p", "fails.yaml", "m.yaml"}); leakIn(output) == "" {
			t.Errorf("%s does not quote:\n%s", language, output)
		}
	}
}
