package manifest

import (
	"strings"

	"github.com/preadmit/preadmit/engine/source"
)

// explain replaces the messages about a refused document, from an index on, by the probable
// mistake, if the messages only name a consequence of it.
func (r *streamReader) explain(u *unit, from int) {
	if !source.HasErrors(r.found[from:]) {
		return
	}
	for _, mistake := range []struct {
		reason reason
		look   func(start int, line string) int
	}{{mergeConflict, beginsWith("<<<<<<< ")}, {lfsPointer, beginsWith("version https://git-lfs.github.com/spec/")}, {template, actionIn}} {
		if at := r.firstLine(u, mistake.look); at >= 0 {
			r.found = r.found[:from]
			r.refuse(at, mistake.reason)
			return
		}
	}
	if r.found[from].Code != explanations[malformed].code {
		return
	}
	b := &brackets{}
	if r.firstLine(u, b.line); len(b.stack) > 0 {
		r.found = r.found[:from]
		r.refuse(b.stack[0], openFlow)
	}
}

// firstLine returns the first position that look finds in the lines of a unit, or -1. look gets the
// start of a line and the line. Lines of block scalars are skipped.
func (r *streamReader) firstLine(u *unit, look func(start int, line string) int) int {
	text, block := r.stream.text[:u.end], -1 // the indentation of the line with its header
	for at := u.start; at < u.end; {
		stop := lineEnd(text, at)
		line := text[at:stop]
		content := strings.TrimLeft(line, " ")
		switch indent := len(line) - len(content); {
		case content == "", content[0] == '#', block >= 0 && indent > block:
		default:
			if i := look(at, line); i >= 0 {
				return i
			}
			if block = -1; opensBlock(content) {
				block = indent
			}
		}
		at = stop + 1
	}
	return -1
}

// brackets tracks open brackets from line to line.
type brackets struct {
	// stack has the positions of the open brackets. indent is the indentation of the line of the
	// first of them.
	stack  []int
	indent int
}

// line processes a line. It returns the position before which a bracket must have been closed, or
// -1.
func (b *brackets) line(start int, line string) int {
	content := strings.TrimLeft(line, " ")
	indent := len(line) - len(content)
	if len(b.stack) > 0 && indent <= b.indent && !strings.ContainsAny(content[:1], "]}") {
		return start
	}
	if len(b.stack) == 0 {
		b.indent = indent
	}
	var quote byte
	for i := indent; i < len(line); i++ {
		c := line[i]
		begins := i == indent || strings.ContainsRune(" [{,", rune(line[i-1]))
		switch {
		case quote != 0:
			if c == '\\' && quote == '"' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '#' && i > 0 && (line[i-1] == ' ' || line[i-1] == '\t'):
			return -1
		case !begins && len(b.stack) == 0:
		case begins && (c == '"' || c == '\''):
			quote = c
		case c == '[' || c == '{':
			b.stack = append(b.stack, start+i)
		case (c == ']' || c == '}') && len(b.stack) > 0:
			b.stack = b.stack[:len(b.stack)-1]
		}
	}
	return -1
}

// beginsWith returns a function that finds lines that begin with a text.
func beginsWith(text string) func(start int, line string) int {
	return func(start int, line string) int {
		if strings.HasPrefix(line, text) {
			return start
		}
		return -1
	}
}

// actionIn finds {{ of a Go template in a line, where a line, an item or a value of YAML begins.
func actionIn(start int, line string) int {
	for i := 0; ; {
		n := strings.Index(line[i:], "{{")
		if n < 0 {
			return -1
		}
		i += n
		if before := strings.TrimRight(line[:i], " "); before == "" || before == "-" || strings.HasSuffix(before, ":") && len(before) < i {
			return start + i
		}
		i += 2
	}
}

// opensBlock reports whether a line ends with the header of a block scalar.
func opensBlock(line string) bool {
	line, _, _ = strings.Cut(line, " #")
	line = strings.TrimRight(strings.TrimRight(line, " \r"), "+-123456789")
	return strings.HasSuffix(line, "|") || strings.HasSuffix(line, ">")
}
