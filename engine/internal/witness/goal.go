package witness

import (
	"cmp"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// Rule is a rule of a policy, to try on objects that reach its change.
type Rule struct {
	ID       policy.ID
	Document *manifest.Document
	// At is the position of the change.
	At source.Position
	// Program has only this rule.
	Program policy.Program
	// Goals are empty if a part of the rule cannot be read, or if it changes too many kinds.
	Goals []Goal
}

// Reacher is a language that reads its rules for what they ask of objects.
type Reacher interface {
	// Rules returns the rules of a sound document.
	Rules(d *manifest.Document, schemas *schema.Registry) []Rule
}

// MostKinds is for how many kinds a rule is tried. One that matches more is meant for any object.
const MostKinds = 12

// Goal is a rule that changes objects, with what decides whether it does.
type Goal struct {
	// Kinds are the kinds that the rule matches.
	Kinds []*schema.Kind
	Needs []Need
}

// Aim is what an object is generated for.
type Aim int

const (
	// Alternative is for objects that differ from those which are to reach the change.
	Alternative Aim = iota
	// Reach is for objects that meet all needs.
	Reach
	// Compromise is for objects that meet as many needs as they can: no value of some field meets all.
	Compromise
)

// mostAlternatives is how many objects of one kind a Goal yields.
const mostAlternatives = 60

// Objects yields objects for the goal. The first of each kind is to reach the change. The others differ from
// it in one field each, and the last has only what a valid object needs.
func (g Goal) Objects() iter.Seq2[map[string]any, Aim] {
	return func(yield func(object map[string]any, aim Aim) bool) {
		fields := fieldsOf(g.Needs)
		for _, kind := range g.Kinds {
			best := make([]any, len(fields))
			var others []fact
			at := map[int]int{} // from others to fields
			aim := Reach
			for i, f := range fields {
				values := f.values(TypeAt(kind.Type(), f.path))
				if best[i] = values[0]; !f.meets(best[i]) {
					aim = Compromise
				}
				for _, value := range values[1:] {
					at[len(others)] = i
					others = append(others, fact{f.path, value})
				}
			}
			if !yield(objectFor(kind, fields, best), aim) {
				return
			}
			for n, other := range others[:min(len(others), mostAlternatives)] {
				values := slices.Clone(best)
				values[at[n]] = other.value
				if !yield(objectFor(kind, fields, values), Alternative) {
					return
				}
			}
			if !yield(simplest(kind), Alternative) {
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
	// empty is the empty map or list that the field is if it has another field with needs, else nil.
	empty any
}

// fieldsOf groups needs by their fields. A field comes after those around it.
func fieldsOf(needs []Need) (fields []neededField) {
	index, around := map[string]int{}, map[string]any{}
	joined := func(path []string) string { return strings.Join(path, "\x00") }
	for _, n := range needs {
		for i, key := range n.Path {
			around[joined(n.Path[:i])] = any(map[string]any{})
			if _, err := strconv.Atoi(key); err == nil {
				around[joined(n.Path[:i])] = []any{}
			}
		}
		key := joined(n.Path)
		i, known := index[key]
		if !known {
			i = len(fields)
			index[key] = i
			fields = append(fields, neededField{path: n.Path})
		}
		fields[i].needs = append(fields[i].needs, n)
	}
	for i, f := range fields {
		fields[i].empty = around[joined(f.path)]
	}
	slices.SortStableFunc(fields, func(a, b neededField) int { return cmp.Compare(len(a.path), len(b.path)) })
	return fields
}

// meets reports whether a value meets all needs of the field.
func (f neededField) meets(value any) bool {
	return !slices.ContainsFunc(f.needs, func(n Need) bool { return !n.meets(value) })
}

// values returns the values that fit a type and make a difference, those that meet the most needs first. It
// joins two texts that meet the needs only together. There is at least one value.
func (f neededField) values(t *schema.Type) []any {
	var all []any
	add := func(value any) {
		if value == present && f.empty != nil && isOpen(t) {
			value = f.empty
		}
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
	unmet := func(value any) (n int) {
		for _, need := range f.needs {
			if !need.meets(value) {
				n++
			}
		}
		return n
	}
	slices.SortStableFunc(all, func(a, b any) int { return cmp.Compare(unmet(a), unmet(b)) })
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
