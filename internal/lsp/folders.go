package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/preadmit/preadmit/engine/source"
)

// folders are the directories that are open in an editor, each with its server. A request about a
// document is for the innermost folder that contains it; a text that changes is for all that contain it.
// A file that no folder contains belongs to the first one. It answers what is about no document itself.
type folders struct {
	protocol.UnimplementedServer
	options   Options
	client    protocol.Client
	ctx       context.Context
	exited    chan struct{}
	exit      sync.Once
	unit      encoding
	abilities abilities

	// lock guards what follows. It may be taken while a server is locked, but not the other way round.
	lock sync.Mutex
	// stopped says that the client has sent shutdown.
	stopped bool
	// servers are in the order of the folders.
	servers []*server
}

// all returns the servers of all folders.
func (f *folders) all() []*server {
	f.lock.Lock()
	defer f.lock.Unlock()
	return slices.Clone(f.servers)
}

// containing returns the servers whose folders contain a file, the innermost one last.
func (f *folders) containing(path string) []*server {
	all := f.all()
	found := slices.DeleteFunc(slices.Clone(all), func(s *server) bool { return !isBelow(s.dir, path) })
	if len(found) == 0 && len(all) > 0 {
		return all[:1]
	}
	slices.SortStableFunc(found, func(a, b *server) int { return len(a.dir) - len(b.dir) })
	return found
}

// isBelow reports whether a directory contains a file.
func isBelow(dir, path string) bool {
	name, err := filepath.Rel(dir, path)
	return err == nil && name != ".." && !strings.HasPrefix(name, ".."+string(filepath.Separator))
}

// owns reports whether a server is that of the innermost folder with a file.
func (f *folders) owns(s *server, path string) bool {
	found := f.containing(path)
	return len(found) > 0 && found[len(found)-1] == s
}

// documentOf returns the document that a message is about, or "".
func documentOf(params jsonrpc2.RawMessage) uri.URI {
	type document struct{ URI uri.URI }
	var p struct {
		TextDocument, Data document
		Arguments          []document
	}
	_ = json.Unmarshal(params, &p) // who gets the message reads it again, and reports errors
	for _, d := range append([]document{p.TextDocument, p.Data}, p.Arguments...) {
		if d.URI != "" {
			return d.URI
		}
	}
	return ""
}

// handle passes a message on.
func (f *folders) handle(ctx context.Context, request *jsonrpc2.Request) (result any, err error) {
	if err := f.refuses(request.Method()); err != nil {
		return nil, err
	}
	receivers := []protocol.Server{f}
	if document := documentOf(request.Params()); document != "" {
		receivers = nil
		for _, s := range f.containing(pathOf(document)) {
			receivers = append(receivers, s)
		}
		if request.IsCall() {
			receivers = receivers[len(receivers)-1:]
		}
	}
	for _, receiver := range receivers {
		result, err = protocol.ServerHandler(receiver, jsonrpc2.MethodNotFoundHandler)(ctx, request)
	}
	return result, err
}

// refuses returns the error for a message that comes before initialize or after shutdown.
func (f *folders) refuses(method string) error {
	f.lock.Lock()
	defer f.lock.Unlock()
	switch {
	case method == protocol.MethodExit:
	case f.stopped:
		return jsonrpc2.NewError(jsonrpc2.InvalidRequest, "shutdown has come before")
	case len(f.servers) == 0 && method != protocol.MethodInitialize:
		return jsonrpc2.NewError(jsonrpc2.ServerNotInitialized, "initialize has to come first")
	case len(f.servers) > 0 && method == protocol.MethodInitialize:
		return jsonrpc2.NewError(jsonrpc2.InvalidRequest, "initialize has come before")
	}
	return nil
}

// Initialize implements protocol.Server.
func (f *folders) Initialize(_ context.Context, p *protocol.InitializeParams) (*protocol.InitializeResult, error) {
	if general := p.Capabilities.General; general != nil {
		f.unit = chosen(general.PositionEncodings)
	} else {
		f.unit = chosen(nil)
	}
	f.abilities = abilitiesOf(&p.Capabilities)
	opened, _ := p.WorkspaceFolders.Get()
	//lint:ignore SA1019 some clients send no folders
	if root := p.RootURI; root != nil && len(opened) == 0 {
		opened = []protocol.WorkspaceFolder{{URI: *root}}
	}
	f.replace(nil, opened)
	f.refuse(opened)
	return &protocol.InitializeResult{
		ServerInfo:   protocol.ServerInfo{Name: "preadmit", Version: protocol.NewOptional(f.options.Version)},
		Capabilities: f.capabilities(),
	}, nil
}

