package schema

import (
	"fmt"
	"maps"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
	smd "sigs.k8s.io/structured-merge-diff/v4/schema"
	"sigs.k8s.io/structured-merge-diff/v4/typed"
	"sigs.k8s.io/structured-merge-diff/v4/value"
)

// checker finds what structured-merge-diff refuses in a value, in the words of the library.
// Unlike the library it visits maps in sorted order, so that the same value always gives the
// same errors, and it supports items that lack some of their keys, with the text of v6. As in the library, an undeclared
// field or a list item without a key hides later errors in the same map or list.
type checker struct {
	schema *smd.Schema
	// duplicates allows list items with the same keys.
	duplicates bool
}

func violation(format string, arguments ...any) typed.ValidationErrors {
	return typed.ValidationErrors{{ErrorMessage: fmt.Sprintf(format, arguments...)}}
}

func (c *checker) value(ref smd.TypeRef, v any) typed.ValidationErrors {
	atom, _ := c.schema.Resolve(ref)
	switch v := v.(type) {
	case map[string]any:
		if atom.Map != nil {
			return c.object(atom.Map, v)
		}
	case []any:
		if atom.List != nil {
			return c.list(atom.List, v)
		}
	case nil:
		return nil
	default:
		if atom.Scalar != nil && isScalar(v) {
			return scalar(*atom.Scalar, v)
		}
	}
	switch {
	case atom.Map != nil:
		return violation("expected map, got %v", value.NewValueInterface(v))
	case atom.Scalar != nil:
		return scalar(*atom.Scalar, v)
	case atom.List != nil:
		return violation("expected list, got %v", value.NewValueInterface(v))
	}
	return nil
}

func isScalar(v any) bool {
	switch v.(type) {
	case string, bool, int64, float64:
		return true
	}
	x := value.NewValueInterface(v)
	return x.IsInt() || x.IsFloat()
}

func scalar(want smd.Scalar, v any) typed.ValidationErrors {
	x := value.NewValueInterface(v)
	number := x.IsInt() || x.IsFloat()
	switch {
	case want == smd.Numeric && !number:
		return violation("expected numeric (int or float), got %T", v)
	case want == smd.String && !x.IsString():
		return violation("expected string, got %#v", x)
	case want == smd.Boolean && !x.IsBool():
		return violation("expected boolean, got %v", x)
	case want == smd.Untyped && !number && !x.IsString() && !x.IsBool():
		return violation("expected any scalar, got %v", x)
	}
	return nil
}

func (c *checker) object(t *smd.Map, object map[string]any) (errs typed.ValidationErrors) {
	for _, key := range slices.Sorted(maps.Keys(object)) {
		ref := t.ElementType
		if f, found := t.FindField(key); found {
			ref = f.Type
		} else if ref == (smd.TypeRef{}) {
			return append(errs, violation("field not declared in schema").WithPrefix("."+key)...)
		}
		errs = append(errs, c.value(ref, object[key]).WithPrefix("."+key)...)
	}
	return errs
}

func (c *checker) list(t *smd.List, list []any) (errs typed.ValidationErrors) {
	observed := fieldpath.MakePathElementSet(len(list))
	for i, item := range list {
		element := fieldpath.PathElement{Index: &i}
		if t.ElementRelationship == smd.Associative {
			var problem string
			if element, problem = c.element(t, item); problem != "" {
				return append(errs, violation("element %v: %v", i, problem)...)
			}
			if !c.duplicates && observed.Has(element) {
				errs = append(errs, violation("duplicate entries for key %v", element.String())...)
			}
			observed.Insert(element)
		}
		if found := c.value(t.ElementType, item); found != nil {
			errs = append(errs, found.WithPrefix(element.String())...)
		}
	}
	return errs
}

// element returns the path element that identifies an item of an associative list.
func (c *checker) element(t *smd.List, item any) (element fieldpath.PathElement, problem string) {
	if len(t.Keys) == 0 {
		switch item.(type) {
		case map[string]any:
			return element, "associative list without keys has an element that's a map type"
		case []any:
			return element, "not supported: associative list with lists as elements"
		case nil:
			return element, "associative list without keys has an element that's an explicit null"
		}
		v := value.NewValueInterface(item)
		return fieldpath.PathElement{Value: &v}, ""
	}
	object, ok := item.(map[string]any)
	if item == nil {
		return element, "associative list with keys may not have a null element"
	}
	if !ok {
		return element, "associative list with keys may not have non-map elements"
	}
	atom, _ := c.schema.Resolve(t.ElementType)
	var keys value.FieldList
	for _, name := range t.Keys {
		v, given := object[name]
		if !given && atom.Map != nil {
			f, _ := atom.Map.FindField(name)
			v, given = f.Default, f.Default != nil && f.Default != any(absent{})
		}
		if given {
			keys = append(keys, value.Field{Name: name, Value: value.NewValueInterface(v)})
		}
	}
	if len(keys) == 0 {
		return element, fmt.Sprintf("associative list with keys has an element that omits all key fields %q (and doesn't have default values for any key fields)", t.Keys)
	}
	keys.Sort()
	return fieldpath.PathElement{Key: &keys}, ""
}
