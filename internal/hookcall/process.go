package hookcall

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"time"
)

// process is a running program, which gets reviews while it runs.
type process struct {
	stdin, stdout *os.File
	// chunks is what the process prints; it is closed at the end of the output.
	chunks chan []byte
	kill   context.CancelFunc
	// ended is closed when the process has ended, with err.
	ended chan struct{}
	err   error
}

// outcome is what became of a review.
type outcome int

const (
	// done means that the process answered, and gets the next review, too.
	done outcome = iota
	// ended means that the process has ended, or printed what is not an answer.
	ended
	// late means that the time was over.
	late
)

// grace is how long a process has to end after its input.
const grace = 5 * time.Second

// start starts a program.
func start(ctx context.Context, run Run, args []string) (*process, error) {
	stdin, input, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	output, stdout, err := os.Pipe()
	if err != nil {
		stdin.Close()
		input.Close()
		return nil, err
	}
	ctx, kill := context.WithCancel(ctx)
	p := &process{stdin: input, stdout: output, chunks: make(chan []byte), kill: kill, ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		p.err = run(ctx, args, stdin, stdout)
		stdin.Close()
		stdout.Close()
	}()
	go p.read()
	return p, nil
}

// read passes on what the process prints.
func (p *process) read() {
	defer close(p.chunks)
	for {
		chunk := make([]byte, 64<<10)
		n, err := p.stdout.Read(chunk)
		if n > 0 {
			p.chunks <- chunk[:n]
		}
		if err != nil {
			return
		}
	}
}

// ask gives a review to the process, and returns what it prints. The input of a new process ends after
// some time: then it prints the answer of a program that reads all of its input first.
func (p *process) ask(ctx context.Context, review []byte, first bool, patience time.Duration) ([]byte, outcome, error) {
	written := make(chan struct{})
	go func() {
		defer close(written)
		_, _ = p.stdin.Write(review) // a program need not read its input
	}()
	var impatient <-chan time.Time
	if first {
		impatient = time.After(patience)
	}
	var text []byte
	for {
		select {
		case chunk, open := <-p.chunks:
			text = append(text, chunk...)
			switch {
			case !open || len(text) > largest:
				return p.last(text)
			case isObject(text):
				<-written
				return text, done, nil
			case !first && !mayBeObject(text):
				return p.last(text)
			}
		case <-impatient:
			impatient = nil
			go func() {
				<-written
				p.stdin.Close()
			}()
		case <-ctx.Done():
			p.abandon()
			return nil, late, ctx.Err()
		}
	}
}

// last returns what a process printed that gets no more reviews.
func (p *process) last(text []byte) ([]byte, outcome, error) {
	if len(text) > largest {
		p.abandon()
		return nil, ended, errTooLarge
	}
	p.end()
	return text, ended, p.err
}

// end ends the input of the process, and waits until it has ended.
func (p *process) end() {
	p.stdin.Close()
	go p.drain() // so that it can print the rest
	select {
	case <-p.ended:
		p.kill()
		p.stdout.Close()
	case <-time.After(grace):
		p.abandon()
	}
}

// abandon kills the process.
func (p *process) abandon() {
	p.kill()
	p.stdin.Close()
	go p.drain()
	<-p.ended
	p.stdout.Close()
}

// drain reads the rest of the output.
func (p *process) drain() {
	for range p.chunks {
	}
}

// isObject reports whether a text is a whole JSON object.
func isObject(text []byte) bool {
	text = bytes.TrimSpace(text)
	return bytes.HasPrefix(text, []byte("{")) && bytes.HasSuffix(text, []byte("}")) && json.Valid(text)
}

// mayBeObject reports whether a text may be the begin of a JSON object.
func mayBeObject(text []byte) bool {
	text = bytes.TrimSpace(text)
	return len(text) == 0 || text[0] == '{'
}
