package mutationtree

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/celenv"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// Language compiles documents with rules, and bare trees.
type Language struct {
	bare []*manifest.Stream
	cel  *celenv.Env
}

var (
	_ policy.Language = (*Language)(nil)
	_ policy.Program  = (*program)(nil)
)

// New returns the language. Every document of the streams is a tree; these trees run after the
// rules of all other documents.
func New(bare []*manifest.Stream, cel *celenv.Env) *Language { return &Language{bare: bare, cel: cel} }

// Kinds implements policy.Language.
func (*Language) Kinds() []gvk.Kind {
	return []gvk.Kind{{Group: PolicyKind.Group, Kind: PolicyKind.Kind}}
}

// Compile implements policy.Language. Without rules it returns no program.
func (l *Language) Compile(documents []*manifest.Document, _ *policy.Kept) ([]policy.Program, []source.Diagnostic) {
	p := &program{}
	var diagnostics []source.Diagnostic
	for _, d := range documents {
		c := &compiler{document: d, cel: l.cel, subject: strings.TrimSpace(d.Kind().Kind + " " + d.Name())}
		if rules := c.policy(); !source.HasErrors(c.problems) {
			p.rules = append(p.rules, rules...)
		}
		diagnostics = append(diagnostics, c.problems...)
	}
	for _, stream := range l.bare {
		for i, d := range stream.Documents() {
			c := &compiler{document: d, cel: l.cel}
			if parsed := c.parseTree(d.Object(), languageJP, nil); !source.HasErrors(c.problems) {
				p.rules = append(p.rules, rule{
					policy: stream.Name(), name: fmt.Sprintf("document %d", i+1), at: d.At(nil), document: d, trees: []tree{parsed},
				})
			}
			diagnostics = append(diagnostics, c.problems...)
		}
	}
	if len(p.rules) == 0 {
		return nil, diagnostics
	}
	return []policy.Program{p}, diagnostics
}

// program has the compiled rules in the order in which they run. It implements policy.Program
// and policy.Invocation: all rules together are one invocation.
type program struct{ rules []rule }

// Hook implements policy.Program: trees change documents as they are written.
func (*program) Hook() policy.Hook { return policy.Hook{Point: policy.BeforeAdmission} }

// Covers implements policy.Program. Only the document decides whether a rule applies.
func (*program) Covers(*policy.Request) bool { return true }

// Plan implements policy.Program.
func (p *program) Plan(*policy.Request) policy.Plan {
	return policy.Plan{Invocations: []policy.Invocation{p}}
}

// Reads implements policy.Program.
func (*program) Reads() []policy.Read { return nil }

// Selects implements policy.Program: it returns the kinds that match and exclude name.
func (p *program) Selects() []policy.Selected {
	var all []policy.Selected
	for i := range p.rules {
		r := &p.rules[i]
		for purpose, m := range []*match{policy.ToMatch: r.match, policy.ToExclude: r.exclude} {
			if m == nil {
				continue
			}
			for _, a := range slices.Concat(m.any, m.all) {
				if s, ok := a.selected(r.document); ok {
					s.ID, s.Purpose = r.id(), policy.Purpose(purpose)
					all = append(all, s)
				}
			}
		}
	}
	return all
}

// Parts implements policy.Program: it returns the rules.
func (p *program) Parts() []policy.Part {
	var parts []policy.Part
	for i := range p.rules {
		r := &p.rules[i]
		parts = append(parts, policy.Part{Policy: r.id().OfPolicy(), Kind: policy.MutationPart, Name: r.label(), At: r.at, Rules: []string{r.id().Rule}})
	}
	return parts
}

// Existing implements policy.Program.
func (*program) Existing() policy.Follower { return nil }

// ID implements policy.Invocation.
func (*program) ID() policy.ID { return policy.ID{} }

// Reinvocable implements policy.Invocation.
func (*program) Reinvocable() bool { return false }

// Conditions implements policy.Invocation. The conditions of rules are evaluated in their steps.
func (*program) Conditions(*policy.Request) (*policy.NotApplied, *policy.Failure) { return nil, nil }

// Deny implements policy.Invocation.
func (*program) Deny(err error) policy.Failure { return policy.Failure{Err: err} }

// Steps implements policy.Invocation. There is a step for each rule; each sees the result of the
// one before. A failure ends the sequence.
func (p *program) Steps(r *policy.Request) iter.Seq[policy.Step] {
	return func(yield func(policy.Step) bool) {
		object := r.Object
		for i := range p.rules {
			step := p.rules[i].step(r.Context, object)
			if step.Object != nil {
				object = step.Object
			}
			if !yield(step) || step.Failure != nil {
				return
			}
		}
	}
}

// step returns the step of a rule.
func (r *rule) step(ctx context.Context, object map[string]any) policy.Step {
	step := policy.Step{ID: r.id(), At: r.at}
	result, reason, err := r.apply(ctx, object)
	switch {
	case err != nil:
		step.Failure = r.failure(step.ID, err)
	case reason != nil:
		step.NotApplied = &policy.NotApplied{ID: step.ID, At: r.at, Reason: reason}
	default:
		step.Object = result
	}
	return step
}
