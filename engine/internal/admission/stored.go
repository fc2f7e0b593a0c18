package admission

import (
	"encoding/base64"
	"maps"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/number"
	"github.com/preadmit/preadmit/engine/internal/schema"
)

// Stored returns the effect of a step on an object, in the form in which a server stores it.
// before is the object before the step, written is the object after the step, and next is what
// the server makes of written: the result of Redefault or View.
//
// In to, every value that differs from before has the form that it has in next. Empty lists and
// maps, false, zero and "" that next omits are left out, quantities are canonical, and changes
// that the server undid are undone. Defaults that next adds are left out. A value that the step
// wrote and next lacks, although it is not empty, stays as written: the server drops it, and the
// caller reports that.
//
// from is before in the same form: from and to differ only where the step had an effect. Both
// have the stringData of a Secret in data. None of the arguments is modified.
func Stored(kind *schema.Kind, before, written, next map[string]any) (from, to map[string]any) {
	if isSecret(kind) {
		before, written, next = foldStringData(before), foldStringData(written), foldStringData(next)
	}
	return before, storer{}.stored(kind, before, written, next)
}

// stored is Stored without the treatment of stringData.
func (s storer) stored(kind *schema.Kind, before, written, next map[string]any) map[string]any {
	s.builtin = kind.GoType() != nil
	if !s.builtin && !change.Same(before["metadata"], next["metadata"]) {
		next = decodeMetadata(kind, next)
	}
	return s.object(before, written, next, kind.Type())
}

// decodeMetadata returns an object with its metadata as a server stores it. Redefault does not
// change the metadata of custom resources.
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

// Normalize returns an object with its values in the form in which a server stores them. view is
// the View of object in a namespace; the result has the same View. Values that the server omits,
// replaces or sets itself are left out, and the stringData of a Secret is moved to data. Maps
// with keys of the user's choice get the keys that the server adds; other defaults are not
// added. Fields that the kind does not have stay: they may be typing errors, which a server
// reports. object is not modified.
//
// The error names a field whose value on the server differs from every value that could be
// written.
func Normalize(memo *change.Memo, kind *schema.Kind, object map[string]any, namespace string, view map[string]any) (map[string]any, error) {
	if isSecret(kind) {
		object = foldStringData(object)
	}
	s := storer{builtin: kind.GoType() != nil, dropping: true, completing: true}
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

// A storer brings values into the form in which a server stores them.
type storer struct {
	// builtin says that the kind has a Go type: empty lists are not stored.
	builtin bool
	// dropping says to leave out values of known fields that the server drops although they are
	// not empty.
	dropping bool
	// completing says that new maps with keys of the user's choice get the keys that the server
	// adds, like the requests that follow from limits. A client that set the map would otherwise
	// see a difference.
	completing bool
}

// object is Stored for a map; t is its type, nil if the type is not known. Unchanged parts are
// shared with written.
func (s storer) object(before, written, next map[string]any, t *schema.Type) map[string]any {
	a := altered{written, written}
	common := 0
	for key, value := range written {
		b, had := before[key]
		if had {
			common++
		}
		if had && change.Equal(b, value) {
			continue
		}
		n, stays := next[key]
		stored, keep := s.field(t, key, given{b, had}, value, given{n, stays})
		if !keep || !change.Same(stored, value) {
			a.set(key, stored, keep)
		}
	}
	if common < len(before) {
		a.restore(before, next)
	}
	if s.completing && len(before) == 0 && t != nil && t.Elem != nil && len(t.Fields) == 0 {
		for key, value := range next {
			if _, ok := a.out[key]; !ok {
				a.set(key, value, true)
			}
		}
	}
	return a.out
}

// altered is a map that is copied when it first changes.
type altered struct{ written, out map[string]any }

func (a *altered) set(key string, value any, keep bool) {
	if change.Same(a.out, a.written) {
		a.out = make(map[string]any, len(a.written))
		maps.Copy(a.out, a.written)
	}
	if keep {
		a.out[key] = value
	} else {
		delete(a.out, key)
	}
}

// restore sets what a step removed and the server added again as a default.
func (a *altered) restore(before, next map[string]any) {
	for key, b := range before {
		_, stays := a.written[key]
		if n, added := next[key]; !stays && added && change.Equal(b, n) {
			a.set(key, b, true)
		}
	}
}

// given is a value that may be missing.
type given struct {
	value any
	ok    bool
}

// field is Stored for the value under a key, which differs from before; t is the type of the map
// that holds the key.
func (s storer) field(t *schema.Type, key string, before given, written any, next given) (stored any, keep bool) {
	of := t.FieldType(key)
	if key == "metadata" {
		s.completing = false // labels that servers add do no harm
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
		return "", true // null bytes are stored as ""
	}
	return s.value(before.value, written, next.value, of), true
}

// isAbsent reports whether the server treats a value as absent although next has a value in its
// place: an empty list or map that has defaults, or an empty list that is stored as null.
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
	if !change.Equal(before, next) && change.Equal(number.Wholes(written), number.Wholes(next)) {
		return written // 5 and 5.0 are the same JSON
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

// isVoid reports whether a value is zero, or a map of void values.
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

// ViewPath returns the path in the View of a value at a path in the manifest. A nil kind has no
// such paths.
func ViewPath(kind *schema.Kind, path change.Path) change.Path {
	if kind == nil || len(path) == 0 || path[0].Key != "stringData" || !isSecret(kind) {
		return path
	}
	return append(change.Keys("data"), path[1:]...)
}

// foldStringData returns a Secret with its stringData in data. It returns the Secret itself if
// it has no stringData, or if a server would reject it.
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
