package tfprovider

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const canary = "canary-7f3a9c51e2"

// leaks reports whether a text contains the canary, plain or encoded.
func leaks(text string) bool {
	return strings.Contains(text, canary) || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(canary)))
}

// TestCanaryDataSource plans and applies with Secrets in the data source. The output of Terraform must
// not contain them, and plan and state must have them only in sensitive values.
func TestCanaryDataSource(t *testing.T) {
	directory := configuration(t, map[string]string{
		"main.tf": required + `
			variable "secret" {
				type      = string
				sensitive = true
			}
			data "preadmit_manifests" "app" {
				manifest_files      = ["${path.module}/app.yaml"]
				sensitive_manifests = [var.secret]
				policies            = [file("${path.module}/policy.yaml")]
				outputs             = ["yaml"]
			}
			output "results"  { value = data.preadmit_manifests.app.results }
			output "changed"  { value = data.preadmit_manifests.app.changed }
			output "diffs"    { value = data.preadmit_manifests.app.diffs }
			output "warnings" { value = data.preadmit_manifests.app.warnings }
			output "secrets" {
				value     = data.preadmit_manifests.app.sensitive_results
				sensitive = true
			}
		`,
		"app.yaml":    configMap("a") + "---\n" + secretNamed("s", canary),
		"policy.yaml": labelPolicy,
	})
	c := newCLI(t, directory)
	c.environment = append(c.environment, "TF_VAR_secret="+configMap("c")+"data:\n  token: "+canary+"\n")
	for _, arguments := range [][]string{{"plan", "-out", "plan.bin"}, {"show", "plan.bin"}, {"apply", "plan.bin"}, {"show"}, {"output"}} {
		if output := c.run(t, arguments...); leaks(output) {
			t.Errorf("terraform %q prints the secret:\n%s", arguments, output)
		}
	}
	for _, arguments := range [][]string{{"show", "-json", "plan.bin"}, {"show", "-json"}} {
		var shown map[string]any
		if err := json.Unmarshal([]byte(c.run(t, arguments...)), &shown); err != nil {
			t.Fatal(err)
		}
		delete(shown, "variables") // Terraform stores its variables itself
		if text, _ := json.Marshal(unmarked(shown)); leaks(string(text)) {
			t.Errorf("terraform %q has the secret where it is not marked as sensitive:\n%s", arguments, text)
		}
	}
}

// unmarked removes sensitive values. "values" and "after" have a second value of the same structure, with
// true for sensitive values.
func unmarked(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, marks := range map[string]string{"values": "sensitive_values", "after": "after_sensitive", "before": "before_sensitive"} {
			if _, ok := v[marks]; ok {
				v[name] = without(v[name], v[marks])
			}
		}
		if v["sensitive"] == true {
			delete(v, "value")
		}
		for key := range v {
			v[key] = unmarked(v[key])
		}
	case []any:
		for i := range v {
			v[i] = unmarked(v[i])
		}
	}
	return v
}

func without(v, marks any) any {
	if marks == true {
		return nil
	}
	switch v := v.(type) {
	case map[string]any:
		if marks, ok := marks.(map[string]any); ok {
			for key := range marks {
				v[key] = without(v[key], marks[key])
			}
		}
	case []any:
		if marks, ok := marks.([]any); ok {
			for i := range min(len(v), len(marks)) {
				v[i] = without(v[i], marks[i])
			}
		}
	}
	return v
}

func TestUnmarked(t *testing.T) {
	value := map[string]any{"values": map[string]any{"a": "x", "b": []any{"y", "z"}}, "sensitive_values": map[string]any{"a": true, "b": []any{false, true}}}
	want := map[string]any{"values": map[string]any{"a": nil, "b": []any{"y", nil}}, "sensitive_values": map[string]any{"a": true, "b": []any{false, true}}}
	if got := unmarked(value); !reflect.DeepEqual(got, any(want)) {
		t.Errorf("%v", got)
	}
}

