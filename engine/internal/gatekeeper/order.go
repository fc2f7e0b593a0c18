package gatekeeper

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/source"
)

// checkOrders finds pairs of mutators where one undoes or prevents the change of the other. The
// order of their kinds and names decides which change wins.
func (p *program) checkOrders() []source.Diagnostic {
	var found []source.Diagnostic
	for i, later := range p.mutators {
		for _, earlier := range p.mutators[:i] {
			if len(later.contests)+len(earlier.contests) > 0 {
				continue
			}
			what := lost(earlier, later)
			if what == "" || !meet(earlier, later) {
				continue
			}
			d := source.Warningf(later.end(), "name-order", "where both apply, %s", what).
				With("they run in the order of kinds and names: leave the field to one of them, or have them match different objects")
			d.Subject, d.Field, d.Excerpt = later.subject(), locationPath.String(), later.document.Excerpt(later.end())
			found = append(found, d)
		}
	}
	return found
}

// lost describes the change that is lost because of the order of two mutators; "" if no change
// is lost.
func lost(earlier, later *mutator) string {
	if !later.location.covers(earlier.location) {
		return ""
	}
	holds := len(later.location) < len(earlier.location)
	switch {
	case holds && later.adds():
		return fmt.Sprintf("%s creates %s, so %s does not write it", earlier.key(), later.location, later.key())
	case holds && contributes(earlier, later), !holds && agree(earlier, later), !holds && earlier.adds() != later.adds():
		return ""
	case later.adds():
		return fmt.Sprintf("%s writes %s, so %s does not", earlier.key(), later.location, later.key())
	}
	return fmt.Sprintf("%s overwrites in %s what %s has written", later.key(), later.location, earlier.key())
}

// adds reports whether a mutator writes only missing values.
func (m *mutator) adds() bool {
	for depth, test := range m.tests {
		if depth >= 0 && test.condition == mustNotExist {
			return true
		}
	}
	return false
}

// agree reports whether the later mutator keeps, or writes again, what the earlier one has
// written.
func agree(earlier, later *mutator) bool {
	switch action := later.action.(type) {
	case *set:
		other, ok := earlier.action.(*set)
		return !ok || other.prunes == action.prunes || !slices.ContainsFunc(action.values, change.NewSet(other.values).Has)
	case image:
		other, ok := earlier.action.(image)
		return !ok || !differ(action.domain, other.domain) && !differ(action.path, other.path) && !differ(action.tag, other.tag)
	}
	return sameAction(earlier, later)
}

func differ(a, b string) bool { return a != "" && b != "" && a != b }

// contributes reports whether the mutator whole writes the value of part too, or does not write
// a whole value.
func contributes(part, whole *mutator) bool {
	value, ok := whole.action.(*constant)
	if !ok {
		return true
	}
	written, ok := part.action.(*constant)
	if !ok {
		return false
	}
	var path change.Path
	for _, n := range part.location[len(whole.location):] {
		if n.list {
			return false
		}
		path = path.Key(n.name)
	}
	found, ok := path.Get(value.value)
	return ok && change.Equal(found, written.value)
}

func sameAction(a, b *mutator) bool {
	one, ok := a.action.(*constant)
	other, also := b.action.(*constant)
	if ok && also {
		return change.Equal(one.value, other.value)
	}
	from, ok := a.action.(fromMetadata)
	return ok && b.action == action(from)
}

// covers reports whether a location may select a value that another location selects, or a
// parent of that value.
func (l location) covers(other location) bool {
	return len(l) <= len(other) && slices.EqualFunc(l, other[:len(l)], func(a, b node) bool {
		return a.name == b.name && a.list == b.list && (a.glob || b.glob || a.key == b.key)
	})
}

// meet reports whether two mutators may apply to the same object.
func meet(a, b *mutator) bool {
	if a.kind != assignMetadataKind && b.kind != assignMetadataKind {
		common, others := a.bindings(), b.bindings()
		maps.DeleteFunc(common, func(key binding, _ bool) bool { return !others[key] })
		if len(common) == 0 {
			return false
		}
	}
	return !a.match.generated && !b.match.generated && !a.match.apart(&b.match) && !b.match.apart(&a.match)
}

// apart reports whether no object can match both blocks, judging by their lists of names and
// their labels.
func (m *matcher) apart(other *matcher) bool {
	scopes := m.scope + other.scope
	switch {
	case scopes == "ClusterNamespaced" || scopes == "NamespacedCluster":
		return true
	case len(m.namespaces) > 0 && len(other.namespaces) > 0 && !anyOverlap(m.namespaces, other.namespaces):
		return true
	case len(m.namespaces) > 0 && !slices.ContainsFunc(m.namespaces, func(n string) bool { return !anyWild(other.excluded, n) }):
		return true
	case m.name != "" && other.name != "" && !overlap(m.name, other.name):
		return true
	case len(m.kinds) > 0 && len(other.kinds) > 0 && !m.kindsMeet(other):
		return true
	}
	return m.labels.apart(other.labels) || m.ofNamespace.apart(other.ofNamespace)
}

func (m *matcher) kindsMeet(other *matcher) bool {
	common := func(a, b []string) bool {
		return len(a) == 0 || len(b) == 0 || slices.Contains(a, "*") || slices.Contains(b, "*") ||
			slices.ContainsFunc(a, func(item string) bool { return slices.Contains(b, item) })
	}
	for _, one := range m.kinds {
		for _, two := range other.kinds {
			if common(one.kinds, two.kinds) && common(one.groups, two.groups) {
				return true
			}
		}
	}
	return false
}

func anyOverlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(one string) bool {
		return slices.ContainsFunc(b, func(other string) bool { return overlap(one, other) })
	})
}

// overlap reports whether a name may match both patterns.
func overlap(a, b string) bool {
	switch {
	case !strings.Contains(a, "*"):
		return wild(b, a)
	case !strings.Contains(b, "*"):
		return wild(a, b)
	}
	return true
}

// apart reports whether two selectors require different values of a label.
func (s *selector) apart(other *selector) bool {
	if s == nil || other == nil {
		return false
	}
	for key, value := range s.exact {
		if wanted, ok := other.exact[key]; ok && wanted != value {
			return true
		}
	}
	return false
}
