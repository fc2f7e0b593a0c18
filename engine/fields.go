package engine

import (
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/manifest"
)

// Field is a field that the API server knows.
type Field struct {
	Name string
	// Type says what the field holds: "string", "list of objects", "map of strings" ….
	Type string
}

// Fields returns the fields that objects of a kind may have at a path, sorted by name: what an
// editor offers to complete. The path holds the names of fields and the keys of maps; the
// items of lists are at the path of their list. The result is empty if the kind is not known,
// or if the value at the path has no named fields. CustomResourceDefinitions in the context
// count as for Compile.
func Fields(context []*manifest.Stream, options Options, kind gvk.Kind, path ...string) []Field {
	set, _ := newSet(nil, context, options)
	if set == nil {
		return nil
	}
	known := set.schemas.Lookup(kind)
	if known == nil {
		return nil
	}
	t := itemOf(known.Type())
	for _, name := range path {
		t = itemOf(t.FieldType(name))
	}
	if t == nil {
		return nil
	}
	var fields []Field
	for _, f := range t.Fields {
		fields = append(fields, Field{f.Name, describe(f.Type)})
	}
	return fields
}

// itemOf is the type of the items of a list, however deep; any other type is itself.
func itemOf(t *schema.Type) *schema.Type {
	for t != nil && t.IsList {
		t = t.Elem
	}
	return t
}

// scalarNames say what a scalar holds, one and many.
var scalarNames = map[schema.Scalar][2]string{
	schema.String:      {"string", "strings"},
	schema.Integer:     {"integer", "integers"},
	schema.Number:      {"number", "numbers"},
	schema.Boolean:     {"boolean", "booleans"},
	schema.IntOrString: {"integer or string", "integers or strings"},
	schema.Quantity:    {"quantity", "quantities"},
	schema.Untyped:     {"any value", "any values"},
}

// describe says what values of a type are.
func describe(t *schema.Type) string {
	switch {
	case t == nil:
		return ""
	case t.Scalar != schema.NotScalar:
		return scalarNames[t.Scalar][0]
	case t.IsList:
		return "list of " + describeMany(t.Elem)
	case t.Elem != nil && len(t.Fields) == 0:
		return "map of " + describeMany(t.Elem)
	}
	return "object"
}

func describeMany(t *schema.Type) string {
	switch {
	case t == nil:
		return "values"
	case t.Scalar != schema.NotScalar:
		return scalarNames[t.Scalar][1]
	case t.IsList:
		return "lists"
	}
	return "objects"
}
