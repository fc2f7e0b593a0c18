package engine

import (
	"fmt"
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/kyverno"
	"github.com/preadmit/preadmit/engine/internal/kyverno/reach"
	"github.com/preadmit/preadmit/engine/internal/parallel"
	"github.com/preadmit/preadmit/engine/internal/witness"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// goals tries each rule of Kyverno's policies, on a server that has no other, on objects that are generated
// to reach what it changes. It reports rules that change none of them, unless manifests of the run have
// shown what they do, or mistakes in the same rule explain it.
func goals(shown *tally) Observer {
	return Observer{ended: func(r *run, _ *Outcome) (found []source.Diagnostic) {
		var rules []kyverno.Rule
		for _, d := range slices.Concat(r.set.policies, r.input.policies) {
			if kyverno.IsPolicy(d.Kind()) {
				its, problems := r.set.settings.kyverno.Rules(d)
				if !source.HasErrors(problems) {
					rules = append(rules, its...)
				}
			}
		}
		each, indexes := make([][]source.Diagnostic, len(rules)), make([]int, len(rules))
		for i := range indexes {
			indexes[i] = i
		}
		parallel.Each(indexes, func(i int) { each[i] = r.tryRule(rules[i], shown) })
		return slices.Concat(each...)
	}}
}

// tryRule tries one rule.
func (r *run) tryRule(rule kyverno.Rule, shown *tally) []source.Diagnostic {
	programs := []policy.Program{r.set.settings.kyverno.Alone(rule)}
	s := server{programs: programs, defaulting: r.server.defaulting, files: r.server.files, tries: newTries, keepsReason: always}
	a := attempt{id: rule.ID()}
	for _, goal := range reach.Goals(rule, r.schemas) {
		r.tryGoal(s, rule.Document, goal, &a)
	}
	d, fails := a.finding()
	if !fails || shown.worked[a.id] || shown.fails(a.id) || r.explained(programs, "kyverno-differs", "call-fails") {
		return nil
	}
	return []source.Diagnostic{d}
}

// attempt is what a rule does with objects that are generated to reach its change.
type attempt struct {
	id policy.ID
	// changed is how many of the objects the rule changes.
	changed int
	// failure or idle says why it does not change the first object that it matches and that is meant to
	// reach its change.
	failure *policy.Failure
	idle    *policy.NotApplied
}

// tryGoal tries a rule on objects until it changes one.
func (r *run) tryGoal(s server, d *manifest.Document, goal witness.Goal, a *attempt) {
	for object, isFirst := range goal.Objects() {
		if a.changed > 0 {
			return
		}
		if t := r.admitGenerated(s, d, object); t != nil {
			a.add(t, isFirst)
		}
	}
}

// add adds the result for an object. isFirst says that the object is meant to reach the change.
func (a *attempt) add(t *trace, isFirst bool) {
	if slices.ContainsFunc(t.events, func(e event) bool { return !e.drops && !change.Equal(e.before, e.written) }) {
		a.changed++
	}
	if !isFirst || a.failure != nil || a.idle != nil {
		return
	}
	for _, f := range slices.Concat(t.failures, t.ignored) {
		a.failure = &f
	}
	for _, n := range t.notApplied.all() {
		if resultOf(n) == skipped {
			a.idle = &n
		}
	}
}

// finding reports a rule that changes no object.
func (a *attempt) finding() (d source.Diagnostic, found bool) {
	const tried = "objects that were generated to reach what it changes"
	switch {
	case a.changed > 0:
		return d, false
	case a.failure != nil:
		return alwaysFails(a.id, *a.failure), true
	case a.idle == nil:
		return d, false
	case fmt.Sprint(a.idle.Reason) == kyverno.ChangesNothing:
		return source.Warningf(a.idle.At, "changes-nothing", "%s changes none of the "+tried+": they have already what it writes", a.id).
			With("write another value, or remove the rule"), true
	}
	return source.Warningf(a.idle.At, "never-applies", "%s changes none of the "+tried+": %v", a.id, a.idle.Reason).
		With("correct the condition that the message names, or remove the rule"), true
}
