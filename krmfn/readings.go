package krmfn

import (
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

// readings are files that were read, for a later check in which some of them are the same. A nil readings keeps
// nothing.
type readings struct{ before, now map[readingKey]reading }

type readingKey struct {
	name   string
	bounds manifest.Bounds
}

type reading struct {
	stream   *manifest.Stream
	problems []source.Diagnostic
}

// again returns the readings for the next check.
func (r *readings) again() *readings {
	next := &readings{now: map[readingKey]reading{}}
	if r != nil {
		next.before = r.now
	}
	return next
}

// unless returns a function that reads a file unless its text was read before.
func (r *readings) unless(bounds manifest.Bounds, read readFunc) readFunc {
	if r == nil {
		return read
	}
	return func(name string, data []byte) (*manifest.Stream, []source.Diagnostic) {
		key := readingKey{name, bounds}
		one, known := r.before[key]
		if !known || one.stream.Text() != string(data) {
			one.stream, one.problems = read(name, data)
		}
		r.now[key] = one
		return one.stream, one.problems
	}
}

// reset undoes the edits of a run.
func (r *readings) reset() {
	for _, one := range r.now {
		for _, d := range one.stream.Documents() {
			d.Reset()
		}
	}
}
