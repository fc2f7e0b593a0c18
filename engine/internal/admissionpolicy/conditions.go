package admissionpolicy

import (
	"errors"
	"slices"

	"github.com/preadmit/preadmit/engine/internal/celenv"
	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// Conditions evaluates the matchConditions of the policy. An error denies the request, or is
// ignored, as the failurePolicy says.
func (a *Application) Conditions(r *policy.Request) (*policy.NotApplied, *policy.Failure) {
	notApplied, failed := a.Decide(r)
	if failed == nil {
		return notApplied, nil
	}
	failure := a.Deny(failed.Err)
	failure.At = failed.At
	var exceeded *limit.Error
	if errors.As(failed.Err, &exceeded) {
		failure.Ignored = false
	}
	return nil, &failure
}

// ConditionsError says that the matchConditions have failed.
type ConditionsError struct {
	Err error
	// At is the position of the first condition that failed.
	At source.Position
}

// Decide evaluates the matchConditions of the policy. All conditions are evaluated. The first false
// condition decides, even if others had errors.
func (a *Application) Decide(r *policy.Request) (*policy.NotApplied, *ConditionsError) {
	if len(a.Policy.Conditions) == 0 {
		return nil, nil
	}
	forms := a.Reads(r, celenv.AsGo)
	fact := &a.Policy.conditioned[forms.View()]
	if failed, known := r.Memo.Recall(fact, r.Object); known && a.Param == nil {
		return a.unless(failed), nil
	}
	notApplied, failed := a.evaluateConditions(r, forms)
	if failed == nil && a.Param == nil {
		r.Memo.Note(fact, r.Object, falseIndex(notApplied))
	}
	return notApplied, failed
}

// allHold is the index if all conditions hold.
const allHold = -1

// unless returns the reason why the policy does not apply if the condition at an index is
// false.
func (a *Application) unless(index int) *policy.NotApplied {
	if index == allHold {
		return nil
	}
	c := a.Policy.Conditions[index]
	return &policy.NotApplied{ID: a.ID, At: c.At, Reason: policy.FalseCondition{Index: index, Name: c.Name, AsksOperation: c.asksOperation}}
}

// falseIndex returns the index of the false condition.
func falseIndex(notApplied *policy.NotApplied) int {
	if notApplied == nil {
		return allHold
	}
	return notApplied.Reason.(policy.FalseCondition).Index
}

func (a *Application) evaluateConditions(r *policy.Request, forms *celenv.Forms) (*policy.NotApplied, *ConditionsError) {
	input := a.Input(r, nil)
	input.GoTypes = a.GoTypes(forms)
	// In conditions, the server sets the resource of the request to the original resource.
	input.Request = func() map[string]any { return r.Attributes(a.Kind, r.Kind) }
	activation := a.Policy.Scope.Activate(r.Context, input)
	budget := celenv.ConditionsBudget
	var notApplied *policy.NotApplied
	var errs policy.Causes
	var failed source.Position // the first condition that fails
	for n, c := range a.Policy.Conditions {
		ok, err := activation.Bool(c.Program, &budget)
		switch {
		case errors.Is(err, celenv.ErrBudget):
			return nil, &ConditionsError{err, c.At}
		case err != nil:
			if len(errs) == 0 {
				failed = c.At
			}
			if !slices.Contains(errs, err.Error()) {
				errs = append(errs, err.Error())
			}
		case !ok && notApplied == nil:
			notApplied = a.unless(n)
		}
	}
	if notApplied != nil || len(errs) == 0 {
		return notApplied, nil
	}
	return nil, &ConditionsError{errs, failed}
}
