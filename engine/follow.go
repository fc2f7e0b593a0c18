package engine

import (
	"slices"

	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/redact"
	"github.com/preadmit/preadmit/engine/source"
)

// follow runs the policies that change other objects after an admission, for all manifests in the
// order of the input. A cluster does so some time after the admission.
func (r *run) follow() {
	for _, follower := range r.followers {
		f := following{run: r}
		for _, j := range r.jobs {
			j.result.DependsOnOthers = true // any manifest may change any other
			if !r.exists(j) && f.steps <= limit.Targets {
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
	targets *policy.Targets
	states  []followState
	// touched are the indexes of the targets that have changed for the current trigger.
	touched []int
	// steps counts the steps on targets.
	steps int
}

// followState is the state of a target.
type followState struct {
	// err is the error that prevented a view. In that case the target is the original manifest.
	err error
	// view is the current view of the target.
	view map[string]any
	// changed means that the target has changed.
	changed bool
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
	if isSensitive(j) || j.trace != nil && slices.ContainsFunc(j.trace.events, func(e event) bool { return len(e.sensitive) > 0 }) {
		reader.AddSensitive(request.Object)
	}
	for followed := range follower.Follow(request, f.targets) {
		if f.steps++; f.steps > limit.Targets {
			f.exceeded(j, followed.Step)
			return
		}
		f.take(j, followed, reader.Sensitive())
	}
	j.read = append(j.read, reader.Sensitive()...)
	j.spoilt(reader)
	f.redefaultTouched()
}

// exceeded reports that policies do too much for the triggers so far.
func (f *following) exceeded(trigger *job, step policy.Step) {
	trigger.tell(source.Errorf(step.At, limit.TargetCount, "policies that change other objects are applied more than %d times: once for each target of each object that triggers them; %s is the next", limit.Targets, step.ID).
		With("let the policies select fewer targets for each trigger, or run preadmit on parts of the manifests"))
}

// prepare makes targets of all manifests, once.
func (f *following) prepare() {
	if f.targets != nil {
		return
	}
	f.targets, f.states = &policy.Targets{}, make([]followState, len(f.run.jobs))
	for i, j := range f.run.jobs {
		s := &f.states[i]
		if s.view = j.trace.after; s.view == nil {
			if s.view, s.err = f.run.defaulting.view(nil, j.place, j.raw); s.err != nil {
				s.view = j.raw
			}
		}
		f.targets.Add(policy.Target{Kind: j.kind, Namespace: j.namespace, Name: j.name, Object: s.view})
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
		f.targets.Add(policy.Target{Kind: p.kind, Namespace: p.namespace, Name: p.name, Object: view})
	}
}

// takeContext records for the trigger that a policy changes an object of the context. The cluster
// has that object, so no manifest changes.
func (f *following) takeContext(trigger *job, followed policy.Followed) {
	step := followed.Step
	if step.Object == nil {
		return
	}
	t := f.targets.All[followed.Target]
	id := place{t.Kind, t.Namespace, t.Name}.id()
	trigger.trace.notApplied = append(trigger.trace.notApplied, policy.NotApplied{
		ID: step.ID, At: step.At, Reason: policy.Text("it changes " + id + " of the context in the cluster, not a manifest"),
	})
}

// take traces a step that trigger caused. read are the sensitive objects that the policy has read.
func (f *following) take(trigger *job, followed policy.Followed, read []map[string]any) {
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
		f.without(j, redacted(step, j.scope(read)))
		return
	}
	if err := limit.Object(nil, j.raw, step.Object); err != nil {
		d, _ := limited(source.Errorf(step.At, limit.ObjectSize, "%s: %v", step.ID, err), err)
		j.tell(d)
		return
	}
	f.record(j, step, read)
}

// redacted returns a step without a result and without what a scope hides.
func redacted(step policy.Step, scope redact.Scope) policy.Step {
	if step.Failure != nil {
		failure := *step.Failure
		failure.Err = scope.Error(failure.Err)
		step.Failure = &failure
	}
	if step.NotApplied != nil {
		n := *step.NotApplied
		n.Reason = scope.Reason(n.Reason)
		step.NotApplied = &n
	}
	return step
}

// without traces a step without a result.
func (f *following) without(j *job, step policy.Step) {
	failure := j.trace.without(step)
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
func (f *following) record(j *job, step policy.Step, read []map[string]any) {
	state := &f.states[j.index]
	if state.err != nil {
		j.refuse("manifest-invalid", "", state.err)
		return
	}
	j.trace.tries.step(step, applied)
	if j.trace.after == nil {
		j.trace.before = state.view
	}
	sensitive := f.run.files.copies(state.view, step.Object, j.kind.Type())
	if len(read) > 0 || f.run.files.sensitive[step.At.File] {
		sensitive = f.run.files.reveals(state.view, step.Object, j.kind.Type(), read)
	}
	j.trace.events = append(j.trace.events, event{by: step.ID, at: step.At, before: state.view, written: step.Object, next: step.Object, sensitive: sensitive})
	j.trace.after, state.view = step.Object, step.Object
	state.changed = true
	f.touched = append(f.touched, j.index)
}

// redefaultTouched adds defaults to the targets that one trigger changed, as a server does when it
// receives them.
func (f *following) redefaultTouched() {
	slices.Sort(f.touched)
	for _, i := range slices.Compact(f.touched) {
		j, s := f.run.jobs[i], &f.states[i]
		next, err := f.run.defaulting.again(nil, j.kind, s.view)
		if err != nil {
			j.refuse("target-failed", "rules with mutate.targets change it into an invalid object: ", err)
			continue
		}
		j.trace.after, s.view, f.targets.All[i].Object = next, next, next
	}
	f.touched = f.touched[:0]
}
