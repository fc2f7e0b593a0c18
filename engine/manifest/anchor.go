package manifest

import "slices"

// An anchor is the name before a value or a key, like &name, that aliases refer to.
type anchor struct {
	// node is the index of the node that has the anchor; start and end bound its text.
	node, start, end int32
	// size is how many nodes an alias to the node expands to, and height how deeply collections
	// nest in them.
	size, height int32
}

// name returns the name of an anchor.
func (t *tape) name(a *anchor) string { return t.text[a.start+1 : a.end] }

// scanAnchor scans the anchor at the current position, and moves past the blanks after it.
func (s *scanner) scanAnchor() (a anchor, ok bool) {
	a.start = int32(s.pos)
	end := s.nameEnd(s.pos + 1)
	if end == s.pos+1 || !s.blankAt(end) {
		return a, s.fail(s.pos, outside)
	}
	a.end, s.pos = int32(end), end
	for isBlank(s.peek(s.pos)) {
		s.pos++
	}
	switch s.peek(s.pos) {
	case '&', '!', '*':
		return a, s.fail(s.pos, outside)
	}
	return a, true
}

// nameEnd returns the end of the name of an anchor that starts at i.
func (s *scanner) nameEnd(i int) int {
	for isNameCharacter(s.peek(i)) {
		i++
	}
	return i
}

func isNameCharacter(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}

// attach gives a to the node at index at, which may be the next node, and defines it for later
// aliases. It returns the index of the anchor.
func (s *scanner) attach(a anchor, at int) int {
	i := len(s.anchors)
	a.node, a.size = int32(at), 1
	s.anchors = append(s.anchors, a)
	if s.names == nil {
		s.names = make(map[string]int)
	}
	s.names[s.text[a.start+1:a.end]] = i
	return i
}

// mark marks the node that has the anchor at index i.
func (s *scanner) mark(i int) bool {
	s.nodes[s.anchors[i].node].marks |= anchored
	return true
}

// anchored scans the value after a.
func (s *scanner) anchored(a anchor, scan func() bool) bool {
	at := len(s.nodes)
	i := s.attach(a, at)
	expanded, deepest := s.expanded, s.deepest
	s.deepest = s.depth
	if !scan() {
		return false
	}
	s.anchors[i].size = int32(len(s.nodes) - at + s.expanded - expanded)
	s.anchors[i].height = int32(s.deepest - s.depth)
	s.deepest = max(s.deepest, deepest)
	return s.mark(i)
}

// blockAnchor scans an anchor and the value after it, inside a collection at column parent. A map
// may start here.
func (s *scanner) blockAnchor(parent int) bool {
	start := s.pos
	a, ok := s.scanAnchor()
	if !ok {
		return false
	}
	switch c := s.peek(s.pos); {
	case s.atLineEnd():
		return s.anchored(a, func() bool { return s.belowAnchor(a, parent, false) })
	case c == '{', c == '[', c == '|', c == '>':
		return s.anchored(a, func() bool { return s.inline(parent) })
	case c == '-' && s.blankAt(s.pos+1):
		return s.fail(s.pos, itemNotAllowed)
	}
	return s.scalarOrMap(parent, start, &a)
}

// inlineAnchor scans an anchor on the line of a key, and the value after it.
func (s *scanner) inlineAnchor(parent int) bool {
	a, ok := s.scanAnchor()
	return ok && s.anchored(a, func() bool {
		if s.atLineEnd() {
			return s.belowAnchor(a, parent, true)
		}
		return s.inline(parent)
	})
}

// belowAnchor is below for a value with an anchor, which cannot have a second anchor.
func (s *scanner) belowAnchor(a anchor, parent int, list bool) bool {
	if s.token() {
		switch s.text[s.pos] {
		case '&', '!', '*':
			return s.fail(s.pos, outside)
		}
	}
	return s.below(int(a.end), parent, list)
}

// flowAnchor scans an anchor and the value after it in a flow collection.
func (s *scanner) flowAnchor() bool {
	a, ok := s.scanAnchor()
	if !ok || !s.flowToken() {
		return false
	}
	switch s.text[s.pos] {
	case '&', '!', '*', ',', ']', '}', ':':
		return s.fail(s.pos, outside)
	}
	return s.anchored(a, s.flowValue)
}

// anchorLast attaches a, which may be nil, to the scalar or key just scanned.
func (s *scanner) anchorLast(a *anchor) bool {
	return a == nil || s.mark(s.attach(*a, len(s.nodes)-1))
}

// alias scans an alias.
func (s *scanner) alias() bool {
	start := s.pos
	s.pos = s.nameEnd(start + 1)
	switch s.peek(s.pos) {
	case 0, ' ', '\t', '\n', '\r', ',', ']', '}':
	default:
		return s.fail(start, outside)
	}
	i, ok := s.names[s.text[start+1:s.pos]]
	if !ok {
		return s.fail(start, unknownAnchor)
	}
	a := &s.anchors[i]
	switch s.expanded += int(a.size); {
	case s.nodes[a.node].next == 0: // its value is not complete
		return s.fail(start, aliasCycle)
	case s.expanded > maxExpanded:
		return s.fail(start, aliasBomb)
	case s.depth+int(a.height) > maxDepth:
		return s.fail(start, tooDeep)
	}
	s.deepest = max(s.deepest, s.depth+int(a.height))
	s.aliases = append(s.aliases, int32(len(s.nodes)))
	s.add(node{kind: alias, column: a.node, start: int32(start), end: int32(s.pos)})
	return true
}

// anchor returns the anchor of the node at index i, or nil.
func (t *tape) anchor(i int) *anchor {
	if t.nodes[i].marks&anchored == 0 {
		return nil
	}
	at, _ := slices.BinarySearchFunc(t.anchors, i, func(a anchor, i int) int { return int(a.node) - i })
	return &t.anchors[at]
}

// start returns the start of the node at index i, including its anchor.
func (t *tape) start(i int) int {
	if a := t.anchor(i); a != nil {
		return int(a.start)
	}
	return int(t.nodes[i].start)
}

// real returns the index of the node that an alias refers to, and for any other node its index.
func (t *tape) real(i int) int {
	if t.nodes[i].kind == alias {
		return int(t.nodes[i].column)
	}
	return i
}

// hasAliases reports whether the node at index i contains aliases.
func (t *tape) hasAliases(i int) bool {
	at, _ := slices.BinarySearch(t.aliases, int32(i))
	return at < len(t.aliases) && t.aliases[at] < t.nodes[i].next
}
