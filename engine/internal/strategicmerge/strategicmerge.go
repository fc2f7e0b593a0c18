// Package strategicmerge applies strategic merge patches to objects, by the schema of their
// kind. The result is that of sigs.k8s.io/kustomize/kyaml v0.21.2 (merge2 with new items first),
// which Kyverno uses, with these differences:
//
//   - an unknown directive ($retainKeys, $setElementOrder/…) is an error; kyaml writes it into
//     the object
//   - `$patch: replace` in an item replaces the item; kyaml does not change such an item
//   - an item without its merge key, or one that fits several items, is an error
//   - lists merge by the given schema, not by that of Kubernetes 1.21
//
// Laws:
//
//	Merge modifies neither the object nor the patch
//	Merge(object, {}, t) is object
//	values that the patch does not mention are the same in the result
package strategicmerge

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/schema"
)

// Item is an item of a list in a patch that patches the item at an index of the object's list,
// whatever its keys.
type Item struct {
	Index int
	Patch map[string]any
}

// Error reports a part of a patch that cannot be merged. Its text contains no values.
type Error struct {
	Path change.Path
	Text string
}

// Error implements error.
func (e *Error) Error() string { return e.Path.String() + ": " + e.Text }

const directive = "$patch"

// Merge returns the object with the patch merged into it. t is the type of the object. Values
// that t does not describe merge without a schema: maps by key, lists as a whole. An error is an
// *Error.
func Merge(object, patch map[string]any, t *schema.Type) (map[string]any, error) {
	merged, keep, err := mergeMap(object, patch, t, nil)
	if err == nil && !keep {
		err = &Error{nil, "a patch must not delete the whole object"}
	}
	return merged, err
}

// mergeMap merges maps. keep is false if the patch deletes the map.
func mergeMap(object, patch map[string]any, t *schema.Type, path change.Path) (merged map[string]any, keep bool, err error) {
	switch how := patch[directive]; how {
	case nil, "merge":
		merged = maps.Clone(object)
	case "replace":
	case "delete":
		return nil, false, nil
	default:
		return nil, false, &Error{path.Key(directive), "expected merge, replace or delete"}
	}
	if merged == nil {
		merged = map[string]any{}
	}
	for _, key := range slices.Sorted(maps.Keys(patch)) {
		if key == directive {
			continue
		}
		if strings.HasPrefix(key, "$") {
			return nil, false, &Error{path.Key(key), "this directive is not known; expected $patch"}
		}
		if patch[key] == nil {
			delete(merged, key)
			continue
		}
		value, keep, err := mergeValue(merged[key], patch[key], t.FieldType(key), path.Key(key))
		if err != nil {
			return nil, false, err
		}
		if keep {
			merged[key] = value
		} else {
			delete(merged, key)
		}
	}
	return merged, true, nil
}

func mergeValue(value, patch any, t *schema.Type, path change.Path) (merged any, keep bool, err error) {
	if value != nil && shapeOf(value) != shapeOf(patch) {
		return nil, false, &Error{path, fmt.Sprintf("the object has %s here, the patch %s", shapeOf(value), shapeOf(patch))}
	}
	switch patch := patch.(type) {
	case map[string]any:
		object, _ := value.(map[string]any)
		return nonNil(mergeMap(object, patch, t, path))
	case []any:
		list, _ := value.([]any)
		merged, err := mergeList(list, patch, t, path)
		return merged, true, err
	}
	return patch, true, nil
}

// nonNil converts the results of mergeMap to those of mergeValue.
func nonNil(merged map[string]any, keep bool, err error) (any, bool, error) {
	return merged, keep, err
}

func shapeOf(value any) string {
	switch value.(type) {
	case map[string]any, Item:
		return "a map"
	case []any:
		return "a list"
	}
	return "a single value"
}

// mergeList merges lists: by key if the schema has a key, by union if the schema says so for
// scalars. Otherwise the patch's list replaces the other.
func mergeList(list, patch []any, t *schema.Type, path change.Path) ([]any, error) {
	rest, replaces := withoutReplace(patch)
	targeted := slices.ContainsFunc(patch, func(item any) bool { _, ok := item.(Item); return ok })
	merges := t != nil && slices.Contains(strings.Split(t.Strategy, ","), "merge")
	keyed := merges && t.MergeKey != ""
	switch {
	case replaces:
		list, keyed = nil, false
	case merges && !keyed && !targeted:
		return union(list, rest), nil
	case !keyed && !targeted:
		list = nil
	}
	m := listMerger{items: slices.Clone(list), item: t.ItemType(), path: path}
	if keyed {
		m.keys = keysOf(t)
	}
	for i, patchItem := range rest {
		if err := m.merge(patchItem, path.Index(i)); err != nil {
			return nil, err
		}
	}
	return m.result(), nil
}

