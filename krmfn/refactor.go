package krmfn

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/redact"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/editor"
	"github.com/preadmit/preadmit/internal/lsp"
)

// Refactorings implements lsp.Workspace.
func (w *workspace) Refactorings(ctx context.Context, at lsp.Selection) []editor.Refactoring {
	last := w.last.Load()
	if last == nil {
		return nil
	}
	r := &refactorer{workspace: w, last: last, at: at}
	var all []editor.Refactoring
	if d, part := r.selected(); d != nil {
		all = append(all, r.conversions(d, part)...)
		all = append(all, r.testWriting(d)...)
	}
	all = append(all, r.extractions(ctx)...)
	all = append(all, r.acceptances()...)
	for i := range all {
		r.hideSecrets(&all[i])
	}
	return all
}

// hideSecrets hides the values of Secrets in what a refactoring says.
func (r *refactorer) hideSecrets(refactoring *editor.Refactoring) {
	secrets := r.secrets()
	hideIn := func(rewrite *editor.Rewrite) {
		for n := range rewrite.Notes {
			rewrite.Notes[n] = secrets.Text(rewrite.Notes[n])
		}
	}
	refactoring.Refused = secrets.Text(refactoring.Refused)
	if refactoring.Rewrite != nil {
		hideIn(refactoring.Rewrite)
	}
	if later := refactoring.Later; later != nil {
		refactoring.Later = func(ctx context.Context) (*editor.Rewrite, error) {
			rewrite, err := later(ctx)
			if err != nil {
				return nil, errors.New(secrets.Text(err.Error()))
			}
			hideIn(rewrite)
			return rewrite, nil
		}
	}
}

// secrets hides the values of the Secrets of the workspace.
func (r *refactorer) secrets() *redact.Redactor {
	if reported := &r.last.check.reported; reported.run.outcome != nil {
		return reported.run.secrets(&reported.config)
	}
	return nil
}

// refactorer finds the refactorings at a selection.
type refactorer struct {
	workspace *workspace
	last      *inspected
	at        lsp.Selection
}

// extractions are the variables that the selection can become. The policy must compile as before.
func (r *refactorer) extractions(ctx context.Context) []editor.Refactoring {
	all := editor.Extract(r.at.Path, r.at.Text, r.at.From, r.at.To)
	if len(all) == 0 {
		return nil
	}
	before, _ := r.workspace.checkFile(ctx, r.last, r.at.Path, r.at.Text)
	for i := range all {
		if all[i].Rewrite == nil {
			continue
		}
		after, _ := r.workspace.checkFile(ctx, r.last, r.at.Path, editor.Apply(r.at.Text, r.at.Path, all[i].Rewrite.Edits))
		for _, d := range after {
			isNew := !slices.ContainsFunc(before, func(b source.Diagnostic) bool { return b.Code == d.Code && b.Printed() == d.Printed() })
			if d.Severity == source.Error && isNew {
				all[i].Rewrite, all[i].Refused = nil, "the policy would not compile: "+firstLine(d.Short())
				break
			}
		}
	}
	return all
}

// portion is a document in the text of a file.
type portion struct {
	part     editor.Part
	path     string
	document *manifest.Document
}

// selected returns the document of which the selection touches the lines with its kind or its name; nil if it
// touches none of these.
func (r *refactorer) selected() (*manifest.Document, *portion) {
	for _, part := range editor.Parts(r.at.Text) {
		if r.at.From < part.From || r.at.From > part.To {
			continue
		}
		stream, _ := manifest.Read(r.workspace.Name(r.at.Path), []byte(part.Text)) // the check has reported its problems
		first := 1 + strings.Count(part.Text[:r.at.From-part.From], "\n")
		last := 1 + strings.Count(part.Text[:min(r.at.To, part.To)-part.From], "\n")
		for _, d := range stream.Documents() {
			for _, path := range []change.Path{change.Keys("apiVersion"), change.Keys("kind"), change.Keys("metadata", "name")} {
				if line := d.At(path).Line; first <= line && line <= last {
					return d, &portion{part, r.at.Path, d}
				}
			}
		}
	}
	return nil, nil
}

// textOf returns the text of a file: of its buffer, or else of the disk.
func (r *refactorer) textOf(path string) string {
	if text, ok := r.at.Buffers[path]; ok {
		return text
	}
	return r.workspace.Read(path)
}

// forms are the forms that convert gives to policies of a group, by the group.
var forms = map[string][]engine.Form{
	"kyverno.io":          {engine.MutatingPolicies, engine.MutatingAdmissionPolicies},
	"policies.kyverno.io": {engine.MutatingAdmissionPolicies},
}

