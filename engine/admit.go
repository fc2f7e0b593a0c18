package engine

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/preadmit/preadmit/engine/admission"
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/schema"
	"github.com/preadmit/preadmit/engine/source"
)

// admit runs the policies on one target, as the mutating admission of an API server
// does.
func (r *run) admit(t *target) {
	t.edited = t.raw
	pass := &admitting{run: r, target: t, request: r.requestFor(t, t.raw)}
	if !pass.covered() {
		return
	}
	view, err := r.view(t.place, t.raw)
	if err != nil {
		r.invalid(t, err)
		return
	}
	t.Before, pass.request.Object = view, view
	if !pass.both() {
		return
	}
	t.After = pass.request.Object
	if len(t.Changes) == 0 {
		return
	}
	if namespace, ok := change.Keys("metadata", "namespace").Get(t.After); ok && t.kind.Namespaced && namespace != t.namespace {
		r.deny(t, policy.Failure{At: t.Changes[0].At, Err: errors.New("the namespace of the provided object does not match the namespace sent on the request")})
		return
	}
	r.settle(t)
	r.replay(t)
	r.replayAll(t)
	if r.checking {
		r.checkFights(t)
		r.checkOrders(t, pass.planned)
	}
}

// covered reports whether any policy may be about the request. Most manifests are
// spared the admission view by that.
func (a *admitting) covered() bool {
	for _, program := range a.programs {
		if program.Covers(a.request) {
			return true
		}
	}
	for _, program := range a.programs {
		reasons := program.Plan(a.request).NotApplied
		a.skip(reasons...)
		a.notApplied(reasons...)
	}
	return false
}

// invalid reports what keeps a server from reading a target.
func (r *run) invalid(t *target, err error) { r.refuse(t, "manifest-invalid", "", err) }

// refuse reports what is wrong with an object, field by field, behind a prefix.
func (r *run) refuse(t *target, code, prefix string, err error) {
	problems := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		problems = joined.Unwrap()
	}
	for _, problem := range problems {
		d := source.Errorf(t.Document.At(nil), code, "%s%v", prefix, problem)
		var field *admission.FieldError
		if errors.As(problem, &field) {
			d.At, d.Field, d.Message = t.Document.At(field.Path), field.Path.String(), prefix+field.Problem
		}
		r.about(t, d)
	}
}

// view is the admission view of an object that belongs in a place.
func (r *run) view(p place, object map[string]any) (map[string]any, error) {
	if r.settings.Defaulting == "off" {
		return change.CloneObject(object), nil
	}
	return admission.View(p.kind, object, p.namespace)
}

// redefault is the admission view of an object that a policy has changed. stable is one
// that stays as it is, or nil.
func (r *run) redefault(kind *schema.Kind, object, stable map[string]any) (map[string]any, error) {
	if r.settings.Defaulting == "off" {
		return object, nil
	}
	return admission.Redefault(kind, object, stable)
}

// requestFor makes the request that sends a target to the cluster.
func (r *run) requestFor(t *target, view map[string]any) *policy.Request {
	request := &policy.Request{
		Context: r.ctx, Kind: t.kind, Name: t.name, Namespace: t.namespace,
		Operation: policy.Operation(r.settings.Operation), DryRun: r.settings.DryRun, User: r.settings.User,
		Object: view, Schemas: r.schemas, Snapshot: r.snapshot,
		Warn: func(d source.Diagnostic) { r.report(d) },
	}
	if t.kind.Kind == namespaceKind { // a request for a namespace is in that namespace
		request.Namespace = t.name
	}
	if request.Operation == policy.Update {
		request.OldObject = r.oldObject(t)
	}
	return request
}

// oldObject finds the object that an update replaces.
func (r *run) oldObject(t *target) map[string]any {
	for _, d := range r.old {
		p := r.placeOf(d, r.schemas)
		if p.kind.Group == t.kind.Group && p.kind.Kind.Kind == t.kind.Kind.Kind && p.namespace == t.namespace && p.name == t.name {
			view, err := r.view(p, d.Object())
			if err != nil {
				r.about(t, source.Errorf(d.At(nil), "manifest-invalid", "the object before the update: %v", err))
			}
			return view
		}
	}
	return nil
}

