package manifest

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A decoder decodes the value of a scalar from its text. It also finds the position in the text of
// the byte at one offset of the value.
type decoder struct {
	out  []byte
	want int // the offset in the value, or -1
	at   int // the position of that byte in the text
}

// put appends s, which comes from position at, to the value.
func (d *decoder) put(at int, s string) {
	if n := d.want - len(d.out); 0 <= n && n < len(s) {
		d.at = at
		if len(s) > 1 { // text without escapes
			d.at += n
		}
	}
	d.out = append(d.out, s...)
}

// scalar decodes the scalar n, whose text lies in text.
func (d *decoder) scalar(text string, n *node) {
	start, end := int(n.start), int(n.end)
	switch n.kind {
	case plain:
		d.folding(text, start, end, 0)
	case singleQuoted:
		d.folding(text, start+1, end-1, '\'')
	case doubleQuoted:
		d.folding(text, start+1, end-1, '"')
	case literal, folded:
		d.block(text, n)
	}
}

// folding decodes a plain or quoted scalar. A line break with the blanks around it becomes a space;
// further line breaks stay. Only a line break in the text, not one from an escape, drops the blanks
// around it.
func (d *decoder) folding(text string, i, end int, quote byte) {
	for i < end {
		c := text[i]
		switch {
		case isBlank(c) || c == '\n' || c == '\r':
			i = d.blanks(text, i, end)
		case c == '\\' && quote == '"':
			i = d.escape(text, i, end)
		case c == '\'' && quote == '\'':
			d.put(i, "'")
			i += 2
		default:
			j := i + 1
			for j < end && !isBlank(text[j]) && text[j] != '\n' && text[j] != '\r' && text[j] != '\\' && text[j] != '\'' {
				j++
			}
			d.put(i, text[i:j])
			i = j
		}
	}
}

// blanks decodes a run of blanks and line breaks.
func (d *decoder) blanks(text string, i, end int) int {
	start, first, breaks := i, -1, 0
	for i < end && (isBlank(text[i]) || text[i] == '\n' || text[i] == '\r') {
		if text[i] == '\n' {
			if breaks == 0 {
				first = len(strings.TrimSuffix(text[:i], "\r"))
			} else {
				d.put(i, "\n")
			}
			breaks++
		}
		i++
	}
	switch {
	case breaks == 0:
		d.put(start, text[start:i])
	case breaks == 1:
		d.put(first, " ")
	}
	return i
}

// escape decodes an escape of a double-quoted scalar of YAML or JSON.
func (d *decoder) escape(text string, i, end int) int {
	digits := 0
	switch text[i+1] {
	case '\n', '\r': // a line break that is not part of the value
		i++
		if breaks := d.escapedBreak(text, &i, end); breaks > 0 {
			d.put(i-1, strings.Repeat("\n", breaks))
		}
		return i
	case 'x':
		digits = 2
	case 'u':
		digits = 4
	case 'U':
		digits = 8
	default:
		d.put(i, simpleEscape(text[i+1]))
		return i + 2
	}
	code, _ := hexRune(text, i+2, digits)
	size := 2 + digits
	r := rune(code)
	if utf16.IsSurrogate(r) {
		r = utf8.RuneError
		if strings.HasPrefix(text[i+size:end], `\u`) {
			low, _ := hexRune(text[:end], i+size+2, 4)
			if pair := utf16.DecodeRune(rune(code), rune(low)); pair != utf8.RuneError {
				r = pair
				size += 6
			}
		}
	}
	d.putRune(i, r)
	return i + size
}

func (d *decoder) putRune(at int, r rune) {
	var buffer [utf8.UTFMax]byte
	n := utf8.EncodeRune(buffer[:], r)
	for _, b := range buffer[:n] { // each byte has the position of the escape
		d.put(at, string([]byte{b}))
	}
}

// escapedBreak skips an escaped line break, with the blanks and line breaks after it, and counts
// these line breaks.
func (d *decoder) escapedBreak(text string, i *int, end int) int {
	breaks := -1
	for *i < end && (isBlank(text[*i]) || text[*i] == '\n' || text[*i] == '\r') {
		if text[*i] == '\n' {
			breaks++
		}
		*i++
	}
	return breaks
}

func simpleEscape(c byte) string {
	switch c {
	case '0':
		return "\x00"
	case 'a':
		return "\a"
	case 'b':
		return "\b"
	case 't', '\t':
		return "\t"
	case 'n':
		return "\n"
	case 'v':
		return "\v"
	case 'f':
		return "\f"
	case 'r':
		return "\r"
	case 'e':
		return "\x1b"
	case 'N':
		return "\u0085"
	case '_':
		return "\u00a0"
	case 'L':
		return "\u2028"
	case 'P':
		return "\u2029"
	}
	return string(rune(c)) // quote, backslash, slash or space
}

// block decodes a literal or folded scalar. At the end of a text without a final line break, the
// last line of the scalar has none either.
func (d *decoder) block(text string, n *node) {
	_, chomp, _ := blockHeader(text[n.start:])
	i := strings.IndexByte(text[n.start:n.end], '\n')
	if i < 0 {
		return
	}
	i += int(n.start) + 1
	indent, end := int(n.column), int(n.end)
	breaks, blankBefore, content := 0, false, false
	for more := true; more; {
		var line string
		at := i
		line, _, more = strings.Cut(text[at:end], "\n")
		i += len(line) + 1
		line = strings.TrimSuffix(line, "\r")
		if len(line) <= indent {
			breaks++
			continue
		}
		line = line[indent:]
		blank := isBlank(line[0])
		d.breaks(at, breaks, content, n.kind == folded && !blankBefore && !blank)
		d.put(at+indent, line)
		breaks, blankBefore, content = 0, blank, true
	}
	if content && chomp != '-' {
		breaks++
	}
	if end == len(text) && breaks > 0 {
		breaks--
	}
	switch chomp {
	case '+':
		d.put(end, strings.Repeat("\n", breaks))
	case 0:
		d.put(end, "\n"[:min(breaks, 1)])
	}
}

// breaks adds the line breaks before a line of a block scalar: one after the previous line, if
// there is a previous line, and one for each blank line.
func (d *decoder) breaks(at, blank int, content, fold bool) {
	switch {
	case content && fold && blank == 0:
		d.put(at-1, " ")
	case content && !fold:
		d.put(at-1, "\n")
	}
	for range blank {
		d.put(at-1, "\n")
	}
}
