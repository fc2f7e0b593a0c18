package engine

import (
	"slices"

	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// follow runs the policies that change other objects once one has been admitted, for
// all manifests in the order of the input. A cluster does so some time later.
func (r *run) follow() {
	for _, program := range r.programs {
		follower, ok := program.(policy.Follower)
		if !ok || !follower.Follows() {
			continue
		}
		f := following{run: r, changed: make([]bool, len(r.targets))}
		for i, t := range r.targets {
			t.Consulted = true // any manifest may act on any other
			request := r.requestFor(t, t.raw)
			if !follower.Triggers(request) {
				continue
			}
			f.prepare()
			if f.errs[i] != nil {
				f.invalid(t, f.errs[i])
				continue
			}
			request.Object = f.views[i]
			for followed := range follower.Follow(request, f.targets) {
				f.take(t, followed)
			}
			f.redefaultTouched()
		}
		if !r.outcome.Failed() {
			f.settle()
		}
	}
}

// follows reports whether any policy changes other objects.
func (r *run) follows() bool {
	return slices.ContainsFunc(r.programs, func(program policy.Program) bool {
		follower, ok := program.(policy.Follower)
		return ok && follower.Follows()
	})
}

// following is the state of follow.
type following struct {
	*run
	// targets are all manifests in their mutated views; errs says which have none, and
	// are there as they were written. views are what targets have come to be.
	targets []policy.Target
	views   []map[string]any
	errs    []error
	// changed are the targets that changed at all, touched those that did so for the
	// present trigger.
	changed, touched []bool
}

// prepare makes targets of all manifests, once.
func (f *following) prepare() {
	if f.targets != nil {
		return
	}
	f.errs, f.touched = make([]error, len(f.run.targets)), make([]bool, len(f.run.targets))
	for i, t := range f.run.targets {
		object := t.After
		if object == nil {
			if object, f.errs[i] = f.view(t.place, t.raw); f.errs[i] != nil {
				object = t.raw
			}
		}
		f.views = append(f.views, object)
		f.targets = append(f.targets, policy.Target{Kind: t.kind, Namespace: t.namespace, Name: t.name, Object: object})
	}
}

// take records a step that trigger led to.
func (f *following) take(trigger *target, followed policy.Followed) {
	t, step, i := trigger, followed.Step, followed.Target
	if i >= 0 {
		t = f.run.targets[i]
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
		d, _ := limited(source.Errorf(step.At, "target-failed", "%v", step.Failure.Err), step.Failure.Err)
		f.about(t, d)
		return
	}
	if err := limit.Object(t.raw, step.Object); err != nil {
		d, _ := limited(source.Errorf(step.At, limit.ObjectSize, "%s: %v", step.ID, err), err)
		f.about(t, d)
		return
	}
	if f.errs[i] != nil {
		f.invalid(t, f.errs[i])
		return
	}
	if t.After == nil {
		t.Before, t.After = f.views[i], f.views[i]
	}
	t.record(f.views[i], step.Object, Change{By: step.ID, At: step.At})
	f.views[i] = step.Object
	f.changed[i], f.touched[i] = true, true
}

// redefaultTouched defaults again what one trigger changed, as a server does when it
// is sent the results.
func (f *following) redefaultTouched() {
	for i, t := range f.run.targets {
		if !f.touched[i] {
			continue
		}
		f.touched[i] = false
		next, err := f.redefault(t.kind, f.views[i], nil)
		if err != nil {
			f.refuse(t, "target-failed", "rules with mutate.targets make an object of it that is not valid: ", err)
			continue
		}
		t.After, f.views[i], f.targets[i].Object = next, next, next
	}
}

// settle closes the loop for the targets that changed.
func (f *following) settle() {
	for i, t := range f.run.targets {
		if f.changed[i] {
			f.run.settle(t)
		}
	}
}
