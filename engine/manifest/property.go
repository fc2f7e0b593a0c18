package manifest

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/internal/number"
)

// A property is an anchor, a tag, or both, before a value or a key.
type property struct {
	// node is the index of the node that has the property; start and end bound its text.
	node, start, end int32
	// nameStart and nameEnd bound the name of the anchor, tagStart and tagEnd the tag. A missing
	// part is empty.
	nameStart, nameEnd int32
	tagStart, tagEnd   int32
	tag                tag
	// size is how many nodes an alias to the node expands to, and height how deeply collections
	// nest in them.
	size, height int32
}

func (p *property) hasAnchor() bool { return p.nameStart < p.nameEnd }

// A tag says how to read the text of a tagged scalar.
type tag uint8

const (
	untagged tag = iota
	textTag      // !!str, and unknown tags
	binaryTag
	timestampTag
	nullTag
	boolTag
	intTag
	floatTag
)

// tagOf returns what the tag !!name means.
func tagOf(name string) tag {
	switch name {
	case "binary":
		return binaryTag
	case "timestamp":
		return timestampTag
	case "null":
		return nullTag
	case "bool":
		return boolTag
	case "int":
		return intTag
	case "float":
		return floatTag
	}
	return textTag
}

// read returns the value of a tagged text, and whether the text fits the tag. Times are strings, as
// they are without a tag.
func (t tag) read(text string) (value any, fits bool) {
	resolved, isString := resolve(text)
	switch t {
	case binaryTag:
		data, err := base64.StdEncoding.DecodeString(text)
		return strings.ToValidUTF8(string(data), "\ufffd"), err == nil
	case timestampTag:
		return text, isDate(text)
	case nullTag:
		return nil, resolved == nil && !isString
	case boolTag:
		_, fits = resolved.(bool)
		return resolved, fits
	case intTag:
		switch resolved.(type) {
		case int64, uint64:
			return plainValue(text), true
		}
		return nil, false
	case floatTag:
		switch v := resolved.(type) {
		case int64:
			return number.Whole(float64(v)), true
		case float64:
			return number.Whole(v), !isNotFinite(text)
		}
		return nil, false
	}
	return text, true
}

