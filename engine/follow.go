package engine

import (
	"slices"

	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// follow runs the policies that change other objects after an admission, for all manifests in the
// order of the input. A cluster does so some time after the admission.
func (r *run) follow() {
	for _, follower := range r.followers {
		f := following{run: r}
		for _, j := range r.jobs {
			j.result.DependsOnOthers = true // any manifest may change any other
			if !r.exists(j) {
				f.trigger(follower, j)
			}
		}
		if !r.failed() {
			for i, j := range r.jobs {
				if f.targets != nil && f.states[i].changed {
					r.write(j)
					r.normalize(j)
				}
			}
		}
	}
}

// following is the state of follow.
type following struct {
	run *run
	// targets are all manifests in their mutated views, then the objects of the context.
	targets []policy.Target
	states  []followState
}

// followState is the state of a target.
type followState struct {
	// err is the error that prevented a view. In that case the target is the original manifest.
	err error
	// view is the current view of the target.
	view map[string]any
	// changed means that the target has changed, touched that it has changed for the current
	// trigger.
	changed, touched bool
}

// trigger runs the policies that one job triggers.
func (f *following) trigger(follower policy.Follower, j *job) {
	reader := f.run.snapshot.Reader(j)
	request := f.run.requestFor(j, reader)
	if !follower.Triggers(request) {
		return
	}
	f.prepare()
	state := &f.states[j.index]
	if state.err != nil {
		j.refuse("manifest-invalid", "", state.err)
		return
	}
	request.Object = state.view
	if isSensitive(j) || j.trace != nil && slices.ContainsFunc(j.trace.events, func(e event) bool { return len(e.told) > 0 }) {
		reader.Confide(request.Object)
	}
	for followed := range follower.Follow(request, f.targets) {
		f.take(j, followed, reader.Confided())
	}
	j.confided = append(j.confided, reader.Confided()...)
	j.spoilt(reader)
	f.redefaultTouched()
}

// prepare makes targets of all manifests, once.
func (f *following) prepare() {
	if f.targets != nil {
		return
	}
	f.states = make([]followState, len(f.run.jobs))
	for i, j := range f.run.jobs {
		s := &f.states[i]
		if s.view = j.trace.after; s.view == nil {
			if s.view, s.err = f.run.defaulting.view(nil, j.place, j.raw); s.err != nil {
				s.view = j.raw
			}
		}
		f.targets = append(f.targets, policy.Target{Kind: j.kind, Namespace: j.namespace, Name: j.name, Object: s.view})
	}
	f.prepareContext()
}

// prepareContext adds targets for the objects of the context that are not among the manifests.
func (f *following) prepareContext() {
	given := map[identity]bool{}
	for _, j := range f.run.jobs {
		given[j.unversioned()] = true
	}
	for _, d := range f.run.set.context {
		p := f.run.set.placeOf(d, f.run.schemas)
		if given[p.unversioned()] {
			continue
		}
		view, err := f.run.defaulting.view(nil, p, d.Object())
		if err != nil {
			view = d.Object()
		}
		f.targets = append(f.targets, policy.Target{Kind: p.kind, Namespace: p.namespace, Name: p.name, Object: view})
	}
}

// takeContext records for the trigger that a policy changes an object of the context. The cluster
// has that object, so no manifest changes.
func (f *following) takeContext(trigger *job, followed policy.Followed) {
	step := followed.Step
	if step.Object == nil {
		return
	}
	t := f.targets[followed.Target]
	id := place{t.Kind, t.Namespace, t.Name}.id()
	trigger.trace.notApplied = append(trigger.trace.notApplied, policy.NotApplied{
		ID: step.ID, At: step.At, Reason: policy.Text("it changes " + id + " of the context in the cluster, not a manifest"),
	})
}

// take traces a step that trigger caused. confided are the sensitive objects that the policy has
// read.
func (f *following) take(trigger *job, followed policy.Followed, confided []map[string]any) {
	j, step := trigger, followed.Step
	inContext := followed.Target >= len(f.run.jobs)
	if followed.Target >= 0 && !inContext {
		j = f.run.jobs[followed.Target]
	}
	switch {
	case inContext && step.Failure == nil:
		f.takeContext(trigger, followed)
		return
	case step.NotApplied != nil || step.Failure != nil:
		f.without(j, step)
		return
	}
	if err := limit.Object(nil, j.raw, step.Object); err != nil {
		d, _ := limited(source.Errorf(step.At, limit.ObjectSize, "%s: %v", step.ID, err), err)
		j.tell(d)
		return
	}
	f.record(j, step, confided)
}

// without traces a step without a result.
func (f *following) without(j *job, step policy.Step) {
	failure := j.trace.without(step, true)
	switch {
	case failure == nil:
	case failure.Ignored:
		j.trace.ignore(*failure)
		j.warnIgnored(*failure)
	default:
		d, _ := limited(source.Errorf(step.At, "target-failed", "%v", failure.Err), failure.Err)
		j.tell(d)
	}
}

// record adds a step on a target to the target's trace.
func (f *following) record(j *job, step policy.Step, confided []map[string]any) {
	state := &f.states[j.index]
	if state.err != nil {
		j.refuse("manifest-invalid", "", state.err)
		return
	}
	j.trace.tries.step(step, applied)
	if j.trace.after == nil {
		j.trace.before = state.view
	}
	var told []string
	if len(confided) > 0 || f.run.files.sensitive[step.At.File] {
		told = f.run.files.reveals(state.view, step.Object, j.kind, confided)
	}
	j.trace.events = append(j.trace.events, event{by: step.ID, at: step.At, before: state.view, written: step.Object, next: step.Object, told: told})
	j.trace.after, state.view = step.Object, step.Object
	state.changed, state.touched = true, true
}

// redefaultTouched adds defaults to the targets that one trigger changed, as a server does when it
// receives them.
func (f *following) redefaultTouched() {
	for i, j := range f.run.jobs {
		s := &f.states[i]
		if !s.touched {
			continue
		}
		s.touched = false
		next, err := f.run.defaulting.again(nil, j.kind, s.view)
		if err != nil {
			j.refuse("target-failed", "rules with mutate.targets change it into an invalid object: ", err)
			continue
		}
		j.trace.after, s.view, f.targets[i].Object = next, next, next
	}
}
