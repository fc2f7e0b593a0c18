package admission

import (
	"encoding/base64"
	"maps"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/schema"
)

// Stored returns what a step did to an object in the form in which a server stores it.
// before is the object before the step, written what the step made of it, and next what
// the server makes of that: the outcome of Redefault or View.
//
// In to, every value that differs from before is as next has it. An empty list or map,
// false, zero or "" that next omits is not there, a quantity is canonical, and what the
// server undid is as before. Defaults that next adds are left out. What a step wrote and
// next lacks although it is not empty stays as it was written: the server drops it, which
// the caller reports.
//
// from is before in the same form: they differ only where the step had an effect. The
// stringData of a Secret is in the data of both. None of the arguments is modified.
func Stored(kind *schema.Kind, before, written, next map[string]any) (from, to map[string]any) {
	if isSecret(kind) {
		before, written, next = foldStringData(before), foldStringData(written), foldStringData(next)
	}
	return before, storer{}.stored(kind, before, written, next)
}

// stored does the work of Stored but for stringData.
func (s storer) stored(kind *schema.Kind, before, written, next map[string]any) map[string]any {
	s.builtin = builtin(kind) != nil
	if !s.builtin && !change.Same(before["metadata"], next["metadata"]) {
		next = decodeMetadata(kind, next)
	}
	return s.object(before, written, next, kind.Type())
}

// decodeMetadata returns an object with its metadata as a server stores it. Redefault
// leaves that of custom resources alone.
func decodeMetadata(kind *schema.Kind, object map[string]any) map[string]any {
	d := decoder{kind: kind}
	metadata := d.metadata(object["metadata"])
	if len(d.problems) > 0 {
		return object
	}
	out := maps.Clone(object)
	out["metadata"] = metadata
	return out
}

// Normalize returns an object with its values in the form in which a server stores them.
// view is its View in a namespace, and that of the outcome. Values that the server omits,
// replaces or sets itself are not there, and the stringData of a Secret is in data. Maps with
// keys of the user's choice get the keys that the server adds; other defaults are not added. Fields that the kind does not have stay: they may be typing
// errors, which a server reports. object is not modified.
//
// The error names a field that has another value on the server whatever is written.
func Normalize(memo *change.Memo, kind *schema.Kind, object map[string]any, namespace string, view map[string]any) (map[string]any, error) {
	if isSecret(kind) {
		object = foldStringData(object)
	}
	s := storer{builtin: builtin(kind) != nil, dropping: true, completing: true}
	out := withoutServerOwned(kind, nil, s.object(nil, object, view, kind.Type()))
	return Pin(memo, kind, out, out, namespace, view)
}

// ownedDepth is the length of the longest path that is ServerOwned.
const ownedDepth = 3

// withoutServerOwned returns a map of an object without the fields that are ServerOwned.
func withoutServerOwned(kind *schema.Kind, path change.Path, object map[string]any) map[string]any {
	out := object
	for key, value := range object {
		at := path.Key(key)
		inner, isMap := value.(map[string]any)
		var kept any = inner
		switch {
		case ServerOwned(kind, at):
			kept = nil
		case isMap && len(at) < ownedDepth:
			if without := withoutServerOwned(kind, at, inner); len(without) > 0 || len(inner) == 0 {
				kept = without
			} else {
				kept = nil
			}
		default:
			continue
		}
		if change.Same(kept, value) {
			continue
		}
		if change.Same(out, object) {
			out = maps.Clone(object)
		}
		if kept == nil {
			delete(out, key)
		} else {
			out[key] = kept
		}
	}
	return out
}

// storer brings values into the form in which a server stores them.
type storer struct {
	// builtin says that the kind has a Go type: then empty lists are not stored.
	builtin bool
	// dropping says that values which the server drops, although they are not empty and
	// the kind has the field, are left out.
	dropping bool
	// completing says that maps with keys of the user's choice, which before does not have,
	// get the keys that the server adds to them, like the requests that follow from limits:
	// a client that set the map would find another one.
	completing bool
}

