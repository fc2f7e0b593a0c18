package lsp

import (
	"context"
	"math"
	"slices"
	"strings"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/editor"
)

// fix is a fix of a finding, with its places in the texts of files.
type fix struct {
	title string
	edits []located
}

// located is an edit with its place. Unless scalar is nil, it rewrites the scalar that is there; unless put is nil, it gives
// a field of the object that begins there a value.
type located struct {
	edit   editor.Edit
	scalar *source.Rewrite
	put    *source.Put
}

// locateFixes finds the places of fixes. It leaves out those whose text is not at its place.
func (s *server) locateFixes(all []source.Fix) (fixes []fix) {
	for _, f := range all {
		if edits, ok := s.locateEdits(f.Edits); ok {
			fixes = append(fixes, fix{f.Title, edits})
		}
	}
	return fixes
}

func (s *server) locateEdits(all []source.Edit) (edits []located, ok bool) {
	for _, e := range all {
		placed, ok := s.locateEdit(e)
		if !ok {
			return nil, false
		}
		edits = append(edits, located{placed, e.Scalar, e.Put})
	}
	return edits, true
}

func (s *server) locateEdit(e source.Edit) (placed editor.Edit, ok bool) {
	path := s.workspace.Path(e.At.File)
	if path == "" {
		return placed, false
	}
	return s.textOf(path).locate(path, e)
}

// locate finds the place of an edit in the text, which is that of the file with a path.
func (t *text) locate(path string, e source.Edit) (placed editor.Edit, ok bool) {
	from := t.offsetOf(e.At)
	if strings.Contains(t.content, "\r\n") {
		e.New = strings.ReplaceAll(e.New, "\n", "\r\n")
	}
	switch {
	case e.To.IsKnown():
		return editor.Edit{Path: path, From: from, To: max(from, t.offsetOf(e.To)), Text: e.New}, true
	case e.Old == "":
		return editor.Edit{Path: path, From: from, To: from, Text: e.New}, true
	}
	at, ok := editor.Word(t.content, from, e.Old)
	return editor.Edit{Path: path, From: at, To: at + len(e.Old), Text: e.New}, ok
}

// moved returns the fixes after a change of a file, without those that it affects.
func moved(fixes []fix, path string, from, to, by int) []fix {
	var kept []fix
	for _, f := range fixes {
		f.edits = slices.Clone(f.edits)
		isAffected := false
		for i := range f.edits {
			switch e := &f.edits[i].edit; {
			case e.Path != path || e.To < from:
			case e.From > to:
				e.From, e.To = e.From+by, e.To+by
			default:
				isAffected = true
			}
		}
		if !isAffected {
			kept = append(kept, f)
		}
	}
	return kept
}

// proposal is a fix with the finding that it mends.
type proposal struct {
	fix   fix
	mends protocol.Diagnostic
}

// proposals are fixes in the texts of files, as they are when they are asked for.
type proposals struct {
	all   []proposal
	texts map[string]*text
	names map[string]string
	read  map[string]*manifest.Stream
}

// proposed returns the fixes of the findings in a range of an open file.
func (s *server) proposed(document protocol.TextDocumentIdentifier, in protocol.Range) *proposals {
	s.lock.Lock()
	defer s.lock.Unlock()
	p := &proposals{texts: map[string]*text{}, names: map[string]string{}, read: map[string]*manifest.Stream{}}
	path := pathOf(document.URI)
	b := s.buffers[path]
	if b == nil {
		return p
	}
	for _, f := range s.findingsIn(path, b.text.offset(in.Start, s.unit), b.text.offset(in.End, s.unit)) {
		for _, fix := range f.fixes {
			p.all = append(p.all, proposal{fix, s.diagnostic(b.text, f)})
			for _, e := range fix.edits {
				if path := e.edit.Path; p.texts[path] == nil {
					p.texts[path], p.names[path] = s.textOf(path), s.workspace.Name(path)
				}
			}
		}
	}
	return p
}

// edits returns the edits that make a fix; ok is false if none do.
func (p *proposals) edits(of fix) (all []editor.Edit, ok bool) {
	for _, e := range of.edits {
		if e.scalar == nil && e.put == nil {
			all = append(all, e.edit)
			continue
		}
		rewriting, ok := p.rewriting(e)
		if !ok {
			return nil, false
		}
		all = append(all, rewriting...)
	}
	return all, true
}

