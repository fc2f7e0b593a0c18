package strategicmerge

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/preadmit/preadmit/engine/change"
)

// merger merges immutable values. It copies only what a patch changes, so a patch that changes
// nothing costs as much as its own size.
type merger struct{ memo *change.Memo }

// mergeMap merges a patch that has no directives into an object. It is not ok if a list that
// merges by key, in the object or in the patch, has an item without a key, or two items with the
// same keys; or if the patch does not fit the object.
func (m merger) mergeMap(object, patch map[string]any, t list) (merged map[string]any, ok bool) {
	if !m.isPlain(object, patch, t) {
		return nil, false
	}
	merged = object
	write := func() map[string]any {
		if merged == nil {
			merged = map[string]any{}
		} else if change.Same(merged, object) {
			merged = maps.Clone(object)
		}
		return merged
	}
	if object == nil {
		write()
	}
	for key, value := range patch {
		before, present := object[key]
		if value == nil {
			if present {
				delete(write(), key)
			}
			continue
		}
		after, ok := m.mergeValue(before, value, t.at(key))
		if !ok {
			return nil, false
		}
		if !present || !change.Same(before, after) {
			write()[key] = after
		}
	}
	if t.typ == nil && isKnown(merged) {
		return nil, false
	}
	m.memo.Note(t.stays(), merged, 1) // like the parts of the object and the patch
	return merged, true
}

// isPlain reports whether the maps are of the type, and what the patch does not name stays the same.
func (m merger) isPlain(object, patch map[string]any, t list) bool {
	if has(patch, directive) || has(patch, "") || t.typ == nil && isKnown(patch) {
		return false
	}
	return object == nil || m.mapStays(object, t) || m.restStays(object, patch, t)
}

// restStays reports whether kyaml leaves the fields of a map as they are that a patch does not have.
func (m merger) restStays(object, patch map[string]any, t list) bool {
	if has(object, "") || t.typ == nil && isKnown(object) {
		return false // an object inside an object has its own schema
	}
	for key, value := range object {
		if change.IsCollection(value) && !has(patch, key) && !m.staysSame(value, t.at(key)) {
			return false
		}
	}
	return true
}

func has(object map[string]any, key string) bool {
	_, found := object[key]
	return found
}

func (m merger) mergeValue(value, patch any, t list) (merged any, ok bool) {
	switch patch := patch.(type) {
	case map[string]any:
		object, isMap := value.(map[string]any)
		if !isMap && value != nil {
			return nil, false
		}
		return m.mergeMap(object, patch, t)
	case []any:
		items, isList := value.([]any)
		keys, isKeyed := t.keys()
		switch {
		case !isList && value != nil:
			return nil, false
		case isKeyed:
			return m.mergeList(items, patch, keys, t)
		case isList && change.Equal(value, patch):
			return value, true
		}
		return patch, true
	}
	if _, isText := value.(string); isText {
		return quoted(patch), true
	}
	return patch, !change.IsCollection(value)
}

// quoted returns the value that a scalar of the patch becomes in place of a text: kyaml keeps the
// quotes of the text, so that a number or boolean becomes a text.
func quoted(scalar any) any {
	if _, isText := scalar.(string); isText {
		return scalar
	}
	return textOf(scalar)
}

// mergeList merges lists with keys. New items come first, in the order of the patch. In a list
// with one key, items that the patch mentions come with them.
func (m merger) mergeList(items, patch []any, keys []string, t list) (merged []any, ok bool) {
	places, areItems := identify(items, keys)
	patched, arePatches := identify(patch, keys)
	if !areItems || !arePatches {
		return nil, false
	}
	rest := items
	merged = make([]any, 0, len(items)+len(patch))
	for i, item := range patch {
		place := places.find(patched.keys[i])
		value := item
		if len(keys) > 0 {
			if value, ok = m.mergeValue(at(items, place), item, t.item()); !ok {
				return nil, false
			}
		}
		if place >= 0 && len(keys) > 1 {
			if change.Same(rest, items) {
				rest = slices.Clone(items)
			}
			rest[place] = value
		} else {
			merged = append(merged, value)
		}
	}
	for i, item := range items {
		isPatched := patched.find(places.keys[i]) >= 0
		if !isPatched && len(keys) > 0 && !m.staysSame(item, t.item()) {
			return nil, false
		}
		if !isPatched || len(keys) > 1 {
			merged = append(merged, rest[i])
		}
	}
	if items != nil && slices.EqualFunc(merged, items, change.Same) {
		return items, true
	}
	return merged, true
}

