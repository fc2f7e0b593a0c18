package engine

import (
	"github.com/preadmit/preadmit/engine/admission"
	"github.com/preadmit/preadmit/engine/change"
)

// record notes what a step wrote and carries it over to the manifest. before is the
// view before the step, written what the step made of it; what defaulting adds to that
// is not an edit.
func (t *target) record(before, written map[string]any, by Change) {
	if change.Equal(before, written) {
		return
	}
	for _, c := range change.Diff(before, written, t.kind.Type()) {
		by.Change, by.Fate = c, Written
		if admission.ServerOwned(t.kind, c.Path) {
			by.Fate = Dropped
		}
		t.Changes = append(t.Changes, by)
	}
	t.edited = admission.Unview(t.kind, t.edited, before, written)
}

// lose takes out of the manifest what a policy wrote and the server drops. What the
// manifest had before stays, as the policy has left it: the server drops that itself.
func (t *target) lose(before, after map[string]any) {
	var lost []change.Change
	for _, c := range change.Diff(before, after, t.kind.Type()) {
		if _, had := c.Path.Get(t.raw); c.Op == change.Remove && !had {
			lost = append(lost, c)
		}
	}
	if len(lost) == 0 {
		return
	}
	rest := change.CloneObject(before)
	if err := change.Apply(rest, lost); err != nil {
		return // what else changed moved what is lost: pinning will see to it
	}
	for _, l := range lost {
		lost = append(lost, t.dropEmptied(rest, l.Path)...)
	}
	t.edited = admission.Unview(t.kind, t.edited, before, rest)
	for i, c := range t.Changes {
		for _, l := range lost {
			if c.Path.HasPrefix(l.Path) {
				t.Changes[i].Fate = Dropped
			}
		}
	}
}

// dropEmptied takes the maps out of an object that are empty since what was at a path is
// lost, and that the manifest did not have.
func (t *target) dropEmptied(object map[string]any, path change.Path) (dropped []change.Change) {
	for path = path[:len(path)-1]; len(path) > 0; path = path[:len(path)-1] {
		value, _ := path.Get(object)
		inside, isMap := value.(map[string]any)
		if _, had := path.Get(t.raw); had || !isMap || len(inside) > 0 || path[len(path)-1].IsIndex() {
			break
		}
		c := change.Change{Op: change.Remove, Path: path, Old: value}
		if change.Apply(object, []change.Change{c}) != nil {
			break
		}
		dropped = append(dropped, c)
	}
	return dropped
}

// settle closes the loop: the view of the edited manifest must be the mutated view.
// Where a default has shifted, the value is written, too.
func (r *run) settle(t *target) {
	if r.settings.Defaulting == "off" {
		return
	}
	pinned, err := admission.Pin(t.kind, t.raw, t.edited, t.namespace, t.After)
	if err != nil {
		r.internal(t, "the result is not what admission made of the manifest: %v", err)
		return
	}
	for _, c := range change.Diff(t.edited, pinned, t.kind.Type()) {
		t.Changes = append(t.Changes, Change{Change: c, Fate: Pinned})
	}
	t.edited = pinned
}