// scanProperty scans the anchor and the tag at the current position, and moves past the blanks
// after them.
func (s *scanner) scanProperty() (p property, ok bool) {
	p.start = int32(s.pos)
	for {
		start, known := s.pos, false
		switch c := s.peek(start); {
		case c == '&' && !p.hasAnchor():
			s.pos = s.nameEnd(start + 1)
			p.nameStart, p.nameEnd = int32(start+1), int32(s.pos)
			known = p.hasAnchor()
		case c == '!' && p.tag == untagged:
			s.pos, p.tag = s.tagEnd(start)
			p.tagStart, p.tagEnd = int32(start), int32(s.pos)
			known = p.tag != untagged
		case c == '&', c == '!', c == '*':
			return p, s.fail(start, outside)
		default:
			return p, true
		}
		if !known || !s.blankAt(s.pos) {
			return p, s.fail(start, outside)
		}
		p.end = int32(s.pos)
		for isBlank(s.peek(s.pos)) {
			s.pos++
		}
	}
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

// tagEnd returns the end of the tag that starts at i, and its meaning: untagged if the tag is left
// to the library.
func (s *scanner) tagEnd(i int) (end int, means tag) {
	const verbatim = "!<tag:yaml.org,2002:"
	switch text := s.text[i:s.end]; {
	case strings.HasPrefix(text, verbatim):
		name := i + len(verbatim)
		if end = s.nameEnd(name); s.peek(end) != '>' {
			return end, untagged
		}
		return end + 1, tagOf(s.text[name:end])
	case strings.HasPrefix(text, "!!"):
		if end = s.nameEnd(i + 2); end == i+2 {
			return end, untagged
		}
		return end, tagOf(s.text[i+2 : end])
	}
	for end = i + 1; isNameCharacter(s.peek(end)) || s.peek(end) == '.' || s.peek(end) == '/' || s.peek(end) == ':'; {
		end++
	}
	return end, textTag
}

// attach gives p to the node at index at, which may be the next node, and defines its anchor for
// later aliases. It returns the index of the property.
func (s *scanner) attach(p property, at int) int {
	i := len(s.properties)
	p.node, p.size = int32(at), 1
	s.properties = append(s.properties, p)
	if p.hasAnchor() {
		if s.anchors == nil {
			s.anchors = make(map[string]int)
		}
		s.anchors[s.text[p.nameStart:p.nameEnd]] = i
	}
	return i
}

// mark marks the node that has the property at index i, and checks a scalar against its tag.
func (s *scanner) mark(i int) bool {
	p := &s.properties[i]
	n := &s.nodes[p.node]
	n.marks |= propertied
	if p.tag != untagged && n.kind.isScalar() {
		n.marks |= tagged
		if _, fits := p.tag.read(s.tape().string(n)); !fits {
			s.problems = append(s.problems, problem{int(n.start), badTag})
		}
	}
	return true
}

// propertied scans the value after p.
func (s *scanner) propertied(p property, scan func() bool) bool {
	at := len(s.nodes)
	i := s.attach(p, at)
	expanded, deepest := s.expanded, s.deepest
	s.deepest = s.depth
	if !scan() {
		return false
	}
	s.properties[i].size = int32(len(s.nodes) - at + s.expanded - expanded)
	s.properties[i].height = int32(s.deepest - s.depth)
	s.deepest = max(s.deepest, deepest)
	return s.mark(i)
}

// blockProperty scans a property and the value after it, inside a collection at column parent. A
// map may start here.
func (s *scanner) blockProperty(parent int) bool {
	start := s.pos
	p, ok := s.scanProperty()
	if !ok {
		return false
	}
	switch c := s.peek(s.pos); {
	case s.atLineEnd():
		return s.propertied(p, func() bool { return s.belowProperty(p, parent, false) })
	case c == '{', c == '[', c == '|', c == '>':
		return s.propertied(p, func() bool { return s.inline(parent) })
	case c == '-' && s.blankAt(s.pos+1):
		return s.fail(s.pos, itemNotAllowed)
	}
	return s.scalarOrMap(parent, start, &p)
}

// inlineProperty scans a property on the line of a key, and the value after it.
func (s *scanner) inlineProperty(parent int) bool {
	p, ok := s.scanProperty()
	return ok && s.propertied(p, func() bool {
		if s.atLineEnd() {
			return s.belowProperty(p, parent, true)
		}
		return s.inline(parent)
	})
}

// belowProperty is below for a value with a property, which cannot have a second property.
func (s *scanner) belowProperty(p property, parent int, list bool) bool {
	if s.token() {
		switch s.text[s.pos] {
		case '&', '!', '*':
			return s.fail(s.pos, outside)
		}
	}
	return s.below(int(p.end), parent, list)
}

// flowProperty scans a property and the value after it in a flow collection.
func (s *scanner) flowProperty() bool {
	p, ok := s.scanProperty()
	if !ok || !s.flowToken() {
		return false
	}
	switch s.text[s.pos] {
	case '&', '!', '*', ',', ']', '}', ':':
		return s.fail(s.pos, outside)
	}
	return s.propertied(p, s.flowValue)
}

// firstKey attaches p, which may be nil, to the key just scanned, the first key of a map.
func (s *scanner) firstKey(p *property) bool {
	return p == nil || s.keyProperty(*p)
}

// keyProperty attaches p to the key just scanned.
func (s *scanner) keyProperty(p property) bool {
	key := len(s.nodes) - 1
	if p.tag != untagged || s.nodes[key].marks&merge != 0 {
		return s.fail(int(p.start), outside)
	}
	return s.mark(s.attach(p, key))
}

// scalarProperty is keyProperty for a value.
func (s *scanner) scalarProperty(p *property) bool {
	return p == nil || s.mark(s.attach(*p, len(s.nodes)-1))
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
	i, ok := s.anchors[s.text[start+1:s.pos]]
	if !ok {
		return s.fail(start, unknownAnchor)
	}
	p := &s.properties[i]
	switch s.expanded += int(p.size); {
	case s.nodes[p.node].next == 0: // its value is not complete
		return s.fail(start, aliasCycle)
	case s.expanded > maxExpanded:
		return s.fail(start, aliasBomb)
	case s.depth+int(p.height) > maxDepth:
		return s.fail(start, tooDeep)
	}
	s.deepest = max(s.deepest, s.depth+int(p.height))
	s.aliases = append(s.aliases, int32(len(s.nodes)))
	s.add(node{kind: alias, column: p.node, start: int32(start), end: int32(s.pos)})
	return true
}

// checkMerge marks the map at index m as merging if the key is <<. The value of << must be a map or
// a list of maps.
func (s *scanner) checkMerge(m, key int) {
	if s.failed != none || s.nodes[key].marks&merge == 0 {
		return
	}
	s.nodes[m].marks |= merging
	t := s.tape()
	if n := &s.nodes[key+1]; n.kind.isSequence() {
		for item := key + 2; item < int(n.next); item = int(s.nodes[item].next) {
			s.checkMerged(t, item)
		}
		return
	}
	s.checkMerged(t, key+1)
}

func (s *scanner) checkMerged(t *tape, i int) {
	if !t.nodes[t.real(i)].kind.isMap() {
		s.problems = append(s.problems, problem{int(t.nodes[i].start), badMerge})
	}
}

// property returns the property of the node at index i, or nil.
func (t *tape) property(i int) *property {
	if t.nodes[i].marks&propertied == 0 {
		return nil
	}
	at, _ := slices.BinarySearchFunc(t.properties, i, func(p property, i int) int { return int(p.node) - i })
	return &t.properties[at]
}

// start returns the start of the node at index i, including its property and the question mark of
// an explicit key.
func (t *tape) start(i int) int {
	if n := &t.nodes[i]; n.marks&explicit != 0 {
		return int(n.lead)
	}
	if p := t.property(i); p != nil {
		return int(p.start)
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

// merged returns the entries of a merging map as they read. As in go.yaml.in/yaml/v2, a merge key
// overrides the entries before it, and the entries after it override the merged entries.
func (t *tape) merged(m int) []entry {
	var list []entry
	index := map[string]int{}
	place := func(name string) int {
		at, ok := index[name]
		if !ok {
			at = len(list)
			index[name] = at
			list = append(list, entry{})
		}
		return at
	}
	for k := m + 1; k < int(t.nodes[m].next); k = int(t.nodes[k+1].next) {
		if t.nodes[k].marks&merge == 0 {
			name := t.key(k)
			list[place(name)] = entry{key: k, value: k + 1, name: name}
			continue
		}
		var all [][]entry
		for _, source := range t.sources(k + 1) {
			all = append(all, t.members(t.real(source)))
		}
		for _, entries := range all {
			for _, en := range entries {
				place(en.name)
			}
		}
		for _, entries := range slices.Backward(all) {
			for _, en := range entries {
				list[place(en.name)] = en
			}
		}
	}
	return list
}

// sources returns the maps in the value of a merge key at index i. Earlier maps override later
// maps.
func (t *tape) sources(i int) []int {
	if !t.nodes[i].kind.isSequence() {
		return []int{i}
	}
	var list []int
	for item := i + 1; item < int(t.nodes[i].next); item = int(t.nodes[item].next) {
		list = append(list, item)
	}
	return list
}

// members returns the entries of the map at index m as they read.
func (t *tape) members(m int) []entry {
	if t.nodes[m].marks&merging != 0 {
		return t.merged(m)
	}
	return t.entries(m)
}
