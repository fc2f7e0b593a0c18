package mutatingpolicy

import (
	"errors"
	"fmt"

	"github.com/preadmit/preadmit/engine/internal/jsonpatch"
	"github.com/preadmit/preadmit/engine/internal/number"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/policy"
)

// mutate runs all mutations of the policy, or none if one fails. There is a step for each
// mutation.
func (e *evaluation) mutate() ([]policy.Step, *stepError) {
	d := e.unit.runs
	object := e.object()
	var steps []policy.Step
	for _, m := range d.mutations {
		before := e.activation.Evaluated()
		e.activation.SetObject(e.seen(object))
		patched, err := e.patch(m, object)
		step := policy.Step{ID: e.unit.rule(fmt.Sprintf("mutations[%d]", m.index)), At: m.at, Variables: e.activation.Evaluated() - before}
		switch {
		case errors.Is(err, jsonpatch.ErrTestFailed):
			step.NotApplied = &policy.NotApplied{ID: step.ID, At: m.at, Reason: policy.Text("a test operation of the patch failed, so none of it was applied")}
		case err != nil:
			return nil, &stepError{err: err, at: m.at, mutation: m.index}
		default:
			object = patched
			step.Object = e.inRequest(object)
		}
		steps = append(steps, step)
	}
	if failed := e.annotate(object); failed != nil {
		return nil, failed
	}
	return steps, nil
}

// patch runs one mutation.
func (e *evaluation) patch(m mutation, object map[string]any) (map[string]any, error) {
	if m.patchType == applyConfiguration {
		return e.apply(m, object)
	}
	operations, err := e.activation.JSONPatch(m.program)
	if err != nil {
		return nil, err
	}
	patched, err := jsonpatch.APIServer.Apply(object, operations)
	switch {
	case errors.Is(err, jsonpatch.ErrTestFailed):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("JSON Patch: %w", err)
	}
	for _, field := range []string{"apiVersion", "kind"} {
		if patched[field] != object[field] {
			return nil, fmt.Errorf("a patch must not change the %s of the object", field)
		}
	}
	return patched, nil
}

// apply merges an ApplyConfiguration.
func (e *evaluation) apply(m mutation, object map[string]any) (map[string]any, error) {
	patch, err := e.activation.ApplyConfiguration(m.program)
	if err != nil {
		return nil, err
	}
	if err := number.Encodable(patch); err != nil { // Kyverno writes the result as JSON
		return nil, err
	}
	if e.unit.policy.serverSideApply {
		return e.kind.Apply(e.request.Memo, object, patch, schema.AnyKey)
	}
	return e.kind.Merge(e.request.Memo, object, patch, schema.AnyKey)
}

// annotate evaluates the audit annotations. Their values only go into reports, but an error, or a
// null (see nullFails), makes the policy fail.
func (e *evaluation) annotate(object map[string]any) *stepError {
	e.activation.SetObject(e.seen(object))
	for _, a := range e.unit.runs.annotations {
		_, isNull, err := e.activation.Text(a.program, nil)
		if err != nil {
			return &stepError{err: fmt.Errorf("failed to evaluate auditAnnotation %q: %w", a.key, err), at: a.at, mutation: -1}
		}
		if isNull {
			err := fmt.Errorf("failed to convert auditAnnotation %q expression: unsupported type conversion to 'string'", a.key)
			return &stepError{err: err, at: a.at, mutation: -1, deviation: nullFails}
		}
	}
	return nil
}

// inRequest returns the object in the version of the request.
func (e *evaluation) inRequest(object map[string]any) map[string]any {
	if e.target != nil {
		return object
	}
	return policy.InVersion(object, e.request.Kind)
}
