package mapolicy

import (
	"fmt"
	"maps"
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/schema"
)

// The mark of KEP-3962 for what an ApplyConfiguration removes. A map with only this entry marks
// a field or an entry of a map; a list item that has it besides its keys marks the item.
const (
	unsetKey   = "k8s_io__value"
	unsetValue = "unset"
)

// unset removes the marks from a patch, and the marked values from an object. Neither is
// modified.
func unset(object, patch map[string]any, t *schema.Type) (left, rest map[string]any, err error) {
	return unsetIn(object, patch, t, nil)
}

func unsetIn(object, patch map[string]any, t *schema.Type, at change.Path) (left, rest map[string]any, err error) {
	left, rest = maps.Clone(object), maps.Clone(patch)
	set := func(key string, there bool, after, remaining any, emptied bool) {
		if there {
			left[key] = after
		}
		if rest[key] = remaining; emptied {
			delete(rest, key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(patch)) {
		at := at.Key(key)
		switch value := patch[key].(type) {
		case map[string]any:
			marked, err := isMarked(value, nil, at)
			if err != nil {
				return nil, nil, err
			}
			if marked {
				delete(left, key)
				delete(rest, key)
				continue
			}
			before, there := object[key].(map[string]any)
			after, remaining, err := unsetIn(before, value, t.FieldType(key), at)
			if err != nil {
				return nil, nil, err
			}
			set(key, there, after, remaining, len(remaining) == 0 && len(value) > 0)
		case []any:
			before, there := object[key].([]any)
			after, remaining, err := unsetItems(before, value, t.FieldType(key), at)
			if err != nil {
				return nil, nil, err
			}
			set(key, there, after, remaining, len(remaining) == 0 && len(value) > 0)
		}
	}
	return left, rest, nil
}

// unsetItems removes the marked items from a list of the patch, and the items with their keys
// from the object's list.
func unsetItems(list, patch []any, t *schema.Type, at change.Path) (left, rest []any, err error) {
	left = slices.Clone(list)
	for i, item := range patch {
		at := at.Index(i)
		fields, ok := item.(map[string]any)
		if !ok {
			rest = append(rest, item)
			continue
		}
		keys := t.Keys()
		marked, err := isMarked(fields, keys, at)
		if err != nil {
			return nil, nil, err
		}
		if marked {
			if len(fields) == 1 || len(keys) == 0 {
				return nil, nil, fmt.Errorf("%s: an item can only be unset by the keys of its list", at)
			}
			left = slices.DeleteFunc(left, func(item any) bool { return hasKeys(item, fields, keys) })
			continue
		}
		k := slices.IndexFunc(left, func(item any) bool { return len(keys) > 0 && hasKeys(item, fields, keys) })
		var before map[string]any
		if k >= 0 {
			before, _ = left[k].(map[string]any)
		}
		after, remaining, err := unsetIn(before, fields, t.ItemType(), at)
		if err != nil {
			return nil, nil, err
		}
		if k >= 0 {
			left[k] = after
		}
		rest = append(rest, remaining)
	}
	return left, rest, nil
}

// isMarked reports whether a map of the patch is a mark. A mark may also have the keys of its
// list, but nothing else.
func isMarked(fields map[string]any, keys []string, at change.Path) (bool, error) {
	value, ok := fields[unsetKey]
	if !ok {
		return false, nil
	}
	if value != unsetValue {
		return false, fmt.Errorf("%s: %s must be %q", at, unsetKey, unsetValue)
	}
	for name := range fields {
		if name != unsetKey && !slices.Contains(keys, name) {
			return false, fmt.Errorf("%s: what is unset must not have other fields", at)
		}
	}
	return true, nil
}

// hasKeys reports whether an item has the same keys as fields.
func hasKeys(item any, fields map[string]any, keys []string) bool {
	object, _ := item.(map[string]any)
	for _, key := range keys {
		if want, given := fields[key]; given && !change.Equal(want, object[key]) {
			return false
		}
	}
	return object != nil
}
