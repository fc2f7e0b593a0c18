package mapolicy

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/celenv"
	"github.com/preadmit/preadmit/engine/internal/jsonpatch"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// Conditions implements policy.Invocation. All conditions are evaluated. The first false
// condition decides, even if others had errors.
func (i *invocation) Conditions(r *policy.Request) (*policy.NotApplied, *policy.Failure) {
	if len(i.conditions) == 0 {
		return nil, nil
	}
	forms := i.reads(r, celenv.AsGo)
	fact := &i.conditioned[forms.View()]
	if failed, known := r.Memo.Recall(fact, r.Object); known && i.param == nil {
		return i.unless(failed), nil
	}
	notApplied, failure := i.evaluateConditions(r, forms)
	if failure == nil && i.param == nil && !i.ignore {
		r.Memo.Note(fact, r.Object, falseIndex(notApplied))
	}
	return notApplied, failure
}

// allHold is the index if all conditions hold.
const allHold = -1

// unless returns the reason why an invocation does not apply if the condition at an index is
// false.
func (i *invocation) unless(index int) *policy.NotApplied {
	if index == allHold {
		return nil
	}
	c := i.conditions[index]
	return &policy.NotApplied{ID: i.id, At: c.at, Reason: policy.FalseCondition{Index: index, Name: c.name, AsksOperation: c.asksOperation}}
}

// falseIndex returns the index of the false condition.
func falseIndex(notApplied *policy.NotApplied) int {
	if notApplied == nil {
		return allHold
	}
	return notApplied.Reason.(policy.FalseCondition).Index
}

func (i *invocation) evaluateConditions(r *policy.Request, forms *celenv.Forms) (*policy.NotApplied, *policy.Failure) {
	input := i.input(r, nil)
	input.Shapes = i.shapes(forms)
	// In conditions, the server sets the resource of the request to the original resource.
	input.Request = func() map[string]any { return r.Attributes(i.kind, r.Kind) }
	activation := i.scope.Activate(r.Context, input)
	budget := celenv.ConditionsBudget
	var notApplied *policy.NotApplied
	var errs []string
	var failed source.Position // the first condition that fails
	for n, c := range i.conditions {
		ok, err := activation.Bool(c.program, &budget)
		switch {
		case errors.Is(err, celenv.ErrBudget):
			return i.conditionsFailed(err, c.at)
		case err != nil:
			if len(errs) == 0 {
				failed = c.at
			}
			if !slices.Contains(errs, err.Error()) {
				errs = append(errs, err.Error())
			}
		case !ok && notApplied == nil:
			notApplied = i.unless(n)
		}
	}
	switch {
	case notApplied != nil || len(errs) == 0:
		return notApplied, nil
	case len(errs) == 1:
		return i.conditionsFailed(errors.New(errs[0]), failed)
	default:
		return i.conditionsFailed(errors.New("["+strings.Join(errs, ", ")+"]"), failed)
	}
}

func (i *invocation) conditionsFailed(err error, at source.Position) (*policy.NotApplied, *policy.Failure) {
	var exceeded *limit.Error
	if i.ignore && !errors.As(err, &exceeded) {
		return &policy.NotApplied{ID: i.id, At: at, Reason: policy.Text("failurePolicy is Ignore, and the matchConditions failed: " + err.Error()), Err: err}, nil
	}
	failure := i.Deny(err)
	failure.At, failure.Ignored = at, false
	return nil, &failure
}

