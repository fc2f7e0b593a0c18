package policydoc

import (
	_ "embed" // for the definitions
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/number"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// definitions are the CustomResourceDefinitions of policies of Kyverno v1.19.0 and Gatekeeper
// v3.23.1, one on each line; crds/main.go writes them. The versions of a kind have the same
// fields. The first one is ClusterPolicy without the types of OtherRules.
//
//go:embed crds.json
var definitions string

// typesByKind has a function for each kind that reads its definition when it is first needed.
var typesByKind = sync.OnceValue(func() map[string]func() *schema.Type {
	types := map[string]func() *schema.Type{}
	_, rest, _ := strings.Cut(definitions, "\n")
	for line := range strings.Lines(rest) {
		types[kindIn(line)] = sync.OnceValue(func() *schema.Type { return typeIn(line) })
	}
	for alias, of := range aliases { // crds/main.go compares them
		types[alias] = types[of]
	}
	return types
})

// descriptionsJSON has what the definitions say about their fields, by the kind and the path; crds/main.go writes it. Only
// editors ask for it.
//
//go:embed descriptions.json
var descriptionsJSON []byte

var descriptions = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	if err := json.Unmarshal(descriptionsJSON, &all); err != nil {
		panic(fmt.Sprintf("policydoc: the embedded descriptions cannot be read: %v", err))
	}
	return all
})

// Description says what the field at a path in policies of a kind of Kyverno or Gatekeeper is; "" if that is not known.
// The items of a list are at the path of the list.
func Description(kind string, path ...string) string {
	if of, ok := aliases[kind]; ok {
		kind = of
	}
	return descriptions()[strings.Join(append([]string{kind}, path...), ".")]
}

// typeIn returns the type of a definition. A test checks the definition, because that takes as long
// as reading it.
func typeIn(line string) *schema.Type {
	definition, err := number.Decode(line)
	if err != nil {
		panic(fmt.Sprintf("policydoc: an embedded definition cannot be read: %v", err))
	}
	spec := policy.Node{Value: definition}.At("spec")
	version := spec.At("versions").Items()[0]
	name := gvk.Kind{Group: spec.At("group").Text(), Version: version.At("name").Text(), Kind: spec.At("names", "kind").Text()}
	return schema.CustomType(name, version.At("schema", "openAPIV3Schema").Object())
}

// TypeOf returns the type of a kind of policies of Kyverno or Gatekeeper, from its
// CustomResourceDefinition.
func TypeOf(kind string) *schema.Type { return typesByKind()[kind]() }

// Kinds returns the kinds of policies of Kyverno and Gatekeeper whose type is known, each in its newest
// version.
var Kinds = sync.OnceValue(func() []gvk.Kind {
	var kinds []gvk.Kind
	_, rest, _ := strings.Cut(definitions, "\n")
	for line := range strings.Lines(rest) {
		k := gvk.Kind{Group: textAfter(line, `"group":"`), Version: textAfter(line, `"versions":[{"name":"`), Kind: kindIn(line)}
		kinds = append(kinds, k)
		for alias, of := range aliases {
			if of == k.Kind {
				kinds = append(kinds, gvk.Kind{Group: k.Group, Version: k.Version, Kind: alias})
			}
		}
	}
	return kinds
})

// aliases are kinds with the type of another kind.
var aliases = map[string]string{"Policy": "ClusterPolicy", "NamespacedMutatingPolicy": "MutatingPolicy"}

func kindIn(line string) string { return textAfter(line, `"names":{"kind":"`) }

// textAfter returns the text up to the next quote after what begins a text in JSON.
func textAfter(line, start string) string {
	_, rest, _ := strings.Cut(line, start)
	text, _, _ := strings.Cut(rest, `"`)
	return text
}

// OtherRules are the fields of Kyverno's rules that do not mutate.
var OtherRules = []string{"generate", "imageExtractors", "validate", "verifyImages"}

// MutatingType is TypeOf("ClusterPolicy"), except that OtherRules may have any value. Most policies
// have none of these fields, and the types of the others are read in half of the time.
var MutatingType = sync.OnceValue(func() *schema.Type {
	line, _, _ := strings.Cut(definitions, "\n")
	return typeIn(line)
})

