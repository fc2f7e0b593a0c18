package krmfn

import (
	"fmt"
	"io"
	"time"
)

// progress shows a counter on the terminal if a run takes longer than a second.
type progress struct {
	w     io.Writer
	now   func() time.Time
	next  time.Time // earliest time of the next update
	shown bool
}

const (
	progressDelay    = time.Second
	progressInterval = 100 * time.Millisecond
)

func newProgress(w io.Writer, now func() time.Time) *progress {
	return &progress{w: w, now: now, next: now().Add(progressDelay)}
}

// observe shows how many manifests are done.
func (p *progress) observe(done, total int) { p.show("%d/%d manifests", done, total) }

// show shows a text that only grows.
func (p *progress) show(format string, args ...any) {
	if now := p.now(); now.After(p.next) {
		fmt.Fprintf(p.w, "\r"+format, args...)
		p.next, p.shown = now.Add(progressInterval), true
	}
}

// end clears the line.
func (p *progress) end() {
	if p.shown {
		io.WriteString(p.w, "\r\x1b[K")
	}
}
