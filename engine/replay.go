package engine

import (
	"cmp"
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
		r.notIdempotent(t, r.settings.NonIdempotent, "the policies would deny their own output when the cluster runs them: "+again.denial, nil)
		return
	}
	const message = "the policies would change their own output again when the cluster runs them"
	left := change.Diff(t.After, again.request.Object, t.kind.Type())
	named := map[string]bool{}
	for _, repeat := range again.repeats {
		if named[repeat.id.Policy] || repeat.action == "" && !isAmong(left, repeat.path) {
			continue // what others make up for is no difference
		}
		named[repeat.id.Policy] = true
		if repeat.action != "skip" {
			r.notIdempotent(t, cmp.Or(repeat.action, r.settings.NonIdempotent), message+": "+repeat.id.String()+" does", repeat.path)
		}
	}
	if len(left) > 0 && len(named) == 0 {
		r.notIdempotent(t, r.settings.NonIdempotent, message, left[0].Path)
	}
}

// notIdempotent reports what the replay of policies on a target has found.
func (r *run) notIdempotent(t *target, action, message string, at change.Path) {
	d := source.Diagnostic{
		At: t.Document.At(nil), Severity: source.Warning, Code: "not-idempotent", Message: message,
		Advice: "a policy should check whether its change has been made already", Field: at.String(),
	}
	if action == "fail" {
		d.Severity = source.Error
	}
	r.about(t, d)
}

// repeat is a change that a rule makes to an object that it has been applied to before.
type repeat struct {
	id     policy.ID
	path   change.Path
	action string // what the policy itself wants done about it
}

// noteRepeat notes whether what a step wrote, when replaying, differs from the output of
// the policies. What it only restores, after others, does not.
func (a *admitting) noteRepeat(step policy.Step, next map[string]any) {
	if change.Equal(a.request.Object, step.Object) {
		return
	}
	shape := a.target.kind.Type()
	differences := change.Diff(a.target.After, next, shape)
	for _, written := range change.Diff(a.request.Object, step.Object, shape) {
		if isAmong(differences, written.Path) {
			a.repeats = append(a.repeats, repeat{step.ID, written.Path, step.Replay})
			return
		}
	}
}

// replayTrees runs the mutation trees on their own output, which the next run will.
func (r *run) replayTrees(t *target) {
	if r.settings.NonIdempotent == "skip" || len(t.Tree) == 0 {
		return
	}
	object, repeats := t.raw, []repeat(nil)
	for step := range r.trees.Steps(r.ctx, t.raw) {
		if step.Object == nil {
			continue
		}
		for _, written := range change.Diff(object, step.Object, nil) {
			repeats = append(repeats, repeat{id: step.ID, path: written.Path})
		}
		object = step.Object
	}
	left := change.Diff(t.raw, object, nil)
	for _, repeat := range repeats {
		if isAmong(left, repeat.path) {
			r.notIdempotent(t, r.settings.NonIdempotent, "the mutation trees would change their own output again: "+repeat.id.String()+" does", repeat.path)
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