// TestCanaryFunction runs functions on an ephemeral Secret. The output of Terraform, the plan and the
// state must not contain its value.
func TestCanaryFunction(t *testing.T) {
	directory := configuration(t, map[string]string{
		"main.tf": required + `
			variable "password" {
				type      = string
				ephemeral = true
			}
			locals {
				policies = [file("${path.module}/policy.yaml")]
				secret   = provider::preadmit::mutate(templatefile("${path.module}/secret.yaml", { password = var.password }), local.policies)
				all      = provider::preadmit::mutate_all({ s = local.secret }, local.policies)
				why      = provider::preadmit::explain(local.secret, local.policies)
			}
			resource "terraform_data" "x" {
				input = "x"
				lifecycle {
					postcondition {
						condition     = jsondecode(local.all["s"]).metadata.labels.mutated == "yes" && !local.why.changed
						error_message = "not mutated"
					}
				}
			}
		`,
		"secret.yaml": secretNamed("s", "${password}"),
		"policy.yaml": labelPolicy,
	})
	c := newCLI(t, directory)
	c.environment = append(c.environment, "TF_VAR_password="+canary)
	for _, arguments := range [][]string{{"plan", "-out", "plan.bin"}, {"apply", "plan.bin"}, {"show"}, {"show", "-json"}, {"show", "-json", "plan.bin"}} {
		if output := c.run(t, arguments...); leaks(output) {
			t.Errorf("terraform %q has the secret:\n%s", arguments, output)
		}
	}
	for _, file := range []string{"plan.bin", "terraform.tfstate"} {
		if data, err := os.ReadFile(filepath.Join(directory, file)); err != nil || leaks(string(data)) {
			t.Errorf("%v: %s has the secret", err, file)
		}
	}
}

// TestCanaryErrors checks that errors about Secrets do not quote them.
func TestCanaryErrors(t *testing.T) {
	for name, policy := range map[string]string{
		"policy fails": strings.Replace(labelPolicy, `{"mutated": "yes"}`, `{"mutated": string({string(object.data.password): 1}["x"])}`, 1),
		"bad patch": strings.NewReplacer("ApplyConfiguration", "JSONPatch", "applyConfiguration", "jsonPatch",
			`Object{metadata: Object.metadata{labels: {"mutated": "yes"}}}`, `[JSONPatch{op: "remove", path: "/data/" + string(object.data.password)}]`).Replace(labelPolicy),
		"bad number": strings.Replace(labelPolicy, `{"mutated": "yes"}`, `{"mutated": string(int(object.data.password))}`, 1),
		"bad label":  strings.Replace(labelPolicy, `{"mutated": "yes"}`, `{"mutated": quantity(string(object.data.password)).asInteger() > 1 ? "x" : "y"}`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			for _, manifest := range []string{secretNamed("s", canary), strings.Replace(secretNamed("s", canary), "kind: Secret", "kind: ConfigMap\ndata: [\""+canary+"\"]", 1)} {
				for _, input := range []string{"sensitive_manifests", "manifests"} {
					if input == "manifests" && !strings.Contains(manifest, "Secret") {
						continue
					}
					state, messages := s.read(t, map[string]any{input: []string{manifest}, "policies": []string{policy}})
					if state != nil || messages == "" {
						t.Errorf("no error: %s", messages)
					}
					if leaks(messages) {
						t.Errorf("the message quotes the secret:\n%s", messages)
					}
				}
			}
		})
	}
}

// TestCanaryDocuments gives the documents of testdata/secrets in every attribute for manifests or
// context, and to the functions, with a policy that quotes its input.
func TestCanaryDocuments(t *testing.T) {
	const hidden = "hunter-canary-2"
	paths, err := filepath.Glob("../testdata/secrets/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatal("no documents", err)
	}
	quoting := strings.NewReplacer("ApplyConfiguration", "JSONPatch", "applyConfiguration", "jsonPatch", `Object{metadata: Object.metadata{labels: {"mutated": "yes"}}}`,
		`[JSONPatch{op: "remove", path: "/data/" + string(object.?data.a.orValue("")) + string(object.?stringData.a.orValue(""))}]`).Replace(labelPolicy)
	s := newServer(t)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		document, printed := string(text), ""
		for _, attribute := range []string{"manifests", "sensitive_manifests", "policies", "context", "sensitive_context", "sensitive_policies", "old", "openapi", "values"} {
			config := map[string]any{"manifests": []string{configMap("a")}, "policies": []string{quoting}}
			config[attribute] = append([]string{document}, map[string][]string{"policies": {quoting}}[attribute]...)
			_, messages := s.read(t, config)
			printed += attribute + ": " + messages + "\n"
		}
		for _, arguments := range [][]any{{"mutate", document, []string{quoting}}, {"mutate", configMap("a"), []string{document}}, {"split", document}, {"explain", document, []string{quoting}}} {
			if _, err := s.call(t, arguments[0].(string), arguments[1:]...); err != nil {
				printed += err.Error() + "\n"
			}
		}
		if strings.Contains(printed, hidden) || strings.Contains(printed, base64.StdEncoding.EncodeToString([]byte(hidden))) {
			t.Errorf("%s: a message quotes the secret:\n%s", path, printed)
		}
	}
}

