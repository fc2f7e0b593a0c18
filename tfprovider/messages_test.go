package tfprovider

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/path"
)

// replaced returns labelPolicy with something replaced.
func replaced(t *testing.T, from, to string) string {
	t.Helper()
	if !strings.Contains(labelPolicy, from) {
		t.Fatalf("the policy does not contain %q", from)
	}
	return strings.Replace(labelPolicy, from, to, 1)
}

// denying is a policy that denies ConfigMaps, with the value of one in its message.
func denying(t *testing.T) string {
	t.Helper()
	return replaced(t, `{"mutated": "yes"}`, `{"mutated": string(int(object.data.pin))}`)
}

const pinned = "apiVersion: v1\nkind: %s\nmetadata: {name: pinned}\ndata: {pin: c2VjcmV0}\n"

// TestMessages checks every message, word for word, as users see it.
func TestMessages(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFiles(t, map[string]string{"app/cm.yaml": configMap("a"), "empty/notes.txt": "no manifest"})
	s := newServer(t)
	two := configMap("a") + "---\n" + configMap("b")
	for name, test := range map[string]struct {
		config map[string]any
		want   string
	}{
		"no input": {
			map[string]any{"policies": []string{labelPolicy}},
			"ERROR at (none): No Manifests: One of manifests, manifest_files and sensitive_manifests must be given.\n",
		},
		"empty input": {
			map[string]any{"manifests": []string{"---\n"}, "policies": []string{labelPolicy}},
			"ERROR at (none): No Manifests: There are no manifests in the input.\n\nCheck what was to make them; where there may be none, use count or for_each.\n",
		},
		"invalid policy": {
			map[string]any{"manifests": []string{two}, "policies": []string{configMapPolicy(t), replaced(t, "Object.metadata", "Objct.metadata")}},
			"",
		},
		"policy kind": {
			map[string]any{"manifests": []string{two}, "policies": []string{replaced(t, "kind: MutatingAdmissionPolicy\n", "kind: MutatingAdmisionPolicy\n")}},
			"ERROR at policies[0]: Invalid Policy: policies[0], line 2, column 1: MutatingAdmisionPolicy label.example.com: there is no policy language with kind MutatingAdmisionPolicy of admissionregistration.k8s.io/v1\n\ndid you mean MutatingAdmissionPolicy?\n",
		},
		"invalid manifest": {
			map[string]any{"manifests": []string{configMap("x"), configMap("a") + "---\n# a comment\n---\nkind: ConfigMap\nmetadata: {name: b}\n"}, "policies": []string{labelPolicy}},
			"ERROR at manifests[1]: Invalid Manifest: manifests[1], document 2, line 7, column 1: the document has no apiVersion\n\nevery Kubernetes object has apiVersion, kind and metadata.name (or generateName)\n",
		},
		"not YAML": {
			map[string]any{"manifests": []string{two + "---\na: [\n"}, "policies": []string{labelPolicy}},
			"",
		},
		"duplicate": {
			map[string]any{"manifests": []string{two}, "manifest_files": []string{"app/*.yaml"}, "policies": []string{labelPolicy}},
			"ERROR at manifest_files[0]: Duplicate Manifest: app/cm.yaml, document 1, line 1, column 1: _/ConfigMap/default/a is already defined in manifests[0], document 1, line 1, column 1\n",
		},
		"missing file": {
			map[string]any{"manifest_files": []string{"app/missing.yaml"}, "policies": []string{labelPolicy}},
			"ERROR at manifest_files[0]: Unreadable File: manifest_files[0]: app/missing.yaml: no such file or directory\n\nRelative paths are relative to the root module; in a module write \"${path.module}/app/missing.yaml\".\n",
		},
		"no match": {
			map[string]any{"manifest_files": []string{"app"}, "policy_files": []string{"**/*.yml"}},
			"ERROR at policy_files[0]: Unreadable File: policy_files[0]: **/*.yml: no file matches the pattern\n",
		},
		"directory without manifests": {
			map[string]any{"manifest_files": []string{"app", "empty"}},
			"ERROR at manifest_files[1]: Unreadable File: manifest_files[1]: empty: the directory has no *.yaml, *.yml or *.json files\n",
		},
		"option value": {
			map[string]any{"manifests": []string{two}, "defaulting": "yes", "request": map[string]any{"operation": "PATCH"}},
			"ERROR at defaulting: Invalid Option: defaulting: \"yes\" is not a value; expected on or off\n" +
				"ERROR at request.operation: Invalid Option: request.operation: \"PATCH\" is not a value; expected CREATE or UPDATE\n",
		},
		"version": {
			map[string]any{"manifests": []string{two}, "policies": []string{labelPolicy}, "kubernetes_version": "1.12"},
			"ERROR at (none): Invalid Option: option kubernetes-version: \"1.12\" is not a version that is known\n\nexpected 1.32 to 1.37\n",
		},
		"denied": {
			map[string]any{"manifests": []string{fmt.Sprintf(pinned, "ConfigMap")}, "policies": []string{denying(t)}},
			"",
		},
		"denied secret": {
			map[string]any{"manifest_files": []string{}, "sensitive_manifests": []string{fmt.Sprintf(pinned, "ConfigMap")}, "policies": []string{denying(t)}},
			"",
		},
		"no policies": {
			map[string]any{"manifests": []string{two}},
			"WARNING at (none): No Policies: there is no policy, so nothing changes\n",
		},
		"secret in clear text": {
			map[string]any{"manifests": []string{fmt.Sprintf(pinned, "Secret")}, "policies": []string{labelPolicy}},
			"WARNING at manifests[0]: Secret in Clear Text: manifests[0], document 1, line 1, column 1: Terraform keeps manifests in its state and does not mark them as sensitive\n\nGive Secrets with sensitive_manifests or manifest_files.\n",
		},
		"not idempotent": {
			map[string]any{"manifests": []string{configMap("a")}, "policies": []string{replaced(t, `"yes"`, `has(object.metadata.labels) ? "yes" + object.metadata.labels.mutated : "yes"`)}},
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, messages := s.read(t, test.config)
			messages = plainPaths(messages)
			if test.want == "" {
				test.want = goldenMessages[name]
			}
			if messages != test.want {
				t.Errorf("got:\n%s\nwant:\n%s", messages, test.want)
			}
		})
	}
}

