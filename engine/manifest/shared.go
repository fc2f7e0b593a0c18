package manifest

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/preadmit/preadmit/engine/change"
)

// A sharing links the documents of a list that have aliases for each other's values: an edit of one
// document may change the text of others.
type sharing struct {
	mu sync.Mutex
	// members are the linked documents.
	members map[*Document]*member
}

// A member is a document of a sharing.
type member struct {
	// aliases are the aliases in the document for values outside of it, and users are the documents
	// with aliases for its values.
	aliases []outsider
	users   []*Document
	// object and shape are the arguments of the last Set, if any.
	object map[string]any
	shape  change.Shape
	// defined are the values that its anchors have now, by node. It is nil if nothing has changed.
	defined map[int]definition
}

// An outsider is an alias for a value outside of its document. owner is the document with the
// value, or nil if the value is in no document.
type outsider struct {
	alias int
	owner *Document
}

// share links the documents of u that share values.
func (u *unit) share() {
	t := u.tape()
	if len(u.roots) == 0 || len(t.aliases) == 0 {
		return
	}
	docs := slices.SortedFunc(slices.Values(u.docs), func(a, b *Document) int { return cmp.Compare(a.root, b.root) })
	of := func(i int) *Document {
		after, found := slices.BinarySearchFunc(docs, i, func(d *Document, i int) int { return d.root - i })
		if found {
			after++
		}
		if after == 0 || i >= int(t.nodes[docs[after-1].root].next) {
			return nil
		}
		return docs[after-1]
	}
	from, _ := slices.BinarySearch(t.aliases, int32(u.roots[0]))
	for _, alias := range t.aliases[from:] {
		if alias >= t.nodes[u.roots[0]].next {
			break
		}
		user, owner := of(int(alias)), of(t.real(int(alias)))
		if user == nil || user == owner {
			continue
		}
		m := u.member(user)
		m.aliases = append(m.aliases, outsider{int(alias), owner})
		if owner != nil {
			if m = u.member(owner); !slices.Contains(m.users, user) {
				m.users = append(m.users, user)
			}
		}
	}
}

// member returns the member for a document, and creates it if it is missing.
func (u *unit) member(d *Document) *member {
	if u.shared == nil {
		u.shared = &sharing{members: map[*Document]*member{}}
	}
	m := u.shared.members[d]
	if m == nil {
		m = &member{}
		u.shared.members[d] = m
	}
	return m
}

// set is Document.Set for a member.
func (s *sharing) set(d *Document, object map[string]any, shape change.Shape) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.members[d]
	m.object, m.shape = object, shape
	err := s.edit(d)
	for _, user := range m.users {
		if err == nil {
			err = s.edit(user)
		}
	}
	return err
}

// reset is Document.Reset for a member.
func (s *sharing) reset(d *Document) {
	if err := s.set(d, nil, nil); err != nil { // only removing all edits is left
		for other, m := range s.members {
			*m = member{aliases: m.aliases, users: m.users}
			other.splices, other.anew = nil, nil
		}
	}
}

// edit edits a member so that it reads as its object, or as before if it was not set.
func (s *sharing) edit(d *Document) error {
	m := s.members[d]
	object := m.object
	if object == nil {
		object = d.Object()
	}
	n, err := d.set(object, m.shape, s.above(m, d.unit.tape()))
	m.defined = nil
	if n != nil && len(m.users) > 0 {
		m.defined = n.defined
	}
	return err
}

// An above has the anchors that a document uses and that are defined above it.
type above struct {
	anchors map[string]definition
	// changed means that some anchors are gone or have other values.
	changed bool
}

// above returns the anchors of other documents that a member uses.
func (s *sharing) above(m *member, t *tape) above {
	a := above{anchors: make(map[string]definition, len(m.aliases))}
	for _, f := range m.aliases {
		def, ok := definition{node: t.real(f.alias), same: true}, true
		if f.owner != nil && s.members[f.owner].defined != nil {
			def, ok = s.members[f.owner].defined[def.node]
		}
		if a.changed = a.changed || !ok || !def.same; ok {
			n := &t.nodes[f.alias]
			a.anchors[t.text[n.start+1:n.end]] = def
		}
	}
	return a
}

// prelude returns a text that defines the anchors.
func (a above) prelude(t *tape) string {
	out := emitter{style: style{json: true, colon: ": ", comma: ", "}}
	for _, name := range slices.Sorted(maps.Keys(a.anchors)) {
		def := a.anchors[name]
		if def.same {
			def.value = t.value(def.node)
		}
		out.WriteString("- &" + name + " ")
		out.flow(def.value, doubleQuoted, "", noModel)
		out.WriteString("\n")
	}
	return out.String()
}
