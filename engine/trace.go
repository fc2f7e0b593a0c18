package engine

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/redact"
	"github.com/preadmit/preadmit/engine/source"
)

// trace records all events of one object in admission, in order. It does not interpret them: see
// observe.go.
type trace struct {
	// before is the admission view before the policies, after the view after them.
	before, after map[string]any
	events        []event
	// unpruned is a custom resource after the policies with the unknown fields that they added, which
	// a server prunes only after its validation. It is nil if they added no unknown fields.
	unpruned map[string]any
	// notApplied are the reasons of the first pass and of what follows the passes; see untouched. It
	// is nil if the request was admitted before: it has no reasons of its own.
	notApplied *reasons
	// failures are the reasons for a denial. They are empty if the request is admitted.
	failures []policy.Failure
	// refusals are the reasons for which validating admission refuses the object.
	refusals []policy.Failure
	// unreported are the failures of policies after the one that a server reports.
	unreported []policy.Failure
	// doubted are the reasons for which the server refuses the object, unless a webhook changes it.
	doubted []policy.Failure
	// warnings and audit are what validating policies say about the object.
	warnings []Warning
	audit    []policy.Annotation
	// objections are the steps in which validating policies had something to say about the request
	// judged.
	objections []objection
	judged     *policy.Request
	// ignored are the failures that failurePolicy Ignore has ignored.
	ignored []policy.Failure
	// shuffled is nil if no observer needs it.
	shuffled *shuffled
	// tries is nil if no observer needs it.
	tries *tries
	// plans are the last plans of the programs, for reuse on the same object.
	plans []planned
	// pass and program are the current pass, 0 after the last, and the current program.
	pass    int
	program policy.Program
}

// planned is the plan of a program, with the object for which it was made.
type planned struct {
	program policy.Program
	object  map[string]any
	plan    policy.Plan
}

// plan returns the last plan of a program, which may be empty.
func (t *trace) plan(program policy.Program) *planned {
	i := slices.IndexFunc(t.plans, func(p planned) bool { return p.program == program })
	if i < 0 {
		i = len(t.plans)
		t.plans = append(t.plans, planned{program: program})
	}
	return &t.plans[i]
}

// event is one change of the object.
type event struct {
	// by is the author. It is empty if the server dropped something.
	by policy.ID
	at source.Position
	// program is the program of the author; nil outside admission.
	program policy.Program
	// pass is 1, 2 for a reinvocation, or 0 before or after admission.
	pass int
	// replay says what to do if the policy makes the change again; see policy.Step.
	replay string
	// The policy changed before into written, and the server then written into next.
	before, written, next map[string]any
	// drops means that the server changed before into written.
	drops bool
	// sensitive are the texts in written that may be sensitive; see taint.
	sensitive revealed
}

// eventBuffers are buffers for events that no admission uses.
var eventBuffers = sync.Pool{New: func() any { return new([]event) }}

// keep moves the events from a buffer, in which they were collected, to their own memory.
func (t *trace) keep(buffer *[]event) {
	const most = 1024 // which a buffer keeps room for
	collected := t.events
	t.events = slices.Clone(collected)
	if *buffer = nil; cap(collected) <= most {
		clear(collected)
		*buffer = collected[:0]
	}
	eventBuffers.Put(buffer)
}

// changed reports whether the object has changed.
func (t *trace) changed() bool {
	return slices.ContainsFunc(t.events, func(e event) bool { return !change.Equal(e.before, e.written) })
}

// first returns the first change of a policy.
func (t *trace) first() event {
	i := slices.IndexFunc(t.events, func(e event) bool { return !e.drops && !change.Equal(e.before, e.written) })
	return t.events[i]
}

// try is one evaluation of a policy, a binding or a rule.
type try struct {
	id        policy.ID
	result    result
	variables int
	took      time.Duration
}

// result is the result of a try.
type result int

const (
	applied result = iota
	// skipped means that the policy matched but did not apply. unmatched means that it did not
	// match the object.
	skipped
	unmatched
	failed
)

// resultOf returns the result of a rule that does not apply.
func resultOf(n policy.NotApplied) result {
	if n.IsOutOfScope() {
		return unmatched
	}
	return skipped
}

