package lsp

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/editor"
)

// slowWorkspace has a complete check that does not end before it may, even if it is stopped.
type slowWorkspace struct{ began, mayEnd chan struct{} }

func (w slowWorkspace) Check(context.Context, map[string]string) *Analysis {
	select {
	case w.began <- struct{}{}:
	default:
	}
	<-w.mayEnd
	return &Analysis{}
}

func (w slowWorkspace) CheckFile(_ context.Context, path, text string) ([]source.Diagnostic, bool) {
	return []source.Diagnostic{source.Errorf(source.Position{File: path, Line: 1, Column: 1}, "expression-invalid", "%s", source.Name(text))}, true
}

func (w slowWorkspace) Refactorings(context.Context, Selection) []editor.Refactoring { return nil }

func (w slowWorkspace) Path(name string) string { return name }
func (w slowWorkspace) Name(path string) string { return path }
func (w slowWorkspace) Read(string) string      { return "" }

// publishedTo is a client that keeps what is published.
type publishedTo struct {
	protocol.UnimplementedClient
	messages chan string
}

// PublishDiagnostics implements protocol.Client.
func (c publishedTo) PublishDiagnostics(_ context.Context, p *protocol.PublishDiagnosticsParams) error {
	for _, d := range p.Diagnostics {
		c.messages <- string(d.Message.(protocol.String))
	}
	return nil
}

// TestKeystrokeDuringCheck checks that a change is answered while a complete check is running, and while
// one that was stopped has not ended.
func TestKeystrokeDuringCheck(t *testing.T) {
	w := slowWorkspace{make(chan struct{}, 1), make(chan struct{})}
	client := publishedTo{messages: make(chan string, 10)}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := &server{client: client, ctx: ctx, workspace: w, owns: func(string) bool { return true }, buffers: map[string]*buffer{}, state: &editor.State{}}
	s.checks.wake, s.checks.done = make(chan struct{}, 1), sync.NewCond(&s.lock)
	s.touch("") // a server begins with a check
	go s.work()
	<-w.began
	file := uri.File("/p.yaml")
	for _, text := range []string{"first", "second", "third"} {
		if err := s.DidOpen(ctx, &protocol.DidOpenTextDocumentParams{TextDocument: protocol.TextDocumentItem{URI: file, Text: text}}); err != nil {
			t.Fatal(err)
		}
		select {
		case got := <-client.messages:
			if got != text {
				t.Fatalf("published %s, want %s", got, text)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s waits for the complete check", text)
		}
	}
	close(w.mayEnd)
	s.waitForCheck()
	if s.checks.checked != s.checks.revision {
		t.Error("the last texts were not checked completely")
	}
}

// countedWorkspace counts complete checks, each of which ends when it may, or when it is stopped. They find
// something in a file that is not open.
type countedWorkspace struct {
	slowWorkspace
	stopped *atomic.Int64
}

func (w countedWorkspace) Check(ctx context.Context, _ map[string]string) *Analysis {
	w.began <- struct{}{}
	select {
	case <-w.mayEnd:
	case <-ctx.Done():
		w.stopped.Add(1)
		return nil
	}
	return &Analysis{Findings: []source.Diagnostic{source.Errorf(source.Position{File: "/other.yaml", Line: 1, Column: 1}, "denied", "found elsewhere")}}
}

// TestProgress types during every check. The first check and every second one end all the same, so that what
// they find in other files is published.
func TestProgress(t *testing.T) {
	w := countedWorkspace{slowWorkspace{make(chan struct{}), make(chan struct{})}, new(atomic.Int64)}
	client := publishedTo{messages: make(chan string, 100)}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := &server{client: client, ctx: ctx, workspace: w, owns: func(string) bool { return true }, buffers: map[string]*buffer{}, state: &editor.State{}}
	s.checks.wake, s.checks.done = make(chan struct{}, 1), sync.NewCond(&s.lock)
	s.touch("")
	go s.work()
	var told []int
	for n := range 5 {
		<-w.began
		text := fmt.Sprintf("text %d", n)
		if err := s.DidOpen(ctx, &protocol.DidOpenTextDocumentParams{TextDocument: protocol.TextDocumentItem{URI: uri.File("/p.yaml"), Text: text}}); err != nil {
			t.Fatal(err)
		}
		for got := ""; got != text; { // the changed file does not wait
			if got = <-client.messages; got == "found elsewhere" {
				told = append(told, n)
			}
		}
		if n%2 == 0 {
			w.mayEnd <- struct{}{}
		}
	}
	cancel()
	if got := w.stopped.Load(); got != 2 {
		t.Errorf("%d checks were stopped, want 2 of 5", got)
	}
	if !slices.Equal(told, []int{1}) {
		t.Errorf("the finding in the other file was published during the checks %d, want once, after the first", told)
	}
}

// crashingWorkspace has checks that crash on a text.
type crashingWorkspace struct{ slowWorkspace }

func (w crashingWorkspace) Check(_ context.Context, buffers map[string]string) *Analysis {
	for _, text := range buffers {
		if text == "crash" {
			panic("a defect")
		}
	}
	return &Analysis{}
}

func (w crashingWorkspace) CheckFile(ctx context.Context, path, text string) ([]source.Diagnostic, bool) {
	w.Check(ctx, map[string]string{path: text})
	return w.slowWorkspace.CheckFile(ctx, path, text)
}

// toldTo is a client that also keeps what is shown and logged.
type toldTo struct{ publishedTo }

// ShowMessage implements protocol.Client.
func (c toldTo) ShowMessage(_ context.Context, p *protocol.ShowMessageParams) error {
	c.messages <- p.Message
	return nil
}

// LogMessage implements protocol.Client.
func (c toldTo) LogMessage(_ context.Context, p *protocol.LogMessageParams) error {
	c.messages <- p.Message
	return nil
}

// TestCrashes checks that a crash on one text is told with its place, keeps nobody waiting, and leaves the server able
// to check the next text.
func TestCrashes(t *testing.T) {
	client := toldTo{publishedTo{messages: make(chan string, 10)}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := &server{client: client, ctx: ctx, workspace: crashingWorkspace{}, owns: func(string) bool { return true }, buffers: map[string]*buffer{}, state: &editor.State{}}
	s.checks.wake, s.checks.done = make(chan struct{}, 1), sync.NewCond(&s.lock)
	go s.work()
	for _, c := range []struct {
		text string
		want []string
	}{
		{"crash", []string{"check_test.go", "internal error: a defect; this is a defect of preadmit", "check_test.go", "internal error: a defect; this is a defect of preadmit"}},
		{"sound", []string{"sound"}},
	} {
		if err := s.DidOpen(ctx, &protocol.DidOpenTextDocumentParams{TextDocument: protocol.TextDocumentItem{URI: uri.File("/p.yaml"), Text: c.text}}); err != nil {
			t.Fatal(err)
		}
		s.waitForCheck()
		for _, want := range c.want {
			if got := <-client.messages; !strings.Contains(got, want) {
				t.Errorf("%s: got %q, want %q", c.text, got, want)
			}
		}
	}
}