// admitting is the state of the passes over one target.
type admitting struct {
	*run
	target  *target
	request *policy.Request
	pass    int
	// replaying says that nothing is recorded: the passes only find out what would
	// happen.
	replaying bool
	// denial is why the request would be denied, repeats are the changes that were made
	// again, and acted says that there were any at all, when replaying.
	denial  *policy.Failure
	repeats []repeat
	acted   bool

	failures []policy.Failure
	// invoked are the reinvocable invocations since the object last changed;
	// reinvoke are those that run in the second pass.
	invoked, reinvoke map[policy.ID]bool
	dirty             bool
	// planned are the invocations of the first pass that may run in any order.
	planned []policy.ID
	// order has them run in another order than that of their names.
	order []policy.ID
	// output is the object as a webhook last left it.
	output map[string]any
	// stable is an object that defaulting leaves as it is.
	stable map[string]any
}

// both carries out the first pass and, if anything was mutated at all, the second
// one, in which only those that asked for it run again. It reports whether the
// request is admitted.
func (a *admitting) both() bool {
	a.invoked, a.reinvoke = map[policy.ID]bool{}, map[policy.ID]bool{}
	for a.pass = 1; a.pass == 1 || a.pass == 2 && a.dirty; a.pass++ {
		a.request.Reinvocation = a.pass == 2
		for _, program := range a.programs {
			if !a.onePass(program) {
				return false
			}
		}
	}
	return true
}

// onePass carries out one pass of one program.
func (a *admitting) onePass(program policy.Program) bool {
	plan := program.Plan(a.request)
	a.failures = plan.Failures
	if a.pass == 1 {
		a.skip(plan.NotApplied...)
		a.fail(plan.Failures...)
		a.notApplied(plan.NotApplied...)
	}
	a.arrange(program, plan.Invocations)
	if plan.Webhook {
		if a.pass == 2 && (a.output == nil || change.Equal(a.output, a.request.Object)) {
			return true
		}
		defer func() { a.output = a.request.Object }()
	}
	dirty := false
	for _, invocation := range plan.Invocations {
		changed, aborted := a.invoke(invocation, plan.Webhook)
		if aborted != nil {
			return a.reject(*aborted)
		}
		dirty = dirty || changed
	}
	if dirty {
		a.requireInvoked()
		a.dirty = true
		if err := a.convert(); err != nil {
			return a.reject(policy.Failure{Err: err})
		}
	}
	for _, f := range a.failures {
		if !f.Ignored {
			return a.reject(a.failures...)
		}
	}
	for _, f := range a.failures {
		a.notApplied(policy.NotApplied{ID: f.ID, At: f.At, Reason: policy.Text("failurePolicy is Ignore, and it failed: " + f.Err.Error())})
	}
	return true
}

// invoke carries out one invocation. mutated says that a rule succeeded, whether or
// not it changed anything.
func (a *admitting) invoke(invocation policy.Invocation, webhook bool) (mutated bool, aborted *policy.Failure) {
	notApplied, failure := invocation.Conditions(a.request)
	runs := a.pass == 1 || webhook || a.reinvoke[invocation.ID()]
	switch {
	case failure != nil:
		a.fail(*failure)
		a.failures = append(a.failures, *failure)
		return false, nil
	case notApplied != nil:
		if runs {
			a.skip(*notApplied)
		}
		a.notApplied(*notApplied)
		return false, nil
	case !runs:
		return false, nil
	}
	before := a.request.Object
	start := a.now()
	for step := range invocation.Steps(a.request) {
		took := a.now().Sub(start)
		failure := step.Failure
		if failure == nil {
			failure = a.take(invocation, step, webhook)
		}
		a.count(step, failure != nil, took)
		start = a.now()
		switch {
		case failure == nil:
			mutated = mutated || !webhook || step.Object != nil
		case failure.Abort:
			return mutated, failure
		default:
			a.failures = append(a.failures, *failure)
		}
	}
	if webhook && mutated {
		next, err := a.defaultAgain(a.request.Object)
		if err != nil {
			failure := invocation.Deny(err)
			return mutated, &failure
		}
		if !a.replaying {
			a.target.lose(a.request.Object, next)
		}
		a.request.Object = next
	}
	if !change.Equal(before, a.request.Object) {
		a.requireInvoked()
	}
	if invocation.Reinvocable() {
		a.invoked[invocation.ID()] = true
	}
	return mutated, nil
}