// tries are all tries of a trace, in order, and what policies said without a try or besides it. A nil
// tries records nothing.
type tries struct {
	list []try
	said []Verdict
}

// grow makes room for results.
func (t *tries) grow(by int) {
	if t != nil {
		t.list = slices.Grow(t.list, by)
	}
}

// add records a result.
func (t *tries) add(id policy.ID, r result) {
	if t != nil {
		t.list = append(t.list, try{id: id, result: r})
	}
}

// step records a step.
func (t *tries) step(step policy.Step, r result) {
	if t != nil {
		t.list = append(t.list, try{step.ID, r, step.Variables, step.Took})
	}
}

// note records what a policy said.
func (t *tries) note(id policy.ID, action Action) {
	if t != nil {
		t.said = append(t.said, Verdict{By: id, Action: action})
	}
}

// verdicts returns what policies said.
func (t *tries) verdicts() []Verdict {
	if t == nil {
		return nil
	}
	return t.said
}

// all returns the tries.
func (t *tries) all() []try {
	if t == nil {
		return nil
	}
	return t.list
}

// reasons say why policies and rules were not applied. A nil reasons records nothing.
type reasons struct {
	list []policy.NotApplied
	// isKept selects the reasons that are recorded.
	isKept func(fmt.Stringer) bool
}

func (r *reasons) add(list ...policy.NotApplied) {
	if r == nil {
		return
	}
	for i := range list {
		if r.isKept(list[i].Reason) {
			r.list = append(r.list, list[i])
		}
	}
}

// all returns the reasons.
func (r *reasons) all() []policy.NotApplied {
	if r == nil {
		return nil
	}
	return r.list
}

// planned records the policies that a plan leaves out.
func (t *trace) planned(hook policy.Hook, plan policy.Plan, r *policy.Request) {
	t.tries.grow(len(plan.NotApplied))
	for _, n := range plan.NotApplied {
		t.tries.add(n.ID, unmatched)
	}
	for _, f := range plan.Failures {
		t.tries.add(f.ID, failed)
	}
	t.notApplied.add(plan.NotApplied...)
	if hook.Shuffled {
		t.shuffled.add(plan, r)
	}
}

// shuffled are the invocations of the first pass that a server runs in any order. A nil shuffled
// records nothing.
type shuffled struct{ list []policy.ID }

func (s *shuffled) add(plan policy.Plan, r *policy.Request) {
	if s == nil {
		return
	}
	for _, invocation := range plan.Invocations {
		if of, ok := invocation.(policy.Shuffler); ok {
			s.list = append(s.list, of.Shuffled(r)...)
		} else {
			s.list = append(s.list, invocation.ID())
		}
	}
}

// all returns the invocations.
func (s *shuffled) all() []policy.ID {
	if s == nil {
		return nil
	}
	return s.list
}

// conditions records conditions that are false or have failed. If runs is false, the
// invocation would not have run anyway, so conditions that only prevent it are not counted as a
// try.
func (t *trace) conditions(failures []policy.Failure, notApplied *policy.NotApplied, failure *policy.Failure, runs bool) []policy.Failure {
	switch {
	case failure != nil:
		if runs || !failure.Ignored {
			t.tries.add(failure.ID, failed)
		}
		return append(failures, *failure)
	case notApplied != nil:
		if runs {
			t.tries.add(notApplied.ID, resultOf(*notApplied))
		}
		t.note(*notApplied)
	}
	return failures
}

// note records why a policy or a rule was not applied. A reinvocation does not count: the policy had
// its answer in the first pass.
func (t *trace) note(n policy.NotApplied) {
	if t.pass != 2 {
		t.notApplied.add(n)
	}
}

// untouched returns the reasons that are of interest of the policies and rules that have not changed
// the object. What the first pass left out may have changed it in the second one, and a policy that
// acts on targets runs once for each trigger.
func (t *trace) untouched(isOfInterest func(fmt.Stringer) bool) []policy.NotApplied {
	var untouched []policy.NotApplied
	var authors map[policy.ID]bool
	for _, n := range t.notApplied.all() {
		if !isOfInterest(n.Reason) {
			continue
		}
		if authors == nil {
			authors = t.authors()
		}
		if !authors[n.ID] {
			untouched = append(untouched, n)
		}
	}
	return untouched
}

