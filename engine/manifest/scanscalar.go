package manifest

// startsPlain reports whether a plain scalar may start at the current token.
func (s *scanner) startsPlain() bool {
	switch s.text[s.pos] {
	case ',', '[', ']', '{', '}', '#', '&', '*', '!', '|', '>', '\'', '"', '%', '@', '`':
		return false
	case '-', '?', ':':
		return !s.blankAt(s.pos + 1)
	}
	return true
}

// failIndicator fails at a character that cannot start a plain scalar.
func (s *scanner) failIndicator() bool {
	switch s.text[s.pos] {
	case '-':
		return s.fail(s.pos, itemNotAllowed)
	case '&', '*', '!', '?', ':':
		return s.fail(s.pos, outside)
	}
	return s.fail(s.pos, reservedCharacter)
}

// plainLine returns the end, on its line, of the plain scalar that starts at i, and the character
// that stops it: a colon, a comment or the end of the line.
func (s *scanner) plainLine(i int) (end, stop int) {
	text := s.text[:s.end]
	for end = i; i < len(text); i++ {
		switch text[i] {
		case ' ', '\t':
			continue
		case '\n', '\r':
			return end, i
		case ':':
			if s.blankAt(i + 1) {
				return end, i
			}
		case '#':
			if isBlank(text[i-1]) {
				return end, i
			}
		}
		end = i + 1
	}
	return end, i
}

// plainValue scans the other lines of the plain scalar that starts at the current position, and
// adds the scalar.
func (s *scanner) plainValue(parent, end, stop int) bool {
	n := node{kind: plain, start: int32(s.pos)}
	for s.peek(stop) != '#' {
		i := s.nextLine(stop)
		line := i
		for i < s.end && (s.text[i] == ' ' || s.text[i] == '\n' || s.text[i] == '\r') {
			if s.text[i] == '\n' {
				line = i + 1
			}
			i++
		}
		if i >= s.end || i-line <= parent || s.text[i] == '#' {
			break
		}
		if s.text[i] == '\t' {
			return s.fail(i, tabIndentation)
		}
		n.marks |= multiline
		s.line = line
		end, stop = s.plainLine(i)
		if s.peek(stop) == ':' {
			return s.fail(stop, nestedValue)
		}
	}
	n.end = int32(end)
	s.pos = stop
	s.addPlain(n)
	return true
}

func (s *scanner) addPlain(n node) {
	if isNotFinite(s.text[n.start:n.end]) {
		s.problems = append(s.problems, problem{int(n.start), notFinite})
	}
	s.add(n)
}

// quoted scans the quoted scalar at the current position and moves past it.
func (s *scanner) quoted(quote byte) bool {
	n := node{kind: singleQuoted, start: int32(s.pos)}
	if quote == '"' {
		n.kind = doubleQuoted
	}
	for i := s.pos + 1; i < s.end; i++ {
		switch c := s.text[i]; {
		case c == quote && quote == '\'' && s.peek(i+1) == '\'':
			n.marks |= escaped
			i++
		case c == quote:
			s.pos = i + 1
			n.end = int32(s.pos)
			s.add(n)
			return true
		case c == '\\' && quote == '"':
			n.marks |= escaped
			size := escapeSize(s.text[i:s.end])
			if size == 0 {
				return s.fail(i, badEscape)
			}
			i += size - 1
			if s.text[i] == '\n' {
				n.marks |= multiline
				s.line = i + 1
			}
		case c == '\n':
			n.marks |= multiline
			s.line = i + 1
		}
	}
	return s.fail(s.pos, openQuote)
}

// blockScalar scans the literal or folded scalar at the current position and moves to the line
// after it.
func (s *scanner) blockScalar(parent int) bool {
	n := node{kind: literal, start: int32(s.pos)}
	if s.text[s.pos] == '>' {
		n.kind = folded
	}
	size, chomp, indent := blockHeader(s.text[s.pos:s.end])
	if size == 0 {
		return s.fail(s.pos, badBlockHeader)
	}
	s.pos += size
	last := s.pos
	if !s.rest() {
		return false
	}
	i := s.nextLine(s.pos)
	if indent > 0 {
		indent += max(parent, 0)
	} else if indent = s.blockIndent(i, parent); indent < 0 {
		return false
	}
	for i < s.end {
		spaces, c := s.leading(i, indent)
		isBreak := c == 0 || c == '\n' || c == '\r'
		if !isBreak && spaces < indent {
			if c == '\t' {
				return s.fail(i+spaces, tabIndentation)
			}
			break
		}
		end := s.lineEnd(i)
		if !isBreak || chomp == '+' {
			last = end
		}
		i = s.nextLine(end)
	}
	n.column, n.end = int32(indent), int32(last)
	s.add(n)
	s.pos, s.line = i, i
	return true
}

// leading counts the spaces from i on, at most up to most, and returns the byte after them.
func (s *scanner) leading(i, most int) (spaces int, next byte) {
	for spaces < most && s.peek(i+spaces) == ' ' {
		spaces++
	}
	return spaces, s.peek(i + spaces)
}

// blockIndent finds the column of a block scalar's lines, the first of which is at
// i. It fails, with -1, where a leading blank line is longer than the first line
// with text.
func (s *scanner) blockIndent(i, parent int) int {
	longest := 0
	for i < s.end {
		spaces := 0
		for s.peek(i+spaces) == ' ' {
			spaces++
		}
		switch s.peek(i + spaces) {
		case 0, '\n', '\r':
			longest = max(longest, spaces)
			i = s.nextLine(i + spaces)
			continue
		case '\t':
			s.fail(i+spaces, tabIndentation)
			return -1
		}
		if spaces <= parent {
			break
		}
		if longest > spaces {
			s.fail(i, outside)
			return -1
		}
		return max(spaces, 1)
	}
	return max(longest, parent+1, 1)
}
