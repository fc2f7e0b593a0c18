package lsp

import (
	"maps"
	"reflect"
	"slices"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/editor"
)

// finding is a diagnostic with its place in the text of a file.
type finding struct {
	found    source.Diagnostic
	from, to int
	fixes    []fix
}

// findings are the findings in a file.
type findings struct {
	// alone are those that the file has by itself, and others those that depend on other files, which
	// only a complete check finds.
	alone, others []finding
	// sent is what the client has of them; nil if it is not known.
	sent *protocol.PublishDiagnosticsParams
}

// all returns the findings in their order in the file.
func (f *findings) all() []finding {
	all := slices.Concat(f.alone, f.others)
	slices.SortStableFunc(all, func(a, b finding) int { return a.from - b.from })
	return all
}

// published are the findings that the client knows, by file.
type published struct{ files map[string]*findings }

func (p *published) of(path string) *findings {
	if p.files == nil {
		p.files = map[string]*findings{}
	}
	if p.files[path] == nil {
		p.files[path] = &findings{}
	}
	return p.files[path]
}

// own sets the findings that a file has by itself.
func (p *published) own(path string, alone []finding) {
	of := p.of(path)
	of.alone = alone
	of.others = slices.DeleteFunc(of.others, func(f finding) bool {
		return slices.ContainsFunc(alone, func(own finding) bool { return own.says(f.found) })
	})
}

// says reports whether a finding is the same as another one, wherever it is in the file.
func (f finding) says(d source.Diagnostic) bool {
	return f.found.Code == d.Code && f.found.Subject == d.Subject && f.found.Field == d.Field && f.found.Printed() == d.Printed()
}

// shift moves the findings of a file with a change of its text. It drops those in the text that the
// change replaces.
func (p *published) shift(path string, before *text, change protocol.TextDocumentContentChangeEvent, unit encoding) {
	of := p.of(path)
	partial, ok := change.(*protocol.TextDocumentContentChangePartial)
	if !ok {
		of.alone, of.others = nil, nil
		return
	}
	from, to := before.offset(partial.Range.Start, unit), before.offset(partial.Range.End, unit)
	by := len(partial.Text) - (to - from)
	shifted := func(all []finding) []finding {
		kept := all[:0:0]
		for _, f := range all {
			switch {
			case f.from >= to:
				f.from, f.to = f.from+by, f.to+by
			case f.to > from:
				continue
			}
			f.fixes = moved(f.fixes, path, from, to, by)
			kept = append(kept, f)
		}
		return kept
	}
	of.alone, of.others = shifted(of.alone), shifted(of.others)
}

// locate finds the place of a diagnostic in the text of its file.
func (s *server) locate(of *text, d source.Diagnostic) finding {
	from := of.offsetOf(d.At)
	return finding{d, from, editor.End(of.content, from), s.locateFixes(d.Fixes)}
}

// locateAll locates the findings in a file.
func (s *server) locateAll(path string, diagnostics []source.Diagnostic) []finding {
	of := s.textOf(path)
	var located []finding
	for _, d := range diagnostics {
		if s.pathOf(d) == path {
			located = append(located, s.locate(of, d))
		}
	}
	return located
}

// pathOf returns the path of the file that a diagnostic is about, or "".
func (s *server) pathOf(d source.Diagnostic) string {
	if !d.At.IsKnown() {
		return ""
	}
	return s.workspace.Path(d.At.File)
}

// publishAll publishes the findings of a complete check in the files that are as it has read them. alone has those
// that open files have by themselves.
func (s *server) publishAll(all []source.Diagnostic, alone map[string][]source.Diagnostic, isSame func(path string) bool) {
	byFile := map[string][]source.Diagnostic{}
	for _, d := range all {
		if path := s.pathOf(d); path != "" {
			byFile[path] = append(byFile[path], d)
		}
	}
	for path := range s.published.files {
		byFile[path] = slices.Clip(byFile[path]) // without findings, this is an empty entry
	}
	for _, path := range slices.Sorted(maps.Keys(byFile)) {
		if !isSame(path) {
			continue
		}
		of := s.published.of(path)
		of.alone, of.others = nil, nil
		for _, f := range s.locateAll(path, byFile[path]) {
			if slices.ContainsFunc(alone[path], f.says) {
				of.alone = append(of.alone, f)
			} else {
				of.others = append(of.others, f)
			}
		}
		s.publish(path)
	}
}

// publish sends the findings of a file, unless the client has them.
func (s *server) publish(path string) {
	of, text := s.published.of(path), s.textOf(path)
	params := &protocol.PublishDiagnosticsParams{URI: uri.File(path), Diagnostics: []protocol.Diagnostic{}}
	if b := s.buffers[path]; b != nil {
		params.Version = protocol.NewOptional(b.version)
	}
	all := of.all()
	for _, f := range all {
		params.Diagnostics = append(params.Diagnostics, s.diagnostic(text, f))
	}
	if len(all) == 0 && s.buffers[path] == nil {
		delete(s.published.files, path)
	}
	isKnown := reflect.DeepEqual(of.sent, params)
	if of.sent = params; !s.owns(path) {
		of.sent = nil
	}
	if isKnown || of.sent == nil {
		return
	}
	_ = s.client.PublishDiagnostics(s.ctx, params) // without a connection nobody waits for it
}

var severities = map[source.Severity]protocol.DiagnosticSeverity{
	source.Error: protocol.DiagnosticSeverityError, source.Warning: protocol.DiagnosticSeverityWarning, source.Info: protocol.DiagnosticSeverityInformation,
}

// diagnostic returns a finding as the protocol describes it.
func (s *server) diagnostic(of *text, f finding) protocol.Diagnostic {
	d := protocol.Diagnostic{
		Range: of.between(f.from, f.to, s.unit), Severity: severities[f.found.Severity], Code: protocol.String(f.found.Code),
		Source: protocol.NewOptional("preadmit"), Message: protocol.String(f.found.Short()),
	}
	for _, place := range slices.Concat(f.found.Related, f.found.Also) {
		path := s.workspace.Path(place.At.File)
		if path == "" {
			continue
		}
		there := s.textOf(path)
		at := there.offsetOf(place.At)
		name := source.Printable(place.Name)
		if name == "" {
			name = "also here"
		}
		d.RelatedInformation = append(d.RelatedInformation, protocol.DiagnosticRelatedInformation{
			Location: protocol.Location{URI: uri.File(path), Range: there.between(at, editor.End(there.content, at), s.unit)}, Message: name,
		})
	}
	return d
}
