package mapolicy

import (
	"github.com/preadmit/preadmit/engine/internal/celenv"
	"github.com/preadmit/preadmit/engine/policy"
)

// input returns the input of the invocation's expressions.
func (i *invocation) input(r *policy.Request, namespace func() map[string]any) celenv.Input {
	input := celenv.Input{
		Object:     i.object(r.Object),
		Params:     i.param,
		Namespace:  namespace,
		Request:    func() map[string]any { return r.Attributes(i.kind, i.kind) },
		Authorizer: i.program.authorizer,
	}
	if r.OldObject != nil {
		input.OldObject = i.object(r.OldObject)
	} else {
		input.OldUnknown = r.Operation == policy.Update
	}
	return input
}
