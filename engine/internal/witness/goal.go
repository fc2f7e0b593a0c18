package witness

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/schema"
)

// Present is any value of a field. Absent says that the object lacks the field.
var Present, Absent = present, absent

// Goal is a rule that changes objects, with what decides whether it does.
type Goal struct {
	// Kinds are the kinds that the rule matches.
	Kinds []*schema.Kind
	Needs []Need
}

// Need is what a rule asks of a field before it changes the object.
type Need struct {
	// Path has the keys of the field, and the indexes of items.
	Path []string
	// Values are values of the field that make a difference: Present, Absent, or scalars.
	Values []any
	// Holds reports whether a value meets the need.
	Holds func(value any) bool
}

// mostAlternatives is how many objects of one kind a Goal yields.
const mostAlternatives = 60

// Objects yields objects for the goal. The first of each kind meets all needs, if objects can meet them
// together; isFirst says so. The others differ from it in one field each, and the last has only what a
// valid object needs.
func (g Goal) Objects() iter.Seq2[map[string]any, bool] {
	return func(yield func(object map[string]any, isFirst bool) bool) {
		fields := fieldsOf(g.Needs)
		for _, kind := range g.Kinds {
			best := make([]any, len(fields))
			var others []fact
			at := map[int]int{} // from others to fields
			for i, f := range fields {
				values := f.values(TypeAt(kind.Type(), f.path))
				best[i] = values[0]
				for _, value := range values[1:] {
					at[len(others)] = i
					others = append(others, fact{f.path, value})
				}
			}
			if !yield(objectFor(kind, fields, best), true) {
				return
			}
			for n, other := range others[:min(len(others), mostAlternatives)] {
				values := slices.Clone(best)
				values[at[n]] = other.value
				if !yield(objectFor(kind, fields, values), false) {
					return
				}
			}
			if !yield(simplest(kind), false) {
				return
			}
		}
	}
}

// objectFor returns an object of a kind whose fields have values.
func objectFor(kind *schema.Kind, fields []neededField, values []any) map[string]any {
	object := simplest(kind)
	for i, f := range fields {
		object = fact{f.path, values[i]}.of(object, kind.Type())
	}
	return object
}

// TypeAt returns the type of a field; nil if it is not known.
func TypeAt(t *schema.Type, path []string) *schema.Type {
	for _, key := range path {
		if t == nil {
			return nil
		}
		if t.IsList {
			t = t.ItemType()
		} else {
			t = t.FieldType(key)
		}
	}
	return t
}

// neededField is a field with all needs of it.
type neededField struct {
	path  []string
	needs []Need
}

// fieldsOf groups needs by their fields. A field comes after those around it.
func fieldsOf(needs []Need) (fields []neededField) {
	index := map[string]int{}
	for _, n := range needs {
		key := strings.Join(n.Path, "\x00")
		i, known := index[key]
		if !known {
			i = len(fields)
			index[key] = i
			fields = append(fields, neededField{path: n.Path})
		}
		fields[i].needs = append(fields[i].needs, n)
	}
	slices.SortStableFunc(fields, func(a, b neededField) int { return cmp.Compare(len(a.path), len(b.path)) })
	return fields
}

// meets reports whether a value meets all needs of the field.
func (f neededField) meets(value any) bool {
	return !slices.ContainsFunc(f.needs, func(n Need) bool { return !n.Holds(value) })
}

// values returns the values that fit a type and make a difference, those that meet all needs first. It
// joins two texts that meet the needs only together. There is at least one value.
func (f neededField) values(t *schema.Type) []any {
	var all []any
	add := func(value any) {
		if (isSign(value) || t == nil || len(t.Check(value)) == 0) && !slices.ContainsFunc(all, func(other any) bool { return same(other, value) }) {
			all = append(all, value)
		}
	}
	for _, n := range f.needs {
		for _, value := range n.Values {
			add(value)
		}
	}
	if single := slices.Clone(all); !slices.ContainsFunc(all, f.meets) && len(single) <= mostAlternatives {
		for _, a := range single {
			for _, b := range single {
				first, isText := a.(string)
				if second, both := b.(string); isText && both {
					add(first + second)
				}
			}
		}
	}
	add(present)
	worse := func(value any) int {
		if f.meets(value) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(all, func(a, b any) int { return cmp.Compare(worse(a), worse(b)) })
	return all
}

// isSign reports whether a value is Present or Absent.
func isSign(value any) bool { return value == present || value == absent }

func same(a, b any) bool {
	if isSign(a) || isSign(b) {
		return a == b
	}
	return change.Equal(a, b)
}
