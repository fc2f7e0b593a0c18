package manifest

import (
	"slices"

	"github.com/preadmit/preadmit/engine/change"
)

// names are the anchors that the edited text has defined so far, in text order. A nil names is for
// a text without anchors.
type names map[string]definition

// A definition is the value that an alias refers to.
type definition struct {
	// node is the node with the anchor. It reads as value, or as before if same is true.
	node  int
	value any
	same  bool
}

func newNames(t *tape) names {
	if len(t.anchors) == 0 {
		return nil
	}
	return names{}
}

// define records that the value at index i will read as value, if it has an anchor.
func (s names) define(t *tape, i int, value any) {
	if s == nil {
		return
	}
	if a := t.anchor(i); a != nil {
		s[t.name(a)] = definition{node: i, value: value}
	}
}

// pass records that the anchors of the nodes between two indexes stay as they are.
func (s names) pass(t *tape, from, to int) {
	if s == nil {
		return
	}
	at, _ := slices.BinarySearchFunc(t.anchors, from, func(a anchor, i int) int { return int(a.node) - i })
	for ; at < len(t.anchors) && int(t.anchors[at].node) < to; at++ {
		a := &t.anchors[at]
		s[t.name(a)] = definition{node: int(a.node), same: true}
	}
}

// read reports whether the alias at index i reads as value.
func (s names) read(t *tape, i int, value any) bool {
	n := &t.nodes[i]
	d, ok := s[t.text[n.start+1:n.end]]
	if ok && d.same {
		return t.equals(d.node, value)
	}
	return ok && change.Equal(d.value, value)
}
