package answer

import (
	"cmp"
	"slices"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/editor"
)

// Place is the position of the cursor: a line and a column, both from 1, in characters.
type Place struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

// Completion is what can be written instead of a word that ends at the cursor.
type Completion struct {
	Word   string  `json:"word"`
	Fields []Field `json:"fields"`
}

// Field is a completion with its type, and the text to write.
type Field struct {
	Name   string `json:"name"`
	Type   string `json:"type"`
	Insert string `json:"insert"`
}

// complete lists what can be written at a position.
func (s *Session) complete(r *Request) Completion {
	completion := Completion{Fields: []Field{}}
	i := slices.IndexFunc(r.Files, func(f File) bool { return f.Name == r.At.File })
	if i < 0 {
		return completion
	}
	context := readAll(r.of("context"), manifest.Read, new([]source.Diagnostic))
	state := &editor.State{Schemas: engine.NewSchemas(context, r.options())}
	found := state.Complete(r.Files[i].Text, source.Position{Line: r.At.Line, Column: r.At.Column})
	completion.Word = found.Word
	for _, item := range found.Items {
		completion.Fields = append(completion.Fields, Field{item.Name, item.Detail, cmp.Or(item.Insert, item.Name)})
	}
	return completion
}
