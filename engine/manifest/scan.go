package manifest

import (
	"strings"
	"sync"
)

// maxDepth is how deeply maps and lists may nest. The deepest schemas in CustomResourceDefinitions
// need about half of it.
const maxDepth = 200

// A kind is the form in which a node is written.
type kind uint8

const (
	absent kind = iota // no text, which reads as null
	plain
	singleQuoted
	doubleQuoted
	literal
	folded
	blockMap
	blockSequence
	flowMap
	flowSequence
	alias
)

func (k kind) isScalar() bool   { return k < blockMap }
func (k kind) isMap() bool      { return k == blockMap || k == flowMap }
func (k kind) isSequence() bool { return k == blockSequence || k == flowSequence }
func (k kind) isBlock() bool    { return k == blockMap || k == blockSequence }
func (k kind) isFlow() bool     { return k == flowMap || k == flowSequence }

// Marks on a node.
const (
	multiline uint16 = 1 << iota // a plain or quoted scalar of several lines
	escaped                      // a quoted scalar with escapes
	resolved                     // a plain key that reads as different text
	fromJSON                     // read as JSON
	strict                       // a number that keeps its type, as in JSON
	anchored                     // a node with an anchor
)

// A node is a scalar, map or sequence on the tape. Its children follow it: the items of a sequence,
// or alternately the keys and values of a map.
type node struct {
	kind  kind
	marks uint16
	// column is the column, in bytes from 0, of the entries of a block collection, or of the lines
	// of a block scalar. For an alias it is the index of the node that the alias refers to.
	column int32
	// lead is the offset of the indicator before the node: past the colon of its key, or at the
	// dash of its item. Keys, the root and nodes in flow collections have no lead.
	lead int32
	// start and end bound the text of the node, without the anchor before it. A block scalar ends
	// before the line break of its last line.
	start, end int32
	// next is the index of the node after this node and its children.
	next int32
}

// A scanner records the structure of documents on a tape. It reads the YAML that people usually
// write, and fails on all other YAML. It never reads a text differently from go.yaml.in/yaml/v2,
// the library of kubectl and the API server.
type scanner struct {
	text  string
	pos   int
	end   int // the end of the document
	line  int // the start of the current line
	nodes []node
	depth int
	last  int    // the end of the last scalar or flow collection
	outer int    // the column of the block collection around the current value, or -1
	marks uint16 // the marks of new collections and numbers

	// anchors and aliases are sorted by node index. names has the index of the last anchor with
	// each name.
	anchors []anchor
	aliases []int32
	names   map[string]int
	// expanded is the number of nodes that the aliases expand to. deepest is the deepest level of
	// collections since an anchor.
	expanded, deepest int

	failed   reason
	failedAt int
	problems []problem
	seen     map[string]struct{}
}

// A problem is a reason to refuse a well-formed document, or to warn.
type problem struct {
	at  int
	why reason
}

func (s *scanner) fail(at int, why reason) bool {
	if s.failed == none {
		s.failed, s.failedAt = why, at
	}
	return false
}

// reset makes a scanner for text, with the memory of a scanner that is no longer needed.
func (s *scanner) reset(text string) {
	*s = scanner{text: text, nodes: s.nodes[:0], anchors: s.anchors[:0], aliases: s.aliases[:0], names: s.names, seen: s.seen}
}

// document scans the text from start to end as one document and returns the index
// of its root, or -1 for a document without content.
func (s *scanner) document(start, end int) (root int, ok bool) {
	s.marks = 0
	s.pos, s.end, s.line = start, end, start
	s.depth, s.last, s.failed = 0, start, none
	s.expanded, s.deepest = 0, 0
	clear(s.names)
	root = len(s.nodes)
	if s.token() {
		if s.block(-1) && s.token() {
			s.fail(s.pos, badIndentation)
		}
	}
	switch {
	case s.failed != none:
		s.truncate(root)
		return -1, false
	case len(s.nodes) == root:
		return -1, true
	}
	return root, true
}

