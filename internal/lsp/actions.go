package lsp

import (
	"context"
	"slices"
	"strings"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/editor"
)

// fix is a fix of a finding, with its places in the texts of files.
type fix struct {
	title string
	edits []edit
}

// edit replaces a part of a file.
type edit struct {
	path     string
	from, to int
	text     string
}

// locateFixes finds the places of fixes. It leaves out those whose text is not at its place.
func (s *server) locateFixes(all []source.Fix) []fix {
	var located []fix
	for _, f := range all {
		edits := make([]edit, 0, len(f.Edits))
		for _, e := range f.Edits {
			if placed, ok := s.locateEdit(e); ok {
				edits = append(edits, placed)
			}
		}
		if len(edits) == len(f.Edits) {
			located = append(located, fix{f.Title, edits})
		}
	}
	return located
}

func (s *server) locateEdit(e source.Edit) (placed edit, ok bool) {
	path := s.workspace.Path(e.At.File)
	if path == "" {
		return placed, false
	}
	of := s.textOf(path)
	from := of.offsetOf(e.At)
	switch {
	case e.To.IsKnown():
		return edit{path, from, max(from, of.offsetOf(e.To)), e.New}, true
	case e.Old == "":
		return edit{path, from, from, e.New}, true
	}
	at, ok := editor.Word(of.content, from, e.Old)
	return edit{path, at, at + len(e.Old), e.New}, ok
}

// moved returns the fixes after a change of a file, without those that it affects.
func moved(fixes []fix, path string, from, to, by int) []fix {
	var kept []fix
	for _, f := range fixes {
		f.edits = slices.Clone(f.edits)
		isAffected := false
		for i := range f.edits {
			switch e := &f.edits[i]; {
			case e.path != path || e.to < from:
			case e.from > to:
				e.from, e.to = e.from+by, e.to+by
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

// CodeAction implements protocol.Server. The actions are the fixes of the findings in a range.
func (s *server) CodeAction(_ context.Context, p *protocol.CodeActionParams) ([]protocol.CommandOrCodeAction, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	path := pathOf(p.TextDocument.URI)
	actions := []protocol.CommandOrCodeAction{}
	b := s.buffers[path]
	if b == nil {
		return actions, nil
	}
	from, to := b.text.offset(p.Range.Start, s.unit), b.text.offset(p.Range.End, s.unit)
	if wants(p.Context.Only, protocol.CodeActionKindQuickFix) {
		for _, f := range s.published.of(path).all() {
			if f.from > to || f.to < from {
				continue
			}
			for _, fix := range f.fixes {
				actions = append(actions, &protocol.CodeAction{
					Title: source.Printable(fix.title), Kind: kind(protocol.CodeActionKindQuickFix),
					Diagnostics: []protocol.Diagnostic{s.diagnostic(b.text, f)}, Edit: s.workspaceEdit(fix.edits),
				})
			}
		}
	}
	return actions, nil
}

func kind(k protocol.CodeActionKind) *protocol.CodeActionKind { return &k }

// wants reports whether a client that asks only for some kinds of actions wants those of a kind.
func wants(only []protocol.CodeActionKind, k protocol.CodeActionKind) bool {
	return len(only) == 0 || slices.ContainsFunc(only, func(o protocol.CodeActionKind) bool {
		return o == protocol.CodeActionKindEmpty || o == k || strings.HasPrefix(string(k), string(o)+".")
	})
}

// workspaceEdit returns edits as the protocol describes them.
func (s *server) workspaceEdit(edits []edit) *protocol.WorkspaceEdit {
	all := &protocol.WorkspaceEdit{Changes: map[uri.URI][]protocol.TextEdit{}}
	for _, e := range edits {
		file := uri.File(e.path)
		all.Changes[file] = append(all.Changes[file], protocol.TextEdit{Range: s.textOf(e.path).between(e.from, e.to, s.unit), NewText: e.text})
	}
	return all
}
