package engine

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/redact"
	"github.com/preadmit/preadmit/engine/source"
)

// learn adds the values of the Secrets among documents to a redactor.
func learn(secrets *redact.Redactor, documents []*manifest.Document) {
	for _, d := range documents {
		if d.Stream().Sensitive() {
			secrets.LearnAll(d.Object())
		} else if kind := d.Kind().Kind; kind == "" || redact.IsSecretKind(kind) {
			secrets.Learn(d.Object())
		}
	}
}

// learnPrivate adds the values of the private documents among documents and among the documents that
// Compile has got.
func (s *Set) learnPrivate(secrets *redact.Redactor, documents []*manifest.Document) {
	for _, d := range slices.Concat(documents, s.context, s.old, documentsOf(s.settings.options.Values), documentsOf(s.settings.options.UserInfo)) {
		if d.Stream().Private() {
			secrets.LearnPrivate(d.Object(), s.files.open)
		}
	}
}

// files are the files of policies and context.
type files struct {
	// sensitive are the names of files that must stay secret, open the texts of public policies.
	sensitive map[string]bool
	open      []string
	// words returns the words of public policies.
	words func() source.Words
}

func newFiles(policies, context []*manifest.Stream) files {
	f := files{sensitive: map[string]bool{}}
	for _, stream := range slices.Concat(policies, context) {
		if stream != nil && stream.Sensitive() {
			f.sensitive[stream.Name()] = true
		}
	}
	for _, stream := range policies {
		if stream != nil && !stream.Sensitive() {
			f.open = append(f.open, openTextsOf(stream)...)
		}
	}
	f.words = sync.OnceValue(func() source.Words { return source.Words{}.With(f.open...) })
	return f
}

// openTextsOf returns the texts of a file of policies, without those of the Secrets in it.
func openTextsOf(stream *manifest.Stream) (texts []string) {
	holdsSecret := func(d *manifest.Document) bool { return redact.HiddenIn(d) != nil }
	if !slices.ContainsFunc(stream.Documents(), holdsSecret) {
		return []string{stream.Text()}
	}
	for _, d := range stream.Documents() {
		if !holdsSecret(d) {
			text, _ := d.Text()
			texts = append(texts, text)
		}
	}
	return texts
}

// reveals returns the texts that policies added to an object and may have taken from hidden
// objects. It leaves out texts that are literally in a policy, and public texts of the objects,
// such as the name of a Secret.
func (f *files) reveals(before, after map[string]any, shape change.Shape, open *openTexts) []string {
	isOpen := func(text string) bool {
		return open.has(text) || slices.ContainsFunc(f.open, func(policies string) bool { return strings.Contains(policies, text) })
	}
	var found []string
	for _, c := range change.Diff(before, after, shape) {
		for _, text := range redact.Texts(c.New) {
			if !isOpen(text) {
				found = append(found, text)
			}
		}
	}
	return found
}

// openTexts are the public texts of sensitive objects that were read. The zero value is empty.
type openTexts struct {
	// learned is the number of objects whose texts are known. few has the texts of those with few
	// texts. many has the sets of those with many, because all admissions share these.
	learned int
	few     map[string]bool
	many    []map[string]bool
}

// learn adds the texts of the objects that it does not know. Later calls must have the same objects,
// and perhaps more.
func (o *openTexts) learn(objects []*redact.Objects) {
	const few = 100
	for _, read := range objects[o.learned:] {
		switch texts := read.Open(); {
		case len(texts) > few:
			o.many = append(o.many, texts)
		case o.few == nil:
			o.few = maps.Clone(texts)
		default:
			maps.Copy(o.few, texts)
		}
	}
	o.learned = len(objects)
}

func (o *openTexts) has(text string) bool {
	return o.few[text] || slices.ContainsFunc(o.many, func(texts map[string]bool) bool { return texts[text] })
}

// revealed are the texts that a step has put into an object and that may hold values of Secrets.
type revealed struct {
	texts []string
	// derived means that there are further texts in the open fields of a Secret that a policy may have
	// computed from its values. Nobody knows what other objects have such a text, so it is hidden
	// only there.
	derived bool
	// inObject are all texts that recorded requests about the object must not have.
	inObject []string
}

// hides reports whether what the step wrote is hidden.
func (r revealed) hides() bool { return r.derived || len(r.texts) > 0 }

// copies returns what a policy has added to a Secret and may have taken from its values: the texts that
// contain one, and whether others have words that are neither in policies nor public in the Secret. Public is
// what its author has written: another policy may have copied a value to a public field before.
func (f *files) copies(written, before, after map[string]any, shape change.Shape) revealed {
	if !redact.IsSecret(before) {
		return revealed{}
	}
	if written == nil {
		written = before
	}
	object := redact.NewChanged([]map[string]any{before}, []map[string]any{written})
	own := []*redact.Objects{object}
	var open openTexts
	open.learn(own)
	var words source.Words
	var found revealed
	found.inObject = f.reveals(before, after, shape, &open)
	for _, text := range found.inObject {
		if (redact.Scope{Objects: own}).Hides([]source.Span{{Text: text}}) {
			found.texts = append(found.texts, text)
		} else if !found.derived && f.words().Origin(text) == source.Computed {
			if words == nil {
				words = f.words().With(slices.Collect(maps.Keys(object.Open()))...)
			}
			found.derived = words.Origin(text) == source.Computed
		}
	}
	return found
}

// decide removes from diagnostics what must not be shown. Of a sensitive file, only the position is
// shown.
func (f *files) decide(diagnostics []source.Diagnostic, secrets *redact.Redactor) []source.Diagnostic {
	for i := range diagnostics {
		d := &diagnostics[i]
		if f.sensitive[d.At.File] || slices.ContainsFunc(d.Related, func(p source.Place) bool { return f.sensitive[p.At.File] }) ||
			slices.ContainsFunc(d.Facts, func(fact source.Fact) bool { return f.sensitive[fact.At.File] }) {
			*d = redact.Scope{All: true}.Message(d.With(""))
			d.Excerpt, d.Facts, d.Fixes = "", nil, nil
		}
	}
	return secrets.Messages(diagnostics)
}
