package engine

import (
	"maps"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/admission"
)

// written is the effect of an event of a trace on the manifest.
type written struct {
	// dropped are the values that a policy wrote and the server drops. They are not written into
	// the manifest.
	dropped []change.Change
}

// write transfers the events of the trace to the manifest, starting after the last transferred
// event. Then it checks the result: the view of the edited manifest must be the final view of
// admission. If a default has changed because of an edit, the value is written as well.
func (r *run) write(j *job) {
	if !j.trace.changed() {
		return
	}
	for _, e := range j.trace.events[len(j.edits):] {
		var w written
		if e.drops {
			w.dropped = j.drop(e.before, e.written)
		} else if !change.Equal(e.before, e.written) {
			from, to := r.defaulting.stored(j.kind, e)
			j.edited = admission.Unview(j.kind, j.edited, from, to)
		}
		j.edits = append(j.edits, w)
	}
	pinned, err := r.defaulting.pin(j.memo, j.place, j.raw, j.edited, j.trace.after)
	if err != nil {
		j.internal("the result is not what admission made of the manifest: %v", err)
		return
	}
	j.pinned = append(j.pinned, change.Diff(j.edited, pinned, j.kind.Type())...)
	j.edited = pinned
}

// drop removes from the manifest the values that a policy wrote and the server drops, and returns
// them. Values that the manifest had before stay, because the server drops them itself.
func (j *job) drop(before, after map[string]any) []change.Change {
	var dropped []change.Change
	for _, c := range change.Diff(before, after, j.kind.Type()) {
		if _, had := c.Path.Get(j.raw); c.Op == change.Remove && !had {
			dropped = append(dropped, c)
		}
	}
	if len(dropped) == 0 {
		return nil
	}
	rest := change.CloneObject(before)
	if err := change.Apply(rest, dropped); err != nil {
		return nil // another change has moved it; pinning handles that
	}
	for _, l := range dropped {
		dropped = append(dropped, j.dropEmptied(rest, l.Path)...)
	}
	j.edited = admission.Unview(j.kind, j.edited, before, rest)
	return dropped
}

// dropEmptied removes maps that became empty because the value at a path was dropped, and that the
// manifest did not have.
func (j *job) dropEmptied(object map[string]any, path change.Path) (dropped []change.Change) {
	for path = path[:len(path)-1]; len(path) > 0; path = path[:len(path)-1] {
		value, _ := path.Get(object)
		inside, isMap := value.(map[string]any)
		if _, had := path.Get(j.raw); had || !isMap || len(inside) > 0 || path[len(path)-1].IsIndex() {
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

// commit writes the result into the document.
func (r *run) commit(j *job) {
	if len(j.tree) == 0 && change.Equal(j.edited, j.raw) {
		return
	}
	object := withAnnotations(j.edited, j.hidden)
	if j.made != nil {
		object = j.made.Stored(object)
	}
	if err := j.document.Set(object, j.kind.Type()); err != nil {
		j.internal("the result cannot be written into the manifest: %v", err)
	}
	for _, d := range j.document.Warnings() {
		j.tell(d)
	}
}

// withAnnotations returns an object with annotations added.
func withAnnotations(object, added map[string]any) map[string]any {
	if len(added) == 0 {
		return object
	}
	with := maps.Clone(object)
	child := func(of map[string]any, key string) map[string]any {
		value, _ := of[key].(map[string]any)
		copied := make(map[string]any, len(value)+1)
		maps.Copy(copied, value)
		of[key] = copied
		return copied
	}
	maps.Copy(child(child(with, "metadata"), "annotations"), added)
	return with
}
