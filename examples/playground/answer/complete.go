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

// Field is a completion with its type and documentation, and the text to write.
type Field struct {
	Name   string `json:"name"`
	Type   string `json:"type"`
	Doc    string `json:"doc"`
	Insert string `json:"insert"`
}

// Hover describes what is at a position, in Markdown; the text is empty if nothing is known about it.
type Hover struct {
	Text string `json:"text"`
}

// asked returns the text that a position is in.
func (r *Request) asked() (text string, at source.Position, ok bool) {
	i := slices.IndexFunc(r.Files, func(f File) bool { return f.Name == r.At.File })
	if i < 0 {
		return "", source.Position{}, false
	}
	return r.Files[i].Text, source.Position{File: r.At.File, Line: r.At.Line, Column: r.At.Column}, true
}

// complete lists what can be written at a position.
func (s *Session) complete(r *Request) Completion {
	completion := Completion{Fields: []Field{}}
	text, at, ok := r.asked()
	if !ok {
		return completion
	}
	found := r.state().Complete(text, at)
	completion.Word = found.Word
	for _, item := range found.Items {
		completion.Fields = append(completion.Fields, Field{item.Name, item.Detail, item.Doc, cmp.Or(item.Insert, item.Name)})
	}
	return completion
}

// state returns what is known about the files without a run: names and fields.
func (r *Request) state() *editor.State {
	var streams []*manifest.Stream
	for _, role := range []string{"policies", "context", manifests} {
		streams = append(streams, readAll(r.of(role), manifest.Read, new([]source.Diagnostic))...)
	}
	context := readAll(r.of("context"), manifest.Read, new([]source.Diagnostic))
	return editor.NewState(engine.NewSchemas(context, r.options()), streams, nil)
}

// hover describes what is at a position: as the language server does, with what the policies do to the manifests.
func (s *Session) hover(r *Request) Hover {
	text, at, ok := r.asked()
	if !ok {
		return Hover{}
	}
	if key := r.whole(); s.checked.state == nil || s.checked.key != key {
		in := s.input(r)
		outcome := in.run((*engine.Set).Check, s.progress(), engine.Views(), engine.Judge())
		streams := slices.Concat(in.policies, in.context, in.manifests)
		s.checked = checked{key, editor.NewState(engine.NewSchemas(in.context, in.options), streams, outcome)}
	}
	return Hover{s.checked.state.Hover(text, at)}
}

// checked is what is known about files after a check, with the key of their request.
type checked struct {
	key   string
	state *editor.State
}
