package admission

import (
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/schema"
)

// A decoder turns an object of a built-in kind into what its Go type would be
// written as after decoding, with the defaults that depend on types.
type decoder struct {
	kind *schema.Kind
	// converting says to do what conversion to the internal version and back does.
	converting bool
	path       change.Path // where the decoder is
	stable     any         // the value there that decodes to itself, if there is one
	problems   []*FieldError
	// lists are the structs with resource lists to be rounded when all is done: the
	// defaults of a Pod are made of exact quantities.
	lists []roundable
}

type roundable struct {
	owner map[string]any
	typ   *goType
}

// object decodes a struct; in may be nil.
func (d *decoder) object(t *goType, in map[string]any) map[string]any {
	out := make(map[string]any, len(in)+len(t.written)+len(t.defaults))
	stable := d.stableFields(t)
	for key, value := range in {
		f := t.byName[key]
		if f == nil {
			d.undeclared(key, value, out)
			continue
		}
		if value == nil {
			continue
		}
		d.path, d.stable = append(d.path, change.Key(key)), stable[key]
		decoded, ok := d.value(&f.value, value)
		d.path = d.path[:len(d.path)-1]
		if ok && (f.zero != '~' && f.zero != '?' || !isZero(decoded)) {
			out[key] = decoded
		}
	}
	d.stable = nil
	for _, f := range t.written {
		if _, ok := out[f.name]; ok {
			continue
		}
		if f.zero == '^' {
			out[f.name] = nil
		} else {
			d.path = append(d.path, change.Key(f.name))
			out[f.name] = d.zero(&f.value)
			d.path = d.path[:len(d.path)-1]
		}
	}
	t.applyDefaults(out)
	if t.rule != nil {
		t.rule(in, out)
	}
	if t.rounded != nil {
		d.lists = append(d.lists, roundable{out, t})
	}
	if d.converting && t.convert != nil {
		t.convert(d, out)
	}
	return out
}

// stableFields returns the fields of the stable value. There are none where they may be
// modified once they are decoded.
func (d *decoder) stableFields(t *goType) map[string]any {
	if t.rule != nil || t.rounded != nil {
		return nil
	}
	fields, _ := d.stable.(map[string]any)
	return fields
}

// undeclared deals with a field that the Go type does not have. It is kept if the
// schema has it, which is then that of a newer server, and dropped otherwise.
func (d *decoder) undeclared(key string, value any, out map[string]any) {
	t := d.kind.Type()
	for _, e := range d.path {
		if e.IsIndex() {
			t = t.ItemType()
		} else {
			t = t.FieldType(e.Key)
		}
	}
	if t.Declared(key) != nil && value != nil {
		out[key] = change.Clone(value)
	}
}

// value decodes a value that is not null; it fails if the value is of another type.
func (d *decoder) value(v *goValue, in any) (any, bool) {
	if d.stable != nil && change.Same(in, d.stable) {
		return in, true
	}
	switch v.code {
	case 0:
		if m, ok := in.(map[string]any); ok {
			return d.object(v.object(), m), true
		}
		return d.wrongType(v, in)
	case '[':
		if list, ok := in.([]any); ok {
			return d.list(v.elem, list), true
		}
		return d.wrongType(v, in)
	case '{':
		if m, ok := in.(map[string]any); ok {
			return d.mapOf(v.elem, m), true
		}
		return d.wrongType(v, in)
	}
	return d.scalar(v, in)
}

func (d *decoder) list(elem *goValue, in []any) []any {
	out := make([]any, len(in))
	stable, _ := d.stable.([]any)
	for i, item := range in {
		d.path, d.stable = append(d.path, change.Index(i)), nil
		if i < len(stable) {
			d.stable = stable[i]
		}
		out[i] = d.item(elem, item)
		d.path = d.path[:len(d.path)-1]
	}
	return out
}

func (d *decoder) mapOf(elem *goValue, in map[string]any) map[string]any {
	out := make(map[string]any, len(in))
	stable, _ := d.stable.(map[string]any)
	for key, value := range in {
		d.path, d.stable = append(d.path, change.Key(key)), stable[key]
		out[key] = d.item(elem, value)
		d.path = d.path[:len(d.path)-1]
	}
	return out
}

// item decodes an item of a list or a value of a map, which may be null.
func (d *decoder) item(elem *goValue, in any) any {
	if in == nil {
		return d.zero(elem)
	}
	out, _ := d.value(elem, in)
	return out
}

// zero is what the zero value of a type is written as.
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

// round rounds up the resource lists that were met.
func (d *decoder) round() {
	for _, l := range d.lists {
		for _, name := range l.typ.rounded {
			roundToMilli(child(l.owner, name))
		}
	}
}

// problem records what is wrong with the value at the current position.
func (d *decoder) problem(p FieldError) {
	p.Kind, p.Path = d.kind.Kind, slices.Clone(d.path)
	d.problems = append(d.problems, &p)
}
