// Package lsp is a language server for policies and manifests. It speaks the Language Server Protocol
// with an editor, and asks a Workspace what is in the files: it has no rules of its own about them.
//
// It is the only package that imports go.lsp.dev/protocol, whose types are generated from the
// specification of the protocol (3.18), and go.lsp.dev/jsonrpc2. They need no package at start-up
// that the program does not have, except a JSON library without tables. The server does not use the
// handlers of these libraries: they answer messages concurrently, and close the connection after an
// error in a notification.
//
// Laws:
//
//	messages are answered in the order in which they arrive
//	no message and no crash of a check ends the server, only exit; what has no header as the protocol says is no message
//	what is published in the end depends only on the texts, not on the edits that led to them
//
// The files in order: server.go (the server of a folder), folders.go (the
// folders of an editor), abilities.go (what a client can take), connection.go
// (messages), text.go (texts and positions), buffers.go (open files), check.go (when the workspace is
// checked), commands.go (commands), publish.go (diagnostics), features.go (answers about places), shapes.go
// (tokens and folds), actions.go (changes that a user can choose), refactor.go (those that are no fixes).
package lsp

import (
	"context"
	"io"
	"os"
	"sync"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/editor"
)

// Workspace is a directory with policies and manifests.
type Workspace interface {
	// Check finds the mistakes in all files. The buffers are the texts of open files by their
	// absolute paths, which count instead of what is on the disk. It returns nil if ctx ends.
	Check(ctx context.Context, buffers map[string]string) *Analysis
	// CheckFile finds the mistakes that a file has by itself: with the rest of the workspace as in
	// the last Check, and without running policies on manifests. ok is false if the file is not part
	// of the workspace. It may be called during a Check, whose result it does not use yet.
	CheckFile(ctx context.Context, path, text string) (findings []source.Diagnostic, ok bool)
	// Path returns the absolute path of a file in a diagnostic, or "".
	Path(name string) string
	// Name returns the name of a file in diagnostics.
	Name(path string) string
	// Refactorings returns the changes that are possible at a selection.
	Refactorings(ctx context.Context, at Selection) []editor.Refactoring
	// Read returns the text of a file on the disk; "" if it cannot be read.
	Read(path string) string
}

// Analysis is what a check has found.
type Analysis struct {
	Findings []source.Diagnostic
	// State is what else is known; nil if the files could not be read.
	State *editor.State
}

// Selection is what the user has selected in an open file.
type Selection struct {
	// Path is the absolute path of the file, and Text its text.
	Path, Text string
	// From and To are the offsets of what is selected: both are the cursor if that is nothing.
	From, To int
	// Findings are the findings that are there.
	Findings []source.Diagnostic
	// Buffers are the texts of all open files by their absolute paths.
	Buffers map[string]string
}

// Options are the options of a server.
type Options struct {
	Version string
	// Open returns the workspace of a directory.
	Open func(dir string) Workspace
	// Dir is the directory of the workspace if the client names none.
	Dir string
}

// Serve answers a client until it disconnects. orderly reports whether the client has asked for that
// with shutdown and exit, as it should, and err why the client could not be read any more.
func Serve(ctx context.Context, in io.Reader, out io.Writer, options Options) (orderly bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	connection := jsonrpc2.NewConn(lenient{jsonrpc2.NewStream(stream{in, out})}, jsonrpc2.WithCodec(codec{}))
	f := &folders{options: options, client: protocol.ClientDispatcher(connection), ctx: ctx, exited: make(chan struct{})}
	connection.Go(ctx, handle(f.handle))
	select {
	case <-f.exited:
	case <-connection.Done():
		err = connection.Err()
	}
	cancel()
	for _, s := range f.all() {
		s.end()
	}
	f.lock.Lock()
	defer f.lock.Unlock()
	return f.stopped, err
}

// server is the server of a folder.
type server struct {
	protocol.UnimplementedServer
	client    protocol.Client
	ctx       context.Context
	cancel    context.CancelFunc
	dir       string
	workspace Workspace
	unit      encoding
	abilities abilities
	// owns reports whether the findings in a file are those of this server.
	owns func(path string) bool

	// lock guards what follows. Messages are handled one after the other, but checks run beside them.
	lock sync.Mutex
	// buffers are the open files by their paths.
	buffers map[string]*buffer
	// state is that of the last complete check.
	state     *editor.State
	checks    checks
	published published
	// closed is the file that is not open of which a place was last asked for.
	closed struct {
		path string
		text *text
	}
	// directory has the documents that the server shows; "" if it has shown none.
	directory string
}

// newServer returns the server of a folder.
func newServer(f *folders, dir string) *server {
	s := &server{client: f.client, dir: dir, workspace: f.options.Open(dir), unit: f.unit, abilities: f.abilities, buffers: map[string]*buffer{}, state: editor.Unread()}
	s.ctx, s.cancel = context.WithCancel(f.ctx)
	s.owns = func(path string) bool { return f.owns(s, path) }
	s.checks.wake, s.checks.done = make(chan struct{}, 1), sync.NewCond(&s.lock)
	return s
}

// start begins to check the folder.
func (s *server) start() {
	go s.work()
	s.touch("")
}

// end ends the checks, and removes the documents that were shown.
func (s *server) end() {
	s.cancel()
	s.lock.Lock()
	defer s.lock.Unlock()
	s.checks.ended = true
	s.checks.done.Broadcast()
	if s.directory != "" {
		_ = os.RemoveAll(s.directory) // the system removes what is left
	}
}

// pathOf returns the path of a file, or "" for a URI of another scheme.
func pathOf(u uri.URI) string {
	if u.Scheme() != "file" {
		return "" // git:/a/b.yaml is an old text of /a/b.yaml
	}
	return u.FsPath()
}