// truncate removes the nodes from index i on.
func (s *scanner) truncate(i int) {
	s.nodes = s.nodes[:i]
	for n := len(s.anchors); n > 0 && int(s.anchors[n-1].node) >= i; n-- {
		s.anchors = s.anchors[:n-1]
	}
	for n := len(s.aliases); n > 0 && int(s.aliases[n-1]) >= i; n-- {
		s.aliases = s.aliases[:n-1]
	}
}

// tape returns the tape so far.
func (s *scanner) tape() *tape {
	return &tape{text: s.text, nodes: s.nodes, anchors: s.anchors, aliases: s.aliases, large: new(sync.Map)}
}

// token moves to the next token, past blanks, comments and line breaks. It reports whether the
// document has another token.
func (s *scanner) token() bool {
	for s.pos < s.end {
		switch s.text[s.pos] {
		case ' ', '\r':
			s.pos++
		case '\n':
			s.pos++
			s.line = s.pos
		case '#':
			if s.pos > s.line && !isBlank(s.text[s.pos-1]) {
				return s.fail(s.pos, outside)
			}
			s.pos = s.lineEnd(s.pos)
		case '\t':
			return s.fail(s.pos, tabIndentation)
		default:
			return true
		}
	}
	return false
}

// rest moves to the end of the line, which may only have a comment.
func (s *scanner) rest() bool {
	i := s.pos
	for isBlank(s.peek(i)) {
		i++
	}
	switch s.peek(i) {
	case 0, '\n', '\r':
		s.pos = i
		return true
	case '#':
		if i == s.pos {
			return s.fail(i, outside)
		}
		s.pos = s.lineEnd(i)
		return true
	case ':':
		return s.fail(i, nestedValue)
	}
	return s.fail(i, trailingText)
}

// block scans the value at the current token, inside a collection at column parent. A map may start
// here.
func (s *scanner) block(parent int) bool {
	if !s.descend() {
		return false
	}
	ok := s.blockValue(parent)
	s.depth--
	return ok
}

// descend enters a collection.
func (s *scanner) descend() bool {
	if s.depth++; s.depth > maxDepth {
		return s.fail(s.pos, tooDeep)
	}
	s.deepest = max(s.deepest, s.depth)
	return true
}

func (s *scanner) blockValue(parent int) bool {
	switch s.text[s.pos] {
	case '{', '[', '|', '>', '*':
		return s.inline(parent)
	case '&':
		return s.blockAnchor(parent)
	case '-':
		if s.blankAt(s.pos + 1) {
			return s.sequence(s.pos - s.line)
		}
	}
	return s.scalarOrMap(parent, s.pos, nil)
}

// scalarOrMap scans a scalar, or a block map from its first key on. start is the start of its
// anchor, if it has one; a is nil if it has none.
func (s *scanner) scalarOrMap(parent, start int, a *anchor) bool {
	m, column := s.openAt(blockMap, start), start-s.line
	s.nodes[m].column = int32(column)
	switch c := s.text[s.pos]; c {
	case '"', '\'':
		if !s.quoted(c) {
			return false
		}
		if s.atColon() {
			return s.anchorLast(a) && s.mapping(m, column)
		}
		scalar := s.nodes[m+1]
		scalar.next = int32(m + 1)
		s.nodes = append(s.nodes[:m], scalar)
		return s.anchorLast(a) && s.rest()
	}
	if !s.startsPlain() {
		return s.failIndicator()
	}
	end, stop := s.plainLine(s.pos)
	if s.peek(stop) != ':' {
		s.nodes = s.nodes[:m]
		return s.plainValue(parent, end, stop) && s.anchorLast(a)
	}
	s.addKey(end)
	s.pos = stop
	return s.anchorLast(a) && s.mapping(m, column)
}

// mapping scans the block map with the node at index m, from the colon of its first key.
func (s *scanner) mapping(m, column int) bool {
	for {
		s.pos++
		if !s.mapValue(column) {
			return false
		}
		if !s.token() || s.pos-s.line < column {
			break
		}
		if s.pos-s.line > column {
			return s.fail(s.pos, badIndentation)
		}
		if !s.key() {
			return false
		}
	}
	if s.failed != none {
		return false
	}
	s.close(m)
	s.checkKeys(m)
	return true
}