// take makes the result of a step the object of the request: it is defaulted again,
// but for a webhook that is not done yet, and what the step wrote is recorded.
func (a *admitting) take(invocation policy.Invocation, step policy.Step, webhook bool) *policy.Failure {
	if step.NotApplied != nil {
		if a.pass == 1 || !webhook {
			a.notApplied(*step.NotApplied)
		}
		return nil
	}
	if err := limit.Object(a.target.raw, step.Object); err != nil {
		return &policy.Failure{ID: step.ID, At: step.At, Err: fmt.Errorf("%s: %w", step.ID, err), Abort: true}
	}
	next := step.Object
	if !webhook {
		var err error
		if next, err = a.defaultAgain(step.Object); err != nil {
			failure := invocation.Deny(err)
			failure.ID, failure.At = step.ID, step.At
			return &failure
		}
	}
	if a.replaying {
		a.noteRepeat(step, next)
	} else {
		a.target.record(a.request.Object, step.Object, Change{By: step.ID, At: step.At, Pass: a.pass})
	}
	a.request.Object = next
	return nil
}

// defaultAgain is redefault. Most steps of a replay change nothing, so that what
// has been defaulted already is recognised; and an object that stays as it is stays the
// same, which makes comparing it quick.
func (a *admitting) defaultAgain(object map[string]any) (map[string]any, error) {
	if change.Equal(object, a.stable) {
		return object, nil
	}
	next, err := a.redefault(a.target.kind, object, a.stable)
	if err == nil && change.Equal(object, next) {
		next, a.stable = object, object
	}
	return next, err
}

// convert makes the object of the request anew at the end of a pass, as a server does
// by converting it to its internal form and back. What is lost by that, as fields that
// a custom resource does not have, is not in the manifest either.
func (a *admitting) convert() error {
	namespace, _ := change.Keys("metadata", "namespace").Get(a.request.Object)
	p := a.target.place
	p.namespace, _ = namespace.(string)
	view, err := a.view(p, a.request.Object)
	if err != nil {
		return err
	}
	if change.Equal(a.request.Object, view) {
		return nil
	}
	if !a.replaying {
		a.target.lose(a.request.Object, view)
	}
	a.request.Object = view
	return nil
}

// requireInvoked has everything that ran so far, and asked for it, run again.
func (a *admitting) requireInvoked() {
	for id := range a.invoked {
		a.reinvoke[id] = true
	}
	clear(a.invoked)
}

func (a *admitting) notApplied(reasons ...policy.NotApplied) {
	if !a.replaying {
		a.target.NotApplied = append(a.target.NotApplied, reasons...)
	}
}

// reject denies the request for the failures that count; the first one gives the
// message.
func (a *admitting) reject(failures ...policy.Failure) bool {
	for _, f := range failures {
		switch {
		case f.Ignored && !f.Abort:
		case a.replaying:
			a.denial = cmp.Or(a.denial, &f)
		default:
			a.deny(a.target, f)
		}
	}
	return false
}

// limited gives a diagnostic the code and the advice of the bound that an error says has
// been exceeded, if it does.
func limited(d source.Diagnostic, err error) (source.Diagnostic, bool) {
	var exceeded *limit.Error
	if !errors.As(err, &exceeded) {
		return d, false
	}
	d.Code, d.Advice = exceeded.Code, exceeded.Advice
	return d, true
}

// deny reports that a policy denies a target.
func (r *run) deny(t *target, f policy.Failure) {
	var unknown *schema.NoSchemaError
	if errors.As(f.Err, &unknown) {
		r.about(t, source.Errorf(f.At, "schema-missing", "%s: %v", f.ID, unknown).
			With(fmt.Sprintf("give the CustomResourceDefinition of %s with the option context, or the cluster's OpenAPI document with the option openapi", unknown.Kind.Kind)))
		return
	}
	if d, exceeded := limited(source.Errorf(f.At, "denied", "%v", f.Err), f.Err); exceeded {
		r.about(t, d)
		return
	}
	text := t.discreet(f.Err.Error())
	if text != f.Err.Error() {
		text = f.ID.String() + " denied it; " + text
	}
	d := source.Errorf(f.At, "denied", "%s", r.hide(text))
	d.Subject = t.ID
	r.outcome.Denied = true
	r.outcome.Diagnostics = append(r.outcome.Diagnostics, d)
}
