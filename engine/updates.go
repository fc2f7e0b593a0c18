package engine

import (
	"github.com/preadmit/preadmit/engine/internal/match"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// tellUpdates warns of policies that act on UPDATE only, and would have acted on a job if
// its object were in the cluster already.
func (r *run) tellUpdates(j *job) {
	if j.trace == nil || policy.Operation(r.set.settings.Operation) != policy.Create {
		return
	}
	missed := map[policy.ID]policy.NotApplied{}
	for _, n := range j.trace.notApplied {
		if reason, ok := n.Reason.(policy.Unmatched); ok && reason.Reason.Code == match.OtherOperation {
			missed[n.ID] = n
		}
	}
	if len(missed) == 0 {
		return
	}
	for _, id := range r.updatesOf(j) {
		for _, n := range missed {
			if n.ID.Policy == id.Policy && (n.ID.Binding == "" || n.ID.Binding == id.Binding) {
				delete(missed, n.ID)
				j.warn(source.Warningf(n.At, "update-only", "policy %s acts on UPDATE only, so it leaves manifests alone that it would change in a cluster", id.Policy).
					With("to see what it does, set the operation to UPDATE and give the objects as they are in the cluster with the option old"))
			}
		}
	}
}

// updatesOf are the invocations of an update that changes nothing yet.
func (r *run) updatesOf(j *job) []policy.ID {
	view, err := r.defaulting.view(j.memo, j.place, j.raw)
	if err != nil {
		return nil
	}
	request := r.requestFor(j, r.snapshot.Reader(j))
	request.Operation, request.Object, request.OldObject = policy.Update, view, view
	request.Warn = func(source.Diagnostic) {}
	var ids []policy.ID
	for _, program := range r.server.programs {
		if !program.Covers(request) {
			continue
		}
		for _, invocation := range program.Plan(request).Invocations {
			if notApplied, failure := invocation.Conditions(request); notApplied == nil && failure == nil {
				ids = append(ids, invocation.ID())
			}
		}
	}
	return ids
}
