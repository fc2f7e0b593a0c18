package lsp

import (
	"context"
	"encoding/json"
	"slices"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/editor"
)

// actionKinds are the kinds of all actions.
var actionKinds = []protocol.CodeActionKind{protocol.CodeActionKindQuickFix, protocol.CodeActionKindRefactorExtract, protocol.CodeActionKindRefactorRewrite}

// offered is a refactoring with what it mends.
type offered struct {
	refactoring editor.Refactoring
	mends       []protocol.Diagnostic
	kind        protocol.CodeActionKind
}

// picked names an action, for a client that asks for its edits later.
type picked struct {
	URI   uri.URI        `json:"uri"`
	Range protocol.Range `json:"range"`
	Title string         `json:"title"`
}

// aftermath is what follows the edits of an action.
type aftermath struct {
	URI   uri.URI         `json:"uri,omitempty"`
	Range *protocol.Range `json:"range,omitempty"`
	// Notes are for the user.
	Notes []string `json:"notes,omitempty"`
}

// refactoringsIn returns the refactorings in a range of an open file.
func (s *server) refactoringsIn(ctx context.Context, document protocol.TextDocumentIdentifier, in protocol.Range) (all []offered) {
	s.lock.Lock()
	path := pathOf(document.URI)
	b := s.buffers[path]
	if b == nil {
		s.lock.Unlock()
		return nil
	}
	at := Selection{Path: path, Text: b.text.content, From: b.text.offset(in.Start, s.unit), To: b.text.offset(in.End, s.unit), Buffers: map[string]string{}}
	for path, b := range s.buffers {
		at.Buffers[path] = b.text.content
	}
	found := s.findingsIn(path, at.From, at.To)
	for _, f := range found {
		at.Findings = append(at.Findings, f.found)
	}
	s.lock.Unlock()
	for _, r := range s.workspace.Refactorings(ctx, at) {
		o := offered{refactoring: r, kind: protocol.CodeActionKind(r.Kind)}
		s.lock.Lock()
		for _, f := range found {
			if r.Mends != nil && r.Mends(f.found) {
				o.mends, o.kind = append(o.mends, s.diagnostic(b.text, f)), protocol.CodeActionKindQuickFix
			}
		}
		s.lock.Unlock()
		all = append(all, o)
	}
	return all
}

// refactoring returns the action of a refactoring; nil if the client cannot take it.
func (s *server) refactoring(ctx context.Context, o offered, p *protocol.CodeActionParams) *protocol.CodeAction {
	r := o.refactoring
	action := &protocol.CodeAction{Title: source.Printable(r.Title), Kind: kind(o.kind), Diagnostics: o.mends}
	switch {
	case r.Refused != "":
		return s.refuse(action, r.Refused)
	case len(r.Created) > 0 && !s.abilities.creates:
		return s.refuse(action, "it makes a new file, which this editor does not let a server do")
	case r.Rewrite == nil && s.abilities.resolves:
		data, err := protocol.Marshal(&picked{p.TextDocument.URI, p.Range, r.Title})
		if err != nil {
			return nil
		}
		action.Data = data
		return action
	}
	if err := s.complete(ctx, action, r); err != nil {
		return s.refuse(action, err.Error())
	}
	return action
}

// refuse says why an action is not possible; nil if the client cannot show that.
func (s *server) refuse(action *protocol.CodeAction, why string) *protocol.CodeAction {
	if !s.abilities.disabled {
		return nil
	}
	action.Disabled = protocol.CodeActionDisabled{Reason: source.Printable(why)}
	return action
}

// CodeActionResolve implements protocol.Server.
func (s *server) CodeActionResolve(ctx context.Context, action *protocol.CodeAction) (*protocol.CodeAction, error) {
	var of picked
	if json.Unmarshal(action.Data, &of) != nil {
		return nil, jsonrpc2.NewError(jsonrpc2.ErrInvalidParams.Code, "the action is of another server")
	}
	all := s.refactoringsIn(ctx, protocol.TextDocumentIdentifier{URI: of.URI}, of.Range)
	i := slices.IndexFunc(all, func(r offered) bool { return r.refactoring.Title == of.Title && r.refactoring.Refused == "" })
	if i < 0 {
		return nil, jsonrpc2.NewError(jsonrpc2.ErrInvalidRequest.Code, "the action is not possible any more")
	}
	if err := s.complete(ctx, action, all[i].refactoring); err != nil {
		return nil, jsonrpc2.NewError(jsonrpc2.ErrInvalidRequest.Code, source.Printable(err.Error()))
	}
	return action, nil
}

// complete adds its edits to an action.
func (s *server) complete(ctx context.Context, action *protocol.CodeAction, r editor.Refactoring) (err error) {
	result := r.Rewrite
	if result == nil {
		if result, err = r.Later(ctx); err != nil {
			return err
		}
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	action.Edit = s.workspaceEdit(result.Edits, r.Created)
	done := aftermath{Notes: result.Notes}
	if at := result.Cursor; at.Path != "" && s.abilities.showsDocuments {
		after := newText(editor.Apply(s.textOf(at.Path).content, at.Path, result.Edits))
		place := after.between(at.From, at.To, s.unit)
		done.URI, done.Range = uri.File(at.Path), &place
	}
	if done.URI != "" || len(done.Notes) > 0 {
		argument, err := protocol.Marshal(&done)
		if err != nil {
			return err
		}
		action.Command = protocol.Command{Title: "Show", Command: commandShow, Arguments: []protocol.LSPAny{argument}}
	}
	return nil
}

// conclude shows what follows the edits of an action.
func (s *server) conclude(ctx context.Context, done aftermath) {
	if done.Range != nil {
		yes := true
		_, _ = s.client.ShowDocument(ctx, &protocol.ShowDocumentParams{URI: done.URI, TakeFocus: &yes, Selection: done.Range}) // the edits are made
	}
	for _, note := range done.Notes {
		_ = s.client.ShowMessage(ctx, &protocol.ShowMessageParams{Type: protocol.MessageTypeWarning, Message: source.Printable(note)})
	}
}
