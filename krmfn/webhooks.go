package krmfn

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/hookcall"
	"github.com/preadmit/preadmit/internal/input"
	"github.com/preadmit/preadmit/internal/output"
)

// callers are the webhooks of --webhook, for all runs of a command, with their answers.
type callers struct {
	caller   *hookcall.Caller
	recorder *engine.WebhookRecorder
	// recorded is what --record-webhooks has written.
	recorded []byte
}

// callWebhooks makes the webhooks of --webhook answer. It returns the problems of the option.
func (p *Process) callWebhooks(ctx context.Context, c *config) []source.Diagnostic {
	if len(c.options.Webhooks) == 0 {
		return nil
	}
	if p.callers.caller == nil {
		if problem := p.openCallers(ctx, c); problem != nil {
			return []source.Diagnostic{*problem}
		}
	}
	c.options.Engine.Webhooks = p.callers.recorder
	return nil
}

// openCallers makes the callers of the options, and returns what is wrong with them.
func (p *Process) openCallers(ctx context.Context, c *config) *source.Diagnostic {
	refuse := func(option string, err error) *source.Diagnostic {
		d := source.Errorf(source.Position{}, "option-value", "option %s: %v", source.Literal(option), err)
		return &d
	}
	var targets []hookcall.Target
	for _, text := range c.options.Webhooks {
		target, err := hookcall.Parse(text)
		if err != nil {
			return refuse("webhook", err)
		}
		targets = append(targets, target)
	}
	var ca []byte
	if name := c.options.WebhookCA; name != "" {
		var err error
		if ca, err = new(limit.Input).ReadFile(p.absolute(name)); err != nil {
			return refuse("webhook-ca", err)
		}
	}
	caller, err := hookcall.New(ctx, targets, ca, func(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer) error {
		if p.Run == nil {
			return errors.New("programs cannot be run here")
		}
		_, err := p.Run(ctx, &Program{Args: args, Dir: p.Dir, Stdin: stdin, Stdout: stdout, Stderr: p.Stderr})
		return err
	}, engine.SameWebhookAnswers)
	if err != nil {
		return refuse("webhook-ca", err)
	}
	p.callers.caller, p.callers.recorder = caller, engine.RecordWebhooks(caller)
	return nil
}

// closeCallers ends the programs that answered.
func (p *Process) closeCallers() {
	if p.callers.caller != nil {
		p.callers.caller.Close()
	}
}

// tellWebhooks reports what the calls of webhooks found, and writes the answers of --record-webhooks.
func (p *Process) tellWebhooks(ctx context.Context, c *config, a *admission) {
	if c.options.Engine.Webhooks == nil || a.outcome == nil {
		return
	}
	a.add(unknown(p.callers.caller.Problems(), a.diagnostics)...)
	if c.options.RecordWebhooks == "" {
		return
	}
	hide := a.outcome.Secrets
	if c.options.RecordSecrets {
		hide = nil
	}
	document, omitted := p.callers.recorder.Document(hide)
	if len(omitted) > 0 {
		a.add(source.Warningf(source.Position{}, "webhook-not-recorded", "%s not recorded, because without values of Secrets nothing can replay them: %s",
			plural(len(omitted), "answer was", "answers were"), source.Name(strings.Join(slices.Compact(omitted), ", "))).
			With("record them with --record-secrets, to a file that stays secret"))
	}
	name := c.options.RecordWebhooks
	real := input.RealPath(p.absolute(name))
	r := &output.File{Name: name, Real: real, Within: filepath.Dir(real), Data: document, Exact: 0o600}
	if p.callers.recorded == nil {
		if err := p.ledger.Claim("the recorded answers", real); err != nil {
			a.add(output.Unwritable(name, err))
			return
		}
	}
	if _, problems := output.Write(ctx, []*output.File{r}, nil, nil, p.Stderr); len(problems) > 0 {
		a.add(problems...)
		return
	}
	p.callers.recorded = document
}
