// Package change describes differences of objects. A Path leads to a value in an object, a
// Change alters the value there, Diff finds the changes between two objects, and Apply makes
// them. It imports no other package of the module.
//
// Objects are what a manifest decodes to: map[string]any, []any, string, int64, float64, bool
// and nil. Nothing else may occur. Objects share maps and lists. To change an object, copy the
// maps and lists on the way to the change and share the rest; never modify a map or list that
// something else may hold. Then the same map or list means that nothing in it has changed:
// Equal and Diff do not look into it, and a Memo remembers what is known of it.
//
// Laws:
//
//	Apply(clone(a), Diff(a, b, s)) is equal to b, for every shape s
//	Diff(a, a, s) is empty
//	the same two objects give the same changes in the same order, whatever they share
//
// The files in order: path.go, change.go (Change, Summary, Apply), value.go (Equal, Same, Clone),
// diff.go (Shape, Diff), memo.go (Memo), and memo_reference.go, which replaces it under the
// build tag reference.
package change

import (
	"fmt"
	"strings"
)

// Op says what a Change does.
type Op string

// The operations. Lists change item by item: an item is inserted, taken out,
// changed in place or moved within its list.
const (
	Add     Op = "add"
	Remove  Op = "remove"
	Replace Op = "replace"
	Move    Op = "move"
)

// Change alters one value of an object. A sequence of changes is carried out in
// order: the indexes in a path are those after the changes before it.
type Change struct {
	// Path leads to the value: to the key or index that Add creates, that Remove
	// takes away or Replace overwrites, or at which Move leaves the item.
	Path Path
	Op   Op
	// From is the index in the same list that Move takes the item from.
	From int
	// Old is the value before (Remove, Replace), New the value after (Add,
	// Replace). A moved item is in neither.
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

// Summary says in one clause that values differ: where the first changes are, and how many
// more there are.
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

// Apply carries out changes on object, which is modified in place; values are
// copied in. A map that is missing on the way to an added or replaced value is
// made. The error names a path that leads nowhere, and the changes before it have
// been carried out.
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

// apply carries out c on the value that rest leads to, and returns the container
// that now is in place of parent (a list may have grown).
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
