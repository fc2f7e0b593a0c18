package engine

import (
	"fmt"
	"maps"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/admission"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/policy"
)

// server is an API server with policies. It admits objects, and keeps nothing of them.
type server struct {
	// programs are in the order of their hooks.
	programs   []policy.Program
	defaulting defaulting
	// files are what policies were read from.
	files files
	// tries makes room for the tries of an admission; nil if they are not asked for.
	tries func() *tries
}

// defaulting is how a server makes objects complete.
type defaulting struct {
	// view is the admission view of an object that belongs in a place. The memo, here and
	// below, knows what of the object stays as it is; it may be nil.
	view func(memo *change.Memo, p place, object map[string]any) (map[string]any, error)
	// again is the view of an object that a policy has changed.
	again func(memo *change.Memo, kind *schema.Kind, object map[string]any) (map[string]any, error)
	// stored is what an event did, in the form in which the server stores it; see
	// admission.Stored.
	stored func(kind *schema.Kind, e event) (from, to map[string]any)
	// normalize brings a manifest into the form in which the server stores it; see
	// admission.Normalize.
	normalize func(memo *change.Memo, p place, raw, view map[string]any) (map[string]any, error)
	// pin closes the gap between the view of an edited manifest and the one wanted; see
	// admission.Pin.
	pin func(memo *change.Memo, p place, raw, edited, view map[string]any) (map[string]any, error)
}

// completing is the defaulting of an API server; asWritten leaves objects as they are.
var (
	completing = defaulting{
		view: func(memo *change.Memo, p place, object map[string]any) (map[string]any, error) {
			return admission.View(memo, p.kind, object, p.namespace)
		},
		again: admission.Redefault,
		stored: func(kind *schema.Kind, e event) (from, to map[string]any) {
			return admission.Stored(kind, e.before, e.written, e.next)
		},
		normalize: func(memo *change.Memo, p place, raw, view map[string]any) (map[string]any, error) {
			return admission.Normalize(memo, p.kind, raw, p.namespace, view)
		},
		pin: func(memo *change.Memo, p place, raw, edited, view map[string]any) (map[string]any, error) {
			return admission.Pin(memo, p.kind, raw, edited, p.namespace, view)
		},
	}
	asWritten = defaulting{
		view: func(_ *change.Memo, _ place, object map[string]any) (map[string]any, error) { return object, nil },
		again: func(_ *change.Memo, _ *schema.Kind, object map[string]any) (map[string]any, error) {
			return object, nil
		},
		stored:    func(_ *schema.Kind, e event) (from, to map[string]any) { return e.before, e.written },
		normalize: func(_ *change.Memo, _ place, raw, _ map[string]any) (map[string]any, error) { return raw, nil },
		pin:       func(_ *change.Memo, _ place, _, edited, _ map[string]any) (map[string]any, error) { return edited, nil },
	}
)

// passes is the state of one admission.
type passes struct {
	server
	place   place
	request *policy.Request
	// written is the object as it was before everything, for limits.
	written map[string]any
	trace   *trace
	// changes counts what changed the object; invoked has how many there had been when a
	// reinvocable invocation last ran.
	changes int
	invoked map[policy.ID]int
	// mutated says that a rule succeeded, whether or not it changed anything.
	mutated bool
	// outputs are the objects as each webhook last left them.
	outputs map[policy.Program]map[string]any
	// confidants have read something sensitive.
	confidants *confidants
}

// admit carries out the first pass and, if anything was mutated at all, the second
// one, in which only those that asked for it run again. The object of the request is a
// view; written is the manifest that it is of.
// plans are those of an admission of the same request before, nil for none.
func (s server) admit(p place, request *policy.Request, written map[string]any, plans map[policy.Program]planned) *trace {
	a := &passes{
		server: s, place: p, request: request, written: written, trace: s.trace(plans),
		invoked: map[policy.ID]int{}, outputs: map[policy.Program]map[string]any{},
		confidants: newConfidants(request.Snapshot, s.files),
	}
	a.trace.before = request.Object
	for a.trace.pass = 1; a.trace.pass == 1 || a.trace.pass == 2 && a.mutated; a.trace.pass++ {
		request.Reinvocation = a.trace.pass == 2
		if !a.run(policy.BuiltIn, a.builtIn) || !a.run(policy.InServer, a.inServer) || !a.run(policy.Webhook, a.webhook) {
			a.trace.after = a.placed(a.trace.before)
			return a.trace
		}
	}
	a.run(policy.Validating, a.validate)
	a.trace.after = a.placed(a.trace.before)
	return a.trace
}

