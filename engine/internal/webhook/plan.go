package webhook

import (
	"iter"
	"slices"

	"github.com/preadmit/preadmit/engine/internal/admissionpolicy"
	"github.com/preadmit/preadmit/engine/internal/match"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// ID returns the ID of the webhook.
func (w *webhook) ID() policy.ID {
	return policy.ID{Kind: policy.WebhookKind, Policy: w.name.Configuration, Rule: w.name.Name}
}

// Is reports whether a program is a webhook of this language.
func Is(p policy.Program) bool {
	_, ok := p.(*webhook)
	return ok
}

// Covers implements policy.Program.
func (w *webhook) Covers(r *policy.Request) bool {
	return w.policy.Constraints != nil && !policy.IsHidden(r.Kind.Kind) && r.Covered(w.policy.Constraints)
}

// Plan implements policy.Program: it decides whether a server calls the webhook.
func (w *webhook) Plan(r *policy.Request) policy.Plan {
	switch {
	case w.policy.Constraints == nil:
		return w.uncalled(policy.NotApplied{Reason: policy.OutOfScope("the webhook has no rules")})
	case policy.IsHidden(r.Kind.Kind):
		return w.uncalled(policy.NotApplied{Reason: policy.Text("an API server sends objects of this kind to no webhook")})
	}
	decision := r.Matches(w.policy.Constraints, w.policy.At, w.ID().String())
	switch {
	case decision.Err != nil:
		return policy.Plan{Failures: []policy.Failure{{ID: w.ID(), At: w.policy.At, Err: decision.Err, Abort: true}}}
	case decision.Reason.Code == match.UnknownResource:
		r.Warn(source.Warningf(w.policy.At, "resource-unknown", "%s: %s", w.ID(), decision.Reason))
		return w.uncalled(policy.NotApplied{Reason: policy.Unmatched{Block: "rules", Reason: decision.Reason}})
	case !decision.Matched:
		return w.uncalled(policy.NotApplied{Reason: policy.Unmatched{Block: "rules", Reason: decision.Reason}})
	case decision.Kind != r.Kind && !r.Kind.Custom:
		err := &policy.UnconvertedError{From: r.Kind, To: decision.Kind}
		return policy.Plan{Failures: []policy.Failure{{ID: w.ID(), At: w.policy.At, Err: err, Abort: true}}}
	}
	return w.conditions(r, decision.Kind)
}

// uncalled is the plan for a request that the webhook does not get.
func (w *webhook) uncalled(n policy.NotApplied) policy.Plan {
	n.ID = w.ID()
	if !n.At.IsKnown() {
		n.At = w.policy.At
	}
	return policy.Plan{NotApplied: []policy.NotApplied{n}, Uncalled: true}
}

// conditions evaluates the matchConditions. A condition that fails refuses the request, unless the
// failurePolicy is Ignore; then the webhook is not called.
func (w *webhook) conditions(r *policy.Request, kind *schema.Kind) policy.Plan {
	to := w.language.shared.Apply(w.policy, w.ID(), kind)
	notApplied, failed := to.Decide(r)
	switch {
	case notApplied != nil:
		return w.uncalled(*notApplied)
	case failed == nil:
		return policy.Plan{Invocations: []policy.Invocation{&call{w, to}}}
	case w.policy.Ignore:
		return w.uncalled(policy.NotApplied{At: failed.At, Reason: source.Messagef("a matchCondition failed, and failurePolicy is Ignore: %v", source.Derive(failed.Err))})
	}
	return policy.Plan{Failures: []policy.Failure{{
		ID: w.ID(), At: failed.At, Status: "Forbidden", Abort: true,
		Err: source.Messagef("%s %q is forbidden: %v", source.Literal(groupResource(r.Kind)), source.Name(r.Name), source.Derive(failed.Err)),
	}}}
}

func groupResource(kind *schema.Kind) string {
	if kind.Group == "" {
		return kind.Resource
	}
	return kind.Resource + "." + kind.Group
}

// call is a call of a webhook. It implements policy.Invocation.
type call struct {
	webhook *webhook
	to      *admissionpolicy.Application
}

// ID implements policy.Invocation.
func (c *call) ID() policy.ID { return c.webhook.ID() }

// Reinvocable implements policy.Invocation. The Hook decides about reinvocation.
func (*call) Reinvocable() bool { return false }

// Conditions implements policy.Invocation. Plan has evaluated them.
func (*call) Conditions(*policy.Request) (*policy.NotApplied, *policy.Failure) { return nil, nil }

// Deny implements policy.Invocation.
func (c *call) Deny(err error) policy.Failure {
	return policy.Failure{ID: c.ID(), At: c.webhook.policy.At, Err: source.Messagef("Internal error occurred: %v", err), Abort: true}
}

// Steps implements policy.Invocation: one call is one step.
func (c *call) Steps(r *policy.Request) iter.Seq[policy.Step] {
	return func(yield func(policy.Step) bool) { yield(c.send(r)) }
}

// version returns the version of AdmissionReview that a server sends.
func (w *webhook) version() string {
	i := slices.IndexFunc(w.versions, func(version string) bool { return slices.Contains(known, version) })
	return w.versions[i] // the configuration was checked
}
