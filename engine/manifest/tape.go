package manifest

import (
	"sync"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/number"
)

// A tape is the text of documents, with the structure that a scanner has found in it.
type tape struct {
	text  string
	nodes []node
	// anchors and aliases are sorted by node index.
	anchors []anchor
	aliases []int32
	// large has the contents of large maps and lists that were searched, by the index of their
	// node, and under -1 the parents of all nodes.
	large *sync.Map
}

// contents are the entries of a map or the items of a list.
type contents struct {
	keys  map[string]int
	items []int
}

// fewChildren is how many children of a node are searched one by one.
const fewChildren = 16

// contents returns the contents of the collection at index i.
func (t *tape) contents(i int) *contents {
	if known, ok := t.large.Load(i); ok {
		return known.(*contents)
	}
	c := &contents{}
	if t.nodes[i].kind.isMap() {
		c.keys = make(map[string]int, t.size(i))
		for k := i + 1; k < int(t.nodes[i].next); k = int(t.nodes[k+1].next) {
			if key := t.key(k); c.keys[key] == 0 {
				c.keys[key] = k + 1
			}
		}
	} else {
		for item := i + 1; item < int(t.nodes[i].next); item = int(t.nodes[item].next) {
			c.items = append(c.items, item)
		}
	}
	t.large.Store(i, c)
	return c
}

// parents returns the indexes of the collections around all nodes.
func (t *tape) parents() []int32 {
	if known, ok := t.large.Load(-1); ok {
		return known.([]int32)
	}
	parents := make([]int32, len(t.nodes))
	var open []int32
	for i := range t.nodes {
		for len(open) > 0 && int(t.nodes[open[len(open)-1]].next) <= i {
			open = open[:len(open)-1]
		}
		if parents[i] = -1; len(open) > 0 {
			parents[i] = open[len(open)-1]
		}
		open = append(open, int32(i))
	}
	t.large.Store(-1, parents)
	return parents
}

// tape returns the tape of the unit's documents. If the tape was released, the text is scanned
// again. That is cheap compared with the memory of a tape, which is more than twice that of the
// text.
func (u *unit) tape() *tape {
	t := u.known.Load()
	if t == nil {
		t = u.scan()
		u.known.Store(t)
	}
	return t
}

// know keeps the tape of the unit.
func (u *unit) know(t *tape) {
	u.size = len(t.nodes)
	u.known.Store(t)
}

// release drops the tape of a unit that can be scanned again.
func (u *unit) release() { u.known.Store(nil) }

// isPlain reports whether the unit is one document, and scanning it again returns the same tape.
func (u *unit) isPlain() bool {
	return len(u.docs) == 1 && len(u.roots) == 1 && u.docs[0].root == u.roots[0] && u.roots[0] == 0 &&
		u.rewritten == nil
}

// scan returns the tape of a plain unit.
func (u *unit) scan() *tape {
	s := scanner{text: u.stream.text, nodes: make([]node, 0, u.size)}
	if u.json {
		s.json(firstToken(s.text, u.start, u.end), u.end, u.exact)
	} else {
		s.document(u.start, u.end)
	}
	return s.tape()
}

// text returns the text of the tape.
func (u *unit) text() string {
	if u.rewritten != nil {
		return u.tape().text
	}
	return u.stream.text
}

// key returns the key at index k as it reads.
func (t *tape) key(k int) string {
	n := &t.nodes[k]
	if n.marks&resolved != 0 {
		v, _ := resolve(t.text[n.start:n.end])
		name, _ := keyText(v)
		return name
	}
	return t.string(n)
}

// string returns the text of the scalar n as it reads if it is a string.
func (t *tape) string(n *node) string {
	switch {
	case n.kind == plain && n.marks&multiline == 0, n.kind == absent:
		return t.text[n.start:n.end]
	case (n.kind == singleQuoted || n.kind == doubleQuoted) && n.marks&(multiline|escaped) == 0:
		return t.text[n.start+1 : n.end-1]
	}
	d := decoder{want: -1, out: make([]byte, 0, n.end-n.start)}
	d.scalar(t.text, n)
	return string(d.out)
}

// value builds the value of the node at index i.
func (t *tape) value(i int) any {
	switch n := &t.nodes[i]; {
	case n.kind.isMap():
		return t.object(i)
	case n.kind == alias:
		return t.value(t.real(i))
	case n.kind.isSequence():
		list := make([]any, 0, t.count(i))
		for item := i + 1; item < int(n.next); item = int(t.nodes[item].next) {
			list = append(list, t.value(item))
		}
		return list
	case n.kind == absent:
		return nil
	case n.kind != plain:
		return t.string(n)
	case n.marks&strict != 0:
		return strictValue(t.text[n.start:n.end])
	default:
		return plainValue(t.string(n))
	}
}

// strictValue returns the value of true, false, null or a number in JSON.
func strictValue(text string) any {
	switch text[0] {
	case 't':
		return true
	case 'f':
		return false
	case 'n':
		return nil
	}
	v, _ := number.Parse(text) // the scanner has refused numbers out of range
	return v
}

