package manifest

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/source"
)

// lineStarts returns the offsets of the lines of text.
func lineStarts(text string) []int32 {
	starts := make([]int32, 1, 2+strings.Count(text, "\n"))
	for at := 0; ; {
		n := strings.IndexByte(text[at:], '\n')
		if n < 0 {
			return starts
		}
		at += n + 1
		starts = append(starts, int32(at))
	}
}

// position returns the position of the byte at offset at.
func (s *Stream) position(at int) source.Position {
	lines := s.lines()
	line, found := slices.BinarySearch(lines, int32(at))
	if !found {
		line--
	}
	before := strings.TrimPrefix(s.text[lines[line]:at], byteOrderMark)
	return source.Position{File: s.name, Line: line + 1, Column: utf8.RuneCountInString(before) + 1}
}

// offset returns the offset of a position, which is that of a character in the text or after it.
func (s *Stream) offset(p source.Position) int {
	lines := s.lines()
	if p.Line < 1 || p.Line > len(lines) {
		return len(s.text)
	}
	return len(s.text) - len(afterColumn(s.text[lines[p.Line-1]:], p.Column))
}

// line returns the text of a line, counted from 1.
func (s *Stream) line(number int) string {
	lines := s.lines()
	if number < 1 || number > len(lines) {
		return ""
	}
	start := int(lines[number-1])
	return strings.TrimSuffix(s.text[start:lineEnd(s.text, start)], "\r")
}

// find returns the index of the node at the path below the node at index i, and the index of its
// key or -1. If the path does not exist, it returns the indexes of its deepest ancestor.
func (t *tape) find(i int, path change.Path) (value, key int) {
	key = -1
	for _, e := range path {
		child, k := -1, -1
		if e.IsIndex() {
			child = t.item(i, e.Index)
		} else if child = t.lookup(i, e.Key); child >= 0 {
			k = child - 1
		}
		if child < 0 {
			break
		}
		i, key = child, k
	}
	return i, key
}

// offset returns the offset of the value at the path below the node at index i, or of its key if
// the value has no text.
func (t *tape) offset(i int, path change.Path) int {
	value, key := t.find(i, path)
	n := &t.nodes[value]
	if n.kind == absent && key >= 0 {
		n = &t.nodes[key]
	} else if n.kind == absent && n.lead >= 0 {
		return int(n.lead)
	}
	return int(n.start)
}

// offsetIn returns the offset of the byte want of the string at path.
func (t *tape) offsetIn(i int, path change.Path, want int) int {
	value, _ := t.find(i, path)
	if n := &t.nodes[value]; !n.kind.isScalar() || n.kind == absent {
		return t.offset(i, path)
	}
	return t.byteOf(value, want)
}

// byteOf returns the offset of the byte want of the scalar at index i.
func (t *tape) byteOf(i, want int) int {
	n := &t.nodes[i]
	end := int(n.end)
	if n.kind == singleQuoted || n.kind == doubleQuoted {
		end--
	}
	d := decoder{want: max(want, 0), at: end}
	d.scalar(t.text, n)
	return min(d.at, int(n.end))
}

// pathTo returns the path, below the node at index i, of the key or value at an offset.
func (t *tape) pathTo(i, at int) change.Path {
	var path change.Path
	for {
		n, next := &t.nodes[i], -1
		index := 0
		for child := i + 1; child < int(n.next) && next < 0; {
			var e change.Element
			value := child
			if n.kind.isMap() {
				e, value = change.Key(t.key(child)), child+1
			} else {
				e = change.Index(index)
			}
			if v := &t.nodes[value]; int(t.nodes[child].start) == at || int(v.start) <= at && at < int(v.end) {
				path, next = append(path, e), value
				if int(t.nodes[child].start) == at && value != child {
					return path
				}
			}
			index++
			child = int(t.nodes[value].next)
		}
		if next < 0 {
			return path
		}
		i = next
	}
}
