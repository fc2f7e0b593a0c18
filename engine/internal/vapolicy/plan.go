package vapolicy

import (
	"github.com/preadmit/preadmit/engine/internal/admissionpolicy"
	"github.com/preadmit/preadmit/engine/policy"
)

// invocation is a definition applied to a request. It implements policy.Invocation and policy.Witness.
type invocation struct {
	definition *definition
	to         *admissionpolicy.Application
	actions    []string
	minor      int
}

var _ policy.Witness = (*invocation)(nil)

// Plan implements policy.Program.
func (p *program) Plan(r *policy.Request) policy.Plan {
	var plan policy.Plan
	if admissionpolicy.Hides(r.Kind) {
		return plan
	}
	for _, d := range p.definitions {
		p.shared.Plan(d.policy, r, &plan, func(to *admissionpolicy.Application) policy.Invocation {
			return &invocation{definition: d, to: to, actions: p.actions[to.Binding], minor: p.shared.Minor}
		})
	}
	for i, f := range plan.Failures {
		plan.Failures[i] = refused(r, f, reasons[0])
	}
	return plan
}

// Covers implements policy.Program.
func (p *program) Covers(r *policy.Request) bool { return p.policies.Covers(r) }

// ID implements policy.Invocation.
func (i *invocation) ID() policy.ID { return i.to.ID }

// Reinvocable implements policy.Invocation.
func (*invocation) Reinvocable() bool { return false }

// Deny implements policy.Invocation.
func (i *invocation) Deny(err error) policy.Failure { return i.to.Deny(err) }

// Conditions implements policy.Invocation. An error is a decision, on which the actions of the
// binding act, as on others: see decide.
func (i *invocation) Conditions(r *policy.Request) (*policy.NotApplied, *policy.Failure) {
	notApplied, _ := i.to.Decide(r)
	return notApplied, nil
}