// TestCanaryCopied checks policies that copy sensitive values into other objects.
func TestCanaryCopied(t *testing.T) {
	const kind = `  paramKind: {apiVersion: v1, kind: %s}
  matchConstraints:`
	bound := func(kinds string) string {
		return strings.NewReplacer("  matchConstraints:", fmt.Sprintf(kind, kinds), "[configmaps, secrets]", "[services]", `"yes"`, "string(params.data.token.lowerAscii())",
			"{policyName: label.example.com}", "{policyName: label.example.com, paramRef: {name: s, namespace: default, parameterNotFoundAction: Deny}}").Replace(labelPolicy)
	}
	param := func(kind, token string) string {
		return "apiVersion: v1\nkind: " + kind + "\nmetadata: {name: s, namespace: default}\ndata: {token: " + token + "}\n"
	}
	for name, config := range map[string]map[string]any{
		"a Secret":           {"policies": []string{bound("Secret")}, "context": []string{param("Secret", base64.StdEncoding.EncodeToString([]byte("Q8x")))}},
		"sensitive context":  {"policies": []string{bound("ConfigMap")}, "sensitive_context": []string{param("ConfigMap", "Q8x")}},
		"a sensitive input":  {"policies": []string{bound("ConfigMap")}, "sensitive_manifests": []string{param("ConfigMap", "Q8x")}},
		"a sensitive policy": {"sensitive_policies": []string{strings.NewReplacer(`"yes"`, `"q8x"`, "[configmaps, secrets]", "[services]").Replace(labelPolicy)}},
	} {
		t.Run(name, func(t *testing.T) {
			config["manifests"] = []string{configMap("a"), "apiVersion: v1\nkind: Service\nmetadata: {name: b}\n"}
			state, messages := newServer(t).read(t, config)
			if state == nil {
				t.Fatal(messages)
			}
			if _, ok := state["sensitive_results"].(map[string]any)["_/Service/default/b"]; !ok || len(state["diffs"].(map[string]any)) > 0 {
				t.Errorf("results %v, diffs %v", state["results"], state["diffs"])
			}
			if _, ok := state["results"].(map[string]any)["_/ConfigMap/default/a"]; !ok {
				t.Errorf("results %v", state["results"])
			}
		})
	}
	_, messages := newServer(t).read(t, map[string]any{"manifests": []string{configMap("a")}, "sensitive_policies": []string{strings.Replace(labelPolicy, `"yes"`, canary, 1)}})
	if messages == "" || leaks(messages) {
		t.Errorf("a message of a sensitive policy: %s", messages)
	}
}

// leakValues are values of inputs that Terraform may have marked as sensitive, which a function
// cannot see.
var leakValues = map[string]string{"short": "q8z", "middle": "vx3kpw", "long": "correct-horse-battery-staple-9"}

// leakManifest is an object of a kind with the values in its data, a label and an annotation.
func leakManifest(kind string) string {
	manifest := "apiVersion: v1\nkind: " + kind + "\nmetadata:\n  name: web\n  namespace: default\n  labels: {a: vx3kpw}\n  annotations: {a: correct-horse-battery-staple-9}\ndata:\n"
	for key, value := range leakValues {
		manifest += "  " + key + ": " + value + "\n"
	}
	return manifest
}

