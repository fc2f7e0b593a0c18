package engine

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/preadmit/preadmit/engine/admission"
	"github.com/preadmit/preadmit/engine/change"
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
func (r *run) invalid(t *target, err error) {
	problems := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		problems = joined.Unwrap()
	}
	for _, problem := range problems {
		d := source.Errorf(t.Document.At(nil), "manifest-invalid", "%v", problem)
		var field *admission.FieldError
		if errors.As(problem, &field) {
			d.At, d.Field, d.Message = t.Document.At(field.Path), field.Path.String(), field.Problem
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

// redefault is the admission view of an object that a policy has changed.
func (r *run) redefault(kind *schema.Kind, object map[string]any) (map[string]any, error) {
	if r.settings.Defaulting == "off" {
		return object, nil
	}
	return admission.Redefault(kind, object)
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
	// denial is why the request would be denied, and culprit the first step that
	// changes the object, when replaying.
	denial  *policy.Failure
	culprit *policy.Step

	failures []policy.Failure
	// invoked are the reinvocable invocations since the object last changed;
	// reinvoke are those that run in the second pass.
	invoked, reinvoke map[policy.ID]bool
	dirty             bool
	// planned are the invocations of the first pass that may run in any order.
	planned []policy.ID
	// order has them run in another order than that of their names.
	order []policy.ID
}

// both carries out the first pass and, if anything was mutated at all, the second
// one, in which only those that asked for it run again. It reports whether the
// request is admitted.
func (a *admitting) both() bool {
	a.invoked, a.reinvoke = map[policy.ID]bool{}, map[policy.ID]bool{}
	for a.pass = 1; a.pass == 1 || a.pass == 2 && a.dirty; a.pass++ {
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
		a.notApplied(plan.NotApplied...)
	}
	a.arrange(program, plan.Invocations)
	dirty := false
	for _, invocation := range plan.Invocations {
		changed, aborted := a.invoke(invocation)
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
func (a *admitting) invoke(invocation policy.Invocation) (mutated bool, aborted *policy.Failure) {
	notApplied, failure := invocation.Conditions(a.request)
	switch {
	case failure != nil:
		a.failures = append(a.failures, *failure)
		return false, nil
	case notApplied != nil:
		a.skip(*notApplied)
		a.notApplied(*notApplied)
		return false, nil
	case a.pass == 2 && !a.reinvoke[invocation.ID()]:
		return false, nil
	}
	before := a.request.Object
	start := a.now()
	for step := range invocation.Steps(a.request) {
		took := a.now().Sub(start)
		failure := step.Failure
		if failure == nil {
			failure = a.take(invocation, step)
		}
		a.count(step, failure != nil, took)
		start = a.now()
		switch {
		case failure == nil:
			mutated = true
		case failure.Abort:
			return mutated, failure
		default:
			a.failures = append(a.failures, *failure)
		}
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
// and what the step wrote is recorded.
func (a *admitting) take(invocation policy.Invocation, step policy.Step) *policy.Failure {
	if step.NotApplied != nil {
		a.notApplied(*step.NotApplied)
		return nil
	}
	next, err := a.redefault(a.target.kind, step.Object)
	if err != nil {
		failure := invocation.Deny(err)
		failure.ID, failure.At = step.ID, step.At
		return &failure
	}
	switch {
	case !a.replaying:
		a.target.record(a.request.Object, step.Object, Change{By: step.ID, At: step.At, Pass: a.pass})
	case a.culprit == nil && !change.Equal(a.request.Object, next):
		a.culprit = &step
	}
	a.request.Object = next
	return nil
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

// deny reports that a policy denies a target.
func (r *run) deny(t *target, f policy.Failure) {
	var unknown *schema.NoSchemaError
	if errors.As(f.Err, &unknown) {
		r.about(t, source.Errorf(f.At, "schema-missing", "%s: %v", f.ID, unknown).
			With(fmt.Sprintf("give the CustomResourceDefinition of %s with the option context, or the cluster's OpenAPI document with the option openapi", unknown.Kind.Kind)))
		return
	}
	d := source.Errorf(f.At, "denied", "%v", f.Err)
	d.Subject = t.ID
	r.outcome.Denied = true
	r.outcome.Diagnostics = append(r.outcome.Diagnostics, d)
}

// replay runs the policies on their own output, which must not change it.
func (r *run) replay(t *target) {
	if r.settings.NonIdempotent == "skip" {
		return
	}
	again := &admitting{run: r, target: t, request: r.requestFor(t, t.After), replaying: true}
	admitted := again.both()
	if admitted && (again.culprit == nil || change.Equal(t.After, again.request.Object)) {
		return
	}
	d := source.Diagnostic{
		Severity: source.Warning, Code: "not-idempotent",
		Advice: "when the cluster runs the policies on our output, they act once more: a policy should check whether its change has been made already",
	}
	if r.settings.NonIdempotent == "fail" {
		d.Severity = source.Error
	}
	if !admitted {
		d.At, d.Message = again.denial.At, fmt.Sprintf("the policies would deny their own output: %v", again.denial.Err)
	} else {
		d.At, d.Message = again.culprit.At, fmt.Sprintf("%s would change its own output again", again.culprit.ID)
		d.Field = change.Diff(t.After, again.request.Object, t.kind.Type())[0].Path.String()
	}
	r.about(t, d)
}
