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
//	no message ends the server, except exit
//	what is published in the end depends only on the texts, not on the edits that led to them
//
// The files in order: server.go (the life of a server), abilities.go (what a client can take), connection.go
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
// with shutdown and exit, as it should.
func Serve(ctx context.Context, in io.Reader, out io.Writer, options Options) (orderly bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	connection := jsonrpc2.NewConn(jsonrpc2.NewStream(stream{in, out}), jsonrpc2.WithCodec(codec{}))
	s := &server{options: options, client: protocol.ClientDispatcher(connection), ctx: ctx, exited: make(chan struct{}), buffers: map[string]*buffer{}, state: &editor.State{}}
	s.checks.wake = make(chan struct{}, 1)
	s.checks.done = sync.NewCond(&s.lock)
	connection.Go(ctx, handle(s))
	select {
	case <-s.exited:
	case <-connection.Done():
	}
	cancel()
	s.lock.Lock()
	defer s.lock.Unlock()
	s.checks.ended = true
	s.checks.done.Broadcast()
	if s.directory != "" {
		_ = os.RemoveAll(s.directory) // the system removes what is left
	}
	return s.stopped
}

// server is the state of a connection.
type server struct {
	protocol.UnimplementedServer
	options   Options
	client    protocol.Client
	ctx       context.Context
	exited    chan struct{}
	workspace Workspace
	unit      encoding
	abilities abilities

	// lock guards what follows. Messages are handled one after the other, but checks run beside them.
	lock sync.Mutex
	// stopped says that the client has sent shutdown.
	stopped bool
	// buffers are the open files by their paths.
	buffers map[string]*buffer
	// state is that of the last complete check.
	state     *editor.State
	checks    checks
	published published
	// directory has the documents that the server shows; "" if it has shown none.
	directory string
}

// Initialize implements protocol.Server.
func (s *server) Initialize(_ context.Context, p *protocol.InitializeParams) (*protocol.InitializeResult, error) {
	if general := p.Capabilities.General; general != nil {
		s.unit = chosen(general.PositionEncodings)
	} else {
		s.unit = chosen(nil)
	}
	s.abilities = abilitiesOf(&p.Capabilities)
	s.workspace = s.options.Open(s.root(p))
	return &protocol.InitializeResult{
		ServerInfo:   protocol.ServerInfo{Name: "preadmit", Version: protocol.NewOptional(s.options.Version)},
		Capabilities: s.capabilities(),
	}, nil
}

// root returns the directory of the workspace.
func (s *server) root(p *protocol.InitializeParams) string {
	if folders, ok := p.WorkspaceFolders.Get(); ok && len(folders) > 0 {
		return pathOf(folders[0].URI)
	}
	//lint:ignore SA1019 some clients send no folders
	if root := p.RootURI; root != nil {
		return pathOf(*root)
	}
	return s.options.Dir
}

// pathOf returns the path of a file, or "" for a URI of another scheme.
func pathOf(u uri.URI) string { return u.FsPath() }

// Initialized implements protocol.Server.
func (s *server) Initialized(context.Context, *protocol.InitializedParams) error {
	go s.work()
	s.touch("")
	if s.abilities.watches {
		go s.watch()
	}
	return nil
}

// watch asks the client to tell about files that change on the disk.
func (s *server) watch() {
	options, err := protocol.Marshal(&protocol.DidChangeWatchedFilesRegistrationOptions{
		Watchers: []protocol.FileSystemWatcher{{GlobPattern: protocol.Pattern("**/*.{yaml,yml,json}")}, {GlobPattern: protocol.Pattern("**/.preadmitignore")}},
	})
	if err != nil {
		return
	}
	_ = s.client.RegisterCapability(s.ctx, &protocol.RegistrationParams{
		Registrations: []protocol.Registration{{ID: "files", Method: "workspace/didChangeWatchedFiles", RegisterOptions: options}},
	}) // a client that refuses saves files, which is noticed, too
}

// Shutdown implements protocol.Server.
func (s *server) Shutdown(context.Context) error {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.stopped = true
	return nil
}

// Exit implements protocol.Server.
func (s *server) Exit(context.Context) error {
	close(s.exited)
	return nil
}
