package engine

import (
	"slices"

	"github.com/preadmit/preadmit/engine/admission"
	"github.com/preadmit/preadmit/engine/change"
)

// record notes what a step wrote and carries it over to the manifest. before is the
// view before the step, written what the step made of it.
func (t *target) record(before, written map[string]any, by Change) {
	changes := change.Diff(before, written, t.kind.Type())
	if len(changes) == 0 {
		return
	}
	view := change.CloneObject(before)
	for _, c := range changes {
		by.Change, by.Fate = c, Written
		if admission.ServerOwned(t.kind, c.Path) {
			by.Fate = Dropped
		} else {
			t.write(c, view)
		}
		t.Changes = append(t.Changes, by)
		mustApply(view, c)
	}
}

// write carries a change of the view over to the manifest. The manifest lacks values
// that the server derives: where it does not have what the change is about, it takes
// that over from the view first.
func (t *target) write(c change.Change, view map[string]any) {
	if list := t.otherList(c.Path, view); list != nil {
		value, _ := list.Get(view)
		place(t.edited, list, value)
	}
	if change.Apply(t.edited, []change.Change{c}) == nil {
		return
	}
	parent := c.Path[:len(c.Path)-1]
	value, _ := parent.Get(view)
	place(t.edited, parent, value)
	mustApply(t.edited, c)
}

// otherList returns the path of the first list on the way to a value that has not the
// same number of items in the manifest as in the view; nil if there is none.
func (t *target) otherList(path change.Path, view map[string]any) change.Path {
	for i, e := range path {
		if e.IsIndex() && len(listAt(t.edited, path[:i])) != len(listAt(view, path[:i])) {
			return path[:i]
		}
	}
	return nil
}

func listAt(object map[string]any, path change.Path) []any {
	value, _ := path.Get(object)
	list, _ := value.([]any)
	return list
}

func mustApply(object map[string]any, c change.Change) {
	if err := change.Apply(object, []change.Change{c}); err != nil {
		panic("engine: a change does not fit the object it was found in: " + err.Error())
	}
}

// place puts a value at a path, and maps on the way to it where there are none. Lists
// on the way must be there.
func place(object map[string]any, path change.Path, value any) {
	var at any = object
	for i, e := range path[:len(path)-1] {
		next, _ := path[i : i+1].Get(at)
		if _, isMap := next.(map[string]any); !isMap && !path[i+1].IsIndex() {
			next = map[string]any{}
			at.(map[string]any)[e.Key] = next
		}
		at = next
	}
	if last := path[len(path)-1]; last.IsIndex() {
		at.([]any)[last.Index] = change.Clone(value)
	} else {
		at.(map[string]any)[last.Key] = change.Clone(value)
	}
}

// maxPins bounds how many values are pinned one by one before the whole view is
// written.
const maxPins = 100

// settle closes the loop: the view of the edited manifest must be the mutated view.
// Where it is not, a default has shifted, and the value is written, too.
func (r *run) settle(t *target) {
	for range maxPins {
		view, err := r.view(t.place, t.edited)
		if err != nil {
			r.internal(t, "the result is not a valid object: %v", err)
			return
		}
		differences := r.differences(t, view)
		if len(differences) == 0 {
			return
		}
		t.pin(shallowest(differences))
	}
	t.edited = change.CloneObject(t.After)
	view, err := r.view(t.place, t.edited)
	if err != nil {
		r.internal(t, "the result is not a valid object: %v", err)
		return
	}
	for _, c := range r.differences(t, view) {
		r.internal(t, "the result is not what admission made of the manifest: %s differs", c.Path)
		return
	}
}

// differences are the changes that lead from the view of the edited manifest to the
// mutated view, but for fields that the server sets itself.
func (r *run) differences(t *target, view map[string]any) []change.Change {
	return slices.DeleteFunc(change.Diff(view, t.After, t.kind.Type()), func(c change.Change) bool {
		return admission.ServerOwned(t.kind, c.Path)
	})
}

func shallowest(changes []change.Change) change.Change {
	return slices.MinFunc(changes, func(a, b change.Change) int { return len(a.Path) - len(b.Path) })
}

// pin makes the manifest agree with the mutated view where c says that it does not.
func (t *target) pin(c change.Change) {
	path := c.Path
	if list := t.otherList(path, t.After); list != nil {
		path = list
	} else if path[len(path)-1].IsIndex() {
		path = path[:len(path)-1]
	}
	if value, ok := path.Get(t.After); ok {
		place(t.edited, path, value)
	} else {
		mustApply(t.edited, c)
	}
	t.Changes = append(t.Changes, Change{Change: c, Fate: Pinned})
}
