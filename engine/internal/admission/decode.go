package admission

import (
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/schema"
)

// A decoder decodes an object of a built-in kind into its Go type and writes it back as JSON,
// with the defaults that depend on types. Unchanged parts are shared with the object.
type decoder struct {
	kind *schema.Kind
	// converting says to convert to the internal version and back, too.
	converting bool
	path       change.Path // the path of the current value
	problems   []*FieldError
	// memo remembers structs, lists and maps that decoding does not change.
	memo *change.Memo
	// looked counts the values that were visited. outside counts the values whose result depends
	// on more than their type: what contains them cannot be remembered.
	looked, outside int
	// finer are the structs with resource lists to be rounded at the end, because the defaults
	// of a Pod are computed from exact quantities. The structs are copies already.
	finer []record
	// finished is the record that is being finished, and steps is the first memory of path. They
	// are fields to be allocated once.
	finished record
	steps    [16]change.Element
}

// A Memo remembers that a value does not change when it is decoded and defaulted, or that it
// does not change when it is converted, either.
const (
	whenDecoded = iota
	always
)

// worth is the number of values that must be saved for a result to be remembered.
const worth = 4

// stays reports whether the memo knows that a value does not change.
func (d *decoder) stays(fact *change.Fact, value any) bool {
	return stays(d.memo, fact, value, d.converting)
}

func stays(memo *change.Memo, fact *change.Fact, value any, converting bool) bool {
	when, known := memo.Recall(fact, value)
	return known && (when == always || !converting)
}

// mark has the counts of a decoder before it visited a value.
type mark struct{ looked, outside, problems int }

func (d *decoder) mark() mark { return mark{d.looked, d.outside, len(d.problems)} }

// note remembers that a value did not change, once everything in it was visited.
func (d *decoder) note(fact *change.Fact, value any, before mark) {
	if d.looked-before.looked < worth || d.outside > before.outside || len(d.problems) > before.problems {
		return
	}
	when := whenDecoded
	if d.converting || d.kind.Custom { // custom resources are not converted
		when = always
	}
	d.memo.Note(fact, value, when)
}

// object decodes a struct; in may be nil.
func (d *decoder) object(t *schema.Type, in map[string]any) map[string]any {
	if d.stays(&t.Facts.Decoded, in) {
		return in
	}
	before, s := d.mark(), structOf(t)
	r := record{in: in, out: in, typ: s}
	if in == nil {
		r.out = make(map[string]any, s.missing(nil))
	}
	d.fields(t, &r)
	d.addWritten(s, &r)
	s.applyDefaults(&r)
	if s.rule != nil || s.rounded != nil || s.convert != nil {
		r.out = d.finish(s, in, r.out)
	}
	if !r.isUnshared() {
		d.note(&t.Facts.Decoded, in, before)
	}
	return r.out
}

// fields decodes the fields that a struct has.
func (d *decoder) fields(t *schema.Type, r *record) {
	for key, value := range r.in {
		d.looked++
		f := t.Declared(key)
		if f == nil {
			if value == nil || !d.undeclared(key) {
				r.remove(key)
			}
			continue
		}
		if value == nil {
			if !f.Zero.Writes() {
				r.remove(key)
			}
			continue
		}
		d.path = append(d.path, change.Key(key))
		decoded, ok := d.value(f.Type, value)
		d.path = d.path[:len(d.path)-1]
		switch {
		case !ok || f.Zero.Omits() && isZero(decoded):
			r.remove(key)
		case !change.Same(decoded, value):
			r.set(key, decoded)
		}
	}
}

// addWritten adds the absent fields that are written as null or as a zero value.
func (d *decoder) addWritten(s *structType, r *record) {
	for _, f := range s.written {
		switch {
		case r.out[f.Name] != nil:
		case f.Zero == schema.NilWritten:
			r.set(f.Name, nil)
		default:
			d.path = append(d.path, change.Key(f.Name))
			r.set(f.Name, d.zero(f.Type))
			d.path = d.path[:len(d.path)-1]
		}
	}
}

// finish applies what depends on more than one field: defaults and conversion.
func (d *decoder) finish(s *structType, in, out map[string]any) map[string]any {
	d.finished = record{in: in, out: out, typ: s}
	r := &d.finished
	if s.rule != nil {
		s.rule(r)
	}
	if slices.ContainsFunc(s.rounded, func(name string) bool { return isFiner(child(r.out, name)) }) {
		r.unshare()
		d.finer = append(d.finer, *r)
	}
	if d.converting && s.convert != nil {
		s.convert(d, r)
	}
	return r.out
}

// undeclared reports whether a field that the Go type does not have is kept. It is kept if the
// schema has it: the schema is then from a newer server.
func (d *decoder) undeclared(key string) bool {
	d.outside++
	t := d.kind.Type()
	for _, e := range d.path {
		if e.IsIndex() {
			t = t.ItemType()
		} else {
			t = t.FieldType(e.Key)
		}
	}
	return t.Declared(key) != nil
}

// value decodes a value that is not null; it fails if the value is of another type.
func (d *decoder) value(t *schema.Type, in any) (any, bool) {
	switch kindOf(t) {
	case goStruct:
		if m, ok := in.(map[string]any); ok {
			return d.object(t, m), true
		}
		return d.wrongType(t, in)
	case goList:
		if list, ok := in.([]any); ok {
			if decoded := d.list(t, list); !change.Same(list, decoded) {
				return decoded, true
			}
			return in, true
		}
		return d.wrongType(t, in)
	case goMap:
		if m, ok := in.(map[string]any); ok {
			return d.mapOf(t, m), true
		}
		return d.wrongType(t, in)
	}
	return d.scalar(t, in)
}

func (d *decoder) list(t *schema.Type, in []any) []any {
	if d.stays(&t.Facts.Decoded, in) {
		return in
	}
	before, out := d.mark(), in
	for i, item := range in {
		d.looked++
		d.path = append(d.path, change.Index(i))
		decoded := d.item(t.Elem, item)
		d.path = d.path[:len(d.path)-1]
		out = change.WithItem(in, out, i, decoded)
	}
	if change.Same(in, out) {
		d.note(&t.Facts.Decoded, in, before)
	}
	return out
}

func (d *decoder) mapOf(t *schema.Type, in map[string]any) map[string]any {
	if d.stays(&t.Facts.Decoded, in) {
		return in
	}
	before, r := d.mark(), record{in: in, out: in}
	for key, value := range in {
		d.looked++
		d.path = append(d.path, change.Key(key))
		r.set(key, d.item(t.Elem, value))
		d.path = d.path[:len(d.path)-1]
	}
	if !r.isUnshared() {
		d.note(&t.Facts.Decoded, in, before)
	}
	return r.out
}

// item decodes an item of a list or a value of a map, which may be null.
func (d *decoder) item(elem *schema.Type, in any) any {
	if in == nil {
		return d.zero(elem)
	}
	out, _ := d.value(elem, in)
	return out
}

// zero returns the JSON value that the zero value of a type is written as.
func (d *decoder) zero(t *schema.Type) any {
	switch kindOf(t) {
	case goStruct:
		return d.object(t, nil)
	case goString:
		return ""
	case goBool:
		return false
	case goInt32, goInt64, goIntOrString:
		return int64(0)
	case goFloat:
		return float64(0)
	case goQuantity:
		return "0"
	}
	return nil
}

// problem records what is wrong with the value at the current position.
func (d *decoder) problem(p FieldError) {
	p.Kind, p.Path = d.kind.Kind, slices.Clone(d.path)
	d.problems = append(d.problems, &p)
}
