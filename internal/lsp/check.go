package lsp

import (
	"context"
	"sync"
	"time"

	"github.com/preadmit/preadmit/engine/source"
)

// pause is how long nothing must change before the whole workspace is checked.
const pause = 250 * time.Millisecond

// checks says what has to be checked.
type checks struct {
	// revision counts the changes, and checked is the revision of the last complete check.
	revision, checked int
	// files are the open files that have changed since they were checked.
	files map[string]bool
	// stop ends the complete check that is running; it may be nil.
	stop context.CancelFunc
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
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-s.checks.wake:
			s.checkFiles()
			if s.isUrgent() {
				pausing.Reset(0)
			} else {
				pausing.Reset(pause)
			}
			continue
		case <-pausing.C:
			isDue = true
		case <-ended:
			isRunning = false
		}
		if isDue && !isRunning {
			isDue, isRunning = false, true
			go func() {
				s.checkAll()
				ended <- struct{}{}
			}()
		}
	}
}

func (s *server) isUrgent() bool {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.checks.urgent > 0
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
		findings, ok := s.workspace.CheckFile(s.ctx, path, b.text.content)
		s.lock.Lock()
		if ok && s.buffers[path] == b {
			s.published.own(path, s.locateAll(path, findings))
			s.publish(path)
		}
		s.lock.Unlock()
	}
}

// checkAll checks everything, unless that has been done. The result is dropped if something changes.
func (s *server) checkAll() {
	s.lock.Lock()
	revision, buffers := s.checks.revision, map[string]string{}
	ctx, stop := context.WithCancel(s.ctx)
	defer stop()
	s.checks.stop = stop
	for path, b := range s.buffers {
		buffers[path] = b.text.content
	}
	isDone := revision == s.checks.checked
	s.lock.Unlock()
	if isDone {
		s.finish(revision, nil, nil)
		return
	}
	analysis := s.workspace.Check(ctx, buffers)
	if analysis == nil || ctx.Err() != nil {
		return
	}
	alone := map[string][]source.Diagnostic{}
	for path, text := range buffers {
		alone[path], _ = s.workspace.CheckFile(ctx, path, text)
	}
	s.finish(revision, analysis, alone)
}

// finish publishes the result of a complete check, if it is of the current texts.
func (s *server) finish(revision int, analysis *Analysis, alone map[string][]source.Diagnostic) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if revision != s.checks.revision {
		return
	}
	if analysis != nil {
		if analysis.State != nil {
			s.state = analysis.State
		}
		s.publishAll(analysis.Findings, alone)
	}
	s.checks.checked = revision
	s.checks.done.Broadcast()
}
