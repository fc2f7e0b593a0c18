package engine

import (
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// follow runs the policies that change other objects once one has been admitted, for
// all manifests in the order of the input. A cluster does so some time later.
func (r *run) follow() {
	for _, program := range r.programs {
		follower, ok := program.(policy.Follower)
		if !ok {
			continue
		}
		f := following{run: r, changed: make([]bool, len(r.targets))}
		for _, t := range r.targets {
			request := r.requestFor(t, t.raw)
			if !follower.Triggers(request) {
				continue
			}
			if !f.prepare() {
				return
			}
			request.Object = t.After
			for followed := range follower.Follow(request, f.targets) {
				f.take(t, followed)
			}
		}
		f.settle()
	}
}

// following is the state of follow.
type following struct {
	*run
	targets []policy.Target
	changed []bool
}

// prepare gives every manifest a mutated view: any may be a target, or trigger
// something.
func (f *following) prepare() bool {
	if f.targets != nil {
		return true
	}
	for _, t := range f.run.targets {
		if t.After == nil {
			view, err := f.view(t.place, t.raw)
			if err != nil {
				f.invalid(t, err)
				return false
			}
			t.Before, t.After = view, view
		}
		f.targets = append(f.targets, policy.Target{Kind: t.kind, Namespace: t.namespace, Name: t.name, Object: t.After})
	}
	return true
}

// take records a step that trigger led to.
func (f *following) take(trigger *target, followed policy.Followed) {
	t, step := trigger, followed.Step
	if followed.Target >= 0 {
		t = f.run.targets[followed.Target]
	}
	switch {
	case step.NotApplied != nil:
		t.NotApplied = append(t.NotApplied, *step.NotApplied)
		return
	case step.Failure != nil && step.Failure.Ignored:
		t.NotApplied = append(t.NotApplied, policy.NotApplied{ID: step.ID, At: step.At,
			Reason: policy.Text("failurePolicy is Ignore, and it failed: " + step.Failure.Err.Error())})
		return
	case step.Failure != nil:
		f.about(t, source.Errorf(step.At, "target-failed", "%v", step.Failure.Err))
		return
	}
	next, err := f.redefault(t.kind, step.Object)
	if err != nil {
		f.about(t, source.Errorf(step.At, "target-failed", "%s makes an object that is not valid: %v", step.ID, err))
		return
	}
	t.record(t.After, step.Object, Change{By: step.ID, At: step.At})
	t.After, f.targets[followed.Target].Object = next, next
	f.changed[followed.Target] = true
}

// settle closes the loop for the targets that changed.
func (f *following) settle() {
	for i, t := range f.run.targets {
		if f.changed[i] {
			f.run.settle(t)
		}
	}
}
