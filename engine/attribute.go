package engine

import (
	"math"
	"slices"

	"github.com/preadmit/preadmit/engine/change"
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
func (j *job) attribute() {
	net := change.Diff(j.written, j.edited, j.kind.Type())
	all := j.result.All()
	steps := make([]change.Change, len(all))
	for i, c := range all {
		steps[i] = c.Change
	}
	final := make([]change.Path, len(all))
	for i, c := range steps {
		final[i] = follow(c.Path, steps[i+1:])
	}
	j.result.Edits = slices.Grow(j.result.Edits, len(net))
	for i, c := range net {
		edit := Edit{Change: c, Source: rewind(c, net[:i]), Result: follow(c.Path, net[i+1:])}
		edit.At = j.document.At(edit.Source)
		edit.Causes = causes(all, edit.Result, final)
		j.result.Edits = append(j.result.Edits, edit)
	}
}

// causes returns the changes at, inside or above a path. The manifest may use another field than the
// view (stringData for data). Then no change has the path, and the nearest changes are the cause.
func causes(all []Change, path change.Path, final []change.Path) []int {
	var found []int
	best := -1
	for i, p := range final {
		if all[i].Disposition == Dropped {
			continue
		}
		near := sharedPrefix(p, path)
		if near == len(p) || near == len(path) { // one path contains the other
			near = math.MaxInt
		}
		if near > best {
			best, found = near, nil
		}
		if near == best {
			found = append(found, i)
		}
	}
	return found
}

func sharedPrefix(p, q change.Path) int {
	n := 0
	for n < len(p) && n < len(q) && p[n] == q[n] {
		n++
	}
	return n
}

// follow returns the path of a value after later changes. The path of a removed value is followed
// as if the value were still there.
func follow(path change.Path, later []change.Change) change.Path {
	cloned := false
	for _, c := range later {
		at := len(c.Path) - 1
		if len(path) <= at || !c.Path[at].IsIndex() || !path[:at].HasPrefix(c.Path[:at]) {
			continue
		}
		if !cloned {
			path, cloned = slices.Clone(path), true
		}
		i := c.Path[at].Index
		switch own := &path[at].Index; {
		case c.Op == change.Add && *own >= i:
			*own++
		case c.Op == change.Remove && *own > i:
			*own--
		case c.Op == change.Move && *own == c.From:
			*own = i
		case c.Op == change.Move && c.From < *own && *own <= i:
			*own--
		case c.Op == change.Move && i <= *own && *own < c.From:
			*own++
		}
	}
	return path
}

// rewind returns the path that a change has before the earlier changes in ahead. If ahead or the
// change itself creates the value, it is the path of the value's parent.
func rewind(of change.Change, ahead []change.Change) change.Path {
	path := slices.Clone(of.Path)
	if last := len(path) - 1; of.Op == change.Add && path[last].IsIndex() {
		path = path[:last]
	} else if of.Op == change.Move {
		path[last].Index = of.From
	}
	for _, c := range slices.Backward(ahead) {
		at := len(c.Path) - 1
		if len(path) <= at || !c.Path[at].IsIndex() || !path[:at].HasPrefix(c.Path[:at]) {
			continue
		}
		i := c.Path[at].Index
		switch own := &path[at].Index; {
		case c.Op == change.Add && *own == i:
			path = path[:at]
		case c.Op == change.Add && *own > i:
			*own--
		case c.Op == change.Remove && *own >= i:
			*own++
		case c.Op == change.Move && *own == i:
			*own = c.From
		case c.Op == change.Move && c.From <= *own && *own < i:
			*own++
		case c.Op == change.Move && i < *own && *own <= c.From:
			*own--
		}
	}
	return path
}