// object builds the value of the map at index i.
func (t *tape) object(i int) map[string]any {
	i = t.real(i)
	object := make(map[string]any, t.count(i)/2)
	for k := i + 1; k < int(t.nodes[i].next); k = int(t.nodes[k+1].next) {
		object[t.key(k)] = t.value(k + 1)
	}
	return object
}

// equals reports whether the node at index i reads as value.
func (t *tape) equals(i int, value any) bool {
	switch n := &t.nodes[i]; {
	case n.kind == alias:
		return t.equals(t.real(i), value)
	case n.kind.isMap():
		object, ok := value.(map[string]any)
		return ok && len(object) == t.size(i) && t.within(i, object)
	case n.kind.isSequence():
		list, ok := value.([]any)
		if !ok {
			return false
		}
		for item := i + 1; item < int(n.next); item = int(t.nodes[item].next) {
			if len(list) == 0 || !t.equals(item, list[0]) {
				return false
			}
			list = list[1:]
		}
		return len(list) == 0
	}
	return t.equalsScalar(&t.nodes[i], value)
}

// equalsScalar reports whether a scalar reads as value, without building a text.
func (t *tape) equalsScalar(n *node, value any) bool {
	text, isText := value.(string)
	switch {
	case n.kind == absent:
		return value == nil
	case n.kind != plain:
		return isText && t.string(n) == text
	case n.marks&strict != 0:
		return !isText && change.Equal(strictValue(t.text[n.start:n.end]), value)
	case isText:
		return t.string(n) == text && isString(text)
	}
	return change.Equal(plainValue(t.string(n)), value)
}

// within reports whether every entry of the map at index i is in object.
func (t *tape) within(i int, object map[string]any) bool {
	for k := i + 1; k < int(t.nodes[i].next); k = int(t.nodes[k+1].next) {
		if value, ok := object[t.key(k)]; !ok || !t.equals(k+1, value) {
			return false
		}
	}
	return true
}

// fits reports whether the node at index i surely fits a shape. Aliases are not followed.
func (t *tape) fits(i int, shape Fitting) bool {
	n := &t.nodes[i]
	switch {
	case shape == nil:
		return true
	case n.kind == alias:
		return false
	case n.kind.isMap():
		for k := i + 1; k < int(n.next); k = int(t.nodes[k+1].next) {
			member, ok := shape.Member(t.key(k))
			if !ok || !t.fits(k+1, member) {
				return false
			}
		}
		return true
	case n.kind.isSequence():
		item, ok := shape.Item()
		for k := i + 1; ok && k < int(n.next); k = int(t.nodes[k].next) {
			ok = t.fits(k, item)
		}
		return ok
	}
	return shape.Accepts(t.value(i))
}

// count returns the number of children of the collection at index i.
func (t *tape) count(i int) int {
	count := 0
	for child := i + 1; child < int(t.nodes[i].next); child = int(t.nodes[child].next) {
		count++
	}
	return count
}

// size returns the number of entries of the map at index i.
func (t *tape) size(i int) int {
	return t.count(i) / 2
}

// lookup returns the index of the value under name in the map at index i, or -1.
func (t *tape) lookup(i int, name string) int {
	if i = t.real(i); !t.nodes[i].kind.isMap() {
		return -1
	}
	n := 0
	for k := i + 1; k < int(t.nodes[i].next); k = int(t.nodes[k+1].next) {
		if t.key(k) == name {
			return k + 1
		}
		if n++; n == fewChildren && t.large != nil {
			if at, ok := t.contents(i).keys[name]; ok {
				return at
			}
			break
		}
	}
	return -1
}

// item returns the index of an item of the sequence at index i, or -1.
func (t *tape) item(i, index int) int {
	if i = t.real(i); !t.nodes[i].kind.isSequence() {
		return -1
	}
	if index >= fewChildren && t.large != nil {
		if items := t.contents(i).items; index < len(items) {
			return items[index]
		}
		return -1
	}
	for item := i + 1; item < int(t.nodes[i].next); item = int(t.nodes[item].next) {
		if index == 0 {
			return item
		}
		index--
	}
	return -1
}

// lookupString returns the string at a path of keys below the node at index i, or "".
func (t *tape) lookupString(i int, path ...string) string {
	for _, name := range path {
		if i = t.lookup(i, name); i < 0 {
			return ""
		}
	}
	if t.nodes[t.real(i)].kind.isScalar() {
		if s, ok := t.value(i).(string); ok {
			return s
		}
	}
	return ""
}

// isExact reports whether all numbers in the node at index i read the same in JSON.
func (t *tape) isExact(i int) bool {
	for j := i; j < int(t.nodes[i].next); j++ {
		n := &t.nodes[j]
		if text := t.text[n.start:n.end]; n.kind == plain && isJSONNumber(text) {
			if v, _ := number.Parse(text); !change.Equal(v, plainValue(text)) {
				return false
			}
		}
	}
	return true
}

// height returns how many levels of collections nest in the node at index i.
func (t *tape) height(i int) int {
	height := 0
	for child := i + 1; child < int(t.nodes[i].next); child = int(t.nodes[child].next) {
		height = max(height, t.height(child))
	}
	if t.nodes[i].kind.isScalar() {
		return 0
	}
	return height + 1
}
