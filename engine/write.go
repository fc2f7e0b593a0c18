package engine

import (
	"maps"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/admission"
)

// write transfers the events of the trace to the manifest, starting after the last transferred
// event. Then it checks the result: the view of the edited manifest must be the final view of
// admission. If a default has changed because of an edit, the value is written as well.
func (s server) write(w written) written {
	j, trace := w.job, w.admitted.trace
	if !trace.changed() {
		return w
	}
	unview := admission.Unviews(j.place.kind)
	for _, e := range trace.events[len(w.dropped):] {
		var dropped []change.Change
		if e.drops {
			dropped, w.edited = w.drop(unview, e.before, e.written)
		} else if !change.Equal(e.before, e.written) {
			from, to := s.defaulting.stored(j.place.kind, e)
			w.edited = unview(w.edited, from, to)
		}
		w.dropped = append(w.dropped, dropped)
	}
	pinned, err := s.defaulting.pin(w.admitted.request.Memo, j.place, w.loaded.raw, w.edited, trace.after)
	if err != nil {
		w.admitted.tell(j.defect("the result is not what admission made of the manifest: %v", err))
		return w
	}
	w.pinned = append(w.pinned, change.Diff(w.edited, pinned, j.place.kind.Type())...)
	w.edited = pinned
	return w
}

// drop returns the values that a policy wrote and the server drops, and the manifest without them.
// Values that the server drops from the manifest, too, stay.
func (w written) drop(unview func(object, view, mutated map[string]any) map[string]any, before, after map[string]any) (dropped []change.Change, edited map[string]any) {
	for _, c := range change.Diff(before, after, w.job.place.kind.Type()) {
		if _, had := c.Path.Get(w.loaded.raw); c.Op == change.Remove && (!had || w.spoils(c)) {
			dropped = append(dropped, c)
		}
	}
	if len(dropped) == 0 {
		return nil, w.edited
	}
	copies := change.Copies{}
	rest := copies.Object(before)
	for _, c := range dropped {
		if own, had := c.Path.Get(w.loaded.raw); had && !isSeen(c, w.admitted.trace.before) {
			c = change.Change{Op: change.Replace, Path: c.Path, Old: c.Old, New: own}
		}
		if copies.Apply(rest, c) != nil {
			return nil, w.edited // another change has moved it; pinning handles that
		}
	}
	for _, l := range dropped {
		dropped = append(dropped, w.dropEmptied(copies, rest, l.Path)...)
	}
	return dropped, unview(w.edited, before, rest)
}

// spoils reports whether a value that the server drops has replaced metadata of a custom resource that it
// keeps; see admission.DropMalformed.
func (w written) spoils(c change.Change) bool {
	if !w.job.place.kind.Custom || c.Path[0].Key != "metadata" {
		return false
	}
	kept, _ := c.Path.Get(w.admitted.trace.before)
	if !isSeen(c, w.admitted.trace.before) { // such as an empty map, which a server does not keep
		kept, _ = c.Path.Get(w.loaded.raw)
	}
	return !change.Equal(kept, c.Old)
}

// isSeen reports whether a view has a value where another changes.
func isSeen(c change.Change, view map[string]any) bool {
	_, seen := c.Path.Get(view)
	return seen
}

// dropEmptied removes maps that became empty because the value at a path was dropped, and that the
// manifest did not have.
func (w written) dropEmptied(copies change.Copies, object map[string]any, path change.Path) (dropped []change.Change) {
	for path = path[:len(path)-1]; len(path) > 0; path = path[:len(path)-1] {
		value, _ := path.Get(object)
		inside, isMap := value.(map[string]any)
		if _, had := path.Get(w.loaded.raw); had || !isMap || len(inside) > 0 || path[len(path)-1].IsIndex() {
			break
		}
		c := change.Change{Op: change.Remove, Path: path, Old: value}
		if copies.Apply(object, c) != nil {
			break
		}
		dropped = append(dropped, c)
	}
	return dropped
}

// commit writes the result into the document.
func (w *written) commit() {
	if len(w.loaded.tree) == 0 && change.Equal(w.edited, w.loaded.raw) {
		return
	}
	j := w.job
	object, was := withAnnotations(w.edited, w.loaded.hidden), w.loaded.original
	if j.made != nil {
		object = j.made.by.Stored(object)
	}
	if j.made != nil || len(w.loaded.hidden) > 0 {
		was = nil // it is not what the document has
	}
	if err := j.document.Edit(was, object, j.place.kind.Type()); err != nil {
		w.admitted.tell(j.defect("the result cannot be written into the manifest: %v", err))
	}
	w.admitted.tell(j.document.Warnings()...)
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