// withoutReplace removes `- $patch: replace` from a list. That directive means that the other
// items are the whole new list.
func withoutReplace(patch []any) (rest []any, found bool) {
	for _, item := range patch {
		if object, ok := item.(map[string]any); ok && len(object) == 1 && object[directive] == "replace" {
			found = true
			continue
		}
		rest = append(rest, item)
	}
	return rest, found
}

// keysOf returns the fields that identify items; the merge key comes first.
func keysOf(t *schema.Type) []string {
	keys := []string{t.MergeKey}
	if slices.Contains(t.ListKeys, t.MergeKey) {
		for _, key := range t.ListKeys {
			if key != t.MergeKey {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// union returns the items of the patch, followed by the other items of the list.
func union(list, patch []any) []any {
	result := []any{}
	for _, item := range slices.Concat(patch, list) {
		if !slices.ContainsFunc(result, func(other any) bool { return change.Equal(item, other) }) {
			result = append(result, item)
		}
	}
	return result
}

// listMerger merges the items of a patch into a list.
type listMerger struct {
	items []any
	item  *schema.Type
	// keys is empty for a list that does not merge by key: its items keep their places, and the
	// items of the patch follow them.
	keys []string
	path change.Path
	// touched are the indexes of patched and new items in the order of the patch; deleted are
	// the indexes of deleted items.
	touched []int
	deleted []int
}

func (m *listMerger) merge(patch any, path change.Path) error {
	index := -1
	object, ok := patch.(map[string]any)
	if item, targeted := patch.(Item); targeted {
		index, object = item.Index, item.Patch
	} else if ok && len(m.keys) > 0 {
		var err error
		if index, err = m.find(object, path); err != nil {
			return err
		}
	} else if len(m.keys) > 0 {
		return &Error{path, "the items of this list are maps"}
	}
	if index < 0 {
		index = len(m.items)
		m.items = append(m.items, nil)
	}
	value, keep, err := any(nil), true, error(nil)
	if object != nil {
		value, keep, err = mergeValue(m.items[index], object, m.item, path)
	} else {
		value = patch
	}
	if err != nil {
		return err
	}
	m.items[index] = value
	if !keep {
		m.deleted = append(m.deleted, index)
	}
	if !slices.Contains(m.touched, index) {
		m.touched = append(m.touched, index)
	}
	return nil
}

// find returns the index of the item that has the keys of a patch, or -1.
func (m *listMerger) find(patch map[string]any, path change.Path) (int, error) {
	if patch[m.keys[0]] == nil {
		return 0, &Error{path, fmt.Sprintf("the item has no %q, by which the items of this list are told apart", m.keys[0])}
	}
	best, bestScore, ties := -1, -1, 0
	for i, item := range m.items {
		object, _ := item.(map[string]any)
		score := m.score(object, patch)
		if score < 0 || slices.Contains(m.deleted, i) {
			continue
		}
		switch {
		case score > bestScore:
			best, bestScore, ties = i, score, 1
		case score == bestScore:
			ties++
		}
	}
	if ties > 1 && bestScore < len(m.keys) {
		return 0, &Error{path, fmt.Sprintf("the item fits %d items of the list; give it the keys %s", ties, strings.Join(m.keys, ", "))}
	}
	return best, nil
}

// score counts the keys in which an item and a patch agree; it is negative if they
// differ in one. A key that one of them lacks does not count.
func (m *listMerger) score(object, patch map[string]any) int {
	score := 0
	for i, key := range m.keys {
		a, b := object[key], patch[key]
		switch {
		case a == nil && b == nil, change.Equal(a, b):
			score++
		case i == 0 || a != nil && b != nil:
			return -1
		}
	}
	return score
}

// result returns the list. In a list that merges by key, patched and new items come first.
func (m *listMerger) result() []any {
	order := make([]int, 0, len(m.items))
	if len(m.keys) > 0 {
		order = append(order, m.touched...)
	}
	for i := range m.items {
		if !slices.Contains(order, i) {
			order = append(order, i)
		}
	}
	result := []any{}
	for _, i := range order {
		if !slices.Contains(m.deleted, i) {
			result = append(result, m.items[i])
		}
	}
	return result
}
