package mutatingpolicy

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/preadmit/preadmit/engine/internal/policydoc"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
)

// field is a field of a CustomResourceDefinition: its type, and the fields or items in it.
type field struct {
	typ string
	// fields are the named fields of an object; values are other fields.
	fields map[string]*field
	values *field
	items  *field
	// required are the required fields of an object; key is the field that identifies the items
	// of a list.
	required []string
	key      string
	// enum are the allowed values of a string; nil allows all.
	enum []string
	// dateTime says that a string has the format date-time.
	dateTime bool
}

var (
	anything = &field{}
	text     = &field{typ: "string"}
	boolean  = &field{typ: "boolean"}
	integer  = &field{typ: "integer"}
	texts    = list(text)
)

func object(fields map[string]*field, required ...string) *field {
	return &field{typ: "object", fields: fields, required: required}
}

func list(items *field) *field { return &field{typ: "array", items: items} }

// keyed returns a list whose items have unique names.
func keyed(items *field) *field { return &field{typ: "array", items: items, key: "name"} }

// fieldsOf returns the fields of a policy and of an exception in Kyverno v1.19.0. They are the
// same in all versions.
var fieldsOf = sync.OnceValues(makeFields)

func makeFields() (ofPolicy, ofException *field) {
	enabled := object(map[string]*field{"enabled": boolean})
	expression := object(map[string]*field{"expression": text})
	named := object(map[string]*field{"name": text, "expression": text}, "expression", "name")
	selector := object(map[string]*field{
		"matchLabels":      {typ: "object", values: text},
		"matchExpressions": list(object(map[string]*field{"key": text, "operator": text, "values": texts}, "key", "operator")),
	})
	rules := list(object(map[string]*field{
		"apiGroups": texts, "apiVersions": texts, "operations": texts, "resources": texts, "resourceNames": texts, "scope": text,
	}))
	resources := map[string]*field{
		"resourceRules": rules, "excludeResourceRules": rules, "namespaceSelector": selector, "objectSelector": selector, "matchPolicy": text,
	}
	targets := maps.Clone(resources)
	targets["expression"] = text
	spec := object(map[string]*field{
		"matchConstraints":       object(resources),
		"matchConditions":        keyed(named),
		"variables":              keyed(named),
		"targetMatchConstraints": object(targets),
		"targetMatchConditions":  keyed(named),
		"mutations": list(object(map[string]*field{
			"patchType": text, "applyConfiguration": expression, "jsonPatch": expression,
		}, "patchType")),
		"auditAnnotations":     list(object(map[string]*field{"key": text, "valueExpression": text}, "key", "valueExpression")),
		"failurePolicy":        {typ: "string", enum: []string{"Ignore", "Fail"}},
		"reinvocationPolicy":   text,
		"webhookConfiguration": object(map[string]*field{"timeoutSeconds": integer}),
		"autogen": object(map[string]*field{
			"podControllers": object(map[string]*field{"controllers": texts}), "mutatingAdmissionPolicy": enabled,
		}),
		"evaluation": object(map[string]*field{
			"admission": enabled, "background": enabled, "mutateExisting": enabled, "mode": text,
			"skipBackgroundRequests": boolean, "useServerSideApply": boolean,
		}),
	})
	exception := object(map[string]*field{
		"policyRefs":      list(object(map[string]*field{"name": text, "kind": text}, "kind", "name")),
		"matchConditions": list(named),
		"images":          texts,
		"allowedValues":   texts,
		"reportResult":    {typ: "string", enum: []string{"skip", "pass"}},
		"expiresAt":       {typ: "string", dateTime: true},
		"properties":      {typ: "object", values: text},
		"evaluationMode":  text,
	}, "policyRefs")
	return whole(spec), whole(exception)
}

// whole returns the fields of an object with a spec.
func whole(spec *field) *field {
	return object(map[string]*field{"apiVersion": text, "kind": text, "metadata": {typ: "object", values: anything}, "spec": spec, "status": anything}, "spec")
}

// elsewhere has advice about fields that belong to other kinds of policies.
var elsewhere = map[string]string{
	"paramKind":         "a MutatingPolicy has no params: read the object with resource.Get",
	"paramRef":          "a MutatingPolicy has no params: read the object with resource.Get",
	"rules":             "rules are for ClusterPolicies; preadmit convert --to MutatingPolicy converts them",
	"validations":       "validations are for ValidatingPolicies",
	"generate":          "generations are for GeneratingPolicies",
	"matchResources":    "the field is matchConstraints",
	"preconditions":     "the field is matchConditions, with expressions in CEL",
	"validationActions": "validations are for ValidatingPolicies",
}

// check reports the errors of a server about the value at n, in the server's words.
func (f *field) check(r *policydoc.Reader, n policy.Node) {
	if f.typ == "" || n.Value == nil {
		return
	}
	if typ := typeOf(n.Value); typ != f.typ {
		in := strings.TrimPrefix(n.Path.String(), ".")
		r.Invalid(n, "Invalid value: %q: %s in body must be of type %s: %q", typ, in, f.typ, typ)
		return
	}
	switch f.typ {
	case "object":
		f.checkFields(r, n)
	case "array":
		f.checkItems(r, n)
	case "string":
		if f.enum != nil && !slices.Contains(f.enum, n.Text()) {
			r.Unsupported(n, f.enum...)
		}
		if _, err := time.Parse(time.RFC3339, n.Text()); f.dateTime && err != nil {
			r.Invalid(n, "Invalid value: %q: %s in body must be of type date-time: %q", n.Text(), n.Path, n.Text())
		}
	}
}

func (f *field) checkFields(r *policydoc.Reader, n policy.Node) {
	fields := n.Object()
	for _, name := range f.required {
		if fields[name] == nil {
			r.Required(n.At(name), "")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		child := f.fields[name]
		if child == nil {
			child = f.values
		}
		if child == nil {
			r.Advise(n.Path.Key(name), "policy-field-unknown", fmt.Sprintf("unknown field %q", n.Path.Key(name)), f.advice(name))
			continue
		}
		child.check(r, n.At(name))
	}
}

// advice says what to use in place of a field.
func (f *field) advice(name string) string {
	if advice := elsewhere[name]; advice != "" {
		return advice
	}
	return "expected " + strings.Join(slices.Sorted(maps.Keys(f.fields)), ", ")
}

func (f *field) checkItems(r *policydoc.Reader, n policy.Node) {
	seen := map[string]bool{}
	for _, item := range n.Items() {
		f.items.check(r, item)
		key := item.At(f.key)
		if f.key == "" || !key.Given() {
			continue
		}
		if seen[key.Text()] {
			r.Invalid(item, "Duplicate value: %s", manifest.JSON(map[string]any{f.key: key.Value}))
		}
		seen[key.Text()] = true
	}
}

// typeOf returns the JSON Schema type of a value.
func typeOf(value any) string {
	switch value := value.(type) {
	case map[string]any:
		return "object"
	case []any:
		return "array"
	case string:
		return "string"
	case bool:
		return "boolean"
	case float64:
		if value == float64(int64(value)) {
			return "integer"
		}
		return "number"
	case int64:
		return "integer"
	}
	return strconv.Quote(fmt.Sprint(value))
}
