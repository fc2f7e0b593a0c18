package engine

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// replay runs the policies on their own output, which must not change it: the cluster
// will run them again.
func (r *run) replay(t *target) {
	if r.settings.NonIdempotent == "skip" {
		return
	}
	again := &admitting{run: r, target: t, request: r.requestFor(t, t.After), replaying: true}
	if !again.both() {
		r.notIdempotent(t, source.Diagnostic{At: again.denial.At, Message: fmt.Sprintf("the policies would deny their own output: %v", again.denial.Err)}, "")
		return
	}
	left := change.Diff(t.After, again.request.Object, t.kind.Type())
	named := map[string]bool{}
	for _, repeat := range again.repeats {
		if named[repeat.id.Policy] || repeat.action == "" && !isAmong(left, repeat.path) {
			continue // what others make up for is no difference
		}
		named[repeat.id.Policy] = true
		if repeat.action != "skip" {
			r.notIdempotent(t, repeat.diagnostic(), repeat.action)
		}
	}
	if again.acted && len(left) > 0 && len(named) == 0 {
		r.notIdempotent(t, source.Diagnostic{At: t.Document.At(nil), Message: "the policies would change their own output again", Field: left[0].Path.String()}, "")
	}
}

// notIdempotent reports what the replay of policies on a target has found. action is what
// the policy itself wants done about it.
func (r *run) notIdempotent(t *target, d source.Diagnostic, action string) {
	d.Severity, d.Code = source.Warning, "not-idempotent"
	d.Advice = cmp.Or(d.Advice, "when the cluster runs the policies on our output, they act once more: a policy should check whether its change has been made already")
	if cmp.Or(action, r.settings.NonIdempotent) == "fail" {
		d.Severity = source.Error
	}
	r.about(t, d)
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

// noteRepeat notes whether what a step wrote, when replaying, differs from the output of
// the policies. What it only restores, after others, does not.
func (a *admitting) noteRepeat(step policy.Step, next map[string]any) {
	if change.Equal(a.request.Object, step.Object) {
		return
	}
	a.acted = true
	shape := a.target.kind.Type()
	differences := change.Diff(a.target.After, next, shape)
	for _, written := range change.Diff(a.request.Object, step.Object, shape) {
		if isAmong(differences, written.Path) {
			a.repeats = append(a.repeats, repeat{step.ID, step.At, written.Path, step.Replay})
			return
		}
	}
}

// replayTrees runs the mutation trees on their own output, which the next run will.
func (r *run) replayTrees(t *target) {
	if r.settings.NonIdempotent == "skip" || len(t.Tree) == 0 {
		return
	}
	object, repeats := r.repeatTrees(t.raw)
	r.repeated(t, repeats, change.Diff(t.raw, object, nil))
}

// replayAll runs the mutation trees on what the policies have made of the manifest, and
// the policies on that, as the next run will.
func (r *run) replayAll(t *target) {
	if r.settings.NonIdempotent == "skip" || r.trees == nil {
		return
	}
	object, repeats := r.repeatTrees(t.edited)
	left := change.Diff(t.edited, object, nil)
	if len(left) == 0 {
		return
	}
	view, err := r.view(t.place, object)
	if err != nil {
		r.notIdempotent(t, source.Diagnostic{At: repeats[0].at, Message: fmt.Sprintf("%s would make an object of its own output that is not valid: %v", repeats[0].id, err)}, "")
		return
	}
	if !change.Equal(view, t.After) { // else policies will not see the difference
		again := &admitting{run: r, target: t, request: r.requestFor(t, view), replaying: true}
		if again.both() {
			left = change.Diff(t.After, again.request.Object, t.kind.Type())
		}
	}
	r.repeated(t, repeats, left)
}

// repeatTrees runs the mutation trees on an object that they have been applied to before,
// and says what each would do to it again.
func (r *run) repeatTrees(object map[string]any) (after map[string]any, repeats []repeat) {
	after = object
	for step := range r.trees.Steps(r.ctx, object) {
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
func (r *run) repeated(t *target, repeats []repeat, left []change.Change) {
	for _, repeat := range repeats {
		if isAmong(left, repeat.path) {
			d := repeat.diagnostic()
			d.Advice = "the tree acts once more when its output is rendered again"
			r.notIdempotent(t, d, "")
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