// configMapPolicy is labelPolicy under another name.
func configMapPolicy(t *testing.T) string {
	t.Helper()
	return strings.ReplaceAll(labelPolicy, "label.example.com", "other.example.com")
}

// plainPaths writes attributes as people do.
func plainPaths(messages string) string {
	return strings.NewReplacer(
		"at : ", "at (none): ",
		`AttributeName("request").AttributeName("operation")`, "request.operation",
		`").ElementKeyInt(`, "[", "): ", "]: ", `AttributeName("`, "", `"): `, ": ",
	).Replace(messages)
}

var goldenMessages = map[string]string{}

// TestFunctionErrors checks what users see of an error in a function, and at which
// argument.
func TestFunctionErrors(t *testing.T) {
	s := newServer(t)
	policies := []string{labelPolicy}
	for name, test := range map[string]struct {
		arguments []any
		want      string
	}{
		"unknown option": {
			[]any{"mutate", configMap("a"), policies, map[string]any{"contxt": []string{}}},
			"argument 2: Invalid Option: contxt: unknown option; did you mean context?",
		},
		"unknown option within": {
			[]any{"mutate", configMap("a"), policies, map[string]any{"request": map[string]any{"operaton": "CREATE"}}},
			"argument 2: Invalid Option: request.operaton: unknown option; did you mean request.operation?",
		},
		"option in another place": {
			[]any{"mutate", configMap("a"), policies, map[string]any{"operation": "CREATE"}},
			"argument 2: Invalid Option: operation: unknown option; did you mean request.operation?",
		},
		"option of the data source": {
			[]any{"mutate", configMap("a"), policies, map[string]any{"policy_files": []string{}}},
			"argument 2: Invalid Option: policy_files: unknown option; expected context, kubernetes_version, openapi, namespace, request, old, defaulting or non_idempotent",
		},
		"option type": {
			[]any{"mutate", configMap("a"), policies, map[string]any{"kubernetes_version": 1, "context": "text", "request": "text"}},
			"argument 2: Invalid Option: context: expected a list of strings\n\nInvalid Option: kubernetes_version: expected a string\n\nInvalid Option: request: expected an object",
		},
		"two options objects": {
			[]any{"mutate", configMap("a"), policies, map[string]any{}, map[string]any{}},
			"argument 3: expected one object with all options",
		},
		"not an object": {
			[]any{"mutate", configMap("a"), policies, "context"},
			"argument 2: expected an object with options",
		},
		"two documents": {
			[]any{"mutate", configMap("a") + "---\n" + configMap("b"), policies},
			"argument 0: Invalid Manifest: manifest: expected one document, found 2 documents; the function split makes one of each",
		},
		"no document": {
			[]any{"mutate_all", map[string]any{"a": configMap("a"), "b": ""}, policies},
			`argument 0: Invalid Manifest: manifests["b"]: expected one document, found no document; the function split makes one of each`,
		},
		"null": {
			[]any{"mutate_all", map[string]any{"a": nil}, policies},
			`argument 0: manifests["a"] is null`,
		},
		"duplicate": {
			[]any{"split", configMap("a") + "---\n" + configMap("a")},
			"argument 0: Duplicate Manifest: yaml, document 2, line 6, column 1: _/ConfigMap/default/a is already defined in yaml, document 1, line 1, column 1",
		},
		"manifest without kind": {
			[]any{"explain", "metadata: {name: x}\n", policies},
			"argument 0: Invalid Manifest: manifest, document 1, line 1, column 1: the document has no apiVersion\n\nevery Kubernetes object has apiVersion, kind and metadata.name (or generateName)\n\nInvalid Manifest: manifest, document 1, line 1, column 1: the document has no kind\n\nevery Kubernetes object has apiVersion, kind and metadata.name (or generateName)",
		},
		"policy": {
			[]any{"mutate", configMap("a"), []string{labelPolicy, "kind: MutatingAdmissionPolicy\n"}},
			"argument 1: Invalid Policy: policies[1], line 1, column 1: MutatingAdmissionPolicy: the document has no apiVersion or no kind\n\nevery Kubernetes object has both",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := s.call(t, test.arguments[0].(string), test.arguments[1:]...)
			if err == nil || err.Error() != test.want {
				t.Errorf("got:\n%v\nwant:\n%s", err, test.want)
			}
		})
	}
}

// An option must reach the engine: each makes a config that differs from the default.
func TestOptionsReachTheEngine(t *testing.T) {
	for _, o := range options {
		var sample any
		switch target := o.target(new(config)).(type) {
		case *string:
			sample = "x"
			if len(o.values) > 0 {
				sample = o.values[0]
			}
		case *bool:
			sample = true
		case *map[string][]string:
			sample = map[string]any{"k": []any{"v"}}
		case *[]string, *[]text, *[]pattern:
			sample = []any{"yaml"}
		default:
			t.Fatalf("%s: %T", o.name, target)
		}
		names := strings.Split(o.name, ".")
		for i := len(names) - 1; i > 0; i-- {
			sample = map[string]any{names[i]: sample}
		}
		for _, face := range []face{inDataSource, inFunctions} {
			r := reader{face: face, config: &config{}}
			r.object(map[string]any{names[0]: sample}, "", path.Empty())
			if known := o.faces&face != 0; known != (len(r.problems) == 0 && !reflect.DeepEqual(r.config, &config{})) && (known || face == inFunctions) {
				t.Errorf("%s, face %d: %v %+v", o.name, face, r.problems, r.config)
			}
		}
	}
}
