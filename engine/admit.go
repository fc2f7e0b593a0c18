package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/admission"
	"github.com/preadmit/preadmit/engine/internal/celenv"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/internal/validation"
	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/redact"
	"github.com/preadmit/preadmit/engine/source"
)

// server is an API server with policies. It admits objects, and does not store them.
type server struct {
	// programs are sorted by their hooks.
	programs   []policy.Program
	defaulting defaulting
	// webhooks are the webhooks whose changes are not predicted.
	webhooks []silent
	// files says which files of policies and context are secret.
	files files
	// tries returns an empty list for the tries of an admission. It is nil if tries are not needed.
	tries func() *tries
	// shuffled is the same for the invocations that have no order.
	shuffled func() *shuffled
	// judging is the context of validating admission if an observer asks for what it reads.
	judging context.Context
	// keepsReason selects the reasons for which policies are not applied that anybody asks for.
	keepsReason func(fmt.Stringer) bool
}

// defaulting is how a server adds defaults to objects.
type defaulting struct {
	// view returns the admission view of an object at a place. The memo, here and below, has facts
	// about unchanged parts of the object; it may be nil.
	view func(memo *change.Memo, p place, object map[string]any) (map[string]any, error)
	// drop returns an object that policies have changed without what the server cannot store.
	drop func(kind *schema.Kind, object map[string]any) (map[string]any, error)
	// held is view for an object that the server holds already.
	held func(memo *change.Memo, p place, object map[string]any) (map[string]any, error)
	// again returns the view of an object that a policy has changed.
	again func(memo *change.Memo, kind *schema.Kind, object map[string]any) (map[string]any, error)
	// prepare returns the objects that validating admission sees, of a request for an object and
	// its old object, which may be nil.
	prepare func(p place, object, old map[string]any) (prepared, before map[string]any, err error)
	// validation validates the prepared objects against their kind. It is nil if objects are not
	// validated.
	validation *validation.Server
	// stored returns the change of an event in the form in which the server stores it; see
	// admission.Stored.
	stored func(kind *schema.Kind, e event) (from, to map[string]any)
	// normalize returns a manifest in the form in which the server stores it; see
	// admission.Normalize.
	normalize func(memo *change.Memo, p place, raw, view map[string]any) (map[string]any, error)
	// pin adds values to an edited manifest until its view is the wanted view; see admission.Pin.
	pin func(memo *change.Memo, p place, raw, edited, view map[string]any) (map[string]any, error)
}

// completing is the defaulting of an API server. asWritten leaves objects unchanged.
var (
	completing = defaulting{
		view: func(memo *change.Memo, p place, object map[string]any) (map[string]any, error) {
			return admission.View(memo, p.kind, object, p.namespace)
		},
		held: func(memo *change.Memo, p place, object map[string]any) (map[string]any, error) {
			return admission.Held(memo, p.kind, object, p.namespace)
		},
		drop:  admission.DropMalformed,
		again: admission.Redefault,
		prepare: func(p place, object, old map[string]any) (prepared, before map[string]any, err error) {
			bare := maps.Clone(object)
			delete(bare, "status")
			if bare, err = admission.Redefault(nil, p.kind, bare); err != nil {
				return nil, nil, err
			}
			if old != nil {
				prepared, before = validation.Updated(p.kind, object, old)
				return prepared, before, nil
			}
			return validation.Created(p.kind, object, bare), nil, nil
		},
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
		held: func(_ *change.Memo, _ place, object map[string]any) (map[string]any, error) { return object, nil },
		drop: func(_ *schema.Kind, object map[string]any) (map[string]any, error) { return object, nil },
		again: func(_ *change.Memo, kind *schema.Kind, object map[string]any) (map[string]any, error) {
			return admission.KeepType(kind, object)
		},
		prepare: func(_ place, object, old map[string]any) (prepared, before map[string]any, err error) {
			return object, old, nil
		},
		stored:    func(_ *schema.Kind, e event) (from, to map[string]any) { return e.before, e.written },
		normalize: func(_ *change.Memo, _ place, raw, _ map[string]any) (map[string]any, error) { return raw, nil },
		pin:       func(_ *change.Memo, _ place, _, edited, _ map[string]any) (map[string]any, error) { return edited, nil },
	}
)

