package kyverno

import (
	"errors"
	"maps"
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/schema"
)

// overlay applies an overlay, the form of patches before Kyverno 1.5, as Kyverno 1.1 did: it
// checks all conditions first, and then merges everything else into the object.
func overlay(object map[string]any, value any, t *schema.Type) (patched map[string]any, reason string, err error) {
	pattern, ok := value.(map[string]any)
	if !ok {
		return nil, "", errors.New("the overlay is not a map")
	}
	if failed := meets(object, pattern, nil); failed != nil {
		return nil, failed.String(), nil
	}
	patched, _ = lay(object, pattern, t).(map[string]any)
	return patched, "", nil
}

// meets checks the conditions of an overlay. In a list, the conditions of an overlay item hold
// if one item of the object meets them.
func meets(value, pattern any, path change.Path) *unmet {
	switch pattern := pattern.(type) {
	case map[string]any:
		object, _ := value.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(pattern)) {
			_, bare := ParseAnchor(key)
			member, present := object[bare]
			if !isConditionKey(key) {
				if failed := meets(member, pattern[key], path.Key(bare)); failed != nil {
					return failed
				}
			} else if !present {
				return &unmet{mismatch: mismatch{path: path.Key(bare), text: "is missing"}, anchor: key}
			} else if m := matchPattern(member, pattern[key], path.Key(bare)); m != nil {
				return &unmet{mismatch: *m, anchor: key}
			}
		}
	case []any:
		list, _ := value.([]any)
		for _, item := range pattern {
			if !hasAnchor(item, func(a Anchor) bool { return a == Condition }) {
				continue
			}
			if !slices.ContainsFunc(list, func(other any) bool { return meets(other, item, path) == nil }) {
				return &unmet{mismatch: mismatch{path: path, text: "has no item that fulfils the conditions"}, anchor: "in the list"}
			}
		}
	}
	return nil
}

// lay merges an overlay whose conditions hold into a value.
func lay(value, pattern any, t *schema.Type) any {
	switch pattern := pattern.(type) {
	case map[string]any:
		object, _ := value.(map[string]any)
		result := maps.Clone(object)
		if result == nil {
			result = map[string]any{}
		}
		for key, below := range pattern {
			a, bare := ParseAnchor(key)
			_, present := object[bare]
			if a == Condition || a == Add && present {
				continue
			}
			result[bare] = lay(object[bare], below, t.FieldType(bare))
		}
		return result
	case []any:
		list, _ := value.([]any)
		return layList(list, pattern, t)
	}
	return pattern
}

// layList merges the items of an overlay into a list. An item with anchors merges into every
// item that meets its conditions. An item that consists only of lists, and so identifies no
// item, merges into all items. Any other item merges into the item with the same key. Items that
// are missing from the list are added at its end.
func layList(list, pattern []any, t *schema.Type) []any {
	result := slices.Clone(list)
	for _, item := range pattern {
		object, isMap := item.(map[string]any)
		selects := func(other any) bool { return change.Equal(other, item) }
		switch {
		case isMap && HasAnchors(object):
			selects = func(other any) bool { return meets(other, object, nil) == nil }
		case isMap && consistsOfLists(object) && len(list) > 0:
			selects = func(any) bool { return true }
		case isMap && t != nil && t.MergeKey != "" && object[t.MergeKey] != nil:
			selects = func(other any) bool {
				o, _ := other.(map[string]any)
				return change.Equal(o[t.MergeKey], object[t.MergeKey])
			}
		case isMap:
			selects = func(other any) bool { return change.Equal(lay(other, object, t.ItemType()), other) }
		}
		found := false
		for i, other := range result[:min(len(list), len(result))] {
			if selects(other) {
				found = true
				result[i] = lay(other, item, t.ItemType())
			}
		}
		if !found && !HasAnchors(item) {
			result = append(result, lay(nil, item, t.ItemType()))
		}
	}
	return result
}

func consistsOfLists(object map[string]any) bool {
	for _, value := range object {
		if _, ok := value.([]any); !ok {
			return false
		}
	}
	return len(object) > 0
}
