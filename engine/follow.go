package engine

import (
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/redact"
	"github.com/preadmit/preadmit/engine/source"
)

// follow runs policies that change other objects after an admission, for all manifests in the order
// of the input. A cluster does so some time after the admission. It returns the jobs that changed,
// unless any has failed.
func (r *run) follow(follower policy.Follower) (changed []*job) {
	f := following{run: r}
	for _, j := range r.jobs {
		j.result.DependsOnOthers = true // any manifest may change any other
		if !r.exists(j) && f.spent <= limit.Targets {
			f.trigger(follower, j.written.admitted)
		}
	}
	for i, j := range r.jobs {
		if f.targets != nil && f.states[i].changed && !r.failed() {
			changed = append(changed, j)
		}
	}
	return changed
}

// following is the state of follow.
type following struct {
	run *run
	// targets are all manifests in their mutated views, then the objects of the context.
	targets *policy.Targets
	states  []followState
	// touched are the indexes of the targets that have changed for the current trigger.
	touched []int
	// steps counts the steps on targets. spent is what they cost; see limit.Targets.
	steps, spent int
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
func (f *following) trigger(follower policy.Follower, a *admitted) {
	j := a.job
	reader := f.run.snapshot.Reader(j)
	request := f.run.requestFor(a.loaded, nil, reader)
	request.Warn = a.warn
	if !follower.Triggers(request) {
		return
	}
	f.prepare()
	state := &f.states[j.index]
	if state.err != nil {
		a.tell(j.refusal("manifest-invalid", "", state.err)...)
		return
	}
	request.Object = state.view
	if a.loaded.isSensitive() || slices.ContainsFunc(a.trace.events, func(e event) bool { return e.sensitive.hides() }) {
		reader.AddSensitive(redact.NewChanged([]map[string]any{request.Object}, []map[string]any{a.loaded.original}))
	}
	for followed := range follower.Follow(request, f.targets) {
		if f.spent += limit.TargetStep; f.spent > limit.Targets {
			f.exceeded(a, followed.Step)
			return
		}
		f.steps++
		f.take(a, followed, reader.Sensitive())
	}
	a.read = append(a.read, reader.Sensitive()...)
	j.spoilt(reader.Err())
	f.redefaultTouched()
}

// exceeded reports that policies do too much for the triggers so far.
func (f *following) exceeded(trigger *admitted, step policy.Step) {
	trigger.tell(source.Errorf(source.Position{}, limit.TargetCount, "policies that change other objects are applied too often: once for each target of each object that triggers them, %d times so far; %s is the next", f.steps, step.ID).
		Naming(step.At, step.ID.String()).With("let the policies select fewer targets for each trigger, or run preadmit on parts of the manifests"))
}

// prepare makes targets of all manifests, once.
func (f *following) prepare() {
	if f.targets != nil {
		return
	}
	f.targets, f.states = &policy.Targets{}, make([]followState, len(f.run.jobs))
	for i, j := range f.run.jobs {
		s := &f.states[i]
		a := j.written.admitted
		if s.view = a.trace.after; s.view == nil {
			if s.view, s.err = f.run.server.defaulting.view(nil, j.place, a.loaded.raw); s.err != nil {
				s.view = a.loaded.raw
			}
		}
		f.targets.Add(policy.Target{Kind: j.place.kind, Namespace: j.place.namespace, Name: j.place.name, Object: s.view})
	}
	f.prepareContext()
}

// prepareContext adds targets for the objects of the context that are not among the manifests.
func (f *following) prepareContext() {
	given := map[identity]bool{}
	for _, j := range f.run.jobs {
		given[j.place.unversioned()] = true
	}
	for _, d := range f.run.set.context {
		p := f.run.set.placeOf(d, f.run.schemas)
		if given[p.unversioned()] {
			continue
		}
		view, err := f.run.server.defaulting.view(nil, p, d.Object())
		if err != nil {
			view = d.Object()
		}
		f.targets.Add(policy.Target{Kind: p.kind, Namespace: p.namespace, Name: p.name, Object: view})
	}
}

// takeContext records for the trigger that a policy changes an object of the context. The cluster
// has that object, so no manifest changes.
func (f *following) takeContext(trigger *admitted, followed policy.Followed) {
	step := followed.Step
	if step.Object == nil {
		return
	}
	t := f.targets.All[followed.Target]
	id := place{t.Kind, t.Namespace, t.Name}.id()
	trigger.trace.notApplied.add(policy.NotApplied{
		ID: step.ID, At: step.At, Reason: policy.Text("it changes " + id + " of the context in the cluster, not a manifest"),
	})
}

// take traces a step that trigger caused. read are the sensitive objects that the policy has read.
func (f *following) take(trigger *admitted, followed policy.Followed, read []*redact.Objects) {
	a, step := trigger, followed.Step
	inContext := followed.Target >= len(f.run.jobs)
	if followed.Target >= 0 && !inContext {
		a = f.run.jobs[followed.Target].written.admitted
	}
	switch {
	case inContext && step.Failure == nil:
		f.takeContext(trigger, followed)
		return
	case step.NotApplied != nil || step.Failure != nil:
		f.without(a, redacted(step, a.scope(read)))
		return
	}
	if err := limit.Object(nil, a.loaded.raw, step.Object); err != nil {
		d, _ := limited(source.Errorf(source.Position{}, limit.ObjectSize, "%s: %v", step.ID, err), err)
		a.tell(d.Naming(step.At, step.ID.String()))
		return
	}
	f.record(a, step, read)
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
func (f *following) without(a *admitted, step policy.Step) {
	failure := a.trace.without(step)
	switch {
	case failure == nil:
	case failure.Ignored:
		a.trace.ignore(*failure)
		a.warnIgnored(*failure)
	default:
		d, _ := limited(failure.Errorf("target-failed", "%v", failure.Err), failure.Err)
		a.tell(d)
	}
}

// record adds a step on a target to the target's trace.
func (f *following) record(a *admitted, step policy.Step, read []*redact.Objects) {
	index, kind, files := a.job.index, a.job.place.kind, &f.run.set.files
	state := &f.states[index]
	if state.err != nil {
		a.tell(a.job.refusal("manifest-invalid", "", state.err)...)
		return
	}
	a.trace.tries.step(step, applied)
	if a.trace.after == nil {
		a.trace.before = state.view
	}
	sensitive := files.copies(a.loaded.original, state.view, step.Object, kind.Type())
	if len(read) > 0 || files.sensitive[step.At.File] {
		var open openTexts
		open.learn(read)
		sensitive.texts = files.reveals(state.view, step.Object, kind.Type(), &open)
	}
	a.trace.events = append(a.trace.events, event{by: step.ID, at: step.At, before: state.view, written: step.Object, next: step.Object, sensitive: sensitive})
	f.spent += copied(state.view, step.Object)
	a.trace.after, state.view = step.Object, step.Object
	state.changed = true
	f.touched = append(f.touched, index)
}

// copied returns the number of fields and items in the maps and lists of a value that are not those
// of the value before.
func copied(before, after any) int {
	if change.Same(before, after) {
		return 0
	}
	n := 0
	switch after := after.(type) {
	case map[string]any:
		before, _ := before.(map[string]any)
		n = len(after)
		for key, value := range after {
			n += copied(before[key], value)
		}
	case []any:
		before, _ := before.([]any)
		n = len(after)
		for i, item := range after {
			var had any
			if i < len(before) {
				had = before[i]
			}
			n += copied(had, item)
		}
	}
	return n
}

// redefaultTouched adds defaults to the targets that one trigger changed, as a server does when it
// receives them.
func (f *following) redefaultTouched() {
	slices.Sort(f.touched)
	for _, i := range slices.Compact(f.touched) {
		a, s := f.run.jobs[i].written.admitted, &f.states[i]
		next, err := f.run.server.defaulting.again(nil, a.job.place.kind, s.view)
		if err != nil {
			a.tell(a.job.refusal("target-failed", "rules with mutate.targets change it into an invalid object: ", err)...)
			continue
		}
		a.trace.after, s.view, f.targets.All[i].Object = next, next, next
	}
	f.touched = f.touched[:0]
}
