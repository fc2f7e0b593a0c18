package lsp

import (
	"context"

	"go.lsp.dev/protocol"
)

// buffer is an open file.
type buffer struct {
	text    *text
	version int32
}

// DidOpen implements protocol.Server.
func (s *server) DidOpen(_ context.Context, p *protocol.DidOpenTextDocumentParams) error {
	path := pathOf(p.TextDocument.URI)
	s.lock.Lock()
	s.buffers[path] = &buffer{newText(p.TextDocument.Text), p.TextDocument.Version}
	s.lock.Unlock()
	s.touch(path)
	return nil
}

// DidChange implements protocol.Server.
func (s *server) DidChange(_ context.Context, p *protocol.DidChangeTextDocumentParams) error {
	path := pathOf(p.TextDocument.URI)
	s.lock.Lock()
	b := s.buffers[path]
	if b == nil {
		s.lock.Unlock()
		return nil
	}
	changed := b.text
	for _, change := range p.ContentChanges {
		s.published.shift(path, changed, change, s.unit)
		changed = changed.edit(change, s.unit)
	}
	s.buffers[path] = &buffer{changed, p.TextDocument.Version}
	s.lock.Unlock()
	s.touch(path)
	return nil
}

// DidSave implements protocol.Server.
func (s *server) DidSave(context.Context, *protocol.DidSaveTextDocumentParams) error {
	s.touch("")
	return nil
}

// DidClose implements protocol.Server. What is on the disk counts again.
func (s *server) DidClose(_ context.Context, p *protocol.DidCloseTextDocumentParams) error {
	s.lock.Lock()
	delete(s.buffers, pathOf(p.TextDocument.URI))
	s.lock.Unlock()
	s.touch("")
	return nil
}

// DidChangeWatchedFiles implements protocol.Server.
func (s *server) DidChangeWatchedFiles(context.Context, *protocol.DidChangeWatchedFilesParams) error {
	s.touch("")
	return nil
}

// DidChangeConfiguration implements protocol.Server. The configuration is in files.
func (s *server) DidChangeConfiguration(context.Context, *protocol.DidChangeConfigurationParams) error {
	return nil
}

// textOf returns the text of a file: of its buffer, or else of the disk.
func (s *server) textOf(path string) *text {
	if b := s.buffers[path]; b != nil {
		return b.text
	}
	return newText(s.workspace.Read(path))
}