// conversions are what the command convert does to a policy.
func (r *refactorer) conversions(d *manifest.Document, w *portion) (all []editor.Refactoring) {
	if !engine.IsPolicy(d.Kind()) || strings.HasSuffix(d.Kind().Kind, "Exception") {
		return nil
	}
	for _, form := range forms[d.Kind().Group] {
		refactoring := editor.Refactoring{Title: "Convert to " + string(form), Kind: "refactor.rewrite"}
		if refactoring.Rewrite, refactoring.Refused = r.migrated(form, w); refactoring.Rewrite != nil || refactoring.Refused != "" {
			all = append(all, refactoring)
		}
	}
	if d.Kind().Group == "admissionregistration.k8s.io" {
		refactoring := editor.Refactoring{Title: "Convert to admissionregistration.k8s.io/v1", Kind: "refactor.rewrite"}
		line := strings.Count(r.at.Text[:w.part.From], "\n") + d.At(change.Keys("apiVersion")).Line
		refactoring.Mends = func(found source.Diagnostic) bool { return found.Code == "policy-draft" && found.At.Line == line }
		if refactoring.Rewrite, refactoring.Refused = converted(w); refactoring.Rewrite != nil || refactoring.Refused != "" {
			all = append(all, refactoring)
		}
	}
	return all
}

// converted converts a policy of an older version or a draft; nil if it needs no conversion.
func converted(w *portion) (rewrite *editor.Rewrite, refused string) {
	stream := w.document.Stream()
	diagnostics := engine.Convert([]*manifest.Stream{stream})
	after := string(stream.Bytes())
	switch {
	case source.HasErrors(diagnostics):
		return nil, whyNot(diagnostics)
	case after == w.part.Text:
		return nil, ""
	}
	return &editor.Rewrite{Edits: []editor.Edit{editor.Replacing(w.path, w.part.From, w.part.Text, after)}, Notes: notesOf(diagnostics)}, ""
}

// migrated converts a policy of Kyverno, together with the exceptions from it; nil if it needs no conversion.
func (r *refactorer) migrated(form engine.Form, w *portion) (rewrite *editor.Rewrite, refused string) {
	if _, ok := w.document.After(""); !ok {
		return nil, "the policy is an item of a list; write it as a document of its own"
	}
	all := append([]*portion{w}, r.exceptionsFrom(w.document)...)
	var streams []*manifest.Stream
	for _, part := range all {
		stream, _ := manifest.Read(r.workspace.Name(part.path), []byte(unixBreaks(part.part.Text)))
		streams = append(streams, stream)
	}
	context := slices.DeleteFunc(slices.Clone(r.last.context), func(s *manifest.Stream) bool { return r.workspace.Path(s.Name()) == w.path })
	results, diagnostics := engine.Migrate(form, streams, context, r.last.check.reported.config.options.Engine)
	if source.HasErrors(diagnostics) {
		return nil, whyNot(diagnostics)
	}
	rewrite = &editor.Rewrite{Notes: notesOf(diagnostics)}
	for i, part := range all {
		if results[i].Text() == streams[i].Text() {
			continue
		}
		rewrite.Edits = append(rewrite.Edits, editor.Replacing(part.path, part.part.From, part.part.Text, part.like(results[i].Text())))
	}
	if len(rewrite.Edits) == 0 {
		return nil, ""
	}
	return rewrite, ""
}

// like returns a text with the line breaks of the document, and with the blank lines around it.
func (w *portion) like(text string) string {
	before := w.part.Text[:len(w.part.Text)-len(strings.TrimLeft(w.part.Text, "\r\n"))]
	after := w.part.Text[len(strings.TrimRight(w.part.Text, "\r\n")):]
	text = strings.Trim(text, "\n")
	if strings.Contains(w.part.Text, "\r\n") {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	return before + text + after
}

// exceptionsFrom returns the exceptions from a policy in the workspace.
func (r *refactorer) exceptionsFrom(d *manifest.Document) (all []*portion) {
	name := strings.TrimPrefix(d.Namespace()+"/"+d.Name(), "/")
	for path, stream := range r.last.streams {
		if !slices.ContainsFunc(stream.Documents(), func(d *manifest.Document) bool { return isExceptionFrom(d, name) }) {
			continue
		}
		for _, part := range editor.Parts(r.textOf(path)) {
			read, _ := manifest.Read(stream.Name(), []byte(part.Text)) // a part that cannot be read is no exception yet
			if documents := read.Documents(); len(documents) == 1 && isExceptionFrom(documents[0], name) {
				all = append(all, &portion{part, path, documents[0]})
			}
		}
	}
	slices.SortFunc(all, func(a, b *portion) int { return strings.Compare(a.path, b.path) })
	return all
}

// isExceptionFrom reports whether a document is an exception from the policy with a name.
func isExceptionFrom(d *manifest.Document, name string) bool {
	if d.Kind().Kind != "PolicyException" {
		return false
	}
	spec := policy.NodeAt(d, "spec")
	return slices.ContainsFunc(spec.At("exceptions").Items(), func(n policy.Node) bool { return n.At("policyName").Text() == name }) ||
		slices.ContainsFunc(spec.At("policyRefs").Items(), func(n policy.Node) bool { return n.At("name").Text() == name })
}

// whyNot returns the first error.
func whyNot(diagnostics []source.Diagnostic) string {
	i := slices.IndexFunc(diagnostics, func(d source.Diagnostic) bool { return d.Severity == source.Error })
	return oneLine(diagnostics[i].Short())
}

// notesOf returns the texts of warnings.
func notesOf(diagnostics []source.Diagnostic) (notes []string) {
	for _, d := range diagnostics {
		notes = append(notes, oneLine(d.Short()))
	}
	return notes
}

func oneLine(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.TrimSpace(line))
	}
	return strings.Join(lines, "; ")
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