// passes is the state of one admission.
type passes struct {
	server  server
	place   place
	request *policy.Request
	// written is the original manifest, for limits.
	written map[string]any
	trace   *trace
	// changes counts the invocations and webhooks that changed the object. invoked has the count at
	// the last run of each reinvocable invocation.
	changes int
	invoked map[policy.ID]int
	// mutated means that a rule has succeeded, even without changing anything.
	mutated bool
	// output is the object after the webhooks of the first pass. called are the webhooks with
	// reinvocationPolicy IfNeeded that were called since the last change, and due those to call
	// again. patched means that a webhook has returned an object in this pass.
	output      map[string]any
	called, due []policy.Program
	patched     bool
	taint       *taint
	// secrets are those of the request, and texts what policies have copied from them into the object:
	// recordings of webhooks hide both.
	secrets *redact.Redactor
	texts   []string
}

// admit runs the first pass and, if a rule has succeeded, the second pass, in which only policies
// that ask for it run again. The object of the request is the view of written. plans are the plans
// of an earlier admission of the same request, or nil.
func (s server) admit(p place, request *policy.Request, written map[string]any, plans []planned) *trace {
	a := &passes{
		server: s, place: p, request: request, written: written, trace: s.trace(plans),
		taint: newTaint(request, s.files), secrets: request.Secrets,
	}
	buffer := eventBuffers.Get().(*[]event)
	a.trace.before, a.trace.events = request.Object, *buffer
	goesOn := true
	for a.trace.pass = 1; goesOn && (a.trace.pass == 1 || a.trace.pass == 2 && a.mutated); a.trace.pass++ {
		request.Reinvocation, request.Forms = a.trace.pass == 2, celenv.Forms{}
		goesOn = a.run(policy.BuiltIn, a.builtIn) && a.run(policy.InServer, a.inServer) && a.webhooks()
	}
	if goesOn && a.mutated && p.kind.Custom {
		a.rebuild()
	}
	a.trace.pass, a.trace.after = 0, a.placed(a.trace.before)
	a.trace.keep(buffer)
	return a.trace
}

// covers reports whether any policy may match a request, or the server validates the kind. Most
// manifests do not need an admission view because of this check.
func (s server) covers(request *policy.Request) bool {
	return s.checks(request.Kind) || slices.ContainsFunc(s.programs, func(p policy.Program) bool { return p.Covers(request) })
}

// checks reports whether the server validates objects of a kind against the kind.
func (s server) checks(kind *schema.Kind) bool {
	return s.defaulting.validation != nil && validation.Checks(kind)
}

// planned returns the trace of a request that no policy matches.
func (s server) planned(request *policy.Request) *trace {
	t := s.trace(nil)
	for _, program := range s.programs {
		t.planned(program.Hook(), program.Plan(request), request)
	}
	return t
}

// trace returns an empty trace with the plans of an earlier trace, or nil.
func (s server) trace(plans []planned) *trace {
	t := &trace{plans: plans}
	if plans == nil {
		t.plans, t.notApplied = make([]planned, 0, len(s.programs)), &reasons{isKept: s.keepsReason}
	}
	if s.tries != nil {
		t.tries = s.tries()
	}
	if s.shuffled != nil {
		t.shuffled = s.shuffled()
	}
	return t
}

// run runs the programs of one point in one pass. It reports whether the request continues.
func (a *passes) run(point policy.Point, run func(policy.Program) bool) bool {
	for _, program := range a.server.programs {
		if program.Hook().Point != point {
			continue
		}
		if a.trace.program = program; !run(program) {
			return false
		}
	}
	return true
}

// placed returns the object of the request with the namespace of an earlier object. A policy that
// replaces all metadata removes the namespace. Later policies do not see it then, but the server
// restores it before it stores the object.
func (a *passes) placed(before map[string]any) map[string]any {
	return inNamespace(a.request.Object, textAt(before, "metadata", "namespace"))
}

