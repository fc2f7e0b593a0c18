package manifest

import "github.com/preadmit/preadmit/engine/internal/number"

// flow scans the flow collection at the current position and moves after it.
func (s *scanner) flow() bool {
	if !s.descend() {
		return false
	}
	var ok bool
	if s.text[s.pos] == '{' {
		ok = s.flowMapping()
	} else {
		ok = s.flowSequence()
	}
	s.depth--
	return ok
}

func (s *scanner) flowMapping() bool {
	m := s.open(flowMap, 0)
	s.pos++
	for {
		if !s.flowToken() {
			return false
		}
		if s.text[s.pos] == '}' {
			break
		}
		if !s.flowKey() || !s.flowToken() {
			return false
		}
		if c := s.text[s.pos]; c == ',' || c == '}' {
			return s.fail(s.pos, outside) // a missing value
		}
		if !s.flowValue() {
			return false
		}
		if more, ok := s.flowComma('}'); !ok {
			return false
		} else if !more {
			break
		}
	}
	s.pos++
	s.last = s.pos
	s.close(m)
	s.checkKeys(m)
	return true
}

func (s *scanner) flowSequence() bool {
	q := s.open(flowSequence, 0)
	s.pos++
	for {
		if !s.flowToken() {
			return false
		}
		if s.text[s.pos] == ']' {
			break
		}
		if !s.flowValue() {
			return false
		}
		if more, ok := s.flowComma(']'); !ok {
			return false
		} else if !more {
			break
		}
	}
	s.pos++
	s.last = s.pos
	s.close(q)
	return true
}

// flowComma moves past a comma, or to the bracket that closes the collection.
func (s *scanner) flowComma(closing byte) (more, ok bool) {
	if !s.flowToken() {
		return false, false
	}
	switch s.text[s.pos] {
	case ',':
		s.pos++
		return true, true
	case closing:
		return false, true
	case ':':
		return false, s.fail(s.pos, outside) // a pair that is a map, or a collection as key
	}
	return false, s.fail(s.pos, missingComma)
}

// flowToken moves to the next token in a flow collection. The document must not end here.
func (s *scanner) flowToken() bool {
	for s.pos < s.end {
		switch s.text[s.pos] {
		case ' ', '\t', '\r':
			s.pos++
		case '\n':
			s.pos++
			s.line = s.pos
		case '#':
			if s.pos > s.line && !isBlank(s.text[s.pos-1]) {
				return s.fail(s.pos, outside)
			}
			s.pos = s.lineEnd(s.pos)
		default:
			return true
		}
	}
	return s.fail(s.pos, openFlow)
}

// flowKey scans a key of a flow map and moves after its colon.
func (s *scanner) flowKey() bool {
	at := len(s.nodes)
	switch c := s.text[s.pos]; {
	case c == '"' || c == '\'':
		if !s.quoted(c) {
			return false
		}
	case c == '{' || c == '[':
		return s.fail(s.pos, outside)
	case !s.startsFlowPlain():
		return s.failIndicator()
	default:
		end, stop := s.flowPlainLine(s.pos)
		if s.failed != none {
			return false
		}
		s.addKey(end)
		s.pos = stop
	}
	key := &s.nodes[at]
	key.lead = -1
	for s.peek(s.pos) == ' ' {
		s.pos++
	}
	if s.peek(s.pos) != ':' || key.marks&multiline != 0 || s.pos-int(key.start) > maxKey {
		return s.fail(s.pos, outside)
	}
	if key.kind == plain && !s.blankAt(s.pos+1) {
		return s.fail(s.pos, outside)
	}
	s.pos++
	return true
}

func (s *scanner) flowValue() bool {
	switch c := s.text[s.pos]; c {
	case '{', '[':
		return s.flow()
	case '"', '\'':
		return s.quoted(c)
	case '&':
		return s.flowAnchor()
	case '*':
		return s.alias()
	}
	if !s.startsFlowPlain() {
		return s.failIndicator()
	}
	return s.flowPlain()
}

// startsFlowPlain reports whether a plain scalar may start at the current token of
// a flow collection.
func (s *scanner) startsFlowPlain() bool {
	switch s.text[s.pos] {
	case '?', ':':
		return false
	}
	return s.startsPlain()
}

// flowPlain scans a plain scalar in a flow collection.
func (s *scanner) flowPlain() bool {
	n := node{kind: plain, start: int32(s.pos)}
	end, stop := s.flowPlainLine(s.pos)
	for s.failed == none && (s.peek(stop) == '\n' || s.peek(stop) == '\r') {
		i, line := stop, s.line
		for i < s.end && (isBlank(s.text[i]) || s.text[i] == '\n' || s.text[i] == '\r') {
			if s.text[i] == '\n' {
				line = i + 1
			} else if s.text[i] == '\t' && i-line <= s.outer {
				return s.fail(i, tabIndentation)
			}
			i++
		}
		switch s.peek(i) {
		case 0, ',', ']', '}', '#':
			n.end = int32(end)
			s.pos = stop
			s.addPlain(n)
			return true
		}
		n.marks |= multiline
		s.line = line
		end, stop = s.flowPlainLine(i)
	}
	if s.failed != none {
		return false
	}
	if s.peek(stop) == ':' {
		return s.fail(stop, outside)
	}
	n.end = int32(end)
	s.pos = stop
	s.addPlain(n)
	return true
}

