package engine

import (
	"fmt"
	"iter"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// applyTrees runs the mutation trees on a manifest as it is written. The result is the manifest for
// all later stages.
func (r *run) applyTrees(l *loaded) {
	start := l.raw
	for step := range r.treeSteps(l.raw) {
		var err error
		switch {
		case step.NotApplied != nil:
			n := *step.NotApplied
			n.Reason = l.scope().Reason(n.Reason)
			l.untouched = append(l.untouched, n)
			continue
		case step.Failure != nil:
			scope := l.scope()
			scope.All = scope.All || !r.set.settings.options.Plain && l.job.document.Kind().Kind == ""
			err, step.At = scope.Error(step.Failure.Err), step.Failure.At
		default:
			if err = r.checkTree(l.raw, step.Object); err == nil {
				err = limit.Object(nil, start, step.Object)
			}
		}
		if err != nil {
			d, _ := limited(source.Errorf(source.Position{}, "tree-failed", "%v", err), err)
			if !r.set.settings.options.Plain {
				d.Subject = r.set.placeOf(l.job.document, r.schemas).id()
			}
			l.tell(d.Naming(step.At, step.ID.String()))
			return
		}
		l.tree = append(l.tree, event{by: step.ID, at: step.At, before: l.raw, written: step.Object, sensitive: r.set.files.copies(l.original, l.raw, step.Object, nil)})
		l.raw = step.Object
	}
}

// treeSteps yields the steps of the mutation trees on an object.
func (r *run) treeSteps(object map[string]any) iter.Seq[policy.Step] {
	return func(yield func(policy.Step) bool) {
		request := &policy.Request{Context: r.ctx, Object: object}
		for _, program := range r.policies.trees {
			for _, invocation := range program.Plan(request).Invocations {
				for step := range invocation.Steps(request) {
					if step.Object != nil {
						request.Object = step.Object
					}
					if !yield(step) {
						return
					}
				}
			}
		}
	}
}

// checkTree returns an error if a tree has changed the apiVersion or kind of a Kubernetes object.
func (r *run) checkTree(before, after map[string]any) error {
	for _, key := range []string{"apiVersion", "kind"} {
		if !r.set.settings.options.Plain && !change.Equal(before[key], after[key]) {
			return fmt.Errorf("a mutation tree must not change the %s of an object", key)
		}
	}
	return nil
}
