package engine

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// replays runs what changed a job once more, as the next run will: it must not change its
// own output. A cluster runs the policies again, too.
var replays = Observer{admit: func(r *run, j *job) {
	r.replayTrees(j)
	if j.trace == nil || !j.trace.changed() {
		return
	}
	r.replay(j)
	r.replayAll(j)
}}

// replay runs the policies on their own output.
func (r *run) replay(j *job) {
	view := r.outputView(j)
	again := r.again(j, view)
	if len(again.failures) > 0 {
		f := again.failures[0]
		r.notIdempotent(j, source.Diagnostic{At: f.At, Message: fmt.Sprintf("the policies would deny their own output: %v", f.Err)}, "")
		return
	}
	repeats, acted := j.repeats(view, again)
	left := change.Diff(view, again.after, j.kind.Type())
	named := map[string]bool{}
	for _, repeat := range repeats {
		if named[repeat.id.Policy] || repeat.action == "" && !isAmong(left, repeat.path) {
			continue // what others make up for is no difference
		}
		named[repeat.id.Policy] = true
		if repeat.action != "skip" {
			r.notIdempotent(j, repeat.diagnostic(), repeat.action)
		}
	}
	if acted && len(left) > 0 && len(named) == 0 {
		r.notIdempotent(j, source.Diagnostic{At: j.document.At(nil), Message: "the policies would change their own output again", Field: left[0].Path.String()}, "")
	}
}

// outputView is what the policies see of their output. Where that is normalized, it may not
// be what they left: an empty list can be null then.
func (r *run) outputView(j *job) map[string]any {
	if len(j.normalized) > 0 {
		if view, err := r.defaulting.view(j.memo, j.place, j.edited); err == nil {
			return view
		}
	}
	return j.trace.after
}

// again admits a view of a job once more.
func (r *run) again(j *job, view map[string]any) *trace {
	request := *j.request
	request.Object = view
	return r.server.admit(j.place, &request, j.raw, j.trace.plans)
}

// notIdempotent reports what the replay of policies on a job has found. action is what
// the policy itself wants done about it.
func (r *run) notIdempotent(j *job, d source.Diagnostic, action string) {
	d.Severity, d.Code = source.Warning, "not-idempotent"
	d.Advice = cmp.Or(d.Advice, "when the cluster runs the policies on our output, they act once more: a policy should check whether its change has been made already")
	if cmp.Or(NonIdempotent(action), r.set.settings.NonIdempotent) == NonIdempotentFail {
		d.Severity = source.Error
	}
	j.tell(d)
}

// repeat is a change that a rule makes to an object that it has been applied to before.
type repeat struct {
	id     policy.ID
	at     source.Position
	path   change.Path
	action string // what the policy itself wants done about it
}

func (r repeat) diagnostic() source.Diagnostic {
	return source.Diagnostic{At: r.at, Field: r.path.String(), Message: fmt.Sprintf("%s would change its own output again", r.id)}
}

// repeats are the steps of a replay that make something else of the output, whose view is
// given. One that only restores it, after others, does not. acted says that any step changed
// the object.
func (j *job) repeats(view map[string]any, again *trace) (repeats []repeat, acted bool) {
	shape := j.kind.Type()
	for _, e := range again.events {
		if e.drops || change.Equal(e.before, e.written) {
			continue
		}
		acted = true
		differences := change.Diff(view, e.next, shape)
		for _, c := range change.Diff(e.before, e.written, shape) {
			if isAmong(differences, c.Path) {
				repeats = append(repeats, repeat{e.by, e.at, c.Path, e.replay})
				break
			}
		}
	}
	return repeats, acted
}

// replayTrees runs the mutation trees on their own output.
func (r *run) replayTrees(j *job) {
	if len(j.tree) == 0 {
		return
	}
	object, repeats := r.repeatTrees(j.raw)
	r.repeated(j, repeats, change.Diff(j.raw, object, nil))
}

// replayAll runs the mutation trees on what the policies have made of the manifest, and
// the policies on that.
func (r *run) replayAll(j *job) {
	if len(r.trees) == 0 {
		return
	}
	object, repeats := r.repeatTrees(j.edited)
	left := change.Diff(j.edited, object, nil)
	if len(left) == 0 {
		return
	}
	view, err := r.defaulting.view(j.memo, j.place, object)
	if err != nil {
		r.notIdempotent(j, source.Diagnostic{At: repeats[0].at, Message: fmt.Sprintf("%s would make an object of its own output that is not valid: %v", repeats[0].id, err)}, "")
		return
	}
	if !change.Equal(view, j.trace.after) { // else policies will not see the difference
		if again := r.again(j, view); len(again.failures) == 0 {
			left = change.Diff(j.trace.after, again.after, j.kind.Type())
		}
	}
	r.repeated(j, repeats, left)
}

// repeatTrees runs the mutation trees on an object that they have been applied to before,
// and says what each would do to it again.
func (r *run) repeatTrees(object map[string]any) (after map[string]any, repeats []repeat) {
	after = object
	for step := range r.treeSteps(object) {
		if step.Object == nil {
			continue
		}
		for _, written := range change.Diff(after, step.Object, nil) {
			repeats = append(repeats, repeat{id: step.ID, at: step.At, path: written.Path})
		}
		after = step.Object
	}
	return after, repeats
}

// repeated reports the first tree whose repeated change makes a difference in the end.
func (r *run) repeated(j *job, repeats []repeat, left []change.Change) {
	for _, repeat := range repeats {
		if isAmong(left, repeat.path) {
			d := repeat.diagnostic()
			d.Advice = "the tree acts once more when its output is rendered again"
			r.notIdempotent(j, d, "")
			return
		}
	}
}

// isAmong reports whether one of the changes is at a path, above it or below it.
func isAmong(changes []change.Change, path change.Path) bool {
	return slices.ContainsFunc(changes, func(c change.Change) bool { return overlap(c.Path, path) })
}

// overlap reports whether one of the paths leads to, or into, what the other leads to.
func overlap(a, b change.Path) bool {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
