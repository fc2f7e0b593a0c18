package mutatingpolicy

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/preadmit/preadmit/engine/internal/celenv"
	"github.com/preadmit/preadmit/engine/internal/match"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// evaluation is one policy on one object.
type evaluation struct {
	language *Language
	unit     *unit
	// request has the object as the policy finds it.
	request *policy.Request
	// matched is the kind under which the object of the request matched; kind is that of the
	// object that is changed: the same, or that of the target.
	matched, kind *schema.Kind
	// original is the object that the request was sent with.
	original map[string]any
	// target is what is changed in place of the object of the request; nil for none.
	target *policy.Target
	world  *world
	// activation evaluates the policy's expressions; its variables keep their values.
	activation *celenv.Activation
	allowed    celenv.Exceptions
}

// stepError is an error of a policy, and where it arose.
type stepError struct {
	err error
	at  source.Position
	// mutation is the index of the mutation, -1 for none.
	mutation int
}

// request is a request with what the values say of it: an operation, and that the object
// has been the same before an update.
func (l *Language) request(r *policy.Request) *policy.Request {
	operation, ok := l.values.Global["request.operation"].(string)
	if !ok || operation == string(r.Operation) {
		return r
	}
	copied := *r
	copied.Operation = policy.Operation(operation)
	if copied.Operation == policy.Update && copied.OldObject == nil {
		copied.OldObject = copied.Object
	}
	return &copied
}

// begin finds out whether a unit applies to a request. original is the object that the
// request was sent with.
func (l *Language) begin(u *unit, r *policy.Request, original map[string]any) (*evaluation, *policy.NotApplied, *policy.Failure) {
	d := u.policy
	r = l.request(r)
	decision := l.matches(d, u.constraints, r)
	e := &evaluation{language: l, unit: u, request: r, matched: decision.Kind, kind: decision.Kind, original: original}
	switch {
	case decision.Err != nil:
		e.matched, e.kind = r.Kind, r.Kind
		failure := e.failure(&stepError{err: decision.Err, at: d.at, mutation: -1})
		return e, nil, &failure
	case !decision.Matched:
		notApplied := u.unmatched(decision)
		return e, &notApplied, nil
	case e.kind != r.Kind && !r.Kind.Custom:
		failure := e.failure(&stepError{at: d.at, mutation: -1, err: fmt.Errorf(
			"the API server converts the object from %s to %s for the policy, which is not known how to do here: write the manifest as %s, or let a rule cover %s",
			r.Kind.APIVersion(), e.kind.APIVersion(), e.kind.APIVersion(), r.Kind.APIVersion())})
		failure.Abort = true
		return e, nil, &failure
	}
	e.world = newWorld(e)
	notApplied, failed := e.applies()
	if failed != nil || notApplied != nil {
		e.compare(e.object(), failed)
	}
	if failed != nil {
		failure := e.failure(failed)
		return e, nil, &failure
	}
	return e, notApplied, nil
}

func (u *unit) unmatched(decision match.Decision) policy.NotApplied {
	id := u.policy.id()
	return policy.NotApplied{ID: id, At: u.policy.at, Reason: policy.Unmatched{Block: "matchConstraints", Reason: decision.Reason}}
}

// applies evaluates exceptions and conditions.
func (e *evaluation) applies() (*policy.NotApplied, *stepError) {
	d := e.unit.policy
	skip := func(at source.Position, reason fmt.Stringer) *policy.NotApplied {
		return &policy.NotApplied{ID: d.id(), At: at, Reason: reason}
	}
	x, allowed, failed := e.excepted()
	if failed != nil {
		return nil, failed
	}
	if x != nil {
		return skip(x.at(), x.reason()), nil
	}
	e.allowed = allowed
	e.activation = d.scope.Activate(e.request.Context, e.input(e.seen(e.object())))
	notMet, failed := e.meets(d.conditions)
	e.compareConditions(notMet, failed)
	switch {
	case failed != nil:
		return nil, failed
	case notMet != nil:
		return skip(notMet.at, policy.FalseCondition{Index: notMet.index, Name: notMet.name, AsksOperation: notMet.asksOperation}), nil
	}
	return nil, nil
}

// unmet is a condition that is false.
type unmet struct {
	condition
	index int
}

// meets evaluates conditions: the first that is false decides, whatever errors those
// before it had.
func (e *evaluation) meets(conditions []condition) (*unmet, *stepError) {
	return meets(e.activation, conditions)
}

func meets(a *celenv.Activation, conditions []condition) (*unmet, *stepError) {
	var texts []string
	var failed *stepError
	for i, c := range conditions {
		ok, err := a.Bool(c.program, nil)
		switch {
		case err != nil:
			texts = append(texts, err.Error())
			if failed == nil {
				failed = &stepError{err: err, at: c.at, mutation: -1}
			}
		case !ok:
			return &unmet{c, i}, nil
		}
	}
	if len(texts) > 1 {
		failed.err = errors.New(strings.Join(texts, "; "))
	}
	return nil, failed
}

