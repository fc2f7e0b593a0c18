// Package hookcall calls mutating webhooks: programs, and URLs that the user names. It is the only
// package that opens connections.
//
// Laws:
//
//	nothing is called but what a Target names
//	a request is sent twice, and the first answer counts; different answers are reported
//	every call ends after the timeout of its webhook
//	every process has ended after Close
//
// The files in order: hookcall.go (Caller), target.go (who answers for a webhook), words.go (the arguments
// of a program), url.go (calls of a URL), program.go and process.go (calls of a program).
package hookcall

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// mostAtOnce is how many calls run at the same time.
const mostAtOnce = 8

// Caller calls webhooks. It implements policy.Answerer.
type Caller struct {
	targets []Target
	senders []sender
	slots   chan struct{}
	same    func(a, b policy.Answer) bool

	mu sync.Mutex
	// named are the names of webhooks and configurations for which a caller was asked.
	named map[string]bool
	// answers are the answers by webhook and request.
	answers  map[string]*answered
	problems []source.Diagnostic
}

var _ policy.Answerer = (*Caller)(nil)

// sender sends a review to a webhook, and waits for the answer as long as the webhook has time.
type sender interface {
	send(ctx context.Context, w policy.WebhookName, review []byte) (policy.Answer, error)
	close()
}

// largest is how many bytes an answer may have: as many as an API server reads.
const largest = 8 << 20

var errTooLarge = fmt.Errorf("the answer has more than %d bytes", largest)

// answered is the answer to a request, asked for once.
type answered struct {
	once   sync.Once
	answer policy.Answer
	err    error
}

// New returns a caller of targets, which must be closed. No process outlives ctx. ca has the certificates
// that https servers may have, in PEM; nil means those of the system. same reports whether
// two answers to a request mean the same.
func New(ctx context.Context, targets []Target, ca []byte, run Run, same func(a, b policy.Answer) bool) (*Caller, error) {
	roots, err := readRoots(ca)
	if err != nil {
		return nil, err
	}
	c := &Caller{targets: targets, slots: make(chan struct{}, mostAtOnce), same: same, named: map[string]bool{}, answers: map[string]*answered{}}
	for _, t := range targets {
		if len(t.Program) > 0 {
			c.senders = append(c.senders, &program{args: t.Program, run: run, patience: patience, lifetime: ctx})
		} else {
			c.senders = append(c.senders, &address{url: t.URL, roots: roots, clients: map[string]*http.Client{}})
		}
	}
	return c, nil
}

// Close ends the programs and closes the connections.
func (c *Caller) Close() {
	for _, s := range c.senders {
		s.close()
	}
}

// Answers implements policy.Answerer.
func (c *Caller) Answers(w policy.WebhookName) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.named[w.Name], c.named[w.Configuration] = true, true
	return c.target(w) >= 0
}

// target returns the index of the target of a webhook: the one with its name, or that of its
// configuration; -1 if nobody answers for it.
func (c *Caller) target(w policy.WebhookName) int {
	for _, name := range []string{w.Name, w.Configuration} {
		if i := slices.IndexFunc(c.targets, func(t Target) bool { return t.Name == name }); i >= 0 {
			return i
		}
	}
	return -1
}

// Answer implements policy.Answerer.
func (c *Caller) Answer(ctx context.Context, call policy.Call) (policy.Answer, error) {
	review := manifest.JSON(call.Review)
	key := call.Webhook.Configuration + "\n" + call.Webhook.Name + "\n" + string(review)
	c.mu.Lock()
	a := c.answers[key]
	if a == nil {
		a = &answered{}
		c.answers[key] = a
	}
	c.mu.Unlock()
	a.once.Do(func() { a.answer, a.err = c.ask(ctx, call.Webhook, review) })
	return a.answer, a.err
}

// ask calls a webhook twice.
func (c *Caller) ask(ctx context.Context, w policy.WebhookName, review []byte) (policy.Answer, error) {
	c.slots <- struct{}{}
	defer func() { <-c.slots }()
	s := c.senders[c.target(w)]
	first, err := s.send(ctx, w, review)
	if err != nil {
		return first, err
	}
	if second, err := s.send(ctx, w, review); err != nil || !c.same(first, second) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.problems = append(c.problems, source.Warningf(source.Position{}, "webhook-not-deterministic",
			"webhook %s of %s gave two answers to the same request: the first one counts", source.Name(w.Name), source.Name(w.Configuration)).
			With("record the answers with --record-webhooks, and run with --webhook-answers: then the result stays the same"))
	}
	return first, nil
}

// Problems returns what the calls found so far, once for each webhook, sorted.
func (c *Caller) Problems() []source.Diagnostic {
	c.mu.Lock()
	defer c.mu.Unlock()
	problems := slices.Clone(c.problems)
	for _, t := range c.targets {
		if !c.named[t.Name] {
			problems = append(problems, c.unknown(t))
		}
	}
	slices.SortFunc(problems, func(a, b source.Diagnostic) int { return strings.Compare(a.Message, b.Message) })
	return slices.CompactFunc(problems, func(a, b source.Diagnostic) bool { return a.Message == b.Message })
}

// unknown warns about a target that answers for nothing.
func (c *Caller) unknown(t Target) source.Diagnostic {
	advice := "give the MutatingWebhookConfiguration with -c"
	if len(c.named) > 0 {
		advice = source.Suggest(t.Name, slices.Sorted(maps.Keys(c.named))).Text
	}
	return source.Warningf(source.Position{}, "webhook-unknown", "option webhook: no MutatingWebhookConfiguration is named %s, and no webhook of one", source.Name(t.Name)).With(advice)
}