// builtIn runs one pass of the plug-ins that are part of the server. It reports whether the request
// continues.
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

// inServer runs one pass of the policies inside the server. It reports whether the request
// continues.
func (a *passes) inServer(program policy.Program) bool {
	plan := a.plan(program)
	if a.invoked == nil {
		a.invoked = make(map[policy.ID]int, len(plan.Invocations))
	}
	failures := plan.Failures
	mutated := false
	for _, invocation := range plan.Invocations {
		a.taint.begin(invocation.ID())
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
	if mutated {
		a.changes++
		a.mutated = true
	}
	return (!mutated || a.convert()) && a.trace.decide(failures)
}

// webhooks runs one pass of the webhooks. The server converts the object only after all of them. It
// reports whether the request continues.
func (a *passes) webhooks() bool {
	if a.trace.pass == 2 && !change.Equal(a.output, a.request.Object) {
		a.recall()
	}
	a.patched = false
	if !a.run(policy.Webhook, a.webhook) || a.patched && !a.convert() {
		return false
	}
	a.output = a.request.Object
	return true
}

// recall notes that the object has changed, so that the webhooks called before are called again in
// the second pass, if they ask for it.
func (a *passes) recall() {
	a.due, a.called = append(a.due, a.called...), nil
}

// webhook runs one call of a webhook. It reports whether the request continues.
func (a *passes) webhook(program policy.Program) bool {
	if a.trace.pass == 2 && !slices.Contains(a.due, program) {
		return true
	}
	before := a.request.Object
	plan := a.plan(program)
	if plan.Uncalled {
		return true
	}
	a.request.Secrets = a.secrets.WithTexts(a.texts)
	mutating, failures, ok := a.call(plan)
	if !ok {
		return false
	}
	returned := a.request.Object
	if mutating != nil {
		if err := a.complete(); err != nil {
			return a.trace.reject(mutating.Deny(err))
		}
		a.patched = true
	}
	if !change.Equal(before, a.request.Object) || lacks(before, returned) {
		a.changes++
		a.mutated = true
		a.recall()
	}
	if program.Hook().Reinvocation == policy.IfNeeded {
		a.called = append(a.called, program)
	}
	return a.trace.decide(failures)
}

// call runs the invocations of a webhook. It returns the last one that returned an object and the
// failures, and reports whether the request continues.
func (a *passes) call(plan policy.Plan) (mutating policy.Invocation, failures []policy.Failure, ok bool) {
	failures = plan.Failures
	for _, invocation := range plan.Invocations {
		a.taint.begin(invocation.ID())
		notApplied, failure := invocation.Conditions(a.request)
		if failure != nil || notApplied != nil {
			failures = a.trace.conditions(failures, notApplied, failure, true)
			continue
		}
		for step := range invocation.Steps(a.request) {
			a.trace.said(step)
			failure := a.accept(step)
			switch {
			case failure == nil && step.Object != nil:
				mutating = invocation
			case failure == nil:
			case failure.Abort:
				return nil, nil, a.trace.reject(*failure)
			default:
				failures = append(failures, *failure)
			}
		}
	}
	return mutating, failures, true
}

// lacks reports whether a webhook has removed or replaced a value. To a server, the object has then
// changed, even if its defaults restore the value.
func lacks(before, returned map[string]any) bool {
	return !change.Equal(before, returned) &&
		slices.ContainsFunc(change.Diff(before, returned, nil), func(c change.Change) bool { return c.Op != change.Add })
}

// plan returns the plan of a pass. In the first pass, it traces the policies that do not apply.
// Inside the server, a plan for the same object is reused. The plans of webhooks depend on their
// requests.
func (a *passes) plan(program policy.Program) policy.Plan {
	last := a.trace.plan(program)
	if change.Reference || last.object == nil || !change.Same(last.object, a.request.Object) || program.Hook().Point != policy.InServer {
		last.object, last.plan = a.request.Object, program.Plan(a.request)
	}
	a.taint.planned(last.plan)
	if a.trace.pass == 1 {
		a.trace.planned(program.Hook(), last.plan, a.request)
	}
	return last.plan
}

// take makes the result of a step inside the server the object of the request. It defaults the
// object again and traces the change.
func (a *passes) take(invocation policy.Invocation, step policy.Step) *policy.Failure {
	if step.Failure != nil || step.NotApplied != nil {
		return a.trace.without(step)
	}
	if failure := a.tooLarge(step); failure != nil {
		return a.trace.failed(step, failure)
	}
	next, err := a.server.defaulting.again(a.request.Memo, a.place.kind, step.Object)
	if err != nil {
		failure := invocation.Deny(err)
		failure.ID, failure.At = step.ID, step.At
		return a.trace.failed(step, &failure)
	}
	sensitive := a.taint.texts(step, a.place.kind.Type())
	a.trace.wrote(step, a.request.Object, next, sensitive)
	a.request.Object, a.texts = next, append(a.texts, sensitive.inObject...)
	return nil
}

// accept makes the result of a step of a webhook the object of the request. The server sees the
// object only after the webhook.
func (a *passes) accept(step policy.Step) *policy.Failure {
	if step.Failure != nil || step.NotApplied != nil {
		return a.trace.without(step)
	}
	if step.Object == nil {
		a.trace.tries.step(step, applied)
		return nil
	}
	if failure := a.tooLarge(step); failure != nil {
		return a.trace.failed(step, failure)
	}
	sensitive := a.taint.texts(step, a.place.kind.Type())
	a.trace.wrote(step, a.request.Object, step.Object, sensitive)
	a.request.Object = step.Object
	if step.ID.Kind != policy.WebhookKind { // what an answer has copied is looked for in the answer
		a.texts = append(a.texts, sensitive.inObject...)
	}
	return nil
}

func (a *passes) tooLarge(step policy.Step) *policy.Failure {
	if err := limit.Object(a.request.Memo, a.written, step.Object); err != nil {
		return &policy.Failure{ID: step.ID, At: step.At, Err: source.Messagef("%s: %v", step.ID, err), Abort: true}
	}
	return nil
}

// complete adds defaults to the object that a webhook returned.
func (a *passes) complete() error {
	next, err := a.server.defaulting.again(a.request.Memo, a.place.kind, a.request.Object)
	if err != nil {
		return err
	}
	a.trace.dropped(a.request.Object, next)
	a.request.Object = next
	return nil
}

// convert rebuilds the object of the request after a pass with mutations, as a server does when it
// converts the object to its internal form and back. A custom resource has no internal form: a server rebuilds
// it after both passes, when it stores it. It reports whether the request continues.
func (a *passes) convert() bool { return a.place.kind.Custom || a.rebuild() }

// rebuild drops what the object of the request loses when a server converts or stores it, such as unknown fields
// of a custom resource and those of its metadata with a wrong type. They are not in the manifest either. It
// reports whether the request continues.
func (a *passes) rebuild() bool {
	p := a.place
	p.namespace = textAt(a.request.Object, "metadata", "namespace")
	view, err := a.server.defaulting.view(a.request.Memo, p, a.request.Object)
	if metadata, given := a.request.Object["metadata"]; err != nil || given && metadata == nil { // a view may have no metadata
		var stored map[string]any
		if stored, err = a.server.defaulting.drop(p.kind, a.request.Object); err == nil {
			view, err = a.server.defaulting.view(a.request.Memo, p, stored)
		}
	}
	if err != nil {
		return a.trace.reject(policy.Failure{Err: err})
	}
	if !change.Equal(a.request.Object, view) {
		if a.place.kind.Custom {
			a.trace.unpruned = a.request.Object
		}
		a.trace.dropped(a.request.Object, view)
		a.request.Object = view
	}
	return true
}

// isOutdated reports whether an invocation wants to run again if the object changes after it, and
// the object has changed.
func (a *passes) isOutdated(id policy.ID) bool {
	at, invoked := a.invoked[id]
	return invoked && at < a.changes
}
