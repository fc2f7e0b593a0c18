package mapolicy

import (
	"cmp"
	"errors"
	"fmt"
	"iter"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/admission"
	"github.com/preadmit/preadmit/engine/internal/celenv"
	"github.com/preadmit/preadmit/engine/internal/jsonpatch"
	"github.com/preadmit/preadmit/engine/internal/number"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// Steps implements policy.Invocation: one step for each mutation.
func (i *invocation) Steps(r *policy.Request) iter.Seq[policy.Step] {
	return func(yield func(policy.Step) bool) {
		for n := range i.definition.mutations {
			m := &i.definition.mutations[n]
			if m.once && r.Reinvocation {
				continue
			}
			step := policy.Step{ID: i.to.ID, At: m.at, Replay: i.definition.replay}
			step.ID.Rule = m.rule
			forms := i.to.Reads(r, celenv.AsJSON)
			if !i.leaves(&step, m, r, forms) {
				i.mutate(&step, m, r, forms)
			}
			if step.Failure != nil {
				step.Failure.ID, step.Failure.At = step.ID, step.At
			} else {
				forms.Replaced()
			}
			if !yield(step) {
				return
			}
		}
	}
}

// leaves reports whether it is known that a mutation does not change the object. It then fills
// in the step's result, which was the same before: in an earlier pass the invocation saw the
// same object, and everything else is the same in each pass. This excludes invocations with a
// param, and mutations of drafts, which depend on the pass.
func (i *invocation) leaves(step *policy.Step, m *mutation, r *policy.Request, forms *celenv.Forms) bool {
	if i.to.Param != nil || m.draft != nil {
		return false
	}
	variables, known := r.Memo.Recall(&m.leaves[forms.View()], r.Object)
	if known {
		step.Object, step.Variables = r.Object, variables
	}
	return known
}

// mutate runs one mutation and fills in the step's result. If matchPolicy led to another version
// of a built-in kind, kube-apiserver 1.34 to 1.37 fails to convert the result of any mutation.
func (i *invocation) mutate(step *policy.Step, m *mutation, r *policy.Request, forms *celenv.Forms) {
	if i.to.Kind != r.Kind && !r.Kind.Custom {
		i.deny(step, fmt.Errorf("converting (%s.%s) to (%s.%s): unknown conversion", i.to.Kind.Version, i.to.Kind.Kind.Kind, r.Kind.Version, r.Kind.Kind.Kind))
		return
	}
	known := true
	var err error
	input := i.to.Input(r, func() (namespace map[string]any) {
		// Without the object, the result must not be used: see snapshot.Reader.
		namespace, known, _ = r.NamespaceObject()
		return namespace
	})
	if m.draft == nil { // no server runs drafts
		input.GoTypes = i.to.GoTypes(forms)
	}
	activation := i.definition.policy.Scope.Activate(r.Context, input)
	if m.draft != nil {
		step.Object, err = i.draft(activation, m, r)
	} else if m.patchType == applyConfiguration {
		step.Object, err = i.apply(activation, m, r)
	} else {
		step.Object, err = i.patch(activation, m, r)
	}
	step.Variables = activation.Evaluated()
	if activation.ReadNamespace() {
		r.Snapshot.Ask()
		if !known {
			r.WarnAssumed(r.Namespace, m.at, "policy "+i.definition.policy.Name+" reads namespaceObject")
		}
	}
	i.conclude(step, m, r, err)
	if err == nil && i.to.Kind == r.Kind && i.to.Param == nil && change.Same(step.Object, r.Object) {
		r.Memo.Note(&m.leaves[forms.View()], r.Object, step.Variables)
	}
}

// deny fills in the failure that denies the request.
func (i *invocation) deny(step *policy.Step, err error) {
	failure := i.Deny(err)
	step.Failure = &failure
}

// conclude fills in what becomes of a mutation's result, or of its error.
func (i *invocation) conclude(step *policy.Step, m *mutation, r *policy.Request, err error) {
	var refused undecodable
	var unwritable unencodable
	var invalid *admission.KindError
	var rejected rejection
	var crash *jsonpatch.CrashError
	var unknown *schema.NoSchemaError
	var exceeded *limit.Error
	switch {
	case errors.As(err, &rejected), errors.As(err, &crash):
		i.deny(step, err)
		step.Failure.Ignored, step.Failure.Abort = false, crash != nil
	case errors.Is(err, errNotNow):
		step.NotApplied = &policy.NotApplied{ID: step.ID, At: m.at, Reason: policy.Text(err.Error())}
	case errors.Is(err, jsonpatch.ErrTestFailed):
		step.NotApplied = &policy.NotApplied{ID: step.ID, At: m.at, Reason: policy.Text("a test operation of the patch failed, so none of it was applied")}
	case errors.As(err, &invalid):
		step.Failure = &policy.Failure{Err: err, Status: "Invalid", Abort: true}
	case errors.As(err, &refused):
		step.Failure = &policy.Failure{Err: fmt.Errorf("Internal error occurred: %w", err), Abort: true}
	case errors.As(err, &unwritable):
		step.Failure = &policy.Failure{Err: err, Abort: true}
	case errors.As(err, &exceeded):
		step.Failure = &policy.Failure{Err: source.Messagef("%s: %v", step.ID, err), Abort: true}
	case errors.As(err, &unknown): // failurePolicy Ignore does not apply
		step.Failure = &policy.Failure{Err: err, Abort: true}
	case err != nil:
		i.deny(step, m.draft.explain(err))
	case i.to.Kind != r.Kind:
		step.Object = policy.InVersion(step.Object, r.Kind)
	}
	if step.Failure != nil || step.NotApplied != nil {
		step.Object = nil
	}
}

func (i *invocation) apply(a *celenv.Activation, m *mutation, r *policy.Request) (map[string]any, error) {
	patch, err := a.ApplyConfiguration(m.program)
	if err != nil {
		return nil, err
	}
	if r.Kind.Custom { // of a built-in kind, the conversion fails
		if err := number.Encodable(patch); err != nil {
			return nil, unencodable{err}
		}
	}
	return i.merge(r, i.to.InVersion(r.Object), patch)
}

func (i *invocation) merge(r *policy.Request, object, patch map[string]any) (map[string]any, error) {
	return i.to.Kind.Merge(r.Memo, object, patch, schema.KeyRuleOf(i.minor))
}

func (i *invocation) patch(a *celenv.Activation, m *mutation, r *policy.Request) (map[string]any, error) {
	operations, err := a.JSONPatch(m.program)
	if err != nil {
		return nil, err
	}
	return i.patchWith(operations, r)
}

func (i *invocation) patchWith(operations []jsonpatch.Operation, r *policy.Request) (map[string]any, error) {
	patched, err := jsonpatch.APIServer.Apply(i.to.InVersion(r.Object), operations)
	if err != nil {
		if errors.Is(err, jsonpatch.ErrTestFailed) {
			return nil, err
		}
		return nil, fmt.Errorf("JSON Patch: %w", err)
	}
	return patched, i.decodes(patched, r)
}

// unencodable reports a patch whose result a server cannot write. It ends the request whatever the
// policy's failurePolicy.
type unencodable struct{ error }

// undecodable reports a patch whose result a server cannot read. It ends the request whatever
// the policy's failurePolicy.
type undecodable struct{ error }

// decodes returns the error of a server that decodes a patched object. The server uses the
// apiVersion and kind of the patched object, even if the patch changed them.
func (i *invocation) decodes(patched map[string]any, r *policy.Request) error {
	if i.to.Kind.Custom || i.to.Kind.Unknown {
		_, err := admission.KeepType(i.to.Kind, patched)
		if err == nil {
			err = i.to.Kind.StrictDecode(r.Memo, patched)
		}
		var invalid *admission.KindError
		if err == nil || errors.As(err, &invalid) {
			return err
		}
		return undecodable{err}
	}
	apiVersion, _ := patched["apiVersion"].(string)
	name, _ := patched["kind"].(string)
	kind := gvk.Parse(cmp.Or(apiVersion, i.to.Kind.APIVersion()), cmp.Or(name, i.to.Kind.Kind.Kind))
	other := r.Schemas.Lookup(kind)
	if other == nil {
		return undecodable{fmt.Errorf("no kind %q is registered for version %q", kind.Kind, kind.APIVersion())}
	}
	if err := other.StrictDecode(r.Memo, patched); err != nil {
		return undecodable{err}
	}
	if kind != i.to.Kind.Kind {
		return undecodable{fmt.Errorf("a patch must not make a %s of the object", kind)}
	}
	return nil
}
