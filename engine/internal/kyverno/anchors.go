package kyverno

import (
	"maps"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/strategicmerge"
	"github.com/preadmit/preadmit/engine/internal/wildcard"
	"github.com/preadmit/preadmit/engine/policy"
)

// anchor is the sign before the parentheses around a key, with "" for parentheses without a
// sign.
type anchor string

const (
	noAnchor        anchor = "-"
	conditionAnchor anchor = ""
	globalAnchor    anchor = "<"
	addAnchor       anchor = "+"
	equalityAnchor  anchor = "="
	negationAnchor  anchor = "X"
	existenceAnchor anchor = "^"
)

// parseAnchor splits a key like "+(name)" into its anchor and the bare key.
func parseAnchor(key string) (anchor, string) {
	trimmed := strings.TrimSpace(key)
	open := strings.IndexByte(trimmed, '(')
	if open < 0 || open > 1 || !strings.HasSuffix(trimmed, ")") || len(trimmed) < open+3 {
		return noAnchor, key
	}
	if open == 1 && !strings.ContainsAny(trimmed[:1], "+<=X^") {
		return noAnchor, key
	}
	return anchor(trimmed[:open]), trimmed[open+1 : len(trimmed)-1]
}

// write returns the key with the anchor around it. It reverses parseAnchor.
func (a anchor) write(key string) string {
	if a == noAnchor {
		return key
	}
	return string(a) + "(" + key + ")"
}

// hasAnchor reports whether a key anywhere in a value has one of the anchors.
func hasAnchor(value any, is func(anchor) bool) bool {
	switch value := value.(type) {
	case map[string]any:
		for key, member := range value {
			if a, _ := parseAnchor(key); a != noAnchor && is(a) || hasAnchor(member, is) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(value, func(item any) bool { return hasAnchor(item, is) })
	}
	return false
}

func hasAnchors(value any) bool { return hasAnchor(value, func(anchor) bool { return true }) }

// anchors checks the anchors in a patch. Conditions may have all anchors; a legacy overlay may
// have only conditions and +().
func (r *reader) anchors(n policy.Node, overlay bool) {
	for _, item := range n.Items() {
		r.anchors(item, overlay)
	}
	object := n.Object()
	seen := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		a, bare := parseAnchor(key)
		if other, twice := seen[bare]; twice && a != conditionAnchor && a != globalAnchor && !isConditionKey(other) {
			r.Advise(n.Path.Key(key), "policy-invalid", "the key is in the map twice, as "+other+" and as "+key, "")
		}
		seen[bare] = key
		switch {
		case a == conditionAnchor || a == globalAnchor && !overlay:
			continue // the value is a pattern
		case a != noAnchor && a != addAnchor:
			r.Advise(n.Path.Key(key), "policy-invalid", "the anchor "+string(a)+"( ) means nothing in a patch", "expected ( ), +( ) or, in patchStrategicMerge, <( )")
		}
		r.anchors(n.At(key), overlay)
	}
}

func isConditionKey(key string) bool {
	a, _ := parseAnchor(key)
	return a == conditionAnchor || a == globalAnchor
}

// unmet is a condition that does not hold. A global condition applies to the whole rule,
// wherever it is.
type unmet struct {
	mismatch
	anchor string
	global bool
}

// String implements fmt.Stringer.
func (u *unmet) String() string { return "condition " + u.anchor + ": " + u.mismatch.String() }

// resolve converts a patch with anchors to the patch without anchors for an object. The result
// is empty if there is nothing to change.
func resolve(pattern, object map[string]any) (map[string]any, *unmet) {
	return resolveMap(pattern, object, nil)
}

