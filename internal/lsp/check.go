package lsp

import (
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"go.lsp.dev/protocol"

	"github.com/preadmit/preadmit/engine/source"
)

// The whole workspace is checked when nothing has changed for a while: for as long as the last check took, but
// within these bounds. While changes go on, it is checked every second.
const (
	shortestPause = 30 * time.Millisecond
	longestPause  = 250 * time.Millisecond
	patience      = time.Second
)

// checks says what has to be checked.
type checks struct {
	// revision counts the changes, and checked is the revision of the last complete check.
	revision, checked int
	// files are the open files that have changed since they were checked.
	files map[string]bool
	// stop ends the complete check that is running. It is nil if a change must not stop that: the first one,
	// and one after another that was stopped, so that findings in other files come while someone types.
	stop     context.CancelFunc
	wasWhole bool // the last check was not stopped
	// took is how long the last check took.
	took time.Duration
	wake chan struct{}
	// urgent is how many requests wait for a complete check.
	urgent int
	// done tells that a check is complete, or that the server has ended.
	done  *sync.Cond
	ended bool
}

// touch notes a change: of an open file, or "" for any others.
func (s *server) touch(path string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.checks.revision++
	if path != "" {
		if s.checks.files == nil {
			s.checks.files = map[string]bool{}
		}
		s.checks.files[path] = true
	}
	if s.checks.stop != nil {
		s.checks.stop()
	}
	s.awaken()
}

func (s *server) awaken() {
	select {
	case s.checks.wake <- struct{}{}:
	default: // it is awake
	}
}

// work checks what has changed: first the changed files alone, then, after a pause, everything. The changed
// files do not wait for a complete check that is running, not even for the end of one that was stopped.
func (s *server) work() {
	pausing := time.NewTimer(0)
	ended := make(chan struct{}, 1)
	isRunning, isDue := false, false
	var latest time.Time // when a check must begin because something has changed; zero if nothing has
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-s.checks.wake:
			s.checkFiles()
			now := time.Now()
			if latest.IsZero() {
				latest = now.Add(patience)
			}
			pausing.Reset(min(s.pause(), latest.Sub(now)))
			continue
		case <-pausing.C:
			isDue = true
		case <-ended:
			isRunning = false
		}
		if isDue && !isRunning {
			isDue, isRunning, latest = false, true, time.Time{}
			go func() {
				s.checkAll()
				ended <- struct{}{}
			}()
		}
	}
}

// pause returns how long nothing must change before everything is checked: not at all if a request waits.
func (s *server) pause() time.Duration {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.checks.urgent > 0 {
		return 0
	}
	return min(max(s.checks.took, shortestPause), longestPause)
}

// checkFiles checks each changed file by itself.
func (s *server) checkFiles() {
	s.lock.Lock()
	changed := s.checks.files
	s.checks.files = nil
	s.lock.Unlock()
	for path := range changed {
		s.lock.Lock()
		b := s.buffers[path]
		s.lock.Unlock()
		if b == nil {
			continue
		}
		var findings []source.Diagnostic
		var ok bool
		s.guard(func() { findings, ok = s.workspace.CheckFile(s.ctx, path, b.text.content) })
		s.lock.Lock()
		if ok && s.buffers[path] == b {
			s.published.own(path, s.locateAll(path, findings))
			s.publish(path)
		}
		s.lock.Unlock()
	}
}

// complete is a complete check of some texts.
type complete struct {
	revision int
	buffers  map[string]*buffer
	analysis *Analysis
	// alone are the findings that open files have by themselves.
	alone map[string][]source.Diagnostic
}

// checkAll checks everything, unless that has been done.
func (s *server) checkAll() {
	ctx, stop := context.WithCancel(s.ctx)
	defer stop()
	s.lock.Lock()
	c := complete{revision: s.checks.revision, buffers: maps.Clone(s.buffers), alone: map[string][]source.Diagnostic{}}
	isDone := c.revision == s.checks.checked
	if s.checks.stop = nil; s.checks.wasWhole {
		s.checks.stop = stop
	}
	s.lock.Unlock()
	if isDone {
		return
	}
	texts, began := map[string]string{}, time.Now()
	for path, b := range c.buffers {
		texts[path] = b.text.content
	}
	crashed := !s.guard(func() {
		c.analysis = s.workspace.Check(ctx, texts)
		for path, text := range texts {
			if c.analysis != nil {
				c.alone[path], _ = s.workspace.CheckFile(ctx, path, text)
			}
		}
	})
	s.lock.Lock()
	defer s.lock.Unlock()
	s.checks.took = time.Since(began)
	if crashed {
		s.completed(c.revision) // what was found before stays until something changes
		return
	}
	if s.checks.wasWhole = c.analysis != nil && ctx.Err() == nil; s.checks.wasWhole {
		s.finish(c)
	}
}

// finish publishes the result of a complete check, except for files that have changed since it began. The
// server is locked.
func (s *server) finish(c complete) {
	if c.analysis.State != nil {
		s.state = c.analysis.State
	}
	s.publishAll(c.analysis.Findings, c.alone, func(path string) bool { return s.buffers[path] == c.buffers[path] })
	s.completed(c.revision)
}

// completed notes that a revision is checked, if it is still the last one. The server is locked.
func (s *server) completed(revision int) {
	if revision == s.checks.revision {
		s.checks.checked = revision
		s.checks.done.Broadcast()
	}
}

// guard does something that may crash, and reports whether it has not. A defect in what checks a text must not take
// the editor's other answers away.
func (s *server) guard(do func()) (ok bool) {
	defer func() {
		if problem := recover(); problem != nil {
			text := fmt.Sprintf("internal error: %v", problem)
			first, _, _ := strings.Cut(text, "\n")
			_ = s.client.LogMessage(s.ctx, &protocol.LogMessageParams{Type: protocol.MessageTypeError, Message: fmt.Sprintf("%s\n\n%s", text, debug.Stack())})
			_ = s.client.ShowMessage(s.ctx, &protocol.ShowMessageParams{Type: protocol.MessageTypeError, Message: first + "; this is a defect of preadmit: please report it with the file and the log"}) // without a connection nobody waits for it
		}
	}()
	do()
	return true
}