// object does the work of Stored for a map; t is its type, nil if that is not known.
// What stays as it is is shared.
func (s storer) object(before, written, next map[string]any, t *schema.Type) map[string]any {
	out := written
	set := func(key string, value any, keep bool) {
		if change.Same(out, written) {
			out = make(map[string]any, len(written))
			maps.Copy(out, written)
		}
		if keep {
			out[key] = value
		} else {
			delete(out, key)
		}
	}
	for key, value := range written {
		b, had := before[key]
		if had && change.Equal(b, value) {
			continue
		}
		n, stays := next[key]
		stored, keep := s.field(t, key, given{b, had}, value, given{n, stays})
		if !keep || !change.Same(stored, value) {
			set(key, stored, keep)
		}
	}
	for key, b := range before {
		if _, ok := written[key]; ok {
			continue
		}
		if n, ok := next[key]; ok && change.Equal(b, n) {
			set(key, b, true) // it was removed, and became a default again
		}
	}
	if s.completing && len(before) == 0 && t != nil && t.Elem != nil && len(t.Fields) == 0 {
		for key, value := range next {
			if _, ok := out[key]; !ok {
				set(key, value, true)
			}
		}
	}
	return out
}

// given is a value that may be there or not.
type given struct {
	value any
	ok    bool
}

// field does the work of Stored for the value under a key, which differs from before; t
// is the type of the map that holds it.
func (s storer) field(t *schema.Type, key string, before given, written any, next given) (stored any, keep bool) {
	of := t.FieldType(key)
	if key == "metadata" {
		s.completing = false // a label that servers add is in nobody's way
	}
	if before.ok && next.ok && change.Equal(before.value, next.value) { // the server undid it
		return s.value(before.value, written, next.value, of), true
	}
	omitted := !next.ok && isVoid(written) ||
		written == nil && next.value != nil && t.Declared(key) != nil || // a null means that the field is absent
		next.ok && s.isAbsent(written, next.value, of)
	switch {
	case omitted:
		return before.value, before.ok && isVoid(before.value)
	case !next.ok:
		return written, !s.dropping || of == nil
	}
	if next.value == nil && s.builtin && t != nil && len(t.Fields) == 0 {
		return "", true // the bytes of a null are stored as none
	}
	return s.value(before.value, written, next.value, of), true
}

// isAbsent reports whether a value is as good as absent, although next has a value in its
// place: an empty list or map that has defaults, or an empty list that is stored as none.
func (s storer) isAbsent(written, next any, of *schema.Type) bool {
	switch written := written.(type) {
	case []any:
		list, isList := next.([]any)
		return len(written) == 0 && (!isList || len(list) > 0 || s.builtin && of != nil && of.IsList)
	case map[string]any:
		m, isMap := next.(map[string]any)
		return len(written) == 0 && (!isMap || len(m) > 0 && of != nil && len(of.Fields) == 0)
	}
	return false
}

func (s storer) value(before, written, next any, t *schema.Type) any {
	switch written := written.(type) {
	case map[string]any:
		if next, ok := next.(map[string]any); ok {
			had, _ := before.(map[string]any)
			return s.object(had, written, next, t)
		}
	case []any:
		if next, ok := next.([]any); ok && len(next) == len(written) {
			had, _ := before.([]any)
			return s.list(had, written, next, t)
		}
	}
	return next
}

func (s storer) list(before, written, next []any, t *schema.Type) []any {
	out := written
	for j, i := range change.Align(before, written, t) {
		var had any
		if i >= 0 {
			if had = before[i]; change.Equal(had, written[j]) {
				continue
			}
		}
		stored := s.value(had, written[j], next[j], t.ItemType())
		if change.Same(stored, written[j]) {
			continue
		}
		if change.Same(out, written) {
			out = append(make([]any, 0, len(written)), written...)
		}
		out[j] = stored
	}
	return out
}

// isVoid reports whether there is nothing in a value: it is zero, or a map of such
// values.
func isVoid(value any) bool {
	m, ok := value.(map[string]any)
	if !ok {
		return isZero(value)
	}
	for _, item := range m {
		if !isVoid(item) {
			return false
		}
	}
	return true
}

func isSecret(kind *schema.Kind) bool {
	return kind.APIVersion() == "v1" && kind.Kind.Kind == "Secret"
}

// foldStringData returns a Secret with its stringData in data. It returns the Secret
// itself if it has none, or one that no server would take.
func foldStringData(secret map[string]any) map[string]any {
	plain := child(secret, "stringData")
	if plain == nil {
		return secret
	}
	data := maps.Clone(child(secret, "data"))
	for key, value := range plain {
		text, ok := value.(string)
		if !ok && value != nil {
			return secret
		}
		if data == nil {
			data = map[string]any{}
		}
		data[key] = base64.StdEncoding.EncodeToString([]byte(text))
	}
	out := maps.Clone(secret)
	delete(out, "stringData")
	if data != nil {
		out["data"] = data
	}
	return out
}
