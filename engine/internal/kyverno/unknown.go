package kyverno

import (
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/jmespath"
	"github.com/preadmit/preadmit/engine/internal/unknown"
	"github.com/preadmit/preadmit/engine/internal/wildcard"
)

// This file says what rules do with values that are not known yet: see package unknown.

// observer is told what the rules do with unknown values.
func (e *evaluation) observer() unknown.Observer { return unknown.In(e.request.Context) }

// observe tells what an expression uses of its data, unless it only copies.
func (s *scope) observe(text string, data any) {
	o := s.evaluation.observer()
	if !o.IsActive() {
		return
	}
	n, err := jmespath.Parse(text)
	if err != nil || copies(n) {
		return // Compile reports the error
	}
	for _, root := range rootsOf(n) {
		if value, found := change.Keys(root...).Get(data); found {
			o.Use(value)
		}
	}
}

// observeImages tells that the references of images are parsed.
func (s *scope) observeImages(object map[string]any) {
	pod := PodPath(s.evaluation.request.Kind.Kind.Kind)
	for _, list := range containerLists {
		found, _ := pod.Key(list).Get(object)
		containers, _ := found.([]any)
		for _, item := range containers {
			container, _ := item.(map[string]any)
			s.evaluation.observer().Use(container["image"])
		}
	}
}

// copying are the operations whose result has only copies of scalars. or takes an unknown value for
// one that is not empty.
var copying = []jmespath.Op{
	jmespath.OpField, jmespath.OpSelect, jmespath.OpIndex, jmespath.OpOr, jmespath.OpLiteral, jmespath.OpCurrent, jmespath.OpPipe,
	jmespath.OpProjection, jmespath.OpFlatten, jmespath.OpList, jmespath.OpValues, jmespath.OpHash, jmespath.OpSlice,
}

// copyingFunctions are the functions whose result has the texts of their arguments.
var copyingFunctions = []string{"to_string", "join", "merge", "not_null", "to_array"}

// copies reports whether an expression neither computes anything from a scalar nor decides by one.
func copies(n jmespath.Node) bool {
	isCopy := slices.Contains(copying, n.Op) || n.Op == jmespath.OpCall && slices.Contains(copyingFunctions, n.Name)
	return isCopy && !slices.ContainsFunc(n.Children, func(child jmespath.Node) bool { return !copies(child) })
}

// rootsOf returns the paths of all data that an expression uses.
func rootsOf(n jmespath.Node) [][]string {
	if keys := pathOf(n); keys != nil {
		return [][]string{keys}
	}
	switch n.Op {
	case jmespath.OpLiteral, jmespath.OpReference:
		return nil
	case jmespath.OpCurrent, jmespath.OpOther:
		return [][]string{nil}
	case jmespath.OpSelect, jmespath.OpPipe, jmespath.OpProjection, jmespath.OpFlatten, jmespath.OpValues, jmespath.OpSlice, jmespath.OpFilter:
		return rootsOf(n.Children[0]) // the others select from it
	}
	var roots [][]string
	for _, child := range n.Children {
		roots = append(roots, rootsOf(child)...)
	}
	return roots
}

// pathOf returns the keys of a path of fields; nil for another expression.
func pathOf(n jmespath.Node) []string {
	switch {
	case n.Op == jmespath.OpField:
		return []string{n.Name}
	case n.Op == jmespath.OpSelect && len(n.Children) == 2:
		left, right := pathOf(n.Children[0]), pathOf(n.Children[1])
		if left != nil && right != nil {
			return append(left, right...)
		}
	}
	return nil
}

// comparesUnknown reports whether a pattern compares an unknown value.
func comparesUnknown(value, pattern any, o unknown.Observer) bool {
	switch pattern := pattern.(type) {
	case map[string]any:
		object, _ := value.(map[string]any)
		for key, below := range pattern {
			_, bare := ParseAnchor(key)
			for name, member := range object {
				if wildcard.Match(bare, name) && comparesUnknown(member, below, o) {
					return true
				}
			}
		}
		return false
	case []any:
		items, _ := value.([]any)
		return slices.ContainsFunc(items, func(item any) bool {
			return slices.ContainsFunc(pattern, func(below any) bool { return comparesUnknown(item, below, o) })
		})
	}
	return o.Find(value) != nil
}

// named returns the entries of a map whose keys match one of the patterns that are keys of another map.
func named(object any, patterns map[string]any) any {
	members, _ := object.(map[string]any)
	var found []any
	for key, value := range members {
		for pattern := range patterns {
			if wildcard.Match(pattern, key) {
				found = append(found, value)
			}
		}
	}
	return found
}

// requiredLabels returns a map with the labels that a selector names.
func requiredLabels(selector map[string]any) map[string]any {
	keys := map[string]any{}
	required, _ := selector["matchLabels"].(map[string]any)
	for key := range required {
		keys[key] = nil
	}
	expressions, _ := selector["matchExpressions"].([]any)
	for _, item := range expressions {
		expression, _ := item.(map[string]any)
		if key, ok := expression["key"].(string); ok {
			keys[key] = nil
		}
	}
	return keys
}
