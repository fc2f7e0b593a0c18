package engine

import (
	"slices"
	"time"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// trace is all that happened to one object in admission, in order. It says what, not
// what it means: see observe.go.
type trace struct {
	// before is the view that came in, after the one that went out.
	before, after map[string]any
	events        []event
	notApplied    []policy.NotApplied
	// failures are why the request is denied; empty if it is admitted.
	failures []policy.Failure
	// ignored are the failures that failurePolicy Ignore let pass.
	ignored []policy.Failure
	// shuffled are the invocations of the first pass that a server runs in any order.
	shuffled []policy.ID
	// tries are nil if they are not asked for.
	tries *tries
	// plans are what programs planned last, to be carried out again on the same object.
	plans map[policy.Program]planned
	// pass is the one that is being carried out.
	pass int
	// expected is how many invocations are planned.
	expected int
}

// planned is a plan, and the object that it was made on.
type planned struct {
	object map[string]any
	policy.Plan
}

// event is a new value of the object.
type event struct {
	// by made it; nobody did if the server dropped something.
	by policy.ID
	at source.Position
	// pass is 1, 2 for a reinvocation, or 0 for what comes before or after admission.
	pass int
	// replay is what the policy wants done if it would do it again; see policy.Step.
	replay string
	// before became written, and the server made next of it.
	before, written, next map[string]any
	// drops says that the server made written of before.
	drops bool
	// told are texts in written that nobody may be meant to see; see confidants.
	told []string
}

// changed reports whether anything made another object of the one that came in.
func (t *trace) changed() bool {
	return slices.ContainsFunc(t.events, func(e event) bool { return !change.Equal(e.before, e.written) })
}

// first is where the first rule is that changed the object.
func (t *trace) first() source.Position {
	i := slices.IndexFunc(t.events, func(e event) bool { return !e.drops && !change.Equal(e.before, e.written) })
	return t.events[i].at
}

// try is an evaluation of a policy, a binding or a rule.
type try struct {
	id        policy.ID
	result    result
	variables int
	took      time.Duration
}

// result is what became of a try.
type result int

const (
	applied result = iota
	// skipped is what was looked at and did not apply, unmatched what was not about the
	// object, or had conditions that failed, which was ignored.
	skipped
	unmatched
	failed
)

// tries are all of a trace, in order. Those that are nil stay so.
type tries struct{ list []try }

func (t *tries) add(id policy.ID, r result) {
	if t != nil {
		t.list = append(t.list, try{id: id, result: r})
	}
}

// step adds a step.
func (t *tries) step(step policy.Step, r result) {
	if t != nil {
		t.list = append(t.list, try{step.ID, r, step.Variables, step.Took})
	}
}

// all are the tries.
func (t *tries) all() []try {
	if t == nil {
		return nil
	}
	return t.list
}

// planned traces what a plan leaves out.
func (t *trace) planned(hook policy.Hook, plan policy.Plan) {
	for _, n := range plan.NotApplied {
		t.tries.add(n.ID, unmatched)
	}
	for _, f := range plan.Failures {
		t.tries.add(f.ID, failed)
	}
	if t.notApplied == nil {
		t.notApplied = slices.Clip(plan.NotApplied)
	} else {
		t.notApplied = append(t.notApplied, plan.NotApplied...)
	}
	t.expected += len(plan.Invocations)
	if hook.Shuffled {
		for _, invocation := range plan.Invocations {
			t.shuffled = append(t.shuffled, invocation.ID())
		}
	}
}

// conditions traces conditions that keep an invocation from running. Those of one that
// would not have run are no try.
func (t *trace) conditions(failures []policy.Failure, notApplied *policy.NotApplied, failure *policy.Failure, runs bool) []policy.Failure {
	switch {
	case failure != nil:
		t.tries.add(failure.ID, failed)
		return append(failures, *failure)
	case notApplied != nil:
		switch {
		case runs && notApplied.Err != nil:
			t.tries.add(notApplied.ID, unmatched)
		case runs:
			t.tries.add(notApplied.ID, skipped)
		}
		t.notApplied = append(t.notApplied, *notApplied)
	}
	return failures
}

// without traces a step without a result. Its reason is noted unless it has been.
func (t *trace) without(step policy.Step, note bool) *policy.Failure {
	if step.Failure != nil {
		return t.failed(step, step.Failure)
	}
	t.tries.step(step, skipped)
	if note {
		t.notApplied = append(t.notApplied, *step.NotApplied)
	}
	return nil
}

func (t *trace) failed(step policy.Step, failure *policy.Failure) *policy.Failure {
	t.tries.step(step, failed)
	return failure
}

// wrote traces a step with a result, which is no event if that is the object before. A
// namespace that it has lost comes back, so that nothing became of that.
func (t *trace) wrote(step policy.Step, before, next map[string]any, told []string) {
	t.tries.step(step, applied)
	if change.Same(before, step.Object) && change.Same(before, next) {
		return
	}
	namespace := textAt(before, "metadata", "namespace")
	written := inNamespace(step.Object, namespace)
	if change.Same(step.Object, next) {
		next = written
	}
	if t.events == nil {
		t.events = make([]event, 0, t.expected+1)
	}
	t.events = append(t.events, event{by: step.ID, at: step.At, pass: t.pass, replay: step.Replay, before: before, written: written, next: inNamespace(next, namespace), told: told})
}

// built traces what a plug-in of the server made of an object.
func (t *trace) built(step policy.Step, before map[string]any) {
	t.events = append(t.events, event{by: step.ID, pass: t.pass, before: before, written: step.Object, next: step.Object})
}

// dropped traces what the server made of an object.
func (t *trace) dropped(before, after map[string]any) {
	t.events = append(t.events, event{before: before, written: after, next: after, drops: true})
}

// decide says what comes of the failures of a hook, and reports whether the request goes on.
func (t *trace) decide(failures []policy.Failure) bool {
	for _, f := range failures {
		if !f.Ignored {
			return t.reject(failures...)
		}
	}
	for _, f := range failures {
		t.ignored = append(t.ignored, f)
		t.notApplied = append(t.notApplied, ignoredFailure(f))
	}
	return true
}

// ignoredFailure is the reason that a policy did nothing although it should have.
func ignoredFailure(f policy.Failure) policy.NotApplied {
	return policy.NotApplied{ID: f.ID, At: f.At, Reason: policy.Text("failurePolicy is Ignore, and it failed: " + f.Err.Error())}
}

// reject denies the request for the failures that count; the first one gives the
// message.
func (t *trace) reject(failures ...policy.Failure) bool {
	for _, f := range failures {
		if !f.Ignored || f.Abort {
			t.failures = append(t.failures, f)
		}
	}
	return false
}
