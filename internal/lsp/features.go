package lsp

import (
	"cmp"
	"context"
	"fmt"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/editor"
)

// capabilities are what the server can do.
func (f *folders) capabilities() protocol.ServerCapabilities {
	yes, sync := true, protocol.TextDocumentSyncKindIncremental
	return protocol.ServerCapabilities{
		PositionEncoding:       protocol.PositionEncodingKind(f.unit),
		Workspace:              &protocol.WorkspaceOptions{WorkspaceFolders: &protocol.WorkspaceFoldersServerCapabilities{Supported: &yes, ChangeNotifications: protocol.Boolean(true)}},
		TextDocumentSync:       &protocol.TextDocumentSyncOptions{OpenClose: &yes, Change: &sync, Save: protocol.Boolean(true)},
		ExecuteCommandProvider: protocol.ExecuteCommandOptions{Commands: []string{commandCheck, commandDiff, commandShow}},
		CompletionProvider:     &protocol.CompletionOptions{TriggerCharacters: []string{".", "/", "{", "[", ",", "\"", "'", " "}},
		HoverProvider:          protocol.Boolean(true),
		DefinitionProvider:     protocol.Boolean(true),
		ReferencesProvider:     protocol.Boolean(true),
		RenameProvider:         &protocol.RenameOptions{PrepareProvider: &yes},
		DocumentSymbolProvider: protocol.Boolean(true),
		CodeActionProvider:     &protocol.CodeActionOptions{CodeActionKinds: actionKinds, ResolveProvider: &f.abilities.resolves},
		FoldingRangeProvider:   protocol.Boolean(true),
		SemanticTokensProvider: &protocol.SemanticTokensOptions{Legend: protocol.SemanticTokensLegend{TokenTypes: editor.Classes, TokenModifiers: []string{}}, Full: protocol.Boolean(true)},
		CodeLensProvider:       &protocol.CodeLensOptions{},
	}
}

// asked is the place that a request is about. The server must be locked.
type asked struct {
	state *editor.State
	text  *text
	at    source.Position
}

// asked returns the place of a request; ok is false if the file is not open.
func (s *server) asked(p protocol.TextDocumentPositionParams) (a asked, ok bool) {
	path := pathOf(p.TextDocument.URI)
	b := s.buffers[path]
	if b == nil {
		return asked{}, false
	}
	return asked{s.state, b.text, b.text.place(s.workspace.Name(path), b.text.offset(p.Position, s.unit))}, true
}

var itemKinds = map[editor.ItemKind]protocol.CompletionItemKind{
	editor.FieldItem: protocol.CompletionItemKindField, editor.VariableItem: protocol.CompletionItemKindVariable,
	editor.FunctionItem: protocol.CompletionItemKindFunction, editor.ValueItem: protocol.CompletionItemKindValue,
}

// Completion implements protocol.Server.
func (s *server) Completion(_ context.Context, p *protocol.CompletionParams) (protocol.CompletionResult, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	items := protocol.CompletionItemSlice{}
	a, ok := s.asked(p.TextDocumentPositionParams)
	if !ok {
		return items, nil
	}
	found := a.state.Complete(a.text.content, a.at)
	to := a.text.offsetOf(a.at)
	word := a.text.between(to-len(found.Word), to, s.unit)
	for i, item := range found.Items {
		edit := &protocol.TextEdit{Range: word, NewText: cmp.Or(item.Insert, item.Name)}
		completion := protocol.CompletionItem{Label: item.Name, Kind: itemKinds[item.Kind], TextEdit: edit, SortText: protocol.NewOptional(fmt.Sprintf("%04d", i))}
		if item.Detail != "" {
			completion.Detail = protocol.NewOptional(item.Detail)
		}
		if item.Doc != "" {
			completion.Documentation = protocol.String(item.Doc)
		}
		items = append(items, completion)
	}
	return items, nil
}

// Hover implements protocol.Server.
func (s *server) Hover(_ context.Context, p *protocol.HoverParams) (*protocol.Hover, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	a, ok := s.asked(p.TextDocumentPositionParams)
	if !ok {
		return nil, nil
	}
	text := a.state.Hover(a.text.content, a.at)
	if text == "" {
		return nil, nil
	}
	return &protocol.Hover{Contents: &protocol.MarkupContent{Kind: protocol.MarkupKindMarkdown, Value: text}}, nil
}

// location returns the word at a position as a place of the protocol.
func (s *server) location(at source.Position) protocol.Location {
	path := s.workspace.Path(at.File)
	text := s.textOf(path)
	offset := text.offsetOf(at)
	return protocol.Location{URI: uri.File(path), Range: text.between(offset, editor.End(text.content, offset), s.unit)}
}

