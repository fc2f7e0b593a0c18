package manifest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/source"
)

// Value reads a single YAML or JSON value of any type, as Read reads values in documents. The error
// contains no part of the text.
func Value(text string) (any, error) {
	n, err := ReadNested(text)
	if err != nil {
		return nil, err
	}
	return n.Value(), nil
}

// Nested is a YAML or JSON value in a text of a manifest.
type Nested struct {
	// lines are those of the text that begins after the byte before.
	lines    []string
	before   int
	document *Document
}

// ReadNested is Value for those who need positions in the text.
func ReadNested(text string) (*Nested, error) {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	n := &Nested{}
	for strings.HasPrefix(text[n.before:], "---\n") {
		n.before += len("---\n")
	}
	text = text[n.before:]
	if strings.TrimSpace(text) == "" {
		return n, nil
	}
	// Indent the text, so that it is the value of the key.
	wrapped := "value:\n " + strings.ReplaceAll(text, "\n", "\n ")
	stream, diagnostics := Read("", []byte(wrapped))
	for _, d := range diagnostics {
		if d.Severity == source.Error {
			return nil, fmt.Errorf("line %d: %s", d.At.Line-1, d.Message)
		}
	}
	documents := stream.Documents()
	if len(documents) != 1 {
		return nil, errors.New("expected one YAML value")
	}
	n.lines, n.document = strings.SplitAfter(text, "\n"), documents[0]
	return n, nil
}

// Value returns the value, which the caller may change.
func (n *Nested) Value() any {
	if n.document == nil {
		return nil
	}
	return n.document.Object()["value"]
}

// Offset returns the place in the text, in bytes, of a byte of the string at a path in the value.
func (n *Nested) Offset(path change.Path, offset int) int {
	return n.place(n.document.In(slices.Concat(change.Keys("value"), path), offset))
}

// KeyOffset returns the place in the text of the key at the end of a path in the value.
func (n *Nested) KeyOffset(path change.Path) int {
	return n.place(n.document.Key(slices.Concat(change.Keys("value"), path)))
}

// place returns the place in the text of a position in the document.
func (n *Nested) place(at source.Position) int {
	line := at.Line - 2 // the key has a line of its own
	place := n.before
	for _, before := range n.lines[:line] {
		place += len(before)
	}
	return place + len(string([]rune(n.lines[line])[:at.Column-2])) // after the indentation
}