// Steps implements policy.Invocation: one step for each mutation.
func (i *invocation) Steps(r *policy.Request) iter.Seq[policy.Step] {
	return func(yield func(policy.Step) bool) {
		for n := range i.mutations {
			m := &i.mutations[n]
			if m.once && r.Reinvocation {
				continue
			}
			step := policy.Step{ID: i.id, At: m.at, Replay: i.replay}
			step.ID.Rule = m.rule
			forms := i.reads(r, celenv.AsJSON)
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
	if i.param != nil || m.draft != nil {
		return false
	}
	variables, known := r.Memo.Recall(&m.leaves[forms.View()], r.Object)
	if known {
		step.Object, step.Variables = r.Object, variables
	}
	return known
}

// mutate runs one mutation and fills in the step's result. If matchPolicy led to another version
// of a built-in kind, kube-apiserver 1.32 to 1.37 fails to convert the result of any mutation.
func (i *invocation) mutate(step *policy.Step, m *mutation, r *policy.Request, forms *celenv.Forms) {
	deny := func(err error) {
		failure := i.Deny(err)
		step.Failure = &failure
	}
	if i.kind != r.Kind && !r.Kind.Custom {
		deny(fmt.Errorf("converting (%s.%s) to (%s.%s): unknown conversion", i.kind.Version, i.kind.Kind.Kind, r.Kind.Version, r.Kind.Kind.Kind))
		return
	}
	known := true
	var err error
	input := i.input(r, func() (namespace map[string]any) {
		// Without the object, the result must not be used: see snapshot.Reader.
		namespace, known, _ = r.NamespaceObject()
		return namespace
	})
	if m.draft == nil { // no server runs drafts
		input.Shapes = i.shapes(forms)
	}
	activation := i.scope.Activate(r.Context, input)
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
			r.WarnAssumed(r.Namespace, m.at, "policy "+i.name+" reads namespaceObject")
		}
	}
	var refused undecodable
	var rejected rejection
	var crash *jsonpatch.CrashError
	var unknown *schema.NoSchemaError
	var exceeded *limit.Error
	switch {
	case errors.As(err, &rejected), errors.As(err, &crash):
		deny(err)
		step.Failure.Ignored = false
	case errors.Is(err, errNotNow):
		step.NotApplied = &policy.NotApplied{ID: step.ID, At: m.at, Reason: policy.Text(err.Error())}
	case errors.Is(err, jsonpatch.ErrTestFailed):
		step.NotApplied = &policy.NotApplied{ID: step.ID, At: m.at, Reason: policy.Text("a test operation of the patch failed, so none of it was applied")}
	case errors.As(err, &refused):
		step.Failure = &policy.Failure{Err: fmt.Errorf("Internal error occurred: %w", err), Abort: true}
	case errors.As(err, &exceeded):
		step.Failure = &policy.Failure{Err: fmt.Errorf("%s: %w", step.ID, err), Abort: true}
	case errors.As(err, &unknown): // failurePolicy Ignore does not apply
		step.Failure = &policy.Failure{Err: err, Abort: true}
	case err != nil:
		deny(m.draft.explain(err))
	case i.kind != r.Kind:
		step.Object = policy.InVersion(step.Object, r.Kind)
	case i.param == nil && change.Same(step.Object, r.Object):
		r.Memo.Note(&m.leaves[forms.View()], r.Object, step.Variables)
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
	return i.merge(r, i.object(r.Object), patch)
}

func (i *invocation) merge(r *policy.Request, object, patch map[string]any) (map[string]any, error) {
	return i.kind.Merge(r.Memo, object, patch, schema.KeyRuleOf(i.program.minor))
}

func (i *invocation) patch(a *celenv.Activation, m *mutation, r *policy.Request) (map[string]any, error) {
	operations, err := a.JSONPatch(m.program)
	if err != nil {
		return nil, err
	}
	return i.patchWith(operations, r)
}

func (i *invocation) patchWith(operations []jsonpatch.Operation, r *policy.Request) (map[string]any, error) {
	patched, err := jsonpatch.APIServer.Apply(i.object(r.Object), operations)
	if err != nil {
		if errors.Is(err, jsonpatch.ErrTestFailed) {
			return nil, err
		}
		return nil, fmt.Errorf("JSON Patch: %w", err)
	}
	return patched, i.decodes(patched, r)
}

// undecodable reports a patch whose result a server cannot read. It ends the request whatever
// the policy's failurePolicy.
type undecodable struct{ error }

// decodes returns the error of a server that decodes a patched object. The server uses the
// apiVersion and kind of the patched object, even if the patch changed them.
func (i *invocation) decodes(patched map[string]any, r *policy.Request) error {
	apiVersion, _ := patched["apiVersion"].(string)
	name, _ := patched["kind"].(string)
	kind := gvk.Parse(cmp.Or(apiVersion, i.kind.APIVersion()), cmp.Or(name, i.kind.Kind.Kind))
	if i.kind.Custom || i.kind.Unknown {
		return nil
	}
	other := r.Schemas.Lookup(kind)
	if other == nil {
		return undecodable{fmt.Errorf("no kind %q is registered for version %q", kind.Kind, kind.APIVersion())}
	}
	if err := other.StrictDecode(r.Memo, patched); err != nil {
		return undecodable{err}
	}
	if kind != i.kind.Kind {
		return undecodable{fmt.Errorf("a patch must not make a %s of the object", kind)}
	}
	return nil
}

// object returns the object in the version in which the policy matched it.
func (i *invocation) object(object map[string]any) map[string]any {
	return policy.InVersion(object, i.kind)
}
