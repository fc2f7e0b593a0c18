package lsp

import (
	"sort"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"go.lsp.dev/protocol"

	"github.com/preadmit/preadmit/engine/source"
)

// text is the text of a file, with the offsets of its lines. It is immutable.
type text struct {
	content string
	// starts are the offsets of the lines as the protocol counts them: \n, \r\n and \r end a line.
	starts []int
	// lines are those of the lines as the engine counts them: only \n ends a line.
	lines []int
}

func newText(content string) *text {
	starts, lines := []int{0}, []int{0}
	for i := 0; i < len(content); i++ {
		if content[i] == '\n' || content[i] == '\r' && (i+1 == len(content) || content[i+1] != '\n') {
			starts = append(starts, i+1)
		}
		if content[i] == '\n' {
			lines = append(lines, i+1)
		}
	}
	return &text{content, starts, lines}
}

// line returns the offsets of a line, without the characters that end it.
func (t *text) line(number int) (start, end int) {
	start, end = t.starts[number], len(t.content)
	if number+1 < len(t.starts) {
		end = t.starts[number+1]
	}
	return start, start + len(strings.TrimRight(t.content[start:end], "\r\n"))
}

// offset returns the offset of a position of the protocol. A position after the end of a line is at
// its end, as the protocol says, and one after the last line at the end of the text.
func (t *text) offset(at protocol.Position, unit encoding) int {
	if int(at.Line) >= len(t.starts) {
		return len(t.content)
	}
	start, end := t.line(int(at.Line))
	for left := int(at.Character); start < end; {
		char, size := utf8.DecodeRuneInString(t.content[start:end])
		if left -= unit.width(char, size); left < 0 {
			break
		}
		start += size
	}
	return start
}

// position returns the position of an offset.
func (t *text) position(offset int, unit encoding) protocol.Position {
	offset = min(max(offset, 0), len(t.content))
	line := sort.SearchInts(t.starts, offset+1) - 1
	start, end := t.line(line)
	character := 0
	for start < min(offset, end) {
		char, size := utf8.DecodeRuneInString(t.content[start:])
		character += unit.width(char, size)
		start += size
	}
	return protocol.Position{Line: uint32(line), Character: uint32(character)}
}

func (t *text) between(from, to int, unit encoding) protocol.Range {
	return protocol.Range{Start: t.position(from, unit), End: t.position(to, unit)}
}

// edit returns the text after a change.
func (t *text) edit(change protocol.TextDocumentContentChangeEvent, unit encoding) *text {
	switch change := change.(type) {
	case *protocol.TextDocumentContentChangePartial:
		from, to := t.offset(change.Range.Start, unit), t.offset(change.Range.End, unit)
		return newText(t.content[:from] + change.Text + t.content[max(from, to):])
	case *protocol.TextDocumentContentChangeWholeDocument:
		return newText(change.Text)
	}
	return t
}

const byteOrderMark = "\ufeff"

// offsetOf returns the offset of a position of the engine. Unknown positions are at the start.
func (t *text) offsetOf(at source.Position) int {
	if at.Line > len(t.lines) {
		return len(t.content)
	}
	offset := t.lines[max(0, at.Line-1)]
	if strings.HasPrefix(t.content[offset:], byteOrderMark) {
		offset += len(byteOrderMark)
	}
	for range at.Column - 1 {
		char, size := utf8.DecodeRuneInString(t.content[offset:])
		if char == '\n' {
			break
		}
		offset += size
	}
	return offset
}

// place returns the position of the engine for an offset.
func (t *text) place(file string, offset int) source.Position {
	line := sort.SearchInts(t.lines, offset+1)
	column := utf8.RuneCountInString(strings.TrimPrefix(t.content[t.lines[line-1]:offset], byteOrderMark)) + 1
	return source.Position{File: file, Line: line, Column: column}
}

// encoding is the unit in which a client counts characters.
type encoding protocol.PositionEncodingKind

// chosen returns the first encoding of a client that is known: UTF-16 if it names none.
func chosen(offered []protocol.PositionEncodingKind) encoding {
	for _, kind := range offered {
		switch kind {
		case protocol.PositionEncodingKindUTF8, protocol.PositionEncodingKindUTF16, protocol.PositionEncodingKindUTF32:
			return encoding(kind)
		}
	}
	return encoding(protocol.PositionEncodingKindUTF16)
}

// width returns how many units a character takes, whose size is in bytes.
func (e encoding) width(char rune, size int) int {
	switch protocol.PositionEncodingKind(e) {
	case protocol.PositionEncodingKindUTF8:
		return size
	case protocol.PositionEncodingKindUTF32:
		return 1
	}
	return max(1, utf16.RuneLen(char))
}
