package mapolicy

import (
	"github.com/preadmit/preadmit/engine/internal/admissionpolicy"
	"github.com/preadmit/preadmit/engine/policy"
)

// invocation is a definition applied to a request. It implements policy.Invocation.
type invocation struct {
	definition *definition
	to         *admissionpolicy.Application
	minor      int
}

// Plan implements policy.Program.
func (p *program) Plan(r *policy.Request) policy.Plan {
	var plan policy.Plan
	if admissionpolicy.Hides(r.Kind) {
		return plan
	}
	for _, d := range p.definitions {
		p.shared.Plan(d.policy, r, &plan, func(to *admissionpolicy.Application) policy.Invocation {
			return &invocation{definition: d, to: to, minor: p.shared.Minor}
		})
	}
	return plan
}

// Covers implements policy.Program.
func (p *program) Covers(r *policy.Request) bool { return p.policies.Covers(r) }

// ID implements policy.Invocation.
func (i *invocation) ID() policy.ID { return i.to.ID }

// Reinvocable implements policy.Invocation.
func (i *invocation) Reinvocable() bool { return i.definition.reinvocable }

// Conditions implements policy.Invocation.
func (i *invocation) Conditions(r *policy.Request) (*policy.NotApplied, *policy.Failure) {
	return i.to.Conditions(r)
}

// Deny implements policy.Invocation.
func (i *invocation) Deny(err error) policy.Failure { return i.to.Deny(err) }
