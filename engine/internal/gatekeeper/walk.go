package gatekeeper

import (
	"errors"
	"fmt"
	"maps"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/source"
)

// walk follows the location of a mutator in an object. The object is not modified: the result
// shares unchanged parts with it.
type walk struct {
	mutator *mutator
	call    *call
	aliases *aliases
	// depth is the depth of the node visited last.
	depth int
	// stopped is the reason why the walk first stopped before the end of the location.
	stopped fmt.Stringer
	// made says that missing parents were created.
	made bool
	// spread says that shared maps changed elsewhere, too.
	spread bool
}

// apply returns the object with the change of a mutator. The result is nil if a path test or an
// empty list stopped the walk on every branch.
func (m *mutator) apply(s *subject, a *aliases) (map[string]any, *walk, error) {
	w := &walk{mutator: m, call: &call{subject: s}, aliases: a}
	if len(m.location) == 0 {
		return nil, w, errors.New("attempting to mutate an empty target location")
	}
	next, mutated, err := w.into(s.object, 0)
	if err != nil || !mutated {
		return nil, w, err
	}
	if w.call.places > 1 {
		a.add(w.call.fresh, m)
	}
	object := a.spread(next.(map[string]any))
	w.spread = !change.Same(object, next)
	return object, w, nil
}

// into changes a value at a depth of the location.
func (w *walk) into(value any, depth int) (next any, mutated bool, err error) {
	w.depth = depth
	if w.mutator.location[depth].list {
		return w.intoList(value, depth)
	}
	n := w.mutator.location[depth]
	object, ok := value.(map[string]any)
	if !ok {
		return nil, false, mismatch("object", value, n)
	}
	object = w.aliases.latest(object)
	field, exists := object[n.name]
	if w.stops(depth, exists) {
		return nil, false, nil
	}
	if depth == len(w.mutator.location)-1 {
		result, keep, err := w.mutator.action.field(w.call, field, exists)
		if err != nil || !keep {
			return object, err == nil, err
		}
		return w.with(object, n.name, result), true, nil
	}
	if !exists {
		field = w.missing(depth)
	}
	result, mutated, err := w.into(field, depth+1)
	if err != nil || !mutated {
		return nil, false, err
	}
	w.made = w.made || !exists
	return w.with(object, n.name, result), true, nil
}

// intoList changes the items of a list that a node selects. If the node names an item that is
// missing, the item is created.
func (w *walk) intoList(value any, depth int) (next any, mutated bool, err error) {
	n := w.mutator.location[depth]
	list, ok := value.([]any)
	if !ok {
		return nil, false, mismatch("List", value, n)
	}
	if depth == len(w.mutator.location)-1 {
		return w.setItem(list, depth)
	}
	if n.glob && w.stops(depth, true) {
		return nil, false, nil
	}
	items, found, mutated, err := w.intoItems(list, depth)
	switch {
	case err != nil || found:
		return items, mutated, err
	case n.glob:
		w.stop(emptyList{w.mutator, depth})
	case !w.stops(depth, false):
		return w.intoNewItem(list, depth)
	}
	return list, false, nil
}

// intoItems continues the walk in the items of a list that the location selects. found reports
// whether there are any.
func (w *walk) intoItems(list []any, depth int) (items []any, found, mutated bool, err error) {
	n := w.mutator.location[depth]
	items = list
	for i, item := range list {
		if object, ok := item.(map[string]any); ok {
			item = w.aliases.latest(object)
		}
		if !n.glob && !w.selects(n, item) {
			continue
		}
		if !found && !n.glob && w.stops(depth, true) {
			return nil, true, false, nil
		}
		found = true
		result, changed, err := w.into(item, depth+1)
		if err != nil {
			return nil, true, false, err
		}
		if changed {
			mutated = true
			items = change.WithItem(list, items, i, result)
		}
	}
	return items, found, mutated, nil
}

// intoNewItem continues the walk in an item that the list does not have.
func (w *walk) intoNewItem(list []any, depth int) (items []any, mutated bool, err error) {
	result, mutated, err := w.into(w.missing(depth), depth+1)
	if err != nil {
		return nil, false, err
	}
	w.made = w.made || mutated
	return append(list[:len(list):len(list)], result), mutated, nil
}

