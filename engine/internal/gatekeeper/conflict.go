package gatekeeper

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// A location implies a schema: spec.containers[name: *].image implies that containers is a list
// whose items have the key name. If the locations of mutators imply different schemas for the
// same kind and operation, Gatekeeper disables these mutators for all their kinds.

// valueType is the type of a value that a location implies.
type valueType string

const (
	mapType     valueType = "a map"
	listType    valueType = "a list with keys"
	setType     valueType = "a list of values"
	stringType  valueType = "a string"
	unknownType valueType = ""
)

// implied describes a value that is on the path of some location.
type implied struct {
	// users are the mutators whose locations include the value.
	users []*mutator
	// ends are the users whose locations end here and must not be extended.
	ends []*mutator
	// fields are the fields of the value, or the key of a list, by name and implied type.
	fields map[string]map[valueType]*implied
}

// contest is a place where the locations of mutators imply different schemas.
type contest struct {
	kind gvk.Kind
	path string
	why  string
	// mutators are the disabled mutators; there is at least one.
	mutators []*mutator
}

// terminalType returns the implied type of the value at the end of a mutator's location.
func (m *mutator) terminalType() valueType {
	switch m.kind {
	case modifySetKind:
		return setType
	case assignImageKind:
		return stringType
	}
	return unknownType
}

// mustEnd reports whether no other location may extend the location of the mutator.
func (m *mutator) mustEnd() bool {
	_, isExternal := m.action.(*external)
	return isExternal || m.kind == assignImageKind
}

// add adds the location of a mutator, starting at a depth.
func (v *implied) add(m *mutator, depth int) {
	v.users = append(v.users, m)
	if depth == len(m.location) {
		if m.mustEnd() {
			v.ends = append(v.ends, m)
		}
		return
	}
	of := m.terminalType()
	if depth+1 < len(m.location) {
		if of = mapType; m.location[depth+1].list {
			of = listType
		}
	}
	name := m.location[depth].name
	if v.fields == nil {
		v.fields = map[string]map[valueType]*implied{}
	}
	if v.fields[name] == nil {
		v.fields[name] = map[valueType]*implied{}
	}
	if v.fields[name][of] == nil {
		v.fields[name][of] = &implied{}
	}
	v.fields[name][of].add(m, depth+1)
}

// binding is a kind and an operation. Each binding has its own implied schema.
type binding struct {
	kind      gvk.Kind
	operation policy.Operation
}

// findContests finds the conflicts between mutators, and disables the mutators in conflict.
func findContests(mutators []*mutator) {
	schemas := map[binding]*implied{}
	for _, m := range mutators {
		for b := range m.bindings() {
			if schemas[b] == nil {
				schemas[b] = &implied{}
			}
			schemas[b].add(m, 0)
		}
	}
	for _, b := range slices.SortedFunc(maps.Keys(schemas), binding.compare) {
		for _, c := range schemas[b].contests(b.kind, nil, false) {
			for _, m := range c.mutators {
				m.contests = append(m.contests, c)
			}
		}
	}
}

func (b binding) compare(other binding) int {
	return cmp.Or(cmp.Compare(b.kind.String(), other.kind.String()), cmp.Compare(b.operation, other.operation))
}

// bindings returns the kinds and operations in applyTo. An AssignMetadata has no applyTo, and is
// never in conflict.
func (m *mutator) bindings() map[binding]bool {
	all := map[binding]bool{}
	for _, a := range m.applyTo {
		for _, operation := range a.effective() {
			for _, group := range a.groups {
				for _, version := range a.versions {
					for _, kind := range a.kinds {
						all[binding{gvk.Kind{Group: group, Version: version, Kind: kind}, operation}] = true
					}
				}
			}
		}
	}
	return all
}

// contests finds the conflicts in a value and in everything inside it. list says that the value
// is a list, whose fields are keys.
func (v *implied) contests(kind gvk.Kind, path location, list bool) []*contest {
	var found []*contest
	for _, name := range slices.Sorted(maps.Keys(v.fields)) {
		field, at := v.fields[name], append(path[:len(path):len(path)], node{name: name, list: list, glob: list})
		if c := contested(field); c != nil {
			c.kind, c.path = kind, at.String()
			found = append(found, c)
		}
		for _, of := range slices.Sorted(maps.Keys(field)) {
			found = append(found, field[of].contests(kind, at, of == listType)...)
		}
	}
	return found
}

// contested returns the conflict in what locations imply for one value, nil if they agree.
func contested(field map[valueType]*implied) *contest {
	var c contest
	var known, keys []string
	ends, goesOn := false, false
	for _, of := range slices.Sorted(maps.Keys(field)) {
		v := field[of]
		ends, goesOn = ends || len(v.ends) > 0, goesOn || len(v.fields) > 0
		if of != unknownType {
			known = append(known, string(of))
		}
		if of == listType {
			keys = slices.Sorted(maps.Keys(v.fields))
		}
	}
	for _, of := range slices.Sorted(maps.Keys(field)) {
		v := field[of]
		if of != unknownType && len(known) > 1 || of == listType && len(keys) > 1 {
			c.mutators = append(c.mutators, v.users...)
		}
		if !ends || !goesOn {
			continue
		}
		c.mutators = append(append(c.mutators, v.ends...), v.usersBelow()...)
	}
	switch {
	case len(c.mutators) == 0:
		return nil
	case len(known) > 1:
		c.why = "is " + strings.Join(known, " to one and ") + " to another"
	case len(keys) > 1:
		c.why = "is a list with the key " + strings.Join(keys, " to one and ") + " to another"
	default:
		c.why = "is a single value to one and has fields to another"
	}
	slices.SortFunc(c.mutators, compareMutators)
	c.mutators = slices.Compact(c.mutators)
	return &c
}

// usersBelow returns the mutators of the fields.
func (v *implied) usersBelow() []*mutator {
	var users []*mutator
	for _, below := range v.fields {
		for _, child := range below {
			users = append(users, child.users...)
		}
	}
	return users
}

// String describes the conflict.
func (c *contest) String() string {
	return fmt.Sprintf("%s of %s %s %s", c.path, c.kind.APIVersion(), c.kind.Kind, c.why)
}

// disabled is the reason why a mutator in conflict does not apply.
type disabled struct{ mutator *mutator }

// String implements fmt.Stringer.
func (d disabled) String() string {
	c := d.mutator.contests[0]
	return fmt.Sprintf("Gatekeeper disables it for its conflict with %s: %s", strings.Join(d.mutator.rivals(), ", "), c)
}

// rivals returns the other mutators that a mutator is in conflict with.
func (m *mutator) rivals() []string {
	var names []string
	for _, c := range m.contests {
		for _, other := range c.mutators {
			if other != m && !slices.Contains(names, other.key()) {
				names = append(names, other.key())
			}
		}
	}
	slices.Sort(names)
	return names
}

// conflicts returns a warning for each disabled mutator.
func conflicts(mutators []*mutator) []source.Diagnostic {
	var found []source.Diagnostic
	for _, m := range mutators {
		if len(m.contests) == 0 {
			continue
		}
		c := m.contests[0]
		d := source.Warningf(m.at("location"), "mutators-conflict", "Gatekeeper disables %s, for all its kinds: it is in conflict with %s, as %s", source.Name(m.key()), source.Name(strings.Join(m.rivals(), ", ")), c).
			With("make all locations agree on which values are maps, lists or scalars, and on the keys of lists")
		d.Subject, d.Field, d.Excerpt = m.subject(), locationPath.String(), m.document.Excerpt(m.at("location"))
		found = append(found, d)
	}
	return found
}
