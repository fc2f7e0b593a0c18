// Package policydoc reads the documents of policies, and the files that go with them. A Reader
// collects the problems of one document with their positions. The texts are those of the API
// server's field errors, where it has one.
//
// The files in order: policydoc.go (Reader), missing.go (what can be written for a
// missing field), fields.go (the fields of a document), crd.go (the
// CustomResourceDefinitions of policies), match.go and expression.go (match blocks and CEL in a
// document), check.go (mistakes that a server accepts), required.go
// (what conditions require, and whether they contradict each other), idle.go (mutations that change nothing),
// parts.go (the parts of a policy that have run).
package policydoc

//go:generate bash crds/generate

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// Reader collects the problems of one document.
type Reader struct {
	Document *manifest.Document
	// Subject names the document in messages.
	Subject string
	Root    policy.Node
	// Problems are in the order in which they were found.
	Problems []source.Diagnostic
	// Values says that the document is not a policy but has values: its lines are not quoted,
	// because they may be secret.
	Values bool

	// refused has the paths with errors, and those above them, which are false.
	refused map[string]bool
}

// New returns a reader of a document.
func New(d *manifest.Document) *Reader {
	return &Reader{Document: d, Subject: strings.TrimSpace(d.Kind().Kind + " " + d.Name()), Root: policy.Node{Value: d.Object()}}
}

// Report adds a diagnostic about the field at a path.
func (r *Reader) Report(d source.Diagnostic, path change.Path) {
	d.Subject, d.Field = r.Subject, path.String()
	if d.Severity == source.Error {
		r.refuse(path)
		if r.Values {
			d.Code = "values-invalid"
		}
	}
	if !r.Values && !strings.Contains(d.Message, "\n") { // messages of CEL have an excerpt already
		d.Excerpt = r.Document.Excerpt(d.At)
	}
	r.Problems = append(r.Problems, d)
}

// IsSound reports whether the value at n, with everything in it, has no errors.
func (r *Reader) IsSound(n policy.Node) bool {
	_, refused := r.refused[n.Path.String()]
	return !refused
}

// IsRefused reports whether the value at n itself has an error.
func (r *Reader) IsRefused(n policy.Node) bool { return r.refused[n.Path.String()] }

func (r *Reader) refuse(path change.Path) {
	if r.refused == nil {
		r.refused = map[string]bool{}
	}
	for i := range path {
		if above := path[:i].String(); !r.refused[above] {
			r.refused[above] = false
		}
	}
	r.refused[path.String()] = true
}

// Advise reports an error about the field at a path, with advice on how to fix it.
func (r *Reader) Advise(path change.Path, code, text, advice string) {
	r.Report(source.Diagnostic{At: r.Document.At(path), Severity: source.Error, Code: code, Message: text, Advice: advice}, path)
}

// Mistaken reports an error about the key at the end of a path, with advice that replaces the key.
func (r *Reader) Mistaken(path change.Path, code, text string, advice source.Advice) {
	d := source.Diagnostic{At: r.Document.At(path), Severity: source.Error, Code: code, Message: text}
	r.Report(d.AdvisedAt(r.Document.Key(path), advice), path)
}

// Unserved reports that no server serves the version of the document. served is an apiVersion that is
// served.
func (r *Reader) Unserved(text, advice, served string) {
	at := change.Keys("apiVersion")
	d := source.Diagnostic{At: r.Document.At(at), Severity: source.Error, Code: "policy-version-unknown", Message: text}
	r.Report(d.Advised(source.Advice{Text: advice, Old: r.Document.Kind().APIVersion(), New: served}), at)
}

// Note adds a warning or a note about the field at n.
func (r *Reader) Note(n policy.Node, severity source.Severity, code, text, advice string) {
	r.Report(source.Diagnostic{At: r.Document.At(n.Path), Severity: severity, Code: code, Message: text, Advice: advice}, n.Path)
}

// Invalid reports that a value is wrong.
func (r *Reader) Invalid(n policy.Node, format string, args ...any) {
	r.Advise(n.Path, "policy-invalid", fmt.Sprintf(format, args...), "")
}

// Required reports that a value is missing.
func (r *Reader) Required(n policy.Node, detail string) {
	if detail != "" {
		detail = ": " + detail
	}
	r.Missing(n, "Required value"+detail, "")
}

// Unchosen reports that a value is missing, which must be one of the supported ones, if any are given.
func (r *Reader) Unchosen(n policy.Node, supported ...string) {
	advice := ""
	if len(supported) > 0 {
		advice = "write " + n.Key() + ": " + source.Alternatives(supported)
	}
	r.Missing(n, "Required value", advice, supported...)
}

// Missing reports that a value is missing, which may be one of the supported ones.
func (r *Reader) Missing(n policy.Node, message, advice string, supported ...string) {
	d := source.Diagnostic{At: r.Document.At(n.Path), Severity: source.Error, Code: "policy-invalid", Message: message, Advice: advice}
	r.Report(r.proposing(d, n.Path, supported...), n.Path)
}

// Unsupported reports a value that is not one of the supported values.
func (r *Reader) Unsupported(n policy.Node, supported ...string) {
	r.unsupported(source.Errorf(r.Document.At(n.Path), "policy-invalid", "Unsupported value: %q: supported values: %s", n.Text(), quotedList(supported)), n, supported)
}

func quotedList(supported []string) string {
	quoted := make([]string, len(supported))
	for i, s := range supported {
		quoted[i] = strconv.Quote(s)
	}
	return strings.Join(quoted, ", ")
}

// Unlike reports a text that is not supported. It proposes the supported text that was probably meant; if no text is
// near, it gives the advice.
func (r *Reader) Unlike(n policy.Node, message, advice string, supported []string) {
	r.unsupported(source.Errorf(r.Document.At(n.Path), "policy-invalid", "%s", message).With(advice), n, supported)
}

func (r *Reader) unsupported(d source.Diagnostic, n policy.Node, supported []string) {
	if near := source.Nearest(n.Text(), supported); near != "" {
		d = r.Document.Mended(d, n.Path, source.Meant(n.Text(), near).In(n.Text(), 0))
	}
	r.Report(d, n.Path)
}

// DefinedTwice reports a second policy or binding of one kind and name, with other contents.
func DefinedTwice(kind, name string, second, first *manifest.Document) source.Diagnostic {
	at := change.Keys("metadata", "name")
	d := source.Errorf(second.At(at), "policy-defined-twice", "it is defined twice, differently; the other one is at %s", first.At(at)).
		With("a cluster keeps one of them: remove the other")
	d.Subject = kind + " " + name
	return d
}
