package editor

import (
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/lazyregexp"
)

// ItemKind is what a completion is.
type ItemKind int

// The kinds: fields of objects, variables of expressions, functions, and values of fields.
const (
	FieldItem ItemKind = iota
	VariableItem
	FunctionItem
	ValueItem
)

// Item is a completion of the word before the cursor.
type Item struct {
	Kind ItemKind
	Name string
	// Detail is its type or signature, and Doc its documentation.
	Detail, Doc string
}

// Complete returns what can be written at a position of a text: a key, a value, or a part of an
// expression. The word before the position need not be its beginning.
func (s *State) Complete(text string, at source.Position) []Item {
	l, ok := linesAt(text, at)
	if !ok {
		return nil
	}
	if e, ok := l.expressionAt(); ok {
		return s.completeExpression(&l, e)
	}
	if k, ok := l.keyAt(); ok {
		return s.completeKey(k)
	}
	return s.completeValue(&l)
}

// completeKey lists the fields that can be added at a key.
func (s *State) completeKey(k key) []Item {
	var items []Item
	for _, f := range s.Schemas.Fields(k.kind, k.path...) {
		if !slices.Contains(k.siblings, f.Name) {
			items = append(items, Item{Kind: FieldItem, Name: f.Name, Detail: f.Type})
		}
	}
	return items
}

// begun matches a line whose value is being typed: what is before the key, the key, and the value.
var begun = lazyregexp.New(`^( *(?:- +)*)([A-Za-z]+): +(?:\[(?:.*[, ])?)?["']?([A-Za-z0-9./-]*)$`)

// values are the values of fields of policies, by their keys. The schemas of built-in kinds have none.
var values = map[string][]string{
	"failurePolicy":           {"Fail", "Ignore"},
	"matchPolicy":             {"Equivalent", "Exact"},
	"reinvocationPolicy":      {"IfNeeded", "Never"},
	"patchType":               {"ApplyConfiguration", "JSONPatch"},
	"parameterNotFoundAction": {"Allow", "Deny"},
	"operations":              {"CREATE", "UPDATE", "DELETE", "CONNECT"},
	"validationActions":       {"Audit", "Deny", "Warn"},
	"scope":                   {"Cluster", "Namespaced"},
	"imagePullPolicy":         {"Always", "IfNotPresent", "Never"},
	"restartPolicy":           {"Always", "Never", "OnFailure"},
}

// completeValue lists the values of a field.
func (s *State) completeValue(l *lines) []Item {
	match := begun().FindStringSubmatch(l.before)
	if match == nil {
		return nil
	}
	var found []string
	switch name := match[2]; {
	case name == "policyName":
		found = s.policies()
	case name == "kind" && match[1] == "":
		found = s.kinds(kindOf(l.all[l.begin:l.end]).APIVersion())
	case name == "apiVersion" && match[1] == "":
		found = s.apiVersions(kindOf(l.all[l.begin:l.end]).Kind)
	case values[name] != nil:
		found = values[name]
	default:
		if k, ok := l.keyBelow(match[1]); ok && s.Schemas.TypeAt(k.kind, append(k.path, name)...) == "boolean" {
			found = []string{"true", "false"}
		}
	}
	var items []Item
	for _, value := range found {
		items = append(items, Item{Kind: ValueItem, Name: value})
	}
	return items
}

// kinds returns the kinds of an apiVersion; all kinds if that is "".
func (s *State) kinds(apiVersion string) []string {
	var names []string
	for _, k := range s.Schemas.Kinds() {
		if apiVersion == "" || strings.HasPrefix(k.APIVersion(), apiVersion) {
			names = append(names, k.Kind)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// apiVersions returns the apiVersions of a kind; all apiVersions if that is "".
func (s *State) apiVersions(kind string) []string {
	var names []string
	for _, k := range s.Schemas.Kinds() {
		if kind == "" || k.Kind == kind {
			names = append(names, k.APIVersion())
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