// trace makes an empty trace, with the plans of one before, nil for none.
func (s server) trace(plans map[policy.Program]planned) *trace {
	if plans == nil {
		plans = map[policy.Program]planned{}
	}
	t := &trace{plans: plans}
	if s.tries != nil {
		t.tries = s.tries()
	}
	return t
}

// run carries out the programs of one point in one pass. It reports whether the request goes
// on.
func (a *passes) run(point policy.Point, run func(policy.Program) bool) bool {
	for _, program := range a.programs {
		if program.Hook().Point == point && !run(program) {
			return false
		}
	}
	return true
}

// placed is the object of the request with the namespace that one before it had. A policy
// that replaces all metadata loses it; policies do without it then, but the server puts it
// back before it stores the object.
func (a *passes) placed(before map[string]any) map[string]any {
	return inNamespace(a.request.Object, textAt(before, "metadata", "namespace"))
}

// inNamespace returns an object with a namespace if it has none and there is one.
func inNamespace(object map[string]any, namespace string) map[string]any {
	if namespace == "" || textAt(object, "metadata", "namespace") != "" {
		return object
	}
	metadata, _ := object["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	if metadata == nil {
		metadata = map[string]any{}
	}
	metadata["namespace"] = namespace
	object = maps.Clone(object)
	object["metadata"] = metadata
	return object
}

// builtIn carries out one pass of the plug-ins that are part of the server. It reports
// whether the request goes on.
func (a *passes) builtIn(program policy.Program) bool {
	before := a.request.Object
	for _, invocation := range program.Plan(a.request).Invocations {
		for step := range invocation.Steps(a.request) {
			if step.Failure != nil {
				return a.trace.reject(*step.Failure)
			}
			if !change.Same(a.request.Object, step.Object) {
				a.trace.built(step, a.request.Object)
				a.request.Object = step.Object
			}
		}
	}
	if a.trace.pass == 2 && !change.Equal(before, a.request.Object) {
		a.changes++
	}
	return true
}

// validate has the plug-ins that are part of the server refuse the object, or not.
func (a *passes) validate(program policy.Program) bool {
	for _, invocation := range program.Plan(a.request).Invocations {
		for step := range invocation.Steps(a.request) {
			if step.Failure != nil {
				return a.trace.reject(*step.Failure)
			}
		}
	}
	return true
}

// inServer carries out one pass of the policies inside the server. It reports whether the
// request goes on.
func (a *passes) inServer(program policy.Program) bool {
	plan := a.plan(program)
	failures := plan.Failures
	mutated := false
	for _, invocation := range plan.Invocations {
		a.confidants.meet(invocation.ID())
		runs := a.trace.pass == 1 || a.isOutdated(invocation.ID())
		notApplied, failure := invocation.Conditions(a.request)
		if failure != nil || notApplied != nil || !runs {
			failures = a.trace.conditions(failures, notApplied, failure, runs)
			continue
		}
		before := a.request.Object
		for step := range invocation.Steps(a.request) {
			failure := a.take(invocation, step)
			switch {
			case failure == nil:
				mutated = true
			case failure.Abort:
				return a.trace.reject(*failure)
			default:
				failures = append(failures, *failure)
			}
		}
		if !change.Equal(before, a.request.Object) {
			a.changes++
		}
		if invocation.Reinvocable() {
			a.invoked[invocation.ID()] = a.changes
		}
	}
	return (!mutated || a.convert()) && a.trace.decide(failures)
}

