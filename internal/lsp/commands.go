package lsp

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/preadmit/preadmit/engine/source"
)

// The commands of the server.
const (
	// commandCheck waits until everything is checked.
	commandCheck = "preadmit.check"
	// commandDiff shows what a policy, a changer, changes in the manifests.
	commandDiff = "preadmit.diff"
	// commandShow shows the place that an action has made, and what there is to say about it.
	commandShow = "preadmit.show"
)

// changer is a policy in a document.
type changer struct {
	URI    uri.URI `json:"uri"`
	Policy string  `json:"policy"`
}

// ExecuteCommand implements protocol.Server.
func (s *server) ExecuteCommand(ctx context.Context, p *protocol.ExecuteCommandParams) (protocol.LSPAny, error) {
	jsonrpc2.Async(ctx) // what follows waits for the client
	switch p.Command {
	case commandDiff:
		var of changer
		if len(p.Arguments) != 1 || json.Unmarshal(p.Arguments[0], &of) != nil {
			return nil, jsonrpc2.NewError(jsonrpc2.ErrInvalidParams.Code, commandDiff+" expects the policy of a lens")
		}
		s.lock.Lock()
		text := s.state.Diff(of.Policy)
		s.lock.Unlock()
		s.show(ctx, text)
	case commandShow:
		var done aftermath
		if len(p.Arguments) != 1 || json.Unmarshal(p.Arguments[0], &done) != nil {
			return nil, jsonrpc2.NewError(jsonrpc2.ErrInvalidParams.Code, commandShow+" expects what an action has given it")
		}
		s.conclude(ctx, done)
	default:
		return nil, jsonrpc2.NewError(jsonrpc2.ErrInvalidParams.Code, "unknown command "+source.Printable(p.Command))
	}
	return protocol.LSPAny("null"), nil
}

// waitForCheck waits until everything is checked.
func (s *server) waitForCheck() {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.checks.urgent++
	s.awaken()
	for s.checks.checked != s.checks.revision && !s.checks.ended {
		s.checks.done.Wait()
	}
	s.checks.urgent--
}

// show shows a diff: as a document if the client can do that, or else as a message. Clients open only
// documents in files, so the diff is written to a file, which only the user can read and which the
// server removes when it ends.
func (s *server) show(ctx context.Context, text string) {
	if s.abilities.showsDocuments {
		if path, err := s.temporary("changes.diff", text); err == nil {
			yes := true
			result, err := s.client.ShowDocument(ctx, &protocol.ShowDocumentParams{URI: uri.File(path), TakeFocus: &yes})
			if err == nil && result != nil && result.Success {
				return
			}
		}
	}
	_ = s.client.ShowMessage(ctx, &protocol.ShowMessageParams{Type: protocol.MessageTypeInfo, Message: text}) // without a connection nobody waits for it
}

// temporary writes a file in a directory of the server.
func (s *server) temporary(name, text string) (path string, err error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.directory == "" {
		if s.directory, err = os.MkdirTemp("", "preadmit-"); err != nil {
			return "", err
		}
	}
	path = filepath.Join(s.directory, name)
	return path, os.WriteFile(path, []byte(text), 0o600)
}
