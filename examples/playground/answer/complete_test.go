package answer

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// TestComplete completes at a bar in a text.
func TestComplete(t *testing.T) {
	const deployment = "apiVersion: apps/v1\nkind: Deployment\n"
	for _, test := range []struct {
		name, text   string
		want, absent []string
	}{
		{"the top", deployment + "metadata: {name: a}\n|", []string{"spec"}, []string{"metadata", "kind", "replicas"}},
		{"below a key", deployment + "spec:\n  replicas: 1\n  sel|\n  template: {}\n", []string{"selector", "strategy"}, []string{"replicas", "template"}},
		{"an item", deployment + "spec:\n  template:\n    spec:\n      containers:\n      - name: a\n        im|\n", []string{"image", "imagePullPolicy"}, []string{"name"}},
		{"the first key of an item", deployment + "spec:\n  template:\n    spec:\n      containers:\n        - |\n", []string{"image", "name"}, nil},
		{"an item after another", deployment + "spec:\n  template:\n    spec:\n      containers:\n      - name: a\n        image: b\n      - na|\n", []string{"image", "name"}, nil},
		{"after a list", deployment + "spec:\n  template:\n    spec:\n      containers:\n      - name: a\n      |\n", []string{"volumes"}, []string{"containers", "imagePullPolicy"}},
		{"a list in a list", deployment + "spec:\n  template:\n    spec:\n      containers:\n      - name: a\n        ports:\n        - containerPort: 1\n          ho|\n", []string{"hostPort"}, []string{"containerPort"}},
		{"another document", "apiVersion: v1\nkind: Service\n---\n" + deployment + "spec:\n  re|\n---\napiVersion: v1\n", []string{"replicas"}, []string{"clusterIP"}},
		{"the kind comes later", "metadata: {name: a}\n|\nkind: Secret\napiVersion: v1\n", []string{"stringData"}, []string{"spec", "kind"}},
		{"a comment and a gap", deployment + "spec: # what for\n\n  # why\n  re|", []string{"replicas"}, nil},
		{"a policy", "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingAdmissionPolicy\nspec:\n  ma|\n", []string{"matchConstraints", "mutations"}, nil},
		{"a definition among the context", "apiVersion: example.com/v1\nkind: Widget\nspec:\n  |\n", []string{"size"}, nil},
		{"a value", deployment + "spec:\n  replicas: sp|\n", nil, []string{"selector"}},
		{"a text", deployment + "metadata:\n  annotations:\n    a: |-\n      sp|\n", nil, []string{"spec"}},
		{"labels are free", deployment + "metadata:\n  labels:\n    a|\n", nil, []string{"annotations"}},
		{"an unknown kind", "apiVersion: example.com/v1\nkind: Gadget\nsp|\n", nil, []string{"spec"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			before, after, found := cutLast(test.text, "|")
			if !found {
				t.Fatal("no bar")
			}
			lines := strings.Split(before, "\n")
			request, err := json.Marshal(Request{Ask: "complete", At: Place{"a.yaml", len(lines), len(lines[len(lines)-1]) + 1}, Files: []File{
				{manifests, "a.yaml", before + after},
				{"context", "crd.yaml", `{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "widgets.example.com"}, "spec": {"group": "example.com", "scope": "Namespaced", "names": {"kind": "Widget", "plural": "widgets"}, "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}}}]}}`},
			}})
			if err != nil {
				t.Fatal(err)
			}
			var got Completion
			if err := json.Unmarshal([]byte(new(Session).JSON(string(request))), &got); err != nil {
				t.Fatal(err)
			}
			has := func(name string) bool {
				return slices.ContainsFunc(got.Fields, func(f Field) bool { return f.Name == name })
			}
			for _, name := range test.want {
				if !has(name) {
					t.Errorf("no %s in %v", name, got.Fields)
				}
			}
			for _, name := range test.absent {
				if has(name) {
					t.Errorf("%s is offered", name)
				}
			}
			if len(test.want) == 0 && len(got.Fields) > 0 {
				t.Errorf("offered: %v", got.Fields)
			}
		})
	}
}

func cutLast(text, sep string) (before, after string, found bool) {
	i := strings.LastIndex(text, sep)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(sep):], true
}

// TestHover asks what is at a bar in a text: documentation, types, values in manifests, and what policies do.
func TestHover(t *testing.T) {
	const policy = `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: a}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  reinvocationPolicy: Never
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: 'Object{metadata: Object.metadata{labels: {"by": object.metadata.name}}}'
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: a}
spec: {policyName: a}
`
	const pod = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n  labels: {app: web}\nspec:\n  containers: [{name: a, image: b}]\n"
	session := new(Session)
	for _, test := range []struct{ name, file, before, want string }{
		{"a field of a manifest", "pod.yaml", "conta", "`spec.containers`: list of objects"},
		{"what policies do", "pod.yaml", "lab", "policy `a`"},
		{"the value of an expression", "policy.yaml", "object.metadata.na", "Pod/default/web"},
		{"no file", "other.yaml", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			files := []File{{"policies", "policy.yaml", policy}, {manifests, "pod.yaml", pod}}
			text := map[string]string{"policy.yaml": policy, "pod.yaml": pod}[test.file]
			lines := strings.Split(text[:strings.Index(text, test.before)+len(test.before)], "\n")
			request, err := json.Marshal(Request{Ask: "hover", At: Place{test.file, len(lines), len([]rune(lines[len(lines)-1])) + 1}, Files: files})
			if err != nil {
				t.Fatal(err)
			}
			var got Hover
			if err := json.Unmarshal([]byte(session.JSON(string(request))), &got); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(got.Text, test.want) || test.want == "" && got.Text != "" {
				t.Errorf("got %q, want %q", got.Text, test.want)
			}
		})
	}
}
