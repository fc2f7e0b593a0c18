package policydoc

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/internal/number"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/policy"
)

// TestConforms checks one document of each kind that breaks what its definition can say. The texts
// are those of an API server.
func TestConforms(t *testing.T) {
	for _, c := range []struct{ document, want string }{
		{`
kind: Assign
metadata: {name: 1}
status: anything
spec:
  applyTo: [{groups: [null, apps], kinds: [Pod], operations: [DELETE], versions: null}]
  match: {namespaces: [a, "a b"], source: Elsewhere, labelSelector: {matchLabels: {a: 1}, matchExpressions: [{key: a}]}}
  parameters: {assign: {value: {any: [thing]}, externalData: {}, other: 1}}
  location: 1.5
`, `
spec.applyTo[0].groups[0]: Invalid value: "null": spec.applyTo[0].groups[0] in body must be of type string: "null"
spec.applyTo[0].operations[0]: Unsupported value: "DELETE": supported values: "CREATE", "UPDATE", "*"
spec.location: Invalid value: "number": spec.location in body must be of type string: "number"
spec.match.labelSelector.matchExpressions[0].operator: Required value
spec.match.labelSelector.matchLabels.a: Invalid value: "integer": spec.match.labelSelector.matchLabels.a in body must be of type string: "integer"
spec.match.namespaces[1]: Invalid value: "a b": spec.match.namespaces[1] in body should match '^\*?[-:a-z0-9]*\*?$'
spec.match.source: Unsupported value: "Elsewhere": supported values: "All", "Generated", "Original"
spec.parameters.assign.externalData.provider: Required value
spec.parameters.assign.other: unknown; known are externalData fromMetadata value`},
		{"kind: MutatingPolicy\nspec: {variables: [{name: a, expression: x}, {name: a, expression: z}], webhookConfiguration: {timeoutSeconds: 3.0}, evaluation: {admission: {enabled: 1}}}", `
spec.evaluation.admission.enabled: Invalid value: "integer": spec.evaluation.admission.enabled in body must be of type boolean: "integer"
spec.variables[1]: Duplicate value: {"name":"a"}`},
		{"kind: MutatingPolicy\nmetadata: x", "\nspec: Required value\nmetadata: Invalid value: \"string\": metadata in body must be of type object: \"string\""},
		{"kind: PolicyException\nspec: {expiresAt: tomorrow}", `
spec.policyRefs: Required value
spec.expiresAt: Invalid value: "tomorrow": spec.expiresAt in body must be of type date-time: "tomorrow"`},
		{"kind: Config\nspec: {match: {}}", "\nspec.match: Invalid value: \"object\": spec.match in body must be of type array: \"object\""},
		{"kind: AssignMetadata\nspec: {}", ""},
		{"kind: ModifySet\nspec: {parameters: {operation: add}}", "\nspec.parameters.operation: Unsupported value: \"add\": supported values: \"merge\", \"prune\""},
		{"kind: AssignImage\nspec: {parameters: {assignTag: 1}}", "\nspec.parameters.assignTag: Invalid value: \"integer\": spec.parameters.assignTag in body must be of type string: \"integer\""},
	} {
		r := reader(t, "apiVersion: example.com/v1\n"+strings.TrimPrefix(c.document, "\n"))
		of := TypeOf(r.Document.Kind().Kind)
		if of == nil {
			t.Fatalf("%s has no definition", r.Document.Kind().Kind)
		}
		r.Conforms(r.Root, of, func(n policy.Node, name string, of *schema.Type) {
			r.Invalid(n.At(name), "unknown; known are %s", strings.Join(of.FieldNames(), " "))
		})
		var got strings.Builder
		for _, p := range r.Problems {
			got.WriteString("\n" + p.Field + ": " + p.Message)
		}
		if got.String() != c.want {
			t.Errorf("%s\ngot %s\nwant %s", c.document, got.String(), c.want)
		}
	}
}

// TestDefinitions checks the embedded definitions as those of users, and that each kind is found by its
// name.
func TestDefinitions(t *testing.T) {
	for line := range strings.Lines(definitions) {
		definition, err := number.Decode(line)
		if err != nil {
			t.Fatal(err)
		}
		var registry schema.Registry
		if problems := registry.AddCRD(definition.(map[string]any)); len(problems) > 0 {
			t.Errorf("%.200s: %v", line, problems)
			continue
		}
		kind := registry.Kinds()[0]
		if got := TypeOf(kind.Kind.Kind); got == nil || !slices.Equal(got.FieldNames(), kind.Type().FieldNames()) || got.Name != kind.Type().Name {
			t.Errorf("%s has another type", kind.Kind.Kind)
		}
	}
	var others []string
	for _, d := range differences(MutatingType(), TypeOf("ClusterPolicy"), "") {
		others = append(others, strings.TrimPrefix(d, ".spec.rules[]."))
	}
	if !slices.Equal(others, OtherRules) {
		t.Errorf("MutatingType has other types of %s, want %s", others, OtherRules)
	}
	if TypeOf("Policy") != TypeOf("ClusterPolicy") {
		t.Error("Policies have another type than ClusterPolicies")
	}
}

// differences returns the paths at which two types differ, without those below.
func differences(a, b *schema.Type, path string) (paths []string) {
	if a == nil || b == nil {
		if a != b {
			paths = append(paths, path)
		}
		return paths
	}
	own := func(t *schema.Type) string {
		shallow := *t
		shallow.Fields, shallow.Elem, shallow.Bounds, shallow.Facts = nil, nil, nil, schema.Facts{}
		text := fmt.Sprintf("%+v %q", shallow, t.FieldNames())
		if b := t.Bounds; b != nil {
			text += fmt.Sprintf(" %q %d %v", b.Enum, b.MaxLength, b.Pattern != nil && b.Pattern() != nil)
		}
		for _, f := range t.Fields {
			text += fmt.Sprintf(" %q %v %v %v %v", f.Name, f.Default, f.Required, f.Nullable, f.Zero)
		}
		return text
	}
	if own(a) != own(b) {
		return []string{path}
	}
	for i := range a.Fields {
		paths = append(paths, differences(a.Fields[i].Type, b.Fields[i].Type, path+"."+a.Fields[i].Name)...)
	}
	return append(paths, differences(a.Elem, b.Elem, path+"[]")...)
}