// key scans a key of a block map up to its colon.
func (s *scanner) key() bool {
	switch c := s.text[s.pos]; {
	case c == '"' || c == '\'':
		if !s.quoted(c) {
			return false
		}
		if !s.atColon() {
			return s.fail(s.pos, missingColon)
		}
		return true
	case c == '-' && s.blankAt(s.pos+1):
		return s.fail(s.pos, itemInMap)
	case c == '&':
		a, ok := s.scanAnchor()
		if ok && s.atLineEnd() {
			ok = s.fail(s.pos, missingColon)
		}
		return ok && s.key() && s.anchorLast(&a)
	case !s.startsPlain():
		return s.failIndicator()
	}
	end, stop := s.plainLine(s.pos)
	if s.peek(stop) != ':' {
		return s.fail(s.pos, missingColon)
	}
	s.addKey(end)
	s.pos = stop
	return true
}

// maxKey is the largest length of a key in bytes before its colon.
const maxKey = 1000

// atColon moves to the colon that makes the quoted scalar just scanned a key.
func (s *scanner) atColon() bool {
	key := s.nodes[len(s.nodes)-1]
	i := s.pos
	for s.peek(i) == ' ' {
		i++
	}
	if s.peek(i) != ':' || !s.blankAt(i+1) || key.marks&multiline != 0 || i-int(key.start) > maxKey {
		return false
	}
	s.pos = i
	return true
}

// addKey adds the plain key from the current position to end.
func (s *scanner) addKey(end int) {
	n := node{kind: plain, start: int32(s.pos), end: int32(end), lead: -1, next: int32(len(s.nodes) + 1)}
	text := s.text[s.pos:end]
	switch v, isString := resolve(text); {
	case len(text) > maxKey:
		s.fail(s.pos, outside)
	case text == "<<":
		s.fail(s.pos, outside) // a merge key
	case isString:
	default:
		n.marks |= resolved
		if why := keyProblem(text, v); why != none {
			s.problems = append(s.problems, problem{s.pos, why})
		}
	}
	s.nodes = append(s.nodes, n)
}

// mapValue scans the value after a colon.
func (s *scanner) mapValue(column int) bool {
	lead, at := s.pos, len(s.nodes)
	for isBlank(s.peek(s.pos)) {
		s.pos++
	}
	ok := true
	if s.atLineEnd() {
		ok = s.below(lead, column, true)
	} else {
		ok = s.inline(column)
	}
	if ok {
		s.nodes[at].lead = int32(lead)
	}
	return ok
}

// atLineEnd reports whether only a comment follows on the line.
func (s *scanner) atLineEnd() bool {
	switch s.peek(s.pos) {
	case 0, '\n', '\r', '#':
		return true
	}
	return false
}

// below scans a value that starts on a later line, inside a collection at column parent. list means
// that the dashes of a list may be in that column. at is the position of a value without text.
func (s *scanner) below(at, parent int, list bool) bool {
	switch {
	case !s.token() || s.pos-s.line < parent:
	case s.pos-s.line > parent, list && s.text[s.pos] == '-' && s.blankAt(s.pos+1):
		return s.block(parent)
	}
	s.absent(at)
	return true
}

func (s *scanner) absent(at int) {
	s.nodes = append(s.nodes, node{kind: absent, start: int32(at), end: int32(at), next: int32(len(s.nodes) + 1)})
	s.last = at
}

// sequence scans the block sequence that starts at the current dash.
func (s *scanner) sequence(column int) bool {
	q := s.open(blockSequence, column)
	for {
		lead, at := s.pos, len(s.nodes)
		s.pos++
		for s.peek(s.pos) == ' ' {
			s.pos++
		}
		ok := true
		switch {
		case s.peek(s.pos) == '\t':
			ok = s.fail(s.pos, tabIndentation)
		case s.atLineEnd():
			ok = s.below(lead+1, column, false)
		default:
			ok = s.block(column)
		}
		if !ok {
			return false
		}
		s.nodes[at].lead = int32(lead)
		if !s.token() || s.pos-s.line < column {
			break
		}
		if s.pos-s.line > column {
			return s.fail(s.pos, badIndentation)
		}
		if s.text[s.pos] != '-' || !s.blankAt(s.pos+1) {
			break
		}
	}
	if s.failed != none {
		return false
	}
	s.close(q)
	return true
}

