package mutatingpolicy

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/preadmit/preadmit/engine/internal/celenv"
	"github.com/preadmit/preadmit/engine/internal/kyverno/deviation"
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
	// request has the object before the policy.
	request *policy.Request
	// matched is the kind under which the object of the request matched. kind is the kind of the
	// object that is changed: the same, or the kind of the target.
	matched, kind *schema.Kind
	// original is the object in the original request.
	original map[string]any
	// target is the object to change in place of the object of the request; nil without a
	// target.
	target *policy.Target
	world  *world
	// activation evaluates the policy's expressions, and keeps the values of variables.
	activation *celenv.Activation
	allowed    celenv.Exceptions
}

// stepError is an error of a policy and its position.
type stepError struct {
	err error
	at  source.Position
	// mutation is the index of the mutation, -1 if the error is not in a mutation.
	mutation int
	// deviation is the reason why Kyverno fails, and its documentation says that it does not; nil
	// without one.
	deviation *deviation.Deviation
}

// request returns a request with the operation from the values. The old object of an UPDATE is
// equal to the object.
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

// begin decides whether a unit applies to a request. original is the object in the original
// request, and called the object with which the API server has called the webhook.
func (l *Language) begin(u *unit, r *policy.Request, original, called map[string]any) (*evaluation, *policy.NotApplied, *policy.Failure) {
	d := u.policy
	r = l.request(r)
	decision := l.matches(d, u.constraints, r)
	if !decision.Matched && decision.Err == nil && r.Operation == policy.Create {
		decision = l.matchesEmpty(u, r, called, decision)
	}
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
	if failed != nil {
		failure := e.failure(failed)
		return e, nil, &failure
	}
	return e, notApplied, nil
}

// matchesEmpty matches the creation of an object again. Kyverno also compares an objectSelector with an empty old
// object, so what only requires that labels are missing is decided by the API server, when it calls the webhook.
func (l *Language) matchesEmpty(u *unit, r *policy.Request, called map[string]any, otherwise match.Decision) match.Decision {
	asCalled, withOld := *r, *r
	asCalled.Object, withOld.OldObject = called, map[string]any{}
	if second := l.matches(u.policy, u.constraints, &withOld); second.Matched && l.matches(u.policy, u.constraints, &asCalled).Matched {
		return second
	}
	return otherwise
}

func (u *unit) unmatched(decision match.Decision) policy.NotApplied {
	id := u.policy.id()
	return policy.NotApplied{ID: id, At: u.policy.at, Reason: policy.Unmatched{Block: "matchConstraints", Reason: decision.Reason}}
}

// applies evaluates exceptions and conditions.
func (e *evaluation) applies() (*policy.NotApplied, *stepError) {
	d := e.unit.runs
	skip := func(at source.Position, reason fmt.Stringer) *policy.NotApplied {
		return &policy.NotApplied{ID: d.id(), At: at, Reason: reason}
	}
	if failed := e.inServer(); failed != nil {
		return nil, failed
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
	switch {
	case failed != nil:
		return nil, failed
	case notMet != nil:
		return skip(notMet.condition.at, policy.FalseCondition{Index: notMet.index, Name: notMet.condition.name, AsksOperation: notMet.condition.asksOperation}), nil
	}
	return nil, nil
}

// inServer evaluates the conditions that the API server evaluates, without namespaceObject: see
// namespaceObjectNull. Those without it are as in Kyverno.
func (e *evaluation) inServer() *stepError {
	d := e.unit.runs
	if d.inServer == nil {
		return nil
	}
	input := e.input(e.seen(e.object()))
	input.Namespace = nil
	_, failed := meets(e.language.server.Scope(false).Activate(e.request.Context, input), d.inServer)
	if failed != nil {
		failed.deviation = namespaceObjectNull
	}
	return failed
}

// unmet is a condition that is false.
type unmet struct {
	condition condition
	index     int
}

// meets evaluates conditions. The first false condition decides, even if earlier conditions had
// errors.
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

// object returns the object that the policy changes, in the version in which the policy matched
// it.
func (e *evaluation) object() map[string]any {
	if e.target != nil {
		return e.target.Object
	}
	return policy.InVersion(e.request.Object, e.kind)
}

// seen returns an object as expressions see it: Kyverno adds the namespace of the request.
func (e *evaluation) seen(object map[string]any) map[string]any {
	if object == nil {
		return nil
	}
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

// input returns the input of expressions. Kyverno sets oldObject to an empty map, not null, if
// the request creates an object. With a target, neither oldObject nor the namespace is set.
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

// matches matches a request with a match block of a policy.
func (l *Language) matches(d *definition, constraints *match.Resources, r *policy.Request) match.Decision {
	return r.MatchesBy(constraints, func(name string) (map[string]string, error) {
		if labels, ok := l.givenLabels(name); ok {
			return policy.LabelsOf(map[string]any{"metadata": map[string]any{"labels": labels}}), nil
		}
		return r.NamespaceLabels(name, d.at, "policy "+d.key())
	})
}

// givenLabels returns the labels of a namespace in the values, with the label that every
// namespace has.
func (l *Language) givenLabels(namespace string) (map[string]any, bool) {
	given, ok := l.values.Labels(namespace)
	labels := map[string]any{"kubernetes.io/metadata.name": namespace}
	maps.Copy(labels, given)
	return labels, ok
}

// namespaceObject returns the variable namespaceObject, with the labels in the values.
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

// failure converts an error of the policy to the error that denies the request, in the words of
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
	f.Err = source.Messagef("Resource: %s/%s, Kind: %s, Errors: [Policy %s: failed to evaluate policy: %v]", source.Name(namespace), source.Name(name), source.Name(e.kind.Kind.Kind), source.Name(d.name), d.words().Derive(failed.err))
	switch {
	case failed.deviation != nil:
		e.request.Warn(failed.deviation.Warning(failed.at, "policy "+d.key(), source.Messagef(": %v", d.words().Derive(failed.err))))
	case e.unit.autogen != "" && !d.ignore:
		e.request.Warn(d.whyExtended().Warning(failed.at, "policy "+d.key(), source.Messagef(": it fails for a %s", source.Name(e.kind.Kind.Kind))))
	}
	var exceeded *limit.Error
	var unknown *schema.NoSchemaError
	if errors.As(failed.err, &exceeded) || errors.As(failed.err, &unknown) { // failurePolicy Ignore does not apply to these
		f.Ignored, f.Abort = false, true
	}
	return f
}
