package answer

import (
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

// Completion is the list of fields for a position.
type Completion struct {
	Fields []Field `json:"fields"`
}

// Field is a field with its type.
type Field struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// complete lists the fields that can be added at a position.
func (s *Session) complete(r *Request) Completion {
	completion := Completion{Fields: []Field{}}
	i := slices.IndexFunc(r.Files, func(f File) bool { return f.Name == r.At.File })
	if i < 0 {
		return completion
	}
	context := readAll(r.of("context"), manifest.Read, new([]source.Diagnostic))
	state := &editor.State{Schemas: engine.NewSchemas(context, r.options())}
	for _, item := range state.Complete(r.Files[i].Text, source.Position{Line: r.At.Line, Column: r.At.Column}).Items {
		if item.Kind == editor.FieldItem {
			completion.Fields = append(completion.Fields, Field{item.Name, item.Detail})
		}
	}
	return completion
}
