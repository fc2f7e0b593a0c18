package mapolicy

import (
	"errors"
	"fmt"

	"github.com/preadmit/preadmit/engine/internal/celenv"
	"github.com/preadmit/preadmit/engine/policy"
)

// rejection is the denial of a request by a draft's mutation that evaluates to false. The
// failurePolicy does not apply, because nothing failed.
type rejection struct{ error }

// errNotNow is wrapped by the error of a mutation that does not apply.
var errNotNow = errors.New("does not apply")

// draft runs a mutation in the form of a proposal.
func (i *invocation) draft(a *celenv.Activation, m *mutation, r *policy.Request) (map[string]any, error) {
	if m.draft.condition != nil {
		budget := celenv.ConditionsBudget
		applies, err := a.Bool(m.draft.condition, &budget)
		if err != nil {
			return nil, err
		}
		if !applies {
			return nil, fmt.Errorf("%w: its condition is false", errNotNow)
		}
	}
	result, err := a.Draft(m.program)
	switch {
	case err != nil:
		return nil, err
	case result.Refused:
		return nil, rejection{m.draft.denial()}
	case result.Object != nil:
		object, patch, err := unset(i.to.InVersion(r.Object), result.Object, i.to.Kind.Type())
		if err != nil {
			return nil, fmt.Errorf("error applying patch: %w", err)
		}
		return i.merge(r, object, patch)
	case len(result.Operations) == 0:
		return nil, fmt.Errorf("%w: its expression gives no patch", errNotNow)
	default:
		return i.patchWith(result.Operations, r)
	}
}

// denial returns the error of a request that a mutation denies.
func (d *draftMutation) denial() error {
	text := d.message
	if text == "" {
		text = "failed expression: " + d.source.Text()
	}
	if d.reason != "" {
		text += " (" + d.reason + ")"
	}
	return errors.New(text)
}

// explain puts the message of a draft's mutation before an error. d may be nil.
func (d *draftMutation) explain(err error) error {
	if d == nil || d.message == "" {
		return err
	}
	return fmt.Errorf("%s: %w", d.message, err)
}
