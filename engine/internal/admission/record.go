package admission

import (
	"maps"
	"slices"

	"github.com/preadmit/preadmit/engine/change"
)

// A record is a struct on its way through decoding and defaulting. It is the map that it
// was written as until something in it changes, and a copy from then on: what does not
// change is shared with what was written. Everything that a record holds and was not
// written is new, and may be modified.
type record struct {
	in  map[string]any // as it was written; nil if it was absent
	out map[string]any // as it is so far
	typ *goType        // nil if it does not matter
	// parent holds the record, under key, or as the item of a list there.
	parent *record
	key    string
	item   int // -1 if it is not in a list
}

// set gives a field a value.
func (r *record) set(name string, value any) {
	if old, ok := r.out[name]; !ok || !change.Same(old, value) {
		r.unshare()
		r.out[name] = value
	}
}

// setAbsent sets a field unless it has a value.
func (r *record) setAbsent(name string, value any) {
	if r.out[name] == nil {
		r.set(name, value)
	}
}

// remove takes a field away.
func (r *record) remove(name string) {
	if _, ok := r.out[name]; ok {
		r.unshare()
		delete(r.out, name)
	}
}

// setOrRemove gives a field a value, or takes it away if that is nil.
func (r *record) setOrRemove(name string, value any) {
	if value == nil {
		r.remove(name)
	} else {
		r.set(name, value)
	}
}

// isUnshared reports whether the record may be modified in place.
func (r *record) isUnshared() bool { return r.in == nil || !change.Same(r.in, r.out) }

// unshare makes the record a copy of what was written, unless it is one.
func (r *record) unshare() {
	if r.isUnshared() {
		return
	}
	r.out = copyFor(r.in, r.typ)
	switch {
	case r.parent == nil:
	case r.item < 0:
		r.parent.unshare()
		r.parent.out[r.key] = r.out
	default:
		r.parent.unshareItems(r.key)[r.item] = r.out
	}
}

// copyFor copies a map, with room for what decoding adds to a struct of a type.
func copyFor(in map[string]any, t *goType) map[string]any {
	const group = 8 // a map of more entries is built another way
	if t == nil || len(in) > group || len(in)+t.missing(in) <= group {
		return maps.Clone(in)
	}
	out := make(map[string]any, len(in)+t.missing(in))
	maps.Copy(out, in)
	return out
}

// unshareItems makes a list of the record a copy, unless it is one.
func (r *record) unshareItems(name string) []any {
	r.unshare()
	list := items(r.out, name)
	if change.Same(list, r.in[name]) {
		list = slices.Clone(list)
		r.out[name] = list
	}
	return list
}

// child returns the struct or map under name; its out is nil if it is missing.
func (r *record) child(name string) record {
	return record{in: child(r.in, name), out: child(r.out, name), parent: r, key: name, item: -1}
}

// ensure returns the struct under name, and makes it if need be.
func (r *record) ensure(name string) record {
	if child(r.out, name) == nil {
		r.set(name, map[string]any{})
	}
	return r.child(name)
}

// each calls do for the structs in a list.
func (r *record) each(name string, do func(item *record)) {
	written := items(r.in, name)
	for i, item := range items(r.out, name) {
		out, ok := item.(map[string]any)
		if !ok {
			continue
		}
		in := out // in a list that has not been written, nothing is to be modified
		if i < len(written) {
			in, _ = written[i].(map[string]any)
		}
		do(&record{in: in, out: out, parent: r, key: name, item: i})
	}
}
