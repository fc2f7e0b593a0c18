package engine

import (
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/admission"
	"github.com/preadmit/preadmit/engine/source"
)

// Edit is a net change to a manifest, with the changes that caused it.
type Edit struct {
	change.Change
	// Source is the path of the value in the manifest as it was read, or of its deepest existing
	// ancestor. Result is the path in the output; for a removed value, it is the path that the
	// value would have.
	Source, Result change.Path
	// At is the position of Source.
	At source.Position
	// Causes are indexes into All of the Manifest, in order. An Edit has at least one.
	Causes []int
}

// attribute computes the edits: the net changes to a manifest, with their causes. Applied in order,
// they turn the manifest into the output.
func (w *written) attribute() {
	kind, result := w.job.place.kind, w.job.result
	net := change.Diff(w.loaded.original, w.edited, kind.Type())
	all := result.All()
	index := causes(all)
	sources, results := change.Before(net), change.After(net)
	result.Edits = slices.Grow(result.Edits, len(net))
	for i, c := range net {
		path := results[i]
		if !index.Overlaps(path) {
			path = admission.ViewPath(kind, path)
		}
		result.Edits = append(result.Edits, Edit{
			Change: c, Source: sources[i], Result: results[i], At: w.job.document.At(sources[i]), Causes: index.Nearest(path),
		})
	}
}

// causes returns the changes by their paths in the result. The changes at, inside or above the path
// of an edit are its causes. Without such changes, the nearest ones are: the manifest may use
// another field than the view.
func causes(all []Change) *change.PathIndex {
	steps := make([]change.Change, len(all))
	for i, c := range all {
		steps[i] = c.Change
	}
	index := &change.PathIndex{}
	for i, path := range change.After(steps) {
		if all[i].Disposition != Dropped {
			index.Add(path, i)
		}
	}
	return index
}
