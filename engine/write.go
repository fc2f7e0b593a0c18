package engine

import (
	"slices"

	"github.com/preadmit/preadmit/engine/admission"
	"github.com/preadmit/preadmit/engine/change"
)

// record notes what a step wrote and carries it over to the manifest. before is the
// view before the step, written what the step made of it; what defaulting adds to that
// is not an edit.
func (t *target) record(before, written map[string]any, by Change) {
	for _, c := range change.Diff(before, written, t.kind.Type()) {
		by.Change, by.Fate = c, Written
		if admission.ServerOwned(t.kind, c.Path) {
			by.Fate = Dropped
		}
		t.Changes = append(t.Changes, by)
	}
	t.edited = admission.Unview(t.kind, t.edited, before, written)
}

// maxRounds bounds how often defaults are pinned before the whole view is written. One
// pinned default may shift another, but not many times.
const maxRounds = 8

// settle closes the loop: the view of the edited manifest must be the mutated view.
// Where it is not, a default has shifted, and the value is written, too.
func (r *run) settle(t *target) {
	for round := range maxRounds + 2 {
		view, err := r.view(t.place, t.edited)
		if err != nil {
			r.internal(t, "the result is not a valid object: %v", err)
			return
		}
		differences := r.differences(t, view)
		switch {
		case len(differences) == 0:
			return
		case round < maxRounds:
			for _, c := range differences {
				t.Changes = append(t.Changes, Change{Change: c, Fate: Pinned})
			}
			t.edited = admission.Unview(t.kind, t.edited, view, t.After)
		case round == maxRounds:
			t.edited = change.CloneObject(t.After)
		default:
			r.internal(t, "the result is not what admission made of the manifest: %s differs", differences[0].Path)
		}
	}
}

// differences are the changes that lead from the view of the edited manifest to the
// mutated view, but for fields that the server sets itself.
func (r *run) differences(t *target, view map[string]any) []change.Change {
	return slices.DeleteFunc(change.Diff(view, t.After, t.kind.Type()), func(c change.Change) bool {
		return admission.ServerOwned(t.kind, c.Path)
	})
}
