package engine

import (
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// Cover reports which parts of the policies have run, as the Parts of the Outcome. The replay for
// idempotence counts as well, because it evaluates the expressions on the output.
func Cover() Observer {
	ran := map[policy.ID]bool{}
	return Observer{
		tries: newTries,
		conclude: func(r *run, w *written) {
			r.lock.Lock()
			defer r.lock.Unlock()
			for _, id := range w.admitted.ranBy() {
				ran[id.OfRule()] = true
			}
		},
		ended: func(r *run, outcome *Outcome) []source.Diagnostic {
			for _, m := range outcome.Manifests { // existing objects, which are not sent to the cluster, are not concluded
				for _, c := range m.Changes {
					ran[c.By.OfRule()] = true
				}
			}
			for _, program := range r.policies.programs {
				for _, part := range program.Parts() {
					for _, rule := range part.Rules {
						id := part.Policy
						id.Rule = rule
						part.Ran = part.Ran || ran[id]
					}
					outcome.Parts = append(outcome.Parts, part)
				}
			}
			return nil
		},
	}
}

// ranBy returns the rules that had a result for the object of a job, or failed on it.
func (a *admitted) ranBy() []policy.ID {
	var ids []policy.ID
	for _, e := range a.loaded.tree {
		ids = append(ids, e.by)
	}
	if a.trace == nil {
		return ids
	}
	for _, t := range a.trace.tries.all() {
		if t.result == applied || t.result == failed {
			ids = append(ids, t.id)
		}
	}
	return ids
}
