package engine

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// replays runs the policies again on the jobs that they changed, as the next run will. Policies
// must not change their own output; a cluster runs them again, too.
var replays = Observer{admit: func(r *run, w *written) {
	r.replayTrees(w)
	if trace := w.admitted.trace; trace == nil || !trace.changed() {
		return
	}
	r.replay(w)
	r.replayAll(w)
}}

// replay runs the policies on their own output.
func (r *run) replay(w *written) {
	view := r.outputView(w)
	again := r.again(w.admitted, view)
	if len(again.failures) > 0 {
		f := again.failures[0]
		var missing *policy.MissingAnswerError
		if errors.As(f.Err, &missing) {
			d := f.Errorf("webhook-answer-missing", "whether the policies change their own output again is not known: %v", missing).With(missing.Advice)
			d.Severity = source.Info
			w.admitted.tell(d)
			return
		}
		r.notIdempotent(w.admitted, f.Errorf("not-idempotent", "the policies would deny their own output: %v", f.Err), "")
		return
	}
	repeats, acted := w.job.repeats(view, again)
	if !acted {
		return
	}
	left := change.Diff(view, again.after, w.job.place.kind.Type())
	changed := change.NewPathIndex(left)
	named := map[policy.ID]bool{}
	for _, repeat := range repeats {
		if named[repeat.id.OfPolicy()] || repeat.action == "" && !changed.Overlaps(repeat.path) {
			continue // other policies restore the output
		}
		named[repeat.id.OfPolicy()] = true
		if repeat.action != "skip" {
			r.notIdempotent(w.admitted, repeat.diagnostic(), repeat.action)
		}
	}
	if len(left) > 0 && len(named) == 0 {
		r.notIdempotent(w.admitted, source.Diagnostic{Message: "the policies would change their own output again", Field: left[0].Path.String()}, "")
	}
}

// outputView returns the output as the policies see it. With the option Normalize it may differ
// from trace.after: an empty list can be null, for instance.
func (r *run) outputView(w *written) map[string]any {
	if len(w.normalized) > 0 {
		if view, err := r.server.defaulting.view(w.admitted.request.Memo, w.job.place, w.edited); err == nil {
			return view
		}
	}
	return w.admitted.trace.after
}

// again admits a view of a job again.
func (r *run) again(a *admitted, view map[string]any) *trace {
	request := *a.request
	request.Object = view
	return r.server.admit(a.job.place, &request, a.loaded.raw, a.trace.plans)
}

// notIdempotent reports a finding of the replay. action is the policy's own choice of the reaction,
// or "".
func (r *run) notIdempotent(a *admitted, d source.Diagnostic, action string) {
	d.Severity, d.Code = source.Warning, "not-idempotent"
	d.Advice = cmp.Or(d.Advice, "a cluster runs the policies on this output again: let the policy check whether its change has already been made")
	if cmp.Or(NonIdempotent(action), r.set.settings.options.NonIdempotent) == NonIdempotentFail {
		d.Severity = source.Error
	}
	a.tell(d)
}

// repeat is a change of a rule to an object to which the rule was already applied.
type repeat struct {
	id     policy.ID
	at     source.Position
	path   change.Path
	action string // the policy's own choice of the reaction
}

func (r repeat) diagnostic() source.Diagnostic {
	d := source.Diagnostic{Field: r.path.String(), Message: fmt.Sprintf("%s would change its own output again", r.id)}
	return d.Naming(r.at, r.id.String())
}

// repeats returns the steps of a replay that change the output, which has the given view. A step
// that only restores the output after other steps is left out. acted reports whether any step
// changed the object.
func (j *job) repeats(view map[string]any, again *trace) (repeats []repeat, acted bool) {
	shape := j.place.kind.Type()
	for _, e := range again.events {
		if e.drops || change.Equal(e.before, e.written) {
			continue
		}
		acted = true
		differences := change.NewPathIndex(change.Diff(view, e.next, shape))
		for _, c := range change.Diff(e.before, e.written, shape) {
			if differences.Overlaps(c.Path) {
				repeats = append(repeats, repeat{e.by, e.at, c.Path, e.replay})
				break
			}
		}
	}
	return repeats, acted
}

// replayTrees runs the mutation trees on their own output.
func (r *run) replayTrees(w *written) {
	if len(w.loaded.tree) == 0 {
		return
	}
	object, repeats := r.repeatTrees(w.loaded.raw)
	r.repeated(w.admitted, repeats, change.Diff(w.loaded.raw, object, nil))
}

// replayAll runs the mutation trees on the output of the policies, and then the policies on the
// result.
func (r *run) replayAll(w *written) {
	if len(r.policies.trees) == 0 {
		return
	}
	object, repeats := r.repeatTrees(w.edited)
	left := change.Diff(w.edited, object, nil)
	if len(left) == 0 {
		return
	}
	view, err := r.server.defaulting.view(w.admitted.request.Memo, w.job.place, object)
	if err != nil {
		d := source.Diagnostic{Message: fmt.Sprintf("%s would change its own output into an invalid object: %v", repeats[0].id, err)}
		r.notIdempotent(w.admitted, d.Naming(repeats[0].at, repeats[0].id.String()), "")
		return
	}
	if !change.Equal(view, w.admitted.trace.after) { // otherwise the policies see no difference
		if again := r.again(w.admitted, view); len(again.failures) == 0 {
			left = change.Diff(w.admitted.trace.after, again.after, w.job.place.kind.Type())
		}
	}
	r.repeated(w.admitted, repeats, left)
}

// repeatTrees runs the mutation trees on an object to which they were already applied, and returns
// the changes that each makes again.
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

// repeated reports the first tree whose repeated change affects the result.
func (r *run) repeated(a *admitted, repeats []repeat, left []change.Change) {
	index := change.NewPathIndex(left)
	for _, repeat := range repeats {
		if index.Overlaps(repeat.path) {
			d := repeat.diagnostic()
			d.Advice = "the tree changes the output when it is rendered again: let the tree check whether its change has already been made"
			r.notIdempotent(a, d, "")
			return
		}
	}
}
