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
func (d *decoder) object(t *goType, in map[string]any) map[string]any {
	if d.stays(&t.stays, in) {
		return in
	}
	before := d.mark()
	r := record{in: in, out: in, typ: t}
	if in == nil {
		r.out = make(map[string]any, t.missing(nil))
	}
	d.fields(t, &r)
	d.addWritten(t, &r)
	t.applyDefaults(&r)
	if t.rule != nil || t.rounded != nil || t.convert != nil {
		r.out = d.finish(t, in, r.out)
	}
	if !r.isUnshared() {
		d.note(&t.stays, in, before)
	}
	return r.out
}

// fields decodes the fields that a struct has.
func (d *decoder) fields(t *goType, r *record) {
	for key, value := range r.in {
		d.looked++
		f := t.byName[key]
		if f == nil {
			if value == nil || !d.undeclared(key) {
				r.remove(key)
			}
			continue
		}
		if value == nil {
			if f.zero != '!' && f.zero != '^' {
				r.remove(key)
			}
			continue
		}
		d.path = append(d.path, change.Key(key))
		decoded, ok := d.value(&f.value, value)
		d.path = d.path[:len(d.path)-1]
		switch {
		case !ok || (f.zero == '~' || f.zero == '?') && isZero(decoded):
			r.remove(key)
		case !change.Same(decoded, value):
			r.set(key, decoded)
		}
	}
}

// addWritten adds the absent fields that are written as null or as a zero value.
func (d *decoder) addWritten(t *goType, r *record) {
	for _, f := range t.written {
		switch {
		case r.out[f.name] != nil:
		case f.zero == '^':
			r.set(f.name, nil)
		default:
			d.path = append(d.path, change.Key(f.name))
			r.set(f.name, d.zero(&f.value))
			d.path = d.path[:len(d.path)-1]
		}
	}
}

// finish applies what depends on more than one field: defaults and conversion.
func (d *decoder) finish(t *goType, in, out map[string]any) map[string]any {
	d.finished = record{in: in, out: out, typ: t}
	r := &d.finished
	if t.rule != nil {
		t.rule(r)
	}
	if slices.ContainsFunc(t.rounded, func(name string) bool { return isFiner(child(r.out, name)) }) {
		r.unshare()
		d.finer = append(d.finer, *r)
	}
	if d.converting && t.convert != nil {
		t.convert(d, r)
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
func (d *decoder) value(v *goValue, in any) (any, bool) {
	switch v.code {
	case 0:
		if m, ok := in.(map[string]any); ok {
			return d.object(v.object(), m), true
		}
		return d.wrongType(v, in)
	case '[':
		if list, ok := in.([]any); ok {
			if decoded := d.list(v, list); !change.Same(list, decoded) {
				return decoded, true
			}
			return in, true
		}
		return d.wrongType(v, in)
	case '{':
		if m, ok := in.(map[string]any); ok {
			return d.mapOf(v, m), true
		}
		return d.wrongType(v, in)
	}
	return d.scalar(v, in)
}

func (d *decoder) list(v *goValue, in []any) []any {
	if d.stays(&v.stays, in) {
		return in
	}
	before, out := d.mark(), in
	for i, item := range in {
		d.looked++
		d.path = append(d.path, change.Index(i))
		decoded := d.item(v.elem, item)
		d.path = d.path[:len(d.path)-1]
		out = withItem(in, out, i, decoded)
	}
	if change.Same(in, out) {
		d.note(&v.stays, in, before)
	}
	return out
}

// withItem sets an item of out. out is in until an item differs, and a copy from then on.
func withItem(in, out []any, i int, item any) []any {
	if change.Same(in[i], item) {
		return out
	}
	if change.Same(in, out) {
		out = slices.Clone(in)
	}
	out[i] = item
	return out
}

func (d *decoder) mapOf(v *goValue, in map[string]any) map[string]any {
	if d.stays(&v.stays, in) {
		return in
	}
	before, r := d.mark(), record{in: in, out: in}
	for key, value := range in {
		d.looked++
		d.path = append(d.path, change.Key(key))
		r.set(key, d.item(v.elem, value))
		d.path = d.path[:len(d.path)-1]
	}
	if !r.isUnshared() {
		d.note(&v.stays, in, before)
	}
	return r.out
}

// item decodes an item of a list or a value of a map, which may be null.
func (d *decoder) item(elem *goValue, in any) any {
	if in == nil {
		return d.zero(elem)
	}
	out, _ := d.value(elem, in)
	return out
}

// zero returns the JSON value that the zero value of a type is written as.
func (d *decoder) zero(v *goValue) any {
	switch v.code {
	case 0:
		return d.object(v.object(), nil)
	case 's':
		return ""
	case 'b':
		return false
	case 'i', 'l', 'x':
		return int64(0)
	case 'f':
		return float64(0)
	case 'q':
		return "0"
	}
	return nil
}

// problem records what is wrong with the value at the current position.
func (d *decoder) problem(p FieldError) {
	p.Kind, p.Path = d.kind.Kind, slices.Clone(d.path)
	d.problems = append(d.problems, &p)
}
