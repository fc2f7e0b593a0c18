package gatekeeper

import (
	"fmt"
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// call is one application of a mutator to an object.
type call struct {
	subject *subject
	// fresh is the copy of an Assign's value for this call. Gatekeeper copies the value once per
	// call, and then puts the same copy at every place that the location selects.
	fresh any
	// places counts the places written so far; size is the size of all their values.
	places, size int
}

// take counts one more place and the size of the value written there.
func (c *call) take(size int) error {
	c.places++
	if c.size += size; c.size > limit.ObjectBytes {
		return limit.Exceeded(limit.ObjectSize, "write to fewer places, or smaller values", "values of more than %d MiB are written to %d places", limit.ObjectBytes>>20, c.places)
	}
	return nil
}

func sizeOf(value any) int {
	size, _ := limit.Size(value, limit.ObjectBytes)
	return size
}

// constant assigns a value.
type constant struct {
	value any
	// composite says that the value contains maps; size is the size of the value.
	composite bool
	size      int
}

func newConstant(value any) *constant { return &constant{value, holdsMaps(value), sizeOf(value)} }

func holdsMaps(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		return true
	case []any:
		return slices.ContainsFunc(value, holdsMaps)
	}
	return false
}

// place returns the value to write at one more place.
func (v *constant) place(c *call) (any, error) {
	if c.fresh == nil {
		c.fresh = v.value
		if v.composite {
			c.fresh = change.Clone(v.value)
		}
	}
	return c.fresh, c.take(v.size)
}

// field implements action.
func (v *constant) field(c *call, _ any, _ bool) (any, bool, error) {
	value, err := v.place(c)
	return value, true, err
}

// fromMetadata assigns the name or the namespace of the object.
type fromMetadata string

// field implements action.
func (f fromMetadata) field(c *call, _ any, _ bool) (any, bool, error) {
	if f == "namespace" {
		return objectNamespace(c.subject.request), true, nil
	}
	return textIn(c.subject.object, "metadata", "name"), true, nil
}

// assign reads the assigned value and checks it as Gatekeeper does.
func (r *reader) assign(n policy.Node, m *mutator) action {
	if !r.doc.IsSound(n) {
		return nil
	}
	value, metadata, data := n.At("value"), n.At("fromMetadata"), n.At("externalData")
	given := 0
	for _, source := range []policy.Node{value, metadata, data} {
		if source.Given() {
			given++
		}
	}
	switch {
	case given == 0:
		r.doc.Invalid(n, "assign must set one of `externalData`, `value` or `fromMetadata`: invalid assign field")
	case given > 1:
		r.doc.Invalid(n, "assign must only set one of `externalData`, `value` or `fromMetadata`: invalid assign field")
	case value.Given():
		r.checkNumbers(value)
		return r.assignValue(value, m)
	case m.location.endsInList():
		what := "a metadata field"
		if data.Given() {
			what = "external data response"
		}
		r.advise(n, 0, "end the location with a field of the element", "cannot assign %s to a list", what)
	case metadata.Given():
		field := metadata.At("field")
		if field.Text() != "name" && field.Text() != "namespace" {
			r.advise(field, 0, "expected name or namespace", "field %s is not recognized: invalid fromMetadata field", field.Text())
		}
		return fromMetadata(field.Text())
	default:
		return r.external(data, m)
	}
	return nil
}

// assignValue reads the value of an Assign. At the end of a location that selects an item
// of a list, it must be an object with the key of that item.
func (r *reader) assignValue(n policy.Node, m *mutator) action {
	value := floats(n.Value)
	if m.location.endsInList() {
		last := m.location[len(m.location)-1]
		object, ok := value.(map[string]any)
		switch {
		case last.glob:
			r.advise(r.doc.Root.At("spec", "location"), last.offset, "name the element: [key: value]", "can't append to a globbed list")
		case !ok:
			r.advise(n, 0, "expected an object with "+last.name, "invalid value: `%s`, only objects can be added to keyed lists", describe(value))
		case object[last.name] != last.key:
			advice := "the value must have the key that its element is selected by"
			if _, isInteger := last.key.(int64); isInteger {
				advice = "Gatekeeper reads the numbers of a value as floating-point ones, which equal no integer of a location: assign the fields of the element one by one"
			}
			r.advise(n, 0, advice, "adding object to list with different key %s: list key %v, object key %v", last.name, last.key, object[last.name])
		}
	}
	return newConstant(value)
}

// assignMetadata reads what an AssignMetadata assigns.
func (r *reader) assignMetadata(n policy.Node, m *mutator) action {
	a := r.assign(n, m)
	switch assigned := a.(type) {
	case *constant:
		if _, ok := assigned.value.(string); !ok {
			at := n.At("value").Path
			d := source.Errorf(r.doc.Document.At(at), "policy-invalid", "spec.parameters.assign.value field must be a string for AssignMetadata %q", m.name).With("quote the value")
			r.doc.Report(r.doc.Document.Quoted(d, at), at)
		}
	case *external:
		if assigned.dataSource != username {
			r.advise(n.At("externalData"), 0, "set dataSource: Username", "only username data source is supported for assignmetadata %s", m.name)
		}
	}
	return a
}

// set changes a list as a set of values.
type set struct {
	// values is nil if the parameters have no list of values.
	values []any
	size   int
	prunes bool
}

// modifySet reads the parameters of a ModifySet.
func (r *reader) modifySet(n policy.Node) action {
	list := n.At("values", "fromList")
	values, ok := list.Value.([]any)
	if list.Given() && !ok && r.doc.IsSound(n) {
		r.doc.Invalid(list, "expected a list of values")
	}
	r.checkNumbers(list)
	return &set{values, sizeOf(list.Value), n.At("operation").Text() == "prune"}
}

// field implements action. A merge without a list of values gives a nil list: the patch has
// null, but other mutators see a list.
func (s *set) field(c *call, value any, given bool) (any, bool, error) {
	if o := c.subject.observer(); o.IsActive() {
		o.Use(value) // it is compared with the values of the set
	}
	list, ok := value.([]any)
	switch {
	case given && !ok:
		return nil, false, fmt.Errorf("%s is not a list of values, cannot treat it as a set", describe(value))
	case s.prunes:
		return s.prune(list), given, nil
	case s.values == nil:
		return list, true, nil
	case !given:
		return s.values, true, c.take(s.size)
	}
	return s.merge(list), true, c.take(s.size)
}

// merge appends the values that a list does not have.
func (s *set) merge(list []any) []any {
	merged, has := list[:len(list):len(list)], change.NewSet(list)
	for _, value := range s.values {
		if !has.Has(value) {
			merged = append(merged, value)
			has.Add(value)
		}
	}
	return merged
}

// prune removes values from a list.
func (s *set) prune(list []any) []any {
	pruned, removed := make([]any, 0, len(list)), change.NewSet(s.values)
	for _, item := range list {
		if !removed.Has(item) {
			pruned = append(pruned, item)
		}
	}
	if len(pruned) == len(list) && list != nil {
		return list
	}
	return pruned
}

// field implements action.
func (i image) field(c *call, value any, given bool) (any, bool, error) {
	text, ok := value.(string)
	if given && !ok {
		return nil, false, fmt.Errorf("expected value at AssignImage location to be a string, got %s", change.Describe(value))
	}
	if u := c.subject.observer().Find(text); u != nil {
		return u.Computed, true, nil
	}
	return i.onto(text), true, nil
}