func (s *server) locations(all []source.Position) protocol.LocationSlice {
	found := protocol.LocationSlice{}
	for _, at := range all {
		found = append(found, s.location(at))
	}
	return found
}

// Definition implements protocol.Server.
func (s *server) Definition(_ context.Context, p *protocol.DefinitionParams) (protocol.DefinitionResult, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	a, ok := s.asked(p.TextDocumentPositionParams)
	if !ok {
		return protocol.LocationSlice{}, nil
	}
	return s.locations(a.state.Definition(a.text.content, a.at)), nil
}

// References implements protocol.Server.
func (s *server) References(_ context.Context, p *protocol.ReferenceParams) ([]protocol.Location, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	a, ok := s.asked(p.TextDocumentPositionParams)
	if !ok {
		return nil, nil
	}
	return s.locations(a.state.References(a.text.content, a.at)), nil
}

// renamed returns the ranges of the variable at a place.
func (s *server) renamed(a asked) (ranges []protocol.Range, name string) {
	places, name := editor.Rename(a.text.content, a.at)
	for _, at := range places {
		offset := a.text.offsetOf(at)
		ranges = append(ranges, a.text.between(offset, offset+len(name), s.unit))
	}
	return ranges, name
}

// PrepareRename implements protocol.Server.
func (s *server) PrepareRename(_ context.Context, p *protocol.PrepareRenameParams) (protocol.PrepareRenameResult, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	a, ok := s.asked(p.TextDocumentPositionParams)
	if !ok {
		return nil, nil
	}
	ranges, name := s.renamed(a)
	for _, r := range ranges {
		if r.Start.Line == p.Position.Line && r.Start.Character <= p.Position.Character && p.Position.Character <= r.End.Character {
			return &protocol.PrepareRenamePlaceholder{Range: r, Placeholder: name}, nil
		}
	}
	return nil, nil
}

// Rename implements protocol.Server. It renames variables of policies.
func (s *server) Rename(_ context.Context, p *protocol.RenameParams) (*protocol.WorkspaceEdit, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	a, ok := s.asked(p.TextDocumentPositionParams)
	if !ok {
		return nil, nil
	}
	if why := editor.Unusable(a.text.content, a.at, p.NewName); why != "" {
		return nil, jsonrpc2.NewError(jsonrpc2.ErrInvalidParams.Code, why)
	}
	ranges, _ := s.renamed(a)
	if len(ranges) == 0 {
		return nil, nil
	}
	edit := &protocol.WorkspaceEdit{Changes: map[uri.URI][]protocol.TextEdit{}}
	for _, r := range ranges {
		edit.Changes[p.TextDocument.URI] = append(edit.Changes[p.TextDocument.URI], protocol.TextEdit{Range: r, NewText: p.NewName})
	}
	return edit, nil
}

// DocumentSymbol implements protocol.Server. The symbols are the documents of the file.
func (s *server) DocumentSymbol(_ context.Context, p *protocol.DocumentSymbolParams) (protocol.DocumentSymbolResult, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	symbols := protocol.DocumentSymbolSlice{}
	b := s.buffers[pathOf(p.TextDocument.URI)]
	if b == nil {
		return symbols, nil
	}
	documents := editor.Documents(b.text.content)
	for i, d := range documents {
		object := editor.ObjectOf(d)
		from, to := b.text.offsetOf(object.At), len(b.text.content)
		if i+1 < len(documents) {
			to = b.text.offsetOf(documents[i+1].At(nil))
		}
		at := b.text.offsetOf(object.NameAt)
		detail, name := object.Kind.Kind, object.Name
		if name == "" {
			name, at = "(no name)", from
		}
		symbols = append(symbols, protocol.DocumentSymbol{
			Name: source.Printable(name), Detail: &detail, Kind: protocol.SymbolKindObject,
			Range: b.text.between(from, to, s.unit), SelectionRange: b.text.between(at, editor.End(b.text.content, at), s.unit),
		})
	}
	return symbols, nil
}

// CodeLens implements protocol.Server. The lenses say what each policy does to the manifests.
func (s *server) CodeLens(_ context.Context, p *protocol.CodeLensParams) ([]protocol.CodeLens, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	path := pathOf(p.TextDocument.URI)
	lenses := []protocol.CodeLens{}
	for _, lens := range s.state.Lenses(s.workspace.Name(path)) {
		policy, err := protocol.Marshal(&changer{p.TextDocument.URI, lens.Policy})
		if err != nil {
			return nil, err
		}
		lenses = append(lenses, protocol.CodeLens{Range: s.location(lens.At).Range, Command: protocol.Command{Title: lens.Title, Command: commandDiff, Arguments: []protocol.LSPAny{policy}}})
	}
	return lenses, nil
}
