package engine

import (
	"cmp"
	"slices"
	"time"

	"github.com/preadmit/preadmit/engine/policy"
)

// Stat counts what a policy, a binding of it or a rule did in a run: what an API server
// that admits the same objects would count, reinvocations included. The replay for
// idempotence and the other orders that a check tries do not count. Conditions that hold
// are not an evaluation of their own: those of the rules follow.
type Stat struct {
	// Policy, Binding and Rule are empty where they do not apply; params are counted
	// together.
	Policy, Binding, Rule string
	// Evaluations are how often it was tried on a manifest, and the sum of three: Applied,
	// how often it gave a result, whether or not that was a change; Skipped, how often it
	// did not apply; Errors, how often it failed. Variables counts the evaluations of
	// variables.
	Evaluations, Applied, Skipped, Errors, Variables int
	// Time is what its rules took; zero without Options.Now.
	Time time.Duration
}

// stat is the Stat of an ID.
func (r *run) stat(id policy.ID) *Stat {
	id.Param = ""
	s := r.stats[id]
	if s == nil {
		s = &Stat{Policy: id.Policy, Binding: id.Binding, Rule: id.Rule}
		r.stats[id] = s
	}
	return s
}

// now is the time, if anybody wants to know.
func (r *run) now() time.Time {
	if r.settings.Now == nil {
		return time.Time{}
	}
	return r.settings.Now()
}

// count counts a step of an invocation.
func (a *admitting) count(step policy.Step, failed bool, took time.Duration) {
	if a.replaying {
		return
	}
	s := a.stat(step.ID)
	s.Evaluations++
	s.Time += took
	s.Variables += step.Variables
	switch {
	case failed:
		s.Errors++
	case step.NotApplied != nil:
		s.Skipped++
	default:
		s.Applied++
	}
}

// skip counts policies and bindings that do not apply.
func (a *admitting) skip(reasons ...policy.NotApplied) {
	for _, n := range reasons {
		if !a.replaying {
			s := a.stat(n.ID)
			s.Evaluations++
			s.Skipped++
		}
	}
}

// fail counts a failure that kept rules from being tried: of a condition, or for want of
// a param.
func (a *admitting) fail(failures ...policy.Failure) {
	for _, f := range failures {
		if !a.replaying {
			s := a.stat(f.ID)
			s.Evaluations++
			s.Errors++
		}
	}
}

// allStats are the stats in the order of their names.
func (r *run) allStats() []Stat {
	var all []Stat
	for _, s := range r.stats {
		all = append(all, *s)
	}
	slices.SortFunc(all, func(a, b Stat) int {
		return cmp.Or(cmp.Compare(a.Policy, b.Policy), cmp.Compare(a.Binding, b.Binding), cmp.Compare(a.Rule, b.Rule))
	})
	return all
}