// Conforms checks the value at n as an API server checks a custom resource, and reports errors in
// the server's words. It calls unknown for each field that the server would drop; of is the type
// of the map at n. A null field counts as absent. Metadata is not checked. Of a value that already has an
// error, only what is in it is checked.
func (r *Reader) Conforms(n policy.Node, t *schema.Type, unknown func(n policy.Node, name string, of *schema.Type)) {
	isRefused := r.IsRefused(n)
	want, got := jsonType(t), schemaType(n.Value)
	switch {
	case want == "", isRefused && want != got:
		return
	case want != got && (want != "number" || got != "integer"):
		d := source.Errorf(r.Document.At(n.Path), "policy-invalid", "Invalid value: %q: %s in body must be of type %s: %q", got, n.Path, want, got)
		r.Report(r.Document.Retyped(d, n.Path, func(value any) bool { return conforms(value, t) }), n.Path)
		return
	}
	switch value := n.Value.(type) {
	case map[string]any:
		r.conformFields(n, t, unknown)
	case []any:
		r.conformItems(n, t, unknown)
	case string:
		if !isRefused {
			r.conformText(n, t, value)
		}
	}
}

// conforms reports whether a value that is no map has the type of t.
func conforms(value any, t *schema.Type) bool {
	want, got := jsonType(t), schemaType(value)
	if list, isList := value.([]any); isList && t.IsList {
		return !slices.ContainsFunc(list, func(item any) bool { return !conforms(item, t.Elem) })
	}
	return want == "" || want == got || want == "number" && got == "integer"
}

const metadata = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

func (r *Reader) conformFields(n policy.Node, t *schema.Type, unknown func(policy.Node, string, *schema.Type)) {
	if t.Name == metadata {
		return
	}
	fields := n.Object()
	for _, f := range t.Fields {
		if f.Required && f.Default == nil && fields[f.Name] == nil && !r.IsRefused(n.At(f.Name)) {
			r.Unchosen(n.At(f.Name), t.Enum(f.Name)...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		switch f := t.Declared(name); {
		case f != nil && fields[name] != nil:
			r.Conforms(n.At(name), f.Type, unknown)
		case f == nil && t.Elem != nil && !t.Prunes:
			r.Conforms(n.At(name), t.Elem, unknown)
		case f == nil && !t.Preserve && !r.IsRefused(n.At(name)):
			unknown(n, name, t)
		}
	}
}

func (r *Reader) conformItems(n policy.Node, t *schema.Type, unknown func(policy.Node, string, *schema.Type)) {
	seen := map[string]bool{}
	for _, item := range n.Items() {
		r.Conforms(item, t.Elem, unknown)
		if t.List != schema.Associative {
			continue
		}
		name := t.ListKeys[0]
		key := item.At(name)
		if key.Given() && seen[key.Text()] {
			r.Invalid(item, "Duplicate value: %s", manifest.JSON(map[string]any{name: key.Value}))
		}
		seen[key.Text()] = true
	}
}

func (r *Reader) conformText(n policy.Node, t *schema.Type, value string) {
	if _, err := time.Parse(time.RFC3339, value); t.Format == "date-time" && err != nil {
		r.Invalid(n, "Invalid value: %q: %s in body must be of type date-time: %q", value, n.Path, value)
	}
	switch b := t.Bounds; {
	case b == nil:
	case b.Enum != nil && !slices.Contains(b.Enum, value):
		r.Unsupported(n, b.Enum...)
	case b.Pattern != nil && !b.Pattern().MatchString(value):
		r.Invalid(n, "Invalid value: %q: %s in body should match '%s'", value, n.Path, b.Pattern())
	case b.MaxLength > 0 && len(value) > b.MaxLength:
		r.Invalid(n, "Too long: may not be more than %d bytes", b.MaxLength)
	}
}

// jsonType returns a type as JSON Schema names it; "" is any.
func jsonType(t *schema.Type) string {
	switch {
	case t == nil || t.Scalar > schema.Boolean:
		return ""
	case t.IsList:
		return "array"
	}
	return map[schema.Scalar]string{
		schema.NotScalar: "object", schema.String: "string", schema.Integer: "integer", schema.Number: "number", schema.Boolean: "boolean",
	}[t.Scalar]
}

// schemaType returns the type of a value as JSON Schema names it.
func schemaType(value any) string {
	switch value := value.(type) {
	case map[string]any:
		return "object"
	case []any:
		return "array"
	case string:
		return "string"
	case bool:
		return "boolean"
	case int64:
		return "integer"
	case float64:
		if value == math.Trunc(value) {
			return "integer"
		}
		return "number"
	}
	return "null"
}
