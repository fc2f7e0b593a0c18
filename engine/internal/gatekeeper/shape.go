package gatekeeper

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/internal/lazyregexp"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// shape is the schema of a field in the CustomResourceDefinitions of Gatekeeper v3.23.1.
type shape struct {
	// kind is the type of the values: object, array, string or boolean; "" is any.
	kind string
	// fields are the fields of an object. Other fields are pruned, unless open is set.
	fields map[string]shape
	open   bool
	// required are the fields that an object must have.
	required []string
	item     *shape
	// enum are the values that a string may have, pattern must match it, and longest is its
	// maximum length in bytes. A zero value sets no bound.
	enum    []string
	pattern func() *regexp.Regexp
	longest int
}

func object(fields map[string]shape) shape { return shape{kind: "object", fields: fields} }

func listOf(item shape) shape { return shape{kind: "array", item: &item} }

func oneOf(values ...string) shape { return shape{kind: "string", enum: values} }

var (
	text     = shape{kind: "string"}
	anything = shape{open: true}
	// pattern is a name with an optional star at each end.
	pattern = shape{kind: "string", pattern: lazyregexp.New(`^\*?[-:a-z0-9]*\*?$`)}

	selectorShape = object(map[string]shape{
		"matchLabels": {kind: "object", open: true, item: &text},
		"matchExpressions": listOf(shape{kind: "object", required: []string{"key", "operator"}, fields: map[string]shape{
			"key": text, "operator": text, "values": listOf(text),
		}}),
	})
	matchShape = object(map[string]shape{
		"source":             oneOf("All", "Generated", "Original"),
		"kinds":              listOf(object(map[string]shape{"apiGroups": listOf(text), "kinds": listOf(text)})),
		"scope":              text,
		"namespaces":         listOf(pattern),
		"excludedNamespaces": listOf(pattern),
		"labelSelector":      selectorShape,
		"namespaceSelector":  selectorShape,
		"name":               pattern,
	})
	applyToShape = listOf(object(map[string]shape{
		"groups": listOf(text), "versions": listOf(text), "kinds": listOf(text),
		"operations": listOf(oneOf("CREATE", "UPDATE", "*")),
	}))
	pathTestsShape = listOf(object(map[string]shape{"subPath": text, "condition": oneOf("MustExist", "MustNotExist")}))
	assignShape    = object(map[string]shape{
		"value":        anything,
		"fromMetadata": object(map[string]shape{"field": text}),
		"externalData": {kind: "object", required: []string{"provider"}, fields: map[string]shape{
			"provider": text, "dataSource": oneOf(valueAtLocation, username),
			"failurePolicy": oneOf("UseDefault", "Ignore", "Fail"), "default": text,
		}},
	})
)

// shapes are the schemas of the mutators.
var shapes = map[string]shape{
	"Assign": mutatorShape(map[string]shape{"applyTo": applyToShape}, map[string]shape{
		"assign": assignShape, "pathTests": pathTestsShape,
	}),
	"AssignMetadata": mutatorShape(nil, map[string]shape{"assign": assignShape}),
	"ModifySet": mutatorShape(map[string]shape{"applyTo": applyToShape}, map[string]shape{
		"operation": oneOf("merge", "prune"), "pathTests": pathTestsShape, "values": {kind: "object", open: true},
	}),
	"AssignImage": mutatorShape(map[string]shape{"applyTo": applyToShape}, map[string]shape{
		"assignDomain": text, "assignPath": text, "assignTag": text, "pathTests": pathTestsShape,
	}),
}

// configShape is the part of the schema of a Config that is about namespaces.
var configShape = shape{kind: "object", open: true, fields: map[string]shape{
	"spec": {kind: "object", open: true, fields: map[string]shape{
		"match": listOf(shape{kind: "object", open: true, fields: map[string]shape{
			"excludedNamespaces": listOf(pattern), "processes": listOf(text),
		}}),
	}},
}}

// mutatorShape returns the schema of a mutator. spec has the fields beyond those that all
// mutators have.
func mutatorShape(spec, parameters map[string]shape) shape {
	all := map[string]shape{"match": matchShape, "location": text, "parameters": object(parameters)}
	maps.Copy(all, spec)
	return object(map[string]shape{
		"apiVersion": text, "kind": text, "status": anything, "spec": object(all),
		"metadata": {kind: "object", open: true, fields: map[string]shape{"name": {kind: "string", longest: 63}}},
	})
}

// conforms checks a value as an API server does: it reports errors in the server's words, and
// warns about fields that the server prunes. A null field of an object counts as absent.
func (r *reader) conforms(n policy.Node, s shape) {
	if actual := typeOf(n.Value); s.kind != "" && actual != s.kind {
		path := n.Path.String()
		r.Invalid(n, "Invalid value: %q: %s in body must be of type %s: %q", actual, path, s.kind, actual)
		return
	}
	switch value := n.Value.(type) {
	case map[string]any:
		r.conformsObject(n, value, s)
	case []any:
		if s.item != nil {
			for _, item := range n.Items() {
				r.conforms(item, *s.item)
			}
		}
	case string:
		r.conformsText(n, value, s)
	}
}

func (r *reader) conformsObject(n policy.Node, value map[string]any, s shape) {
	for _, key := range slices.Sorted(maps.Keys(value)) {
		field, known := s.fields[key]
		switch {
		case known && value[key] != nil:
			r.conforms(n.At(key), field)
		case !known && s.item != nil:
			r.conforms(n.At(key), *s.item)
		case known || s.open:
		case r.Values:
			r.advise(n.At(key), 0, "expected "+strings.Join(slices.Sorted(maps.Keys(s.fields)), ", "), "unknown field %q", key)
		default:
			r.Report(source.Warningf(r.Document.At(n.Path.Key(key)), "policy-field-unknown", "unknown field %q: an API server drops it", key).
				With("expected "+strings.Join(slices.Sorted(maps.Keys(s.fields)), ", ")), n.Path.Key(key))
		}
	}
	for _, key := range s.required {
		if value[key] == nil {
			r.Invalid(n.At(key), "Required value")
		}
	}
}

func (r *reader) conformsText(n policy.Node, value string, s shape) {
	switch {
	case s.enum != nil && !slices.Contains(s.enum, value):
		quoted := make([]string, len(s.enum))
		for i := range s.enum {
			quoted[i] = fmt.Sprintf("%q", s.enum[i])
		}
		r.Invalid(n, "Unsupported value: %q: supported values: %s", value, strings.Join(quoted, ", "))
	case s.pattern != nil && !s.pattern().MatchString(value):
		r.Invalid(n, "Invalid value: %q: %s in body should match '%s'", value, n.Path, s.pattern())
	case s.longest > 0 && len(value) > s.longest:
		r.Invalid(n, "Too long: may not be more than %d bytes", s.longest)
	}
}

// typeOf returns the type of a value as schemas name it.
func typeOf(value any) string {
	switch value.(type) {
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
		return "number"
	}
	return "null"
}
