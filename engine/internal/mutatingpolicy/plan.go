package mutatingpolicy

import (
	"fmt"
	"iter"
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/match"
	"github.com/preadmit/preadmit/engine/internal/policydoc"
	"github.com/preadmit/preadmit/engine/policy"
)

// program has the policies of one hook, sorted by name.
type program struct {
	language *Language
	hook     policy.Hook
	// ignore says that it is the webhook for failurePolicy Ignore.
	ignore bool
	units  []*unit
}

var (
	_ policy.Program   = (*program)(nil)
	_ policy.Divisible = (*program)(nil)
)

// Hook implements policy.Program.
func (p *program) Hook() policy.Hook { return p.hook }

// Reads implements policy.Program. A function may look up any kind, unless its arguments are
// literals.
func (p *program) Reads() []policy.Read {
	var reads []policy.Read
	seen := map[*definition]bool{}
	for _, u := range p.units {
		if !seen[u.policy] {
			seen[u.policy], reads = true, append(reads, u.policy.reads()...)
		}
	}
	return reads
}

// Selects implements policy.Program.
func (p *program) Selects() []policy.Selected {
	var all []policy.Selected
	add := func(u *unit, resources *match.Resources, block string, purpose policy.Purpose) {
		all = append(all, policydoc.Selected(u.policy.document, change.Keys("spec", block, "resourceRules"), resources, policy.Selected{ID: u.policy.id(), Purpose: purpose})...)
	}
	for _, u := range p.units {
		if u.autogen == "" {
			add(u, u.constraints, "matchConstraints", policy.ToMatch)
		}
		if t := u.policy.targets; u.autogen == "" && t != nil && t.isExplicit && t.rules != nil {
			add(u, t.rules, "targetMatchConstraints", policy.ToChange)
		}
	}
	return all
}

// Parts implements policy.Program. The units of a policy share its parts.
func (p *program) Parts() []policy.Part {
	var parts []policy.Part
	for _, u := range p.units {
		if u.autogen != "" {
			continue
		}
		d := u.policy
		of := policydoc.Parts{Policy: d.id(), Document: d.document}
		for i, c := range d.conditions {
			of.Condition(change.Keys("spec", "matchConditions").Index(i), c.name, c.program)
		}
		of.Variables(d.scope)
		mutations := policy.NodeAt(d.document, "spec", "mutations").Items()
		for i, m := range d.mutations {
			n := mutations[i]
			var rules []string
			for _, own := range d.units {
				rules = append(rules, own.rule(fmt.Sprintf("mutations[%d]", i)).Rule)
			}
			of.Mutation(n.Path, rules...)
			of.Branches(policydoc.Expression(n), m.program)
		}
		parts = append(parts, of.All()...)
	}
	return parts
}

// Alone implements policy.Divisible.
func (p *program) Alone() (alone []policy.Program) {
	for n := 0; ; n++ {
		only := *p
		only.units = nil
		for _, u := range p.units {
			if n < len(u.runs.mutations) {
				one, runs := *u, *u.runs
				runs.mutations, one.runs = u.runs.mutations[n:n+1], &runs
				only.units = append(only.units, &one)
			}
		}
		if len(only.units) == 0 {
			return alone
		}
		alone = append(alone, &only)
	}
}

// Covers implements policy.Program.
func (p *program) Covers(r *policy.Request) bool {
	if policy.IsHidden(r.Kind.Kind) {
		return false
	}
	r = p.language.request(r)
	return slices.ContainsFunc(p.units, func(u *unit) bool { return u.unreached(r) == nil })
}

// unreached returns the reason why a unit does not apply to a request, whatever the object; nil
// if it may apply.
func (u *unit) unreached(r *policy.Request) fmt.Stringer {
	d := u.policy
	switch {
	case d.off != "":
		return policy.Text("the policy does nothing: " + d.off)
	case d.namespace != "" && (!r.Kind.Namespaced || r.Namespace != d.namespace):
		return policy.Text(fmt.Sprintf("the policy is confined to namespace %q", d.namespace))
	case !r.Covered(u.constraints):
		return policy.Unmatched{Block: "matchConstraints", Reason: r.Matches(u.constraints, d.at, d.key()).Reason}
	case d.targets != nil && d.targets.isExplicit:
		return policy.Text("the policy changes its targets, not what triggers it")
	}
	return nil
}

// Plan implements policy.Program. Whether a policy matches is decided when it runs, because it
// is matched on the result of the policy before.
func (p *program) Plan(r *policy.Request) policy.Plan {
	var plan policy.Plan
	if policy.IsHidden(r.Kind.Kind) {
		return plan
	}
	r = p.language.request(r)
	calls := map[string]*call{}
	for i := 0; i < len(p.units); {
		d := p.units[i].policy
		planned := false
		own := p.units[i]
		for ; i < len(p.units) && p.units[i].policy == d; i++ {
			if u := p.units[i]; u.unreached(r) == nil {
				if calls[d.selectors] == nil || d.selectors == "" {
					calls[d.selectors] = &call{first: u}
				}
				plan.Invocations = append(plan.Invocations, &invocation{unit: u, language: p.language, original: r.Object, call: calls[d.selectors]})
				planned = true
			}
		}
		if !planned {
			plan.NotApplied = append(plan.NotApplied, policy.NotApplied{ID: d.id(), At: d.at, Reason: own.unreached(r)})
		}
	}
	return plan
}

// invocation is a policy that runs on a request. It implements policy.Invocation.
type invocation struct {
	unit     *unit
	language *Language
	// original is the object before all policies of the hook.
	original map[string]any
	call     *call
	// evaluation is the evaluation that Conditions began.
	evaluation *evaluation
}

// call is a call of a webhook: first is the first unit of its policies, and object is the object before it.
type call struct {
	first  *unit
	object map[string]any
}

// ID implements policy.Invocation.
func (i *invocation) ID() policy.ID { return i.unit.policy.id() }

// Reinvocable implements policy.Invocation.
func (i *invocation) Reinvocable() bool { return false }

// Deny implements policy.Invocation.
func (i *invocation) Deny(err error) policy.Failure {
	d := i.unit.policy
	return policy.Failure{ID: d.id(), At: d.at, Err: fmt.Errorf("the result of Kyverno's policies is not valid: %w", err)}
}

// Conditions implements policy.Invocation.
func (i *invocation) Conditions(r *policy.Request) (*policy.NotApplied, *policy.Failure) {
	var notApplied *policy.NotApplied
	var failure *policy.Failure
	if i.call.first == i.unit {
		i.call.object = r.Object
	}
	i.evaluation, notApplied, failure = i.language.begin(i.unit, r, i.original, i.call.object)
	return notApplied, failure
}

// Steps implements policy.Invocation: one step for each mutation, or the failure of the policy.
func (i *invocation) Steps(r *policy.Request) iter.Seq[policy.Step] {
	return func(yield func(policy.Step) bool) {
		steps, failed := i.evaluation.mutate()
		if failed != nil {
			failure := i.evaluation.failure(failed)
			yield(policy.Step{ID: failure.ID, At: failure.At, Failure: &failure})
			return
		}
		for _, step := range steps {
			if !yield(step) {
				return
			}
		}
	}
}
