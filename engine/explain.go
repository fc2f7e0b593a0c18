package engine

import (
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/admission"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// Explain fills in, for every Manifest of the Outcome, its changes, its edits and the reasons of
// policies that were not applied, and reports the rules with changes that vary from run to run of a
// server.
func Explain() Observer {
	return Observer{
		conclude: func(r *run, w *written) { w.explain(r.server.defaulting) },
		ended:    func(r *run, outcome *Outcome) []source.Diagnostic { return r.varying(outcome) },
	}
}

// varying returns what varies in the changes of an outcome.
func (r *run) varying(outcome *Outcome) (found []source.Diagnostic) {
	seen := map[policy.ID]bool{}
	for _, m := range outcome.Manifests {
		for _, c := range m.Changes {
			if by := c.By.OfRule(); !seen[by] {
				seen[by] = true
				for _, program := range r.policies.programs {
					if p, ok := program.(policy.Varying); ok {
						found = append(found, p.Varying(by)...)
					}
				}
			}
		}
	}
	return found
}

// Views keeps the admission views of every Manifest of the Outcome. They take much more memory than
// the manifest.
func Views() Observer {
	return Observer{conclude: func(_ *run, w *written) {
		trace, result := w.admitted.trace, w.job.result
		if trace == nil {
			return
		}
		result.Before = trace.before
		if !w.job.denied {
			result.After = trace.after
		}
	}}
}

// explain fills in the fields of a result that explain it.
func (w *written) explain(server defaulting) {
	m := w.job.result
	for _, e := range w.loaded.tree {
		for _, c := range change.Diff(e.before, e.written, w.job.place.kind.Type()) {
			m.Tree = append(m.Tree, Change{Change: c, By: e.by, At: e.at, Disposition: Written, Sensitive: e.sensitive.hides()})
		}
	}
	m.NotApplied = append(m.NotApplied, w.loaded.untouched...)
	if w.admitted.trace != nil {
		w.explainTrace(server)
	}
	for _, c := range w.normalized {
		m.Changes = append(m.Changes, Change{Change: c, Disposition: Normalized})
	}
	if !w.job.failed() && (len(w.loaded.tree) > 0 || !change.Equal(w.edited, w.loaded.raw)) {
		w.attribute()
	}
}

func (w *written) explainTrace(server defaulting) {
	m, trace := w.job.result, w.admitted.trace
	m.NotApplied = append(m.NotApplied, trace.untouched(always)...)
	m.Changes = slices.Grow(m.Changes, len(trace.events))
	for i, e := range trace.events {
		if !e.drops {
			m.Changes = append(m.Changes, w.admitted.changes(server, e)...)
			continue
		}
		if i >= len(w.dropped) {
			continue
		}
		dropped := change.NewPathIndex(w.dropped[i])
		for n, c := range m.Changes {
			if len(dropped.Above(c.Path)) > 0 {
				m.Changes[n].Disposition = Dropped
			}
		}
	}
	for _, c := range w.pinned {
		m.Changes = append(m.Changes, Change{Change: c, Disposition: Pinned})
	}
}

// changes returns the changes of an event in the form in which the server stores them. Defaults
// that the server adds, and changes that the server reverts, are not changes.
func (a *admitted) changes(server defaulting, e event) []Change {
	kind := a.job.place.kind
	if change.Same(e.written, e.next) { // a webhook's object is defaulted only after its last step
		if next, err := server.again(a.request.Memo, kind, e.written); err == nil {
			e.next = next
		}
	}
	from, to := server.stored(kind, e)
	all := change.Diff(from, to, kind.Type())
	changes := make([]Change, 0, len(all))
	for _, c := range all {
		by := Change{Change: c, By: e.by, At: e.at, Pass: e.pass, Disposition: Written, Sensitive: e.sensitive.hides()}
		if admission.ServerOwned(kind, c.Path) {
			by.Disposition = Dropped
		}
		if !slices.ContainsFunc(admission.Unwritable, c.Path.HasPrefix) { // a warning tells these
			changes = append(changes, by)
		}
	}
	return changes
}