// rewriting returns the edits that rewrite a scalar or give a field a value.
func (p *proposals) rewriting(e located) (edits []editor.Edit, ok bool) {
	path, text, name := e.edit.Path, p.texts[e.edit.Path], p.names[e.edit.Path]
	if p.read[path] == nil {
		unbounded := manifest.Bounds{Documents: math.MaxInt}
		p.read[path], _ = unbounded.ReadPlain(name, []byte(text.content)) // its problems are among the findings
	}
	from, to := text.place(name, e.edit.From), text.place(name, e.edit.To)
	found, ok := p.read[path].Edits(source.Edit{At: from, To: to, Scalar: e.scalar, Put: e.put})
	for _, f := range found {
		placed, _ := text.locate(path, f) // it has an end
		edits = append(edits, placed)
	}
	return edits, ok
}

// CodeAction implements protocol.Server. The actions are the fixes of the findings in a range, and the
// refactorings of what is there.
func (s *server) CodeAction(ctx context.Context, p *protocol.CodeActionParams) ([]protocol.CommandOrCodeAction, error) {
	actions := []protocol.CommandOrCodeAction{}
	if !s.abilities.actions {
		return actions, nil // this client takes only commands
	}
	if wants(p.Context.Only, protocol.CodeActionKindQuickFix) {
		for _, action := range s.fixesIn(p.TextDocument, p.Range) {
			actions = append(actions, action)
		}
	}
	for _, r := range s.refactoringsIn(ctx, p.TextDocument, p.Range) {
		if wants(p.Context.Only, r.kind) {
			if action := s.refactoring(ctx, r, p); action != nil {
				actions = append(actions, action)
			}
		}
	}
	return actions, nil
}

// fixesIn returns the fixes of the findings in a range of an open file. Checks go on while the fixes are tried.
func (s *server) fixesIn(document protocol.TextDocumentIdentifier, in protocol.Range) (actions []*protocol.CodeAction) {
	proposed := s.proposed(document, in)
	for _, p := range proposed.all {
		edits, ok := proposed.edits(p.fix)
		if !ok {
			continue
		}
		s.lock.Lock()
		actions = append(actions, &protocol.CodeAction{
			Title: source.Printable(p.fix.title), Kind: kind(protocol.CodeActionKindQuickFix),
			Diagnostics: []protocol.Diagnostic{p.mends}, Edit: s.workspaceEdit(edits, nil),
		})
		s.lock.Unlock()
	}
	return actions
}

// findingsIn returns the findings between two offsets of a file.
func (s *server) findingsIn(path string, from, to int) (in []finding) {
	for _, f := range s.published.of(path).all() {
		if f.from <= to && f.to >= from {
			in = append(in, f)
		}
	}
	return in
}

func kind(k protocol.CodeActionKind) *protocol.CodeActionKind { return &k }

// wants reports whether a client that asks only for some kinds of actions wants those of a kind.
func wants(only []protocol.CodeActionKind, k protocol.CodeActionKind) bool {
	return len(only) == 0 || slices.ContainsFunc(only, func(o protocol.CodeActionKind) bool {
		return o == protocol.CodeActionKindEmpty || o == k || strings.HasPrefix(string(k), string(o)+".")
	})
}

// workspaceEdit returns edits, and the creation of files, as the client takes them. The server must be locked.
func (s *server) workspaceEdit(edits []editor.Edit, created []string) *protocol.WorkspaceEdit {
	byFile, files := map[uri.URI][]protocol.TextEdit{}, []uri.URI{}
	for _, e := range edits {
		file := uri.File(e.Path)
		if byFile[file] == nil {
			files = append(files, file)
		}
		byFile[file] = append(byFile[file], protocol.TextEdit{Range: s.textOf(e.Path).between(e.From, e.To, s.unit), NewText: e.Text})
	}
	if !s.abilities.documentChanges {
		return &protocol.WorkspaceEdit{Changes: byFile}
	}
	all := &protocol.WorkspaceEdit{}
	for _, path := range created {
		all.DocumentChanges = append(all.DocumentChanges, &protocol.CreateFile{Kind: "create", URI: uri.File(path)})
	}
	for _, file := range files {
		change := &protocol.TextDocumentEdit{TextDocument: protocol.OptionalVersionedTextDocumentIdentifier{TextDocumentIdentifier: protocol.TextDocumentIdentifier{URI: file}}}
		if b := s.buffers[pathOf(file)]; b != nil {
			change.TextDocument.Version = &b.version
		}
		for _, e := range byFile[file] {
			change.Edits = append(change.Edits, &e)
		}
		all.DocumentChanges = append(all.DocumentChanges, change)
	}
	return all
}