// object is the object that the policy changes, in the version in which it matched it.
func (e *evaluation) object() map[string]any {
	if e.target != nil {
		return e.target.Object
	}
	return policy.InVersion(e.request.Object, e.kind)
}

// seen is an object as expressions see it: Kyverno gives it the namespace of the request.
func (e *evaluation) seen(object map[string]any) map[string]any {
	if object == nil {
		return nil
	}
	object = e.shaped(object)
	metadata, _ := object["metadata"].(map[string]any)
	if e.target != nil || !e.matched.Namespaced || metadata["namespace"] != nil {
		return object
	}
	metadata = maps.Clone(metadata)
	if metadata == nil {
		metadata = map[string]any{}
	}
	metadata["namespace"] = e.request.Namespace
	object = maps.Clone(object)
	object["metadata"] = metadata
	return object
}

// shaped is an object in the shape that patches are for.
func (e *evaluation) shaped(object map[string]any) map[string]any {
	if e.unit.template == nil {
		return object
	}
	return asPod(object, e.unit.template)
}

// input is what expressions see. The object before a creation is an empty map to Kyverno,
// not null; with a target, there is neither that nor a namespace.
func (e *evaluation) input(object map[string]any) celenv.Input {
	old := map[string]any{}
	if e.request.OldObject != nil {
		old = e.seen(policy.InVersion(e.request.OldObject, e.matched))
	}
	input := celenv.Input{
		Object: object,
		World:  e.world, Exceptions: e.allowed,
		Request: func() map[string]any {
			attributes := e.request.Attributes(e.matched, e.matched)
			attributes["object"], attributes["oldObject"] = e.seen(policy.InVersion(e.original, e.matched)), old
			return attributes
		},
	}
	if e.target == nil {
		input.OldObject, input.Namespace = old, e.namespaceObject
		input.OldUnknown = e.request.Operation == policy.Update && e.request.OldObject == nil
	}
	return input
}

// matches asks a match block of a policy about a request.
func (l *Language) matches(d *definition, constraints *match.Resources, r *policy.Request) match.Decision {
	return r.MatchesBy(constraints, func(name string) (map[string]string, error) {
		if labels, ok := l.givenLabels(name); ok {
			return policy.LabelsOf(map[string]any{"metadata": map[string]any{"labels": labels}}), nil
		}
		return r.NamespaceLabels(name, d.at, "policy "+d.key())
	})
}

// givenLabels are the labels that the values give a namespace, and the one that all have.
func (l *Language) givenLabels(namespace string) (map[string]any, bool) {
	given, ok := l.values.Labels(namespace)
	labels := map[string]any{"kubernetes.io/metadata.name": namespace}
	maps.Copy(labels, given)
	return labels, ok
}

// namespaceObject is the variable of that name, with what the values say of it.
func (e *evaluation) namespaceObject() map[string]any {
	r := e.request
	r.Snapshot.Ask()
	namespace, known, err := r.NamespaceObject()
	if err != nil || namespace == nil {
		return nil
	}
	labels, given := e.language.givenLabels(r.Namespace)
	if given {
		before, _ := namespace["metadata"].(map[string]any)
		metadata := maps.Clone(before)
		namespace = maps.Clone(namespace)
		maps.Copy(namespace, e.language.values.Namespaces[r.Namespace])
		more, _ := namespace["metadata"].(map[string]any)
		maps.Copy(metadata, more)
		metadata["labels"], namespace["metadata"] = labels, metadata
	} else if !known {
		r.WarnAssumed(r.Namespace, e.unit.policy.at, "policy "+e.unit.policy.key()+" reads namespaceObject")
	}
	return namespace
}

// failure makes the error that denies a request of an error of the policy, in the words of
// Kyverno's webhook.
func (e *evaluation) failure(failed *stepError) policy.Failure {
	d := e.unit.policy
	f := policy.Failure{ID: d.id(), At: failed.at, Ignored: d.ignore}
	if failed.mutation >= 0 {
		f.ID = e.unit.rule(fmt.Sprintf("mutations[%d]", failed.mutation))
	}
	namespace, name := e.request.Namespace, e.request.Name
	if e.target != nil {
		namespace, name = e.target.Namespace, e.target.Name
	}
	f.Err = fmt.Errorf("Resource: %s/%s, Kind: %s, Errors: [Policy %s: failed to evaluate policy: %w]", namespace, name, e.kind.Kind.Kind, d.name, failed.err)
	var exceeded *limit.Error
	var unknown *schema.NoSchemaError
	if errors.As(failed.err, &exceeded) || errors.As(failed.err, &unknown) { // not for the policy to ignore
		f.Ignored, f.Abort = false, true
	}
	return f
}
