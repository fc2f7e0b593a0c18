package editor

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/preadmit/preadmit/engine/source"
)

// Refactoring is a change of files that a user can choose.
type Refactoring struct {
	Title string
	// Kind is a kind of actions in the Language Server Protocol, such as "refactor.rewrite".
	Kind string
	// Mends reports whether the change removes a finding. It may be nil.
	Mends func(source.Diagnostic) bool
	// Refused says why the change is not possible now; "" if it is.
	Refused string
	// Created are the paths of files that the change makes. They have edits, too.
	Created []string
	// Rewrite is the change. If it is nil, Later finds it, which takes longer; its error is for the user.
	Rewrite *Rewrite
	Later   func(ctx context.Context) (*Rewrite, error)
}

// Rewrite is a change of files.
type Rewrite struct {
	// Edits do not overlap.
	Edits []Edit
	// Cursor is what to select then, in the text after the edits. Its path is "" if that is nothing.
	Cursor Place
	// Notes say what the user should know about the result.
	Notes []string
}

// Edit replaces the text between two offsets of a file.
type Edit struct {
	Path     string
	From, To int
	Text     string
}

// Place is the text between two offsets of a file.
type Place struct {
	Path     string
	From, To int
}

// Replacing returns the edit that turns a text of a file, at an offset, into another one. It leaves out the
// lines at the beginning and the end that stay.
func Replacing(path string, at int, before, after string) Edit {
	a, b := strings.SplitAfter(before, "\n"), strings.SplitAfter(after, "\n")
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		at += len(a[0])
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return Edit{path, at, at + len(strings.Join(a, "")), strings.Join(b, "")}
}

// Apply returns the text of a file after the edits of it.
func Apply(text, path string, edits []Edit) string {
	of := slices.DeleteFunc(slices.Clone(edits), func(e Edit) bool { return e.Path != path })
	slices.SortStableFunc(of, func(a, b Edit) int { return a.From - b.From })
	var b strings.Builder
	last := 0
	for _, e := range of {
		b.WriteString(text[last:e.From] + e.Text)
		last = e.To
	}
	return b.String() + text[last:]
}

// Part is a document in a text: what is between two lines of dashes.
type Part struct {
	From, To int
	Text     string
}

// Parts returns the documents in a text.
func Parts(text string) []Part {
	var parts []Part
	from, at := 0, 0
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "---"); ok && strings.TrimLeft(rest, " \t\r\n") != rest {
			parts = append(parts, Part{from, at, text[from:at]})
			from = at + len(line)
			if content := strings.TrimSpace(rest); content != "" && content[0] != '#' {
				from = at + len("---")
			}
		}
		at += len(line)
	}
	return append(parts, Part{from, at, text[from:at]})
}

// places finds offsets in a text.
type places struct {
	text string
	// starts are the offsets of the lines.
	starts []int
}

func newPlaces(text string) *places {
	p := &places{text, []int{0}}
	for at := range len(text) {
		if text[at] == '\n' {
			p.starts = append(p.starts, at+1)
		}
	}
	return p
}

// Offset returns the offset of a position of the engine in a text.
func Offset(text string, at source.Position) int { return newPlaces(text).offset(at) }

// offset returns the offset of a position of the engine, which counts characters.
func (p *places) offset(at source.Position) int {
	if at.Line < 1 || at.Line > len(p.starts) {
		return len(p.text)
	}
	offset := p.starts[at.Line-1]
	if strings.HasPrefix(p.text[offset:], "\uFEFF") {
		offset += len("\uFEFF")
	}
	for range at.Column - 1 {
		char, size := utf8.DecodeRuneInString(p.text[offset:])
		if char == '\n' {
			break
		}
		offset += size
	}
	return offset
}
