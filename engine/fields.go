package engine

import (
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/manifest"
)

// Field is a field of the API.
type Field struct {
	Name string
	// Type is the type of the field: "string", "list of objects", "map of strings" ….
	Type string
}

// Fields returns the fields that objects of a kind may have at a path, sorted by name, for
// completion in editors. The path has names of fields and keys of maps; the items of a list are at
// the path of the list. The result is empty if the kind is unknown, or if the value at the path has
// no named fields. CustomResourceDefinitions in the context count as for Compile.
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

// itemOf returns the type of the items of a list, at any depth. It returns other types unchanged.
func itemOf(t *schema.Type) *schema.Type {
	for t != nil && t.IsList {
		t = t.Elem
	}
	return t
}

// scalarNames are the names of scalar types, singular and plural.
var scalarNames = map[schema.Scalar][2]string{
	schema.String:      {"string", "strings"},
	schema.Integer:     {"integer", "integers"},
	schema.Number:      {"number", "numbers"},
	schema.Boolean:     {"boolean", "booleans"},
	schema.IntOrString: {"integer or string", "integers or strings"},
	schema.Quantity:    {"quantity", "quantities"},
	schema.Untyped:     {"any value", "any values"},
}

// describe returns the name of a type.
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