// replace adds folders after those that are kept, and returns the new servers. Without any folder, the directory
// in which the server was started is one.
func (f *folders) replace(kept []*server, opened []protocol.WorkspaceFolder) (added []*server) {
	f.lock.Lock()
	defer f.lock.Unlock()
	f.servers = slices.Clone(kept)
	add := func(dir string) {
		if dir == "" || slices.ContainsFunc(f.servers, func(s *server) bool { return s.dir == dir }) {
			return // it is not on a disk, or is there already
		}
		s := newServer(f, dir)
		f.servers, added = append(f.servers, s), append(added, s)
	}
	for _, folder := range opened {
		add(pathOf(folder.URI))
	}
	if len(f.servers) == 0 {
		add(f.options.Dir)
	}
	return added
}

// refuse tells the user which of the folders that were opened have no files that the server can read.
func (f *folders) refuse(opened []protocol.WorkspaceFolder) {
	for _, folder := range opened {
		path := pathOf(folder.URI)
		_, err := os.Stat(path)
		why := "does not exist"
		switch {
		case path == "":
			why = "is not on a disk: preadmit reads only files there"
		case !os.IsNotExist(err):
			continue
		}
		text := source.Printable(fmt.Sprintf("preadmit: the folder %s %s", folder.URI, why))
		_ = f.client.ShowMessage(f.ctx, &protocol.ShowMessageParams{Type: protocol.MessageTypeWarning, Message: text}) // without a connection nobody waits for it
	}
}

// Initialized implements protocol.Server.
func (f *folders) Initialized(context.Context, *protocol.InitializedParams) error {
	for _, s := range f.all() {
		s.start()
	}
	if f.abilities.watches {
		go f.watch()
	}
	return nil
}

// watch asks the client to tell about files that change on the disk.
func (f *folders) watch() {
	options, err := protocol.Marshal(&protocol.DidChangeWatchedFilesRegistrationOptions{
		Watchers: []protocol.FileSystemWatcher{{GlobPattern: protocol.Pattern("**/*.{yaml,yml,json}")}, {GlobPattern: protocol.Pattern("**/.preadmitignore")}},
	})
	if err != nil {
		return
	}
	_ = f.client.RegisterCapability(f.ctx, &protocol.RegistrationParams{
		Registrations: []protocol.Registration{{ID: "files", Method: "workspace/didChangeWatchedFiles", RegisterOptions: options}},
	}) // a client that refuses saves files, which is noticed, too
}

// DidChangeWorkspaceFolders implements protocol.Server. Findings in files that belong to another folder now are
// withdrawn: the server of that folder publishes its own.
func (f *folders) DidChangeWorkspaceFolders(_ context.Context, p *protocol.DidChangeWorkspaceFoldersParams) error {
	before, open := f.all(), map[string]*buffer{}
	published := map[*server][]string{}
	for _, s := range before {
		published[s] = s.known(open)
	}
	kept := slices.DeleteFunc(slices.Clone(before), func(s *server) bool {
		return slices.ContainsFunc(p.Event.Removed, func(folder protocol.WorkspaceFolder) bool { return pathOf(folder.URI) == s.dir })
	})
	added := f.replace(kept, p.Event.Added)
	f.refuse(p.Event.Added)
	for _, s := range before {
		s.withdraw(published[s])
		if !slices.Contains(kept, s) {
			s.end()
		}
	}
	for _, s := range f.all() {
		s.hold(open, func(path string) bool { return slices.Contains(f.containing(path), s) })
		if slices.Contains(added, s) {
			s.start()
		}
	}
	return nil
}

// DidChangeWatchedFiles implements protocol.Server.
func (f *folders) DidChangeWatchedFiles(context.Context, *protocol.DidChangeWatchedFilesParams) error {
	for _, s := range f.all() {
		s.touch("")
	}
	return nil
}

// DidChangeConfiguration implements protocol.Server. The configuration is in files.
func (f *folders) DidChangeConfiguration(context.Context, *protocol.DidChangeConfigurationParams) error {
	return nil
}

// ExecuteCommand implements protocol.Server.
func (f *folders) ExecuteCommand(ctx context.Context, p *protocol.ExecuteCommandParams) (protocol.LSPAny, error) {
	all := f.all()
	if p.Command != commandCheck {
		return all[0].ExecuteCommand(ctx, p)
	}
	jsonrpc2.Async(ctx)
	for _, s := range all {
		s.waitForCheck()
	}
	return protocol.LSPAny("null"), nil
}

// Shutdown implements protocol.Server.
func (f *folders) Shutdown(context.Context) error {
	f.lock.Lock()
	defer f.lock.Unlock()
	f.stopped = true
	return nil
}

// Exit implements protocol.Server.
func (f *folders) Exit(context.Context) error {
	f.exit.Do(func() { close(f.exited) })
	return nil
}
