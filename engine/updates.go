package engine

import (
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/webhook"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// tellUpdates warns about policies that act only on UPDATE, and would have acted on a job if the
// cluster already had its object.
func (r *run) tellUpdates(a *admitted) {
	if a.trace == nil || policy.Operation(r.set.settings.options.Operation) != policy.Create {
		return
	}
	var missed []policy.NotApplied
	for _, n := range a.trace.untouched(policy.IsByOperation) {
		isKnown := func(m policy.NotApplied) bool { return isOf(n.ID, m.ID) }
		if !slices.ContainsFunc(missed, isKnown) {
			missed = append(missed, n)
		}
	}
	if len(missed) == 0 {
		return
	}
	ids := r.updatesOf(a.loaded, a.request.Memo)
	for _, n := range missed {
		if i := slices.IndexFunc(ids, func(id policy.ID) bool { return isOf(n.ID, id) }); i >= 0 {
			a.warn(source.Warningf(n.At, "update-only", "%s acts only on UPDATE, so it does not change manifests that it would change in a cluster", actor(n.ID)).
				With("to see its changes, set the operation to UPDATE and give the current objects of the cluster with the option old"))
		}
	}
}

// isOf reports whether a step belongs to a policy, binding or rule. Empty fields of whole match
// every step.
func isOf(whole, step policy.ID) bool {
	return whole.OfPolicy() == step.OfPolicy() && (whole.Binding == "" || whole.Binding == step.Binding) &&
		(whole.Rule == "" || whole.Rule == step.Rule)
}

// actor returns the name of a policy or rule for a warning.
func actor(id policy.ID) string {
	if id.Rule == "" {
		return "policy " + id.Policy
	}
	return "policy " + id.Policy + ", " + id.Rule + ","
}

// updatesOf returns the steps of an update that does not change the object.
func (r *run) updatesOf(l *loaded, memo *change.Memo) []policy.ID {
	view, err := r.server.defaulting.view(memo, l.job.place, l.raw)
	if err != nil {
		return nil
	}
	request := r.requestFor(l, nil, r.reader(l.job)) // the facts of the memo are about the other operation
	request.Operation, request.Object, request.OldObject = policy.Update, view, view
	request.Warn = func(source.Diagnostic) {}
	var ids []policy.ID
	for _, program := range r.server.programs {
		if webhook.Is(program) || !program.Covers(request) { // a webhook is asked only what a server would ask
			continue
		}
		for _, invocation := range program.Plan(request).Invocations {
			if notApplied, failure := invocation.Conditions(request); notApplied != nil || failure != nil {
				continue
			}
			for step := range invocation.Steps(request) {
				if step.NotApplied == nil {
					ids = append(ids, step.ID)
				}
			}
		}
	}
	return ids
}
