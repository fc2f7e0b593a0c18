package engine

import (
	"fmt"
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/kyverno"
	"github.com/preadmit/preadmit/engine/internal/kyverno/reach"
	"github.com/preadmit/preadmit/engine/internal/witness"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// goals tries each rule of the languages that say what their rules ask of objects, on a server that has no
// other, on objects that are generated to reach what it changes. It reports rules that change none of them,
// unless manifests of the run have shown what they do, or mistakes in the same rule explain it.
func goals(shown *tally) Observer {
	return Observer{ended: func(r *run, _ *Outcome) (found []source.Diagnostic) {
		missed := eachOf(slices.Concat(r.set.policies, r.input.policies), func(d *manifest.Document) []missed {
			return policy.Keep(r.kept, r.finding("goals"), []*manifest.Document{d}, func() []missed { return r.tryRules(d) })
		})
		for _, m := range slices.Concat(missed...) {
			if id := m.rule.OfRule(); !shown.worked[id] && !shown.fails(id) {
				found = append(found, m.found)
			}
		}
		return found
	}}
}

// missed is a rule that changes no generated object, and what is to be said about it.
type missed struct {
	rule  policy.ID
	found source.Diagnostic
}

// tryRules tries the rules of a policy.
func (r *run) tryRules(d *manifest.Document) (all []missed) {
	for _, rule := range r.reachable(d) {
		if found, fails := r.tryRule(rule); fails {
			all = append(all, missed{rule.ID, found})
		}
	}
	return all
}

// reachable returns the rules of a policy, if its language says what they ask.
func (r *run) reachable(d *manifest.Document) []witness.Rule {
	i := r.set.language(d.Kind())
	if i < 0 {
		return nil
	}
	switch l := r.set.languages[i].(type) {
	case *kyverno.Language:
		return reach.Rules(l, d, r.schemas)
	case witness.Reacher:
		return l.Rules(d, r.schemas)
	}
	return nil
}

// tryRule tries one rule.
func (r *run) tryRule(rule witness.Rule) (found source.Diagnostic, fails bool) {
	s := r.serverWith(rule.Program)
	s.keepsReason = always
	a := attempt{rule: rule}
	for _, goal := range rule.Goals {
		r.tryGoal(s, rule.Document, goal, &a)
	}
	found, fails = a.finding()
	return found, fails && !r.explained(s.programs, "kyverno-differs", "call-fails", "never-applies", "condition-unreachable", "mutator-fails")
}

// attempt is what a rule does with objects that are generated to reach its change.
type attempt struct {
	rule witness.Rule
	// changed is how many of the objects the rule changes.
	changed int
	// failure or idle says why it does not change the first object that it matches and that is meant to
	// reach its change.
	failure *policy.Failure
	idle    *policy.NotApplied
}

// tryGoal tries a rule on objects until it changes one.
func (r *run) tryGoal(s server, d *manifest.Document, goal witness.Goal, a *attempt) {
	for object, aim := range goal.Objects() {
		if a.changed > 0 {
			return
		}
		if t := r.admitGenerated(s, d, object); t != nil {
			a.add(t, aim)
		}
	}
}

// add adds the result for an object. A rule may leave out an object that meets all needs for a reason that
// nobody has read, but not if the needs contradict each other.
func (a *attempt) add(t *trace, aim witness.Aim) {
	if slices.ContainsFunc(t.events, func(e event) bool { return !e.drops && !change.Equal(e.before, e.written) }) {
		a.changed++
	}
	if a.changed > 0 || aim == witness.Alternative || a.failure != nil || a.idle != nil {
		return
	}
	for _, f := range slices.Concat(t.failures, t.ignored) {
		a.failure = &f
	}
	for _, n := range t.notApplied.all() {
		if resultOf(n) == skipped || aim == witness.Compromise {
			a.idle = &n
		}
	}
	if a.idle == nil && slices.ContainsFunc(t.tries.all(), func(t try) bool { return t.id == a.rule.ID && t.result == applied }) {
		a.idle = &policy.NotApplied{At: a.rule.At, Reason: policy.Text(kyverno.ChangesNothing)}
	}
}

// finding reports a rule that changes no object.
func (a *attempt) finding() (d source.Diagnostic, found bool) {
	const tried = "objects that were generated to reach what it changes"
	switch {
	case a.changed > 0:
		return d, false
	case a.failure != nil:
		return alwaysFails(a.rule.ID, *a.failure), true
	case a.idle == nil:
		return d, false
	case fmt.Sprint(a.idle.Reason) == kyverno.ChangesNothing:
		return source.Warningf(a.idle.At, "changes-nothing", "%s changes none of the "+tried+": they have already what it writes", a.rule.ID).
			With("write another value, or remove the rule"), true
	}
	return source.Warningf(a.idle.At, "never-applies", "%s changes none of the "+tried+": %v", a.rule.ID, a.idle.Reason).
		With("correct the condition that the message names, or remove the rule"), true
}
