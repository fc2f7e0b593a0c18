package lsp

import (
	"context"
	"slices"

	"go.lsp.dev/protocol"

	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/editor"
)

// textAt returns the text of an open file; nil if it is not open.
func (s *server) textAt(document protocol.TextDocumentIdentifier) *text {
	s.lock.Lock()
	defer s.lock.Unlock()
	if b := s.buffers[pathOf(document.URI)]; b != nil {
		return b.text
	}
	return nil
}

// SemanticTokensFull implements protocol.Server. The tokens are the parts of expressions in CEL.
func (s *server) SemanticTokensFull(_ context.Context, p *protocol.SemanticTokensParams) (*protocol.SemanticTokens, error) {
	tokens := &protocol.SemanticTokens{Data: []uint32{}}
	text := s.textAt(p.TextDocument)
	if text == nil {
		return tokens, nil
	}
	line, character := uint32(0), uint32(0)
	for _, token := range editor.Tokens(text.content) {
		end := source.Position{Line: token.At.Line, Column: token.At.Column + token.Length}
		at := text.between(text.offsetOf(token.At), text.offsetOf(end), s.unit)
		if at.Start.Line != at.End.Line || at.Start.Line == line && at.Start.Character < character {
			continue // a line that ends with \r
		}
		if at.Start.Line != line {
			character = 0
		}
		class := uint32(slices.Index(editor.Classes, token.Class))
		tokens.Data = append(tokens.Data, at.Start.Line-line, at.Start.Character-character, at.End.Character-at.Start.Character, class, 0)
		line, character = at.Start.Line, at.Start.Character
	}
	return tokens, nil
}

// FoldingRanges implements protocol.Server.
func (s *server) FoldingRanges(_ context.Context, p *protocol.FoldingRangeParams) ([]protocol.FoldingRange, error) {
	folds := []protocol.FoldingRange{}
	text := s.textAt(p.TextDocument)
	if text == nil {
		return folds, nil
	}
	for _, fold := range editor.Folds(text.content) {
		first, last := text.offsetOf(source.Position{Line: fold.First + 1}), text.offsetOf(source.Position{Line: fold.Last + 1})
		folds = append(folds, protocol.FoldingRange{StartLine: text.position(first, s.unit).Line, EndLine: text.position(last, s.unit).Line})
	}
	return folds, nil
}
