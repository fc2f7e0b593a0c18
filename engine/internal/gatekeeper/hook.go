package gatekeeper

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

var _ policy.Program = (*program)(nil)

// Covers implements policy.Program.
func (p *program) Covers(r *policy.Request) bool {
	return hides(r.Kind.Kind) == "" && slices.ContainsFunc(p.mutators, func(m *mutator) bool {
		return m.bars(r.Kind.Kind, r.Operation) == nil && m.match.selects(r.Kind.Kind)
	})
}

// Plan implements policy.Program. All mutators together are one webhook.
func (p *program) Plan(r *policy.Request) policy.Plan {
	if !p.Covers(r) {
		return policy.Plan{NotApplied: p.uncovered(r)}
	}
	why, err := p.webhook.skips(r)
	switch {
	case err != nil:
		return policy.Plan{Failures: []policy.Failure{{ID: hookID, Err: fmt.Errorf("failed calling webhook %q: %w", webhookName, err)}}}
	case why != nil:
		return policy.Plan{NotApplied: p.unseen(why)}
	}
	return policy.Plan{Invocations: []policy.Invocation{&hook{program: p}}}
}

// uncovered explains for each mutator why it does not cover a request.
func (p *program) uncovered(r *policy.Request) []policy.NotApplied {
	if why := hides(r.Kind.Kind); why != "" {
		return p.unseen(why)
	}
	var all []policy.NotApplied
	for _, m := range p.mutators {
		if why := m.bars(r.Kind.Kind, r.Operation); why != nil {
			all = append(all, policy.NotApplied{ID: m.id(1), At: why.at, Reason: why.reason})
		} else {
			all = append(all, policy.NotApplied{ID: m.id(1), At: m.criteria["kinds"], Reason: m.match.otherKind(r.Kind.Kind)})
		}
	}
	return all
}

// unseen says for all mutators that they do not see an object.
func (p *program) unseen(why fmt.Stringer) []policy.NotApplied {
	var all []policy.NotApplied
	for _, m := range p.mutators {
		all = append(all, policy.NotApplied{ID: m.id(1), At: m.at(), Reason: why})
	}
	return all
}

// hook is one call of the webhook with all mutators. It implements policy.Invocation.
type hook struct {
	program *program
	// effects are the changes of the mutators in this call.
	effects []effect
}

var hookID = policy.ID{Policy: "Gatekeeper"}

// ID implements policy.Invocation.
func (*hook) ID() policy.ID { return hookID }

// Reinvocable implements policy.Invocation. The Hook decides about reinvocation.
func (*hook) Reinvocable() bool { return false }

// Conditions implements policy.Invocation.
func (*hook) Conditions(*policy.Request) (*policy.NotApplied, *policy.Failure) { return nil, nil }

// Deny implements policy.Invocation. A server sees the object after all mutators.
func (h *hook) Deny(err error) policy.Failure {
	f := policy.Failure{ID: hookID}
	var names []string
	for _, effect := range h.effects {
		if !f.At.IsKnown() {
			f.At = effect.mutator.end()
		}
		if name := effect.mutator.key(); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	f.Err = fmt.Errorf("the result of Gatekeeper's mutators is not valid (%s): %w", strings.Join(names, ", "), err)
	return f
}

// Steps implements policy.Invocation. All rounds run before the first step, because changes that
// a later mutator undoes are known only then. There is a step for each change of a mutator, and
// one for each mutator that changed nothing.
func (h *hook) Steps(r *policy.Request) iter.Seq[policy.Step] {
	return func(yield func(policy.Step) bool) {
		for _, step := range h.mutate(r) {
			if !yield(step) {
				return
			}
		}
	}
}

// mutate runs the mutators on the object of a request.
func (h *hook) mutate(r *policy.Request) []policy.Step {
	p := h.program
	s := newSystem(p.mutators, r)
	if failure := s.run(); failure != nil {
		return []policy.Step{{ID: failure.ID, At: failure.At, Failure: failure}}
	}
	e := exporter{p.providers, map[*any]*change.Set{}}
	var steps []policy.Step
	for _, failure := range e.unresolved(s.subject.object, nil) {
		steps = append(steps, policy.Step{ID: failure.ID, At: failure.At, Failure: &failure})
	}
	if len(steps) > 0 {
		return steps
	}
	h.effects = s.effects
	object, changed := r.Object, map[*mutator]bool{}
	for _, effect := range s.effects {
		object, changed[effect.mutator] = e.object(effect.object, r.Object), true
		steps = append(steps, policy.Step{ID: effect.mutator.id(effect.round), At: effect.mutator.end(), Object: object})
	}
	for _, m := range p.mutators {
		switch {
		case changed[m]:
		case s.worked[m]:
			steps = append(steps, policy.Step{ID: m.id(1), At: m.end(), Object: object})
		default:
			why := s.idle[m]
			steps = append(steps, policy.Step{ID: m.id(1), At: why.at, NotApplied: &policy.NotApplied{ID: m.id(1), At: why.at, Reason: why.reason}})
		}
	}
	return steps
}

// end returns the position of the last node of the location.
func (m *mutator) end() source.Position { return m.node(len(m.location) - 1) }