// flowPlainLine is plainLine in a flow collection, where brackets and commas also stop a scalar.
func (s *scanner) flowPlainLine(i int) (end, stop int) {
	for end = i; i < s.end; i++ {
		switch s.text[i] {
		case ' ', '\t':
			continue
		case '\n', '\r', ',', '[', ']', '{', '}':
			return end, i
		case '?':
			s.fail(i, outside)
			return end, i
		case ':':
			if s.blankAt(i + 1) {
				return end, i
			}
		case '#':
			if isBlank(s.text[i-1]) {
				return end, i
			}
		}
		end = i + 1
	}
	return end, i
}

// json scans the JSON object at start and returns its root and its end. It is as strict as
// encoding/json, so that escapes can mean the same as there. With exact, numbers mean the same as
// well (strict).
func (s *scanner) json(start, end int, exact bool) (root, stop int, ok bool) {
	s.pos, s.end, s.line = start, end, start
	s.depth, s.failed, s.marks = 0, none, fromJSON
	if exact {
		s.marks |= strict
	}
	root = len(s.nodes)
	if !s.jsonValue() {
		s.truncate(root)
		return -1, s.failedAt, false
	}
	return root, s.pos, true
}

func (s *scanner) jsonValue() bool {
	switch c := s.peek(s.pos); {
	case c == '{' || c == '[':
		if !s.descend() {
			return false
		}
		ok := s.jsonCollection(c)
		s.depth--
		return ok
	case c == '"':
		return s.jsonString()
	}
	n := node{kind: plain, start: int32(s.pos), marks: s.marks}
	i := s.pos
	for i < s.end && isJSONWord(s.text[i]) {
		i++
	}
	switch text := s.text[s.pos:i]; {
	case text == "true", text == "false", text == "null":
	case isJSONNumber(text):
		if _, err := number.Parse(text); err != nil && s.marks&strict != 0 {
			s.problems = append(s.problems, problem{s.pos, notFinite})
		}
	default:
		return s.fail(s.pos, notJSON)
	}
	s.pos, n.end = i, int32(i)
	s.add(n)
	return true
}

func (s *scanner) jsonCollection(opening byte) bool {
	k, closing := flowMap, byte('}')
	if opening == '[' {
		k, closing = flowSequence, ']'
	}
	at := s.open(k, 0)
	s.pos++
	s.jsonSpace()
	for first := true; s.peek(s.pos) != closing || !first; first = false {
		if k == flowMap {
			if s.peek(s.pos) != '"' || !s.jsonString() {
				return s.fail(s.pos, notJSON)
			}
			if s.jsonSpace(); s.peek(s.pos) != ':' {
				return s.fail(s.pos, notJSON)
			}
			s.pos++
			s.jsonSpace()
		}
		if !s.jsonValue() {
			return false
		}
		s.jsonSpace()
		if s.peek(s.pos) != ',' {
			break
		}
		s.pos++
		s.jsonSpace()
	}
	if s.peek(s.pos) != closing {
		return s.fail(s.pos, notJSON)
	}
	s.pos++
	s.last = s.pos
	s.close(at)
	if k == flowMap {
		s.checkKeys(at)
	}
	return true
}

func (s *scanner) jsonSpace() {
	for s.pos < s.end {
		switch s.text[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

func (s *scanner) jsonString() bool {
	n := node{kind: doubleQuoted, start: int32(s.pos)}
	for i := s.pos + 1; i < s.end; i++ {
		switch c := s.text[i]; {
		case c == '"':
			s.pos, n.end = i+1, int32(i+1)
			s.add(n)
			return true
		case c < ' ':
			return s.fail(i, notJSON)
		case c == '\\':
			n.marks |= escaped
			switch s.peek(i + 1) {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
				i++
			case 'u':
				if _, ok := hexRune(s.text[:s.end], i+2, 4); !ok {
					return s.fail(i, badEscape)
				}
				i += 5
			default:
				return s.fail(i, badEscape)
			}
		}
	}
	return s.fail(s.pos, openQuote)
}

func isJSONWord(c byte) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '+' || c == '.' || c == 'E'
}

// isJSONNumber matches -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?
func isJSONNumber(text string) bool {
	i := 0
	if i < len(text) && text[i] == '-' {
		i++
	}
	whole := skipDigits(text, i)
	if whole == i || text[i] == '0' && whole > i+1 {
		return false
	}
	i = whole
	if i < len(text) && text[i] == '.' {
		fraction := skipDigits(text, i+1)
		if fraction == i+1 {
			return false
		}
		i = fraction
	}
	if i < len(text) && (text[i] == 'e' || text[i] == 'E') {
		start := skipSign(text, i+1)
		if i = skipDigits(text, start); i == start {
			return false
		}
	}
	return i == len(text)
}
