package engine

import (
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/admission"
	"github.com/preadmit/preadmit/engine/internal/schema"
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
	causes := newCauses(all)
	sources, results := change.Before(net), change.After(net)
	result.Edits = slices.Grow(result.Edits, len(net))
	for i, c := range net {
		result.Edits = append(result.Edits, Edit{
			Change: c, Source: sources[i], Result: results[i], At: w.job.document.At(sources[i]), Causes: causes.of(results[i], kind),
		})
	}
}

// causes are the changes by their paths in the result. dropped are those that the server drops.
type causes struct {
	all            []Change
	index, dropped change.PathIndex
}

func newCauses(all []Change) *causes {
	c := &causes{all: all}
	steps := make([]change.Change, len(all))
	for i := range all {
		steps[i] = all[i].Change
	}
	for i, path := range change.After(steps) {
		if all[i].Disposition != Dropped {
			c.index.Add(path, i)
		} else {
			c.dropped.Add(path, i)
		}
	}
	return c
}

// of returns the causes of an edit with a path in the result: the changes at, inside or above the
// path, or else those that the server drops, which may have replaced a value. Without such changes, the
// nearest ones are, of each author the first: the manifest may use another field than the view, or an item
// has moved because others have.
func (c *causes) of(path change.Path, kind *schema.Kind) []int {
	inView := admission.ViewPath(kind, path)
	for _, index := range []*change.PathIndex{&c.index, &c.dropped} {
		for _, at := range []change.Path{path, inView} {
			if found := index.Overlapping(at); len(found) > 0 {
				return found
			}
		}
	}
	return c.index.Nearest(inView, c.author)
}

// author returns what distinguishes the authors of changes, also in what of them may be shown.
func (c *causes) author(i int) any {
	author := c.all[i]
	author.By.Instance = ""
	return [...]any{author.By, author.At, author.Pass, author.Disposition, author.Sensitive}
}