// always is of interest in all reasons.
func always(fmt.Stringer) bool { return true }

// authors returns the policies, bindings and rules that have changed the object.
func (t *trace) authors() map[policy.ID]bool {
	authors := map[policy.ID]bool{}
	for _, e := range t.events {
		if e.drops || authors[e.by] || change.Equal(e.before, e.written) {
			continue
		}
		for id := range e.by.Wholes() {
			authors[id] = true
		}
	}
	return authors
}

// without records a step without a result.
func (t *trace) without(step policy.Step) *policy.Failure {
	if step.Failure != nil {
		return t.failed(step, step.Failure)
	}
	t.tries.step(step, resultOf(*step.NotApplied))
	t.note(*step.NotApplied)
	return nil
}

func (t *trace) failed(step policy.Step, failure *policy.Failure) *policy.Failure {
	t.tries.step(step, failed)
	if !failure.Ignored {
		t.tries.note(step.ID, Denied)
	}
	return failure
}

// wrote records a step with a result. It adds no event if the result equals the object before, or
// if the step only removed the namespace, which the server restores.
func (t *trace) wrote(step policy.Step, before, next map[string]any, sensitive revealed) {
	t.tries.step(step, applied)
	if change.Same(before, step.Object) && change.Same(before, next) {
		return
	}
	namespace := textAt(before, "metadata", "namespace")
	written := inNamespace(step.Object, namespace)
	if change.Same(step.Object, next) {
		next = written
	}
	t.events = append(t.events, event{by: step.ID, at: step.At, program: t.program, pass: t.pass, replay: step.Replay, before: before, written: written, next: inNamespace(next, namespace), sensitive: sensitive})
}

// said records what a policy says about an object besides changing or refusing it.
func (t *trace) said(step policy.Step) {
	for _, w := range step.Warnings {
		t.warnings = append(t.warnings, Warning{Text: w.Text, By: step.ID, At: step.At, origin: w.Origin})
	}
	if len(step.Annotations) > 0 {
		t.tries.note(step.ID, Audited)
	}
	t.audit = append(t.audit, step.Annotations...)
}

// built records the result of a plug-in of the server.
func (t *trace) built(step policy.Step, before map[string]any) {
	t.events = append(t.events, event{by: step.ID, pass: t.pass, before: before, written: step.Object, next: step.Object})
}

// dropped records a change by the server.
func (t *trace) dropped(before, after map[string]any) {
	t.events = append(t.events, event{before: before, written: after, next: after, drops: true})
}

// decide handles the failures of a hook, and reports whether the request continues.
func (t *trace) decide(failures []policy.Failure) bool {
	for _, f := range failures {
		if !f.Ignored {
			return t.reject(failures...)
		}
	}
	t.ignore(failures...)
	return true
}

// redact removes from all texts of policies what a scope hides.
func (t *trace) redact(scope redact.Scope) {
	for _, failures := range [][]policy.Failure{t.failures, t.refusals, t.doubted, t.ignored} {
		for i := range failures {
			failures[i].Err = scope.Error(failures[i].Err)
		}
	}
	reasons := t.notApplied.all()
	for i := range reasons {
		reasons[i].Reason = scope.Reason(reasons[i].Reason)
	}
}

// ignore records failures that failurePolicy Ignore ignores.
func (t *trace) ignore(failures ...policy.Failure) {
	for _, f := range failures {
		t.ignored = append(t.ignored, f)
		t.note(policy.NotApplied{ID: f.ID, At: f.At, Reason: source.Messagef("it failed, and failurePolicy is Ignore: %v", f.Err)})
	}
}

// reject denies the request because of the failures that are not ignored. The first of them is the
// message.
func (t *trace) reject(failures ...policy.Failure) bool {
	for _, f := range failures {
		if !f.Ignored || f.Abort {
			t.failures = append(t.failures, f)
		}
	}
	return false
}