// setItem assigns a whole item: the first item that the last node of the location selects.
func (w *walk) setItem(list []any, depth int) (next any, mutated bool, err error) {
	n := w.mutator.location[depth]
	item, err := w.mutator.action.(*constant).place(w.call)
	if err != nil {
		return nil, false, err
	}
	for i := range list {
		if _, ok := list[i].(map[string]any); !ok {
			return nil, false, fmt.Errorf("cast error, unable to case %s to map[string]interface{}", goType(list[i]))
		}
		if w.selects(n, list[i]) {
			if w.stops(depth, true) {
				return nil, false, nil
			}
			return change.WithItem(list, list, i, item), true, nil
		}
	}
	if w.stops(depth, false) {
		return nil, false, nil
	}
	return append(list[:len(list):len(list)], item), true, nil
}

// selects is the function selects for an item whose key may not be known yet.
func (w *walk) selects(n node, item any) bool {
	object, _ := item.(map[string]any)
	return w.call.subject.observer().Decide(selects(n, item), object[n.name])
}

// selects reports whether a node with a key selects an item.
func selects(n node, item any) bool {
	object, _ := item.(map[string]any)
	key, ok := object[n.name]
	if !ok {
		return false
	}
	switch key.(type) {
	case map[string]any, []any:
		return false
	}
	return key == n.key
}

// with returns an object with a field.
func (w *walk) with(object map[string]any, name string, value any) map[string]any {
	if old, ok := object[name]; ok && change.Same(old, value) {
		return object
	}
	changed := maps.Clone(object)
	changed[name] = value
	w.aliases.move(object, changed)
	return changed
}

// missing returns the value to create where the node at a depth selects nothing: the map or list
// that the next node needs.
func (w *walk) missing(depth int) any {
	if w.mutator.location[depth+1].list {
		return []any{}
	}
	made := map[string]any{}
	if n := w.mutator.location[depth]; n.list {
		made[n.name] = n.key
	}
	return made
}

func mismatch(wanted string, value any, n node) error {
	return fmt.Errorf("mismatch between path entry (type: %s) and received object (type: %s). Path: %s", wanted, goType(value), n)
}

// stops reports whether a path test stops the walk at a depth.
func (w *walk) stops(depth int, exists bool) bool {
	test, failed := w.mutator.tests.failing(depth, exists)
	if failed {
		w.stop(failedTest{w.mutator, test, depth, exists})
	}
	return failed
}

func (w *walk) stop(reason fmt.Stringer) {
	if w.stopped == nil {
		w.stopped = reason
	}
}

// failedTest is a path test that fails for the node at a depth.
type failedTest struct {
	mutator *mutator
	test    pathTest
	depth   int
	exists  bool
}

// String implements fmt.Stringer.
func (f failedTest) String() string {
	path := f.mutator.location[:f.depth+1].String()
	switch {
	case f.mutator.kind == assignMetadataKind:
		return path + " exists already, and an AssignMetadata only adds"
	case f.test.condition == "":
		return fmt.Sprintf("%s has no condition, so it never holds", f.test)
	case f.mutator.location[f.depth].glob:
		return fmt.Sprintf("%s requires %s not to exist, but the items of a list always count as existing", f.test, path)
	case f.exists:
		return fmt.Sprintf("%s requires %s not to exist, but it does", f.test, path)
	}
	return fmt.Sprintf("%s requires %s to exist, but it does not", f.test, path)
}

// emptyList is an empty list at the node at a depth.
type emptyList struct {
	mutator *mutator
	depth   int
}

// String implements fmt.Stringer.
func (e emptyList) String() string {
	return "there are no items in " + e.mutator.location[:e.depth].String()
}

// where returns the position in the document of the reason why a walk stopped.
func where(reason fmt.Stringer) source.Position {
	switch reason := reason.(type) {
	case failedTest:
		if reason.mutator.kind != assignMetadataKind {
			return reason.mutator.document.At(reason.test.at.Path)
		}
		return reason.mutator.node(reason.depth)
	case emptyList:
		return reason.mutator.node(reason.depth)
	}
	return source.Position{}
}
