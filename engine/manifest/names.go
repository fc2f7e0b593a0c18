package manifest

import (
	"maps"
	"slices"

	"github.com/preadmit/preadmit/engine/change"
)

// names are the anchors that the edited text has defined so far, in text order. A nil names is for
// a text without anchors.
type names struct {
	current map[string]definition
	// defined has all of them, by node.
	defined map[int]definition
}

// A definition is the value that an alias refers to.
type definition struct {
	// node is the node with the anchor. It reads as value, or as before if same is true.
	node  int
	value any
	same  bool
}

// newNames returns names for a tape, starting with the anchors above.
func newNames(t *tape, a above) *names {
	if len(t.properties) == 0 {
		return nil
	}
	current := map[string]definition{}
	maps.Copy(current, a.anchors)
	return &names{current: current, defined: map[int]definition{}}
}

func (s *names) add(t *tape, p *property, d definition) {
	s.current[t.text[p.nameStart:p.nameEnd]] = d
	s.defined[d.node] = d
}

// define records that the value at index i will read as value, if it has an anchor.
func (s *names) define(t *tape, i int, value any) {
	if s == nil {
		return
	}
	if p := t.property(i); p != nil && p.hasAnchor() {
		s.add(t, p, definition{node: i, value: value})
	}
}

// pass records that the anchors of the nodes between two indexes stay as they are.
func (s *names) pass(t *tape, from, to int) {
	if s == nil {
		return
	}
	at, _ := slices.BinarySearchFunc(t.properties, from, func(p property, i int) int { return int(p.node) - i })
	for ; at < len(t.properties) && int(t.properties[at].node) < to; at++ {
		if p := &t.properties[at]; p.hasAnchor() {
			s.add(t, p, definition{node: int(p.node), same: true})
		}
	}
}

// read reports whether the alias at index i reads as value.
func (s *names) read(t *tape, i int, value any) bool {
	d, ok := s.definition(t, i)
	switch {
	case !ok:
		return false
	case d.same:
		return t.equals(d.node, value)
	}
	return change.Equal(d.value, value)
}

// value returns the value of the alias at index i, if the alias can be used.
func (s *names) value(t *tape, i int) (any, bool) {
	d, ok := s.definition(t, i)
	switch {
	case !ok:
		return nil, false
	case d.same:
		return t.value(d.node), true
	}
	return d.value, true
}

func (s *names) definition(t *tape, i int) (definition, bool) {
	if s == nil {
		return definition{}, false
	}
	n := &t.nodes[i]
	d, ok := s.current[t.text[n.start+1:n.end]]
	return d, ok
}
