package policydoc

import (
	"fmt"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/celenv/syntax"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// proposing returns a diagnostic about a missing value with fixes that write a value. Each of the supported values
// would do, or else what is usual.
func (r *Reader) proposing(d source.Diagnostic, path change.Path, supported ...string) source.Diagnostic {
	values := r.usual(path)
	if len(values) == 0 {
		for _, value := range supported {
			values = append(values, value)
		}
	}
	for _, value := range values {
		d = r.Document.Put(d, path, value)
	}
	return d
}

// usual returns values for a missing field. They are right whatever the policy is for.
func (r *Reader) usual(path change.Path) []any {
	item := len(path) - 2 // the index of the item that has the field
	list := ""
	if item > 0 && path[item].IsIndex() {
		list = path[item-1].Key
	}
	switch field := path[len(path)-1].Key; {
	case field == "name" && list == "variables":
		if values := r.undeclared(path[:item]); len(values) > 0 {
			return values
		}
		return []any{fmt.Sprintf("variable%d", path[item].Index+1)}
	case field == "name" && names[list] != "":
		return []any{fmt.Sprintf(names[list], path[item].Index+1)}
	case field == "kind" && list == "subjects":
		return []any{"User", "Group", "ServiceAccount"}
	case field == "operator" && list == "matchExpressions":
		return r.selectorOperators(path[:item+1])
	case field == "patchType":
		return r.patchTypes(path[:item+1])
	default:
		return usualValues[field]
	}
}

// names are the names of items that are named only for messages and other parts of their policy, by their list.
var names = map[string]string{"rules": "rule-%d", "matchConditions": "condition-%d"}

// usualValues are values of fields, by their names.
var usualValues = map[string][]any{
	"apiVersions":             {[]any{"v1"}, []any{"*"}},
	"operations":              {[]any{"CREATE"}, []any{"CREATE", "UPDATE"}},
	"validationActions":       {[]any{"Deny"}, []any{"Warn"}, []any{"Audit"}},
	"sideEffects":             {"None", "NoneOnDryRun"},
	"admissionReviewVersions": {[]any{"v1"}},
}

// undeclared returns the names of variables that expressions read, but that the list at a path does not declare.
func (r *Reader) undeclared(variables change.Path) (names []any) {
	var declared []any
	list, _ := variables.Get(r.Root.Value)
	for _, v := range (policy.Node{Value: list}).Items() {
		declared = append(declared, v.At("name").Value)
	}
	eachText(r.Root, func(text string) {
		parts := syntax.Parts(text)
		word := func(i int) string { return text[parts[i].Start:parts[i].End] }
		for i := 2; i < len(parts); i++ {
			name, isRead := any(word(i)), word(i-2) == "variables" && word(i-1) == "."
			if isRead && !slices.Contains(declared, name) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	})
	return names
}

// eachText calls f with every expression of CEL in a value.
func eachText(n policy.Node, f func(text string)) {
	if key := n.Key(); key == "expression" || strings.HasSuffix(key, "Expression") {
		f(n.Text())
	}
	for _, below := range n.Below() {
		eachText(below, f)
	}
}

// selectorOperators returns the operators that the requirement of a selector at a path can have.
func (r *Reader) selectorOperators(requirement change.Path) []any {
	if values, _ := requirement.Key("values").Get(r.Root.Value); values != nil {
		return []any{"In", "NotIn"}
	}
	return []any{"Exists", "DoesNotExist"}
}

// patchTypes returns the types that the mutation at a path can have: that of its patch, if it has only one.
func (r *Reader) patchTypes(mutation change.Path) (types []any) {
	found, _ := mutation.Get(r.Root.Value)
	of := policy.Node{Value: found}
	hasApply, hasPatch := of.Has("applyConfiguration"), of.Has("jsonPatch")
	if hasApply || !hasPatch {
		types = append(types, "ApplyConfiguration")
	}
	if hasPatch || !hasApply {
		types = append(types, "JSONPatch")
	}
	return types
}