func resolveMap(pattern, object map[string]any, path change.Path) (map[string]any, *unmet) {
	patch := map[string]any{}
	keys := slices.Sorted(maps.Keys(pattern))
	for _, global := range []bool{true, false} {
		for _, key := range keys {
			a, bare := parseAnchor(key)
			if !isConditionKey(key) || (a == globalAnchor) != global {
				continue
			}
			value, present := object[bare]
			added, m := holdsFor(value, present, pattern[key], path.Key(bare))
			if m != nil {
				return nil, &unmet{*m, key, global}
			}
			if len(added) > 0 {
				patch[bare] = added
			}
		}
	}
	for _, key := range keys {
		a, bare := parseAnchor(key)
		if isConditionKey(key) {
			continue
		}
		value, present := object[bare]
		if a == addAnchor && present {
			continue
		}
		resolved, keep, failed := resolveValue(pattern[key], value, path.Key(bare))
		if failed != nil {
			return nil, failed
		}
		if keep {
			patch[bare] = resolved
		}
	}
	return patch, nil
}

// holdsFor evaluates a condition. If the pattern of a key only adds missing values, the
// condition holds whenever the key is present, and added has these values.
func holdsFor(value any, present bool, pattern any, path change.Path) (added map[string]any, m *mismatch) {
	if !present {
		return nil, &mismatch{path: path, text: "is missing"}
	}
	adding, _ := pattern.(map[string]any)
	for key := range adding {
		if a, _ := parseAnchor(key); a != addAnchor {
			adding = nil
			break
		}
	}
	if len(adding) > 0 {
		object, _ := value.(map[string]any)
		added, _ = resolveMap(adding, object, path)
		return added, nil
	}
	return nil, matchPattern(value, pattern, path)
}

// resolveValue resolves the value of a plain key. keep is false if nothing is left of the value.
func resolveValue(pattern, value any, path change.Path) (resolved any, keep bool, failed *unmet) {
	switch pattern := pattern.(type) {
	case map[string]any:
		object, _ := value.(map[string]any)
		patch, failed := resolveMap(pattern, object, path)
		return patch, len(patch) > 0 || len(pattern) == 0, failed
	case []any:
		if len(pattern) > 0 {
			if _, ok := pattern[0].(map[string]any); ok {
				list, isList := value.([]any)
				patch, failed := resolveList(pattern, list, isList, path)
				return patch, len(patch) > 0, failed
			}
		}
	}
	return pattern, true, nil
}

// resolveList resolves the items of a list. Items without anchors come first. Items with anchors
// become patches of the object's items that meet their conditions.
func resolveList(pattern, list []any, present bool, path change.Path) ([]any, *unmet) {
	var plain, targeted []any
	for _, item := range pattern {
		itemPattern, ok := item.(map[string]any)
		if !ok || !hasAnchors(itemPattern) {
			plain = append(plain, item)
			continue
		}
		patches, failed := resolveItem(itemPattern, list, present, path)
		if failed != nil {
			return nil, failed
		}
		targeted = append(targeted, patches...)
	}
	return append(plain, targeted...), nil
}

// resolveItem resolves an item with anchors for every item of the object's list. A plain name in
// the item selects items, too.
func resolveItem(pattern map[string]any, list []any, present bool, path change.Path) ([]any, *unmet) {
	isGate := hasAnchor(pattern, func(a anchor) bool { return a == globalAnchor })
	if !present {
		_, failed := resolveMap(pattern, nil, path.Index(0))
		if failed != nil && !failed.global {
			failed = nil
		}
		return nil, failed
	}
	var patches []any
	var gate *unmet
	passed := false
	for i, item := range list {
		object, ok := item.(map[string]any)
		if !ok {
			continue
		}
		selected, body := selectsItem(pattern, object)
		if !selected {
			continue
		}
		patch, failed := resolveMap(body, object, path.Index(i))
		switch {
		case failed != nil && failed.global:
			gate = failed
		case failed != nil:
		case isGate:
			passed = true
		case len(patch) > 0:
			patches = append(patches, strategicmerge.Item{Index: i, Patch: patch})
		}
	}
	if !passed && gate != nil {
		return nil, gate
	}
	return patches, nil
}

// selectsItem reports whether a plain name in a pattern matches the name of an item, and returns
// the pattern without that name.
func selectsItem(pattern, item map[string]any) (bool, map[string]any) {
	name, ok := pattern["name"].(string)
	actual, named := item["name"].(string)
	if !ok || !named {
		return true, pattern
	}
	if !wildcard.Match(name, actual) {
		return false, nil
	}
	pattern = maps.Clone(pattern)
	delete(pattern, "name")
	return true, pattern
}
