package admission

import (
	"maps"
	"slices"

	"github.com/preadmit/preadmit/engine/change"
)

// A record is a struct during decoding and defaulting. out is the map of the manifest until
// something in it changes, and a copy from then on: unchanged values are shared with the
// manifest. Everything in out that is not from the manifest is new, and may be modified.
type record struct {
	in  map[string]any // the struct in the manifest; nil if it was absent
	out map[string]any // the struct so far
	typ *structType    // nil if the type does not matter
	// parent is the record that holds this record under key, directly or as an item of a list.
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

// remove removes a field.
func (r *record) remove(name string) {
	if _, ok := r.out[name]; ok {
		r.unshare()
		delete(r.out, name)
	}
}

// setOrRemove sets a field, or removes it if the value is nil.
func (r *record) setOrRemove(name string, value any) {
	if value == nil {
		r.remove(name)
	} else {
		r.set(name, value)
	}
}

// isUnshared reports whether the record may be modified in place.
func (r *record) isUnshared() bool { return r.in == nil || !change.Same(r.in, r.out) }

// unshare makes out a copy of in, unless it is a copy already.
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

// copyFor copies a map, with room for the fields that decoding adds to a struct of a type.
func copyFor(in map[string]any, t *structType) map[string]any {
	const group = 8 // Go builds larger maps differently
	if t == nil || len(in) > group || len(in)+t.missing(in) <= group {
		return maps.Clone(in)
	}
	out := make(map[string]any, len(in)+t.missing(in))
	maps.Copy(out, in)
	return out
}

// unshareItems makes a list of the record a copy, unless it is a copy already.
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

// ensure returns the struct under name, and creates it if it is missing.
func (r *record) ensure(name string) record {
	if child(r.out, name) == nil {
		r.set(name, map[string]any{})
	}
	return r.child(name)
}

// each calls do for the structs in a list. The record is valid only during the call.
func (r *record) each(name string, do func(item *record)) {
	written := items(r.in, name)
	var current record // escapes: one for all items
	for i, item := range items(r.out, name) {
		out, ok := item.(map[string]any)
		if !ok {
			continue
		}
		in := out // an item that is not in the manifest counts as shared
		if i < len(written) {
			in, _ = written[i].(map[string]any)
		}
		current = record{in: in, out: out, parent: r, key: name, item: i}
		do(&current)
	}
}