// leakPolicies are policies that fail with the value of an expression in the message, by language. VALUE
// is where the expression is.
var leakPolicies = map[string]string{
	"MutatingAdmissionPolicy": strings.Replace(labelPolicy, `{"mutated": "yes"}`, `{"mutated": {"x": "1"}[string(object.VALUE)]}`, 1),
	"ClusterPolicy": "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: leak}\nspec:\n  rules:\n  - name: leak\n    match: {any: [{resources: {kinds: [ConfigMap, Secret]}}]}\n" +
		"    mutate: {patchesJson6902: '[{\"op\": \"copy\", \"from\": \"/metadata/{{ request.object.VALUE }}\", \"path\": \"/metadata/labels\"}]'}\n",
	"MutatingPolicy": "apiVersion: policies.kyverno.io/v1\nkind: MutatingPolicy\nmetadata: {name: leak}\nspec:\n  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], resources: [configmaps, secrets], operations: [CREATE]}]}\n" +
		"  mutations:\n  - {patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{metadata: Object.metadata{labels: {\"a\": {\"x\": \"1\"}[string(object.VALUE)]}}}'}}\n",
	"MutatingTree": "apiVersion: json.preadmit.dev/v1alpha1\nkind: MutatingPolicy\nmetadata: {name: leak}\nspec:\n  rules:\n  - {name: leak, mutate: {metadata: {labels: {b: \"(cel; {'x': '1'}[string(bindings.payload.VALUE)])\"}}}}\n",
}

// TestLeaks calls every function, and reads the data source, with policies of every language that
// quote values of every length, with the values in every place. No message may have them, except that
// the data source may quote what is neither a Secret nor marked.
func TestLeaks(t *testing.T) {
	s := newServer(t)
	for language, policy := range leakPolicies {
		for _, expression := range []string{"data.short", "data.middle", "data.long", "metadata.labels.a", "metadata.annotations.a"} {
			policies := []string{strings.ReplaceAll(policy, "VALUE", expression)}
			ignoring := []string{strings.Replace(policies[0], "spec:\n", "spec:\n  failurePolicy: Ignore\n", 1)}
			for _, kind := range []string{"ConfigMap", "Secret"} {
				manifest := leakManifest(kind)
				if kind == "Secret" {
					manifest = strings.Replace(manifest, "data:", "stringData:", 1)
				}
				name := language + ", " + expression + ", " + kind
				var object any = map[string]any{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": "web", "labels": map[string]any{"a": "vx3kpw"}, "annotations": map[string]any{"a": leakValues["long"]}}, "data": map[string]any{"short": "q8z", "middle": "vx3kpw", "long": leakValues["long"]}}
				partly := map[string]any{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": "web", "labels": map[string]any{"a": "vx3kpw"}, "annotations": map[string]any{"a": unknown{someText}}}, "data": map[string]any{"short": "q8z", "middle": "vx3kpw", "long": leakValues["long"]}}
				failed := 0
				for _, call := range [][]any{
					{"mutate", manifest, policies},
					{"mutate", manifest + "  short: q8z\n", policies},
					{"explain", manifest, policies},
					{"explain", manifest, ignoring},
					{"report", map[string]any{"a": manifest}, ignoring},
					{"admit", object, policies},
					{"admit", partly, policies},
					{"unknowns", partly, policies},
					{"mutate_all", map[string]any{"a": manifest}, policies},
					{"pods", map[string]any{"a": manifest}, policies},
					{"split", manifest + "---\n" + manifest},
					{"mutate", configMap("b"), policies, map[string]any{"context": []string{manifest, manifest + "  short: q8z\n"}}},
				} {
					got, err := s.call(t, call[0].(string), call[1:]...)
					message := ""
					if err != nil {
						failed++
						message = err.Error()
					} else if explained, ok := got.(map[string]any); ok && (call[0] == "explain" || call[0] == "report") {
						message = fmt.Sprint(explained["warnings"], explained["not_applied"])
					}
					if value := leaked(message); value != "" {
						t.Errorf("%s: %s shows %q:\n%s", name, call[0], value, message)
					}
				}
				if failed < 5 {
					t.Errorf("%s: only %d calls fail", name, failed)
				}
				for _, attribute := range []string{"manifests", "sensitive_manifests"} {
					if attribute == "manifests" && (kind != "Secret" || !strings.HasPrefix(expression, "data")) {
						continue
					}
					_, messages := s.read(t, map[string]any{attribute: []string{manifest}, "policies": policies})
					if value := leaked(messages); value != "" || messages == "" {
						t.Errorf("%s: %s shows %q:\n%s", name, attribute, value, messages)
					}
				}
			}
		}
	}
}

// leaked returns the value that a text shows, or "".
func leaked(text string) string {
	for _, value := range leakValues {
		for _, form := range []string{value, base64.StdEncoding.EncodeToString([]byte(value))} {
			if strings.Contains(text, form) {
				return form
			}
		}
	}
	return ""
}