// inline scans a value on the line of its key, up to the end of its last line. A block collection
// may not start there.
func (s *scanner) inline(parent int) bool {
	switch c := s.text[s.pos]; c {
	case '{', '[':
		s.outer = parent
		return s.flow() && s.restOfLine()
	case '|', '>':
		return s.blockScalar(parent)
	case '"', '\'':
		return s.quoted(c) && s.rest()
	case '&':
		return s.inlineAnchor(parent)
	case '*':
		return s.alias() && s.restOfLine()
	}
	if !s.startsPlain() {
		return s.failIndicator()
	}
	end, stop := s.plainLine(s.pos)
	if s.peek(stop) == ':' {
		return s.fail(stop, nestedValue)
	}
	return s.plainValue(parent, end, stop)
}

// restOfLine is rest after a flow collection or an alias, which may be a key.
func (s *scanner) restOfLine() bool {
	if s.rest() {
		return true
	}
	if s.failed == nestedValue {
		s.failed = outside
	}
	return false
}

// add adds a scalar.
func (s *scanner) add(n node) {
	n.lead, n.next = -1, int32(len(s.nodes)+1)
	s.nodes = append(s.nodes, n)
	s.last = int(n.end)
}

// open adds a collection that starts at the current position.
func (s *scanner) open(k kind, column int) int {
	i := s.openAt(k, s.pos)
	s.nodes[i].column = int32(column)
	return i
}

func (s *scanner) openAt(k kind, start int) int {
	s.nodes = append(s.nodes, node{kind: k, marks: s.marks, lead: -1, start: int32(start)})
	return len(s.nodes) - 1
}

// close ends the collection at index i after its last child.
func (s *scanner) close(i int) {
	s.nodes[i].end = int32(s.last)
	s.nodes[i].next = int32(len(s.nodes))
}

// checkKeys reports keys that occur twice in the map at index m.
func (s *scanner) checkKeys(m int) {
	const few = 12 // up to this many keys, comparing all pairs is faster than hashing
	t := tape{text: s.text, nodes: s.nodes}
	var keys [few]string
	count := 0
	for k := m + 1; k < int(s.nodes[m].next); k = int(s.nodes[k+1].next) {
		name := t.key(k)
		if count == few {
			s.manyKeys(t, m)
			return
		}
		for _, other := range keys[:count] {
			if other == name {
				s.problems = append(s.problems, problem{int(s.nodes[k].start), duplicateKey})
				break
			}
		}
		keys[count] = name
		count++
	}
}

func (s *scanner) manyKeys(t tape, m int) {
	if s.seen == nil {
		s.seen = make(map[string]struct{})
	}
	clear(s.seen)
	for k := m + 1; k < int(s.nodes[m].next); k = int(s.nodes[k+1].next) {
		name := t.key(k)
		if _, ok := s.seen[name]; ok {
			s.problems = append(s.problems, problem{int(s.nodes[k].start), duplicateKey})
		}
		s.seen[name] = struct{}{}
	}
}

// peek returns the character at i, or 0 at the end of the document.
func (s *scanner) peek(i int) byte {
	if i < s.end {
		return s.text[i]
	}
	return 0
}

func (s *scanner) blankAt(i int) bool {
	switch s.peek(i) {
	case 0, ' ', '\t', '\n', '\r':
		return true
	}
	return false
}

// lineEnd returns the end of the line of i, before its line break.
func (s *scanner) lineEnd(i int) int {
	n := strings.IndexByte(s.text[i:s.end], '\n')
	switch {
	case n < 0:
		return s.end
	case n > 0 && s.text[i+n-1] == '\r':
		return i + n - 1
	}
	return i + n
}

// nextLine returns the start of the line after the line of i.
func (s *scanner) nextLine(i int) int {
	if n := strings.IndexByte(s.text[i:s.end], '\n'); n >= 0 {
		return i + n + 1
	}
	return s.end
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }
