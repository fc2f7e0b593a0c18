package lsp

import (
	"context"
	"maps"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"
)

// buffer is an open file.
type buffer struct {
	text    *text
	version int32
}

// DidOpen implements protocol.Server.
func (s *server) DidOpen(_ context.Context, p *protocol.DidOpenTextDocumentParams) error {
	path := pathOf(p.TextDocument.URI)
	if path == "" {
		return nil
	}
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

// known adds the open files to others, and returns the files with findings that the server publishes.
func (s *server) known(open map[string]*buffer) (published []string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	maps.Copy(open, s.buffers)
	for path := range s.published.files {
		if s.owns(path) {
			published = append(published, path)
		}
	}
	return published
}

// withdraw removes the findings in those files that are not of this server any more.
func (s *server) withdraw(paths []string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	for _, path := range paths {
		if !s.owns(path) {
			delete(s.published.files, path)
			_ = s.client.PublishDiagnostics(s.ctx, &protocol.PublishDiagnosticsParams{URI: uri.File(path), Diagnostics: []protocol.Diagnostic{}}) // without a connection nobody waits for it
		}
	}
}

// hold replaces the open files by those that are for this server.
func (s *server) hold(open map[string]*buffer, isFor func(path string) bool) {
	s.lock.Lock()
	s.buffers = maps.Clone(open)
	maps.DeleteFunc(s.buffers, func(path string, _ *buffer) bool { return !isFor(path) })
	s.lock.Unlock()
	s.touch("")
}

// textOf returns the text of a file: of its buffer, or else of the disk.
func (s *server) textOf(path string) *text {
	if b := s.buffers[path]; b != nil {
		return b.text
	}
	content := s.workspace.Read(path)
	if s.closed.text == nil || s.closed.path != path || s.closed.text.content != content {
		s.closed.path, s.closed.text = path, newText(content)
	}
	return s.closed.text
}
