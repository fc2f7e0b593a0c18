package hookcall

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/policy"
)

// Run runs a program until it ends.
type Run func(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer) error

// patience is how long a program has for its first answer before its input ends. Only how many
// processes run depends on it, not the answers.
const patience = 500 * time.Millisecond

// program is a program that reads AdmissionReviews from standard input and writes its answers to
// standard output. A program that answers before its input ends gets the reviews of the whole run, one
// after the other. Another program runs once for each review. It implements sender.
type program struct {
	args     []string
	run      Run
	patience time.Duration
	// lifetime ends all processes.
	lifetime context.Context

	mu sync.Mutex
	// single means that a process answers one review. Otherwise, running is the process that answers
	// all of them; it is nil before the first.
	single  bool
	running *process
}

// send implements sender.
func (p *program) send(ctx context.Context, w policy.WebhookName, review []byte) (policy.Answer, error) {
	body, err := p.answer(ctx, w.Timeout, review)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return policy.Answer{}, fmt.Errorf("%s took longer than %v: %w", p.args[0], w.Timeout, err)
	case err != nil:
		return policy.Answer{}, fmt.Errorf("%s: %w", p.args[0], err)
	}
	return policy.Answer{Body: body}, nil
}

// answer returns the answer of the running process, or of a new one.
func (p *program) answer(ctx context.Context, timeout time.Duration, review []byte) ([]byte, error) {
	review = append(bytes.Clone(review), '\n') // for programs that read line by line
	body, again, err := p.converse(ctx, timeout, review)
	if !again {
		return body, err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	stdout := limit.Buffer{Most: largest}
	err = p.run(ctx, p.args, bytes.NewReader(review), &stdout)
	if stdout.Err() != nil {
		return nil, errTooLarge
	}
	return stdout.Bytes(), err
}

// converse asks the process that answers all reviews. again means that the review needs a process of its
// own.
func (p *program) converse(ctx context.Context, timeout time.Duration, review []byte) (body []byte, again bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.single {
		return nil, true, nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	first := p.running == nil
	if first {
		if p.running, err = start(p.lifetime, p.run, p.args); err != nil {
			return nil, false, err
		}
	}
	body, said, err := p.running.ask(ctx, review, first, p.patience)
	switch said {
	case done:
		return body, false, nil
	case late: // the next review gets a new process
		p.running = nil
		return nil, false, err
	}
	p.single, p.running = true, nil
	return body, !first, err
}

// close implements sender.
func (p *program) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running != nil {
		p.running.end()
		p.running = nil
	}
}