// at returns the item at an index, or nil for -1.
func at(items []any, place int) any {
	if place < 0 {
		return nil
	}
	return items[place]
}

// places are the indexes of items by their keys.
type places struct {
	keys []string
	// index is nil if there are few items.
	index map[string]int
}

// few is the number of keys that are compared faster than they are hashed.
const few = 8

// identify returns the indexes of items by their keys. It is not ok if items lack a key, or share
// their keys.
func identify(items []any, keys []string) (found places, ok bool) {
	found.keys = make([]string, 0, len(items))
	if len(items) > few {
		found.index = make(map[string]int, len(items))
	}
	for i, item := range items {
		key := identity(item, keys)
		if key == "" || found.find(key) >= 0 {
			return places{}, false
		}
		if found.keys = append(found.keys, key); found.index != nil {
			found.index[key] = i
		}
	}
	return found, true
}

// find returns the index of the item with some keys, or -1.
func (p places) find(key string) int {
	if p.index == nil {
		return slices.Index(p.keys, key)
	}
	if i, found := p.index[key]; found {
		return i
	}
	return -1
}

// identity returns the keys of an item as one text; "" if it lacks one. Without keys, an item is a
// scalar.
func identity(item any, keys []string) string {
	if len(keys) == 0 {
		return textOf(item)
	}
	object, _ := item.(map[string]any)
	if len(keys) == 1 {
		return textOf(object[keys[0]])
	}
	all := ""
	for _, key := range keys {
		text := textOf(object[key])
		if text == "" {
			return ""
		}
		all += text + "\x00"
	}
	return all
}

// unknown is what a memo remembers about maps without a type: kyaml leaves them as they are.
var unknown change.Fact

// stays is the fact of mapStays about a map of the type.
func (t list) stays() *change.Fact {
	if t.typ == nil {
		return &unknown
	}
	return &t.typ.Facts.Merged
}

// staysSame reports whether kyaml leaves a value as it is that the patch does not mention.
func (m merger) staysSame(value any, t list) bool {
	switch value := value.(type) {
	case map[string]any:
		return m.mapStays(value, t)
	case []any:
		keys, isKeyed := t.keys()
		if !isKeyed {
			return true
		}
		if _, ok := identify(value, keys); !ok {
			return false
		}
		return len(keys) == 0 || !slices.ContainsFunc(value, func(item any) bool { return !m.staysSame(item, t.item()) })
	}
	return true
}

// mapStays is staysSame for a map. Maps of a type are always values of the same field, so what a
// memo remembers does not depend on the field.
func (m merger) mapStays(object map[string]any, t list) bool {
	fact := t.stays()
	if answer, known := m.memo.Recall(fact, object); known {
		return answer == 1
	}
	answer := 0
	if m.restStays(object, nil, t) {
		answer = 1
	}
	m.memo.Note(fact, object, answer)
	return answer == 1
}

// textOf returns the text of a scalar, by which kyaml compares keys; "" for other values.
func textOf(value any) string {
	switch value := value.(type) {
	case string:
		return value
	case int64:
		return strconv.FormatInt(value, 10)
	case map[string]any, []any, nil:
		return ""
	}
	text, err := json.Marshal(value)
	if err != nil {
		return "" // values are JSON
	}
	return string(text)
}