// webhook carries out one call of a webhook. It reports whether the request goes on.
func (a *passes) webhook(program policy.Program) bool {
	if a.trace.pass == 2 && (program.Hook().Reinvocation == policy.Never || change.Equal(a.outputs[program], a.request.Object)) {
		return true
	}
	before := a.request.Object
	plan := a.plan(program)
	failures := plan.Failures
	var mutating policy.Invocation // the last one that made another object
	for _, invocation := range plan.Invocations {
		a.confidants.meet(invocation.ID())
		notApplied, failure := invocation.Conditions(a.request)
		if failure != nil || notApplied != nil {
			failures = a.trace.conditions(failures, notApplied, failure, true)
			continue
		}
		for step := range invocation.Steps(a.request) {
			failure := a.accept(step)
			switch {
			case failure == nil && step.Object != nil:
				mutating = invocation
			case failure == nil:
			case failure.Abort:
				return a.trace.reject(*failure)
			default:
				failures = append(failures, *failure)
			}
		}
	}
	if mutating != nil {
		if err := a.complete(); err != nil {
			return a.trace.reject(mutating.Deny(err))
		}
	}
	if !change.Equal(before, a.request.Object) {
		a.changes++
	}
	goesOn := (mutating == nil || a.convert()) && a.trace.decide(failures)
	a.outputs[program] = a.request.Object
	return goesOn
}

// plan plans a pass, and traces what does not apply in the first one. What was planned on
// the same object is still right inside the server; webhooks hold on to their requests.
func (a *passes) plan(program policy.Program) policy.Plan {
	last := a.trace.plans[program]
	plan := last.Plan
	if change.Reference || last.object == nil || !change.Same(last.object, a.request.Object) || program.Hook().Point != policy.InServer {
		plan = program.Plan(a.request)
		a.trace.plans[program] = planned{a.request.Object, plan}
	}
	a.confidants.planned(plan)
	if a.trace.pass == 1 {
		a.trace.planned(program.Hook(), plan)
	}
	return plan
}

// take makes the result of a step inside the server the object of the request: it is
// defaulted again, and what the step wrote is traced.
func (a *passes) take(invocation policy.Invocation, step policy.Step) *policy.Failure {
	if step.Failure != nil || step.NotApplied != nil {
		return a.trace.without(step, true)
	}
	if failure := a.tooLarge(step); failure != nil {
		return a.trace.failed(step, failure)
	}
	next, err := a.defaulting.again(a.request.Memo, a.place.kind, step.Object)
	if err != nil {
		failure := invocation.Deny(err)
		failure.ID, failure.At = step.ID, step.At
		return a.trace.failed(step, &failure)
	}
	a.trace.wrote(step, a.request.Object, next, a.confidants.told(a.request.Object, step, a.place.kind))
	a.request.Object = next
	return nil
}

// accept makes the result of a step of a webhook the object of the request. The server
// sees it when the webhook is done.
func (a *passes) accept(step policy.Step) *policy.Failure {
	if step.Failure != nil || step.NotApplied != nil {
		return a.trace.without(step, a.trace.pass == 1)
	}
	if failure := a.tooLarge(step); failure != nil {
		return a.trace.failed(step, failure)
	}
	a.trace.wrote(step, a.request.Object, step.Object, a.confidants.told(a.request.Object, step, a.place.kind))
	a.request.Object = step.Object
	return nil
}

func (a *passes) tooLarge(step policy.Step) *policy.Failure {
	if err := limit.Object(a.request.Memo, a.written, step.Object); err != nil {
		return &policy.Failure{ID: step.ID, At: step.At, Err: fmt.Errorf("%s: %w", step.ID, err), Abort: true}
	}
	return nil
}

// complete defaults the object that a webhook has made.
func (a *passes) complete() error {
	next, err := a.defaulting.again(a.request.Memo, a.place.kind, a.request.Object)
	if err != nil {
		return err
	}
	a.trace.dropped(a.request.Object, next)
	a.request.Object = next
	return nil
}

// convert makes the object of the request anew at the end of a pass that mutated it, as a
// server does by converting it to its internal form and back. What is lost by that, as
// fields that a custom resource does not have, is not in the manifest either.
func (a *passes) convert() bool {
	a.changes++
	a.mutated = true
	p := a.place
	p.namespace = textAt(a.request.Object, "metadata", "namespace")
	view, err := a.defaulting.view(a.request.Memo, p, a.request.Object)
	if err != nil {
		return a.trace.reject(policy.Failure{Err: err})
	}
	if !change.Equal(a.request.Object, view) {
		a.trace.dropped(a.request.Object, view)
		a.request.Object = view
	}
	return true
}

// isOutdated reports whether an invocation asked to run again if the object changes after
// it, and it did.
func (a *passes) isOutdated(id policy.ID) bool {
	at, invoked := a.invoked[id]
	return invoked && at < a.changes
}
