// Package change describes differences between objects. A Path leads to a value in an object, a
// Change alters that value, Diff finds the changes between two objects, and Apply applies them. It
// imports no other package of the module.
//
// Objects are decoded manifests: map[string]any, []any, string, int64, float64, bool and nil, and
// nothing else. Objects share maps and lists. To change an object, copy the maps and lists on the
// path to the change and share the rest. Never modify a map or list that something else may hold.
// Under this rule, an identical map or list has not changed: Equal and Diff do not look into it,
// and a Memo remembers facts about it.
//
// Laws:
//
//	Apply(clone(a), Diff(a, b, s)) is equal to b, for every shape s
//	Diff(a, a, s) is empty
//	the same two objects give the same changes in the same order, whatever they share
//
// The files in order: path.go, change.go (Change, Summary, Apply), value.go (Equal, Same, Clone),
// set.go (Set), common.go (what two lists have in common), diff.go (Shape, Diff), route.go (After,
// Before), index.go (PathIndex), memo.go (Memo), and memo_reference.go, which replaces memo.go under the build tag reference.
package change

import (
	"fmt"
	"strings"
)

// Op says what a Change does.
type Op string

// The operations. Lists change item by item: an item is inserted, removed, changed in place or
// moved within its list.
const (
	Add     Op = "add"
	Remove  Op = "remove"
	Replace Op = "replace"
	Move    Op = "move"
)

// Change alters one value of an object. Changes are applied in order: the indexes in a path are the
// indexes after the earlier changes.
type Change struct {
	// Path leads to the value: the key or index that Add creates, that Remove removes, that Replace
	// overwrites, or to which Move moves the item.
	Path Path
	Op   Op
	// From is the index in the same list from which Move takes the item.
	From int
	// Old is the value before a Remove or Replace, New the value after an Add or Replace. Move sets
	// neither.
	Old, New any
}

// String prints the change for people: the path and both values.
func (c Change) String() string {
	switch c.Op {
	case Move:
		return fmt.Sprintf("move %s from %d", c.Path, c.From)
	case Add:
		return fmt.Sprintf("add %s: %v", c.Path, c.New)
	case Remove:
		return fmt.Sprintf("remove %s: %v", c.Path, c.Old)
	default:
		return fmt.Sprintf("replace %s: %v -> %v", c.Path, c.Old, c.New)
	}
}

// Summary returns a clause that says which values differ: the paths of the first changes, and the
// number of further changes.
func Summary(changes []Change) string {
	const shown = 3
	var paths []string
	for _, c := range changes[:min(shown, len(changes))] {
		paths = append(paths, c.Path.String())
	}
	text := strings.Join(paths, ", ")
	if len(changes) > shown {
		text += fmt.Sprintf(" and %d more", len(changes)-shown)
	}
	if len(changes) == 1 {
		return text + " is not the same"
	}
	return text + " are not the same"
}

// Apply applies changes to object, which it modifies. Values are copied. Missing maps on the path
// to an added or replaced value are created. The error names the first path that does not exist;
// the changes before that path have been applied.
func Apply(object map[string]any, changes []Change) error {
	for _, c := range changes {
		if len(c.Path) == 0 {
			return fmt.Errorf("a change must not replace the whole object")
		}
		if _, err := apply(object, c.Path, c); err != nil {
			return fmt.Errorf("%s %s: %w", c.Op, c.Path, err)
		}
	}
	return nil
}

// apply applies c to the value at rest in parent. It returns the container that replaces parent,
// because a list may have grown.
func apply(parent any, rest Path, c Change) (any, error) {
	e := rest[0]
	if e.IsIndex() {
		list, ok := parent.([]any)
		if !ok {
			return nil, fmt.Errorf("there is no list to select item %d of", e.Index)
		}
		return applyToList(list, rest, c)
	}
	object, ok := parent.(map[string]any)
	if !ok {
		if parent != nil || c.Op == Remove || c.Op == Move {
			return nil, fmt.Errorf("there is no map to select %q of", e.Key)
		}
		object = map[string]any{}
	}
	if len(rest) > 1 {
		child, err := apply(object[e.Key], rest[1:], c)
		if err != nil {
			return nil, err
		}
		object[e.Key] = child
		return object, nil
	}
	if c.Op == Remove {
		delete(object, e.Key)
	} else {
		object[e.Key] = Clone(c.New)
	}
	return object, nil
}

func applyToList(list []any, rest Path, c Change) (any, error) {
	i := rest[0].Index
	switch limit := len(list); {
	case len(rest) == 1 && c.Op == Add && i > limit, (len(rest) > 1 || c.Op != Add) && i >= limit:
		return nil, fmt.Errorf("the list has %d items, there is no item %d", limit, i)
	case len(rest) == 1 && c.Op == Move && c.From >= limit:
		return nil, fmt.Errorf("the list has %d items, there is no item %d", limit, c.From)
	}
	if len(rest) > 1 {
		child, err := apply(list[i], rest[1:], c)
		if err != nil {
			return nil, err
		}
		list[i] = child
		return list, nil
	}
	switch c.Op {
	case Add:
		list = insert(list, i, Clone(c.New))
	case Remove:
		list = append(list[:i], list[i+1:]...)
	case Replace:
		list[i] = Clone(c.New)
	case Move:
		item := list[c.From]
		list = insert(append(list[:c.From], list[c.From+1:]...), i, item)
	}
	return list, nil
}

func insert(list []any, i int, item any) []any {
	list = append(list, nil)
	copy(list[i+1:], list[i:])
	list[i] = item
	return list
}
