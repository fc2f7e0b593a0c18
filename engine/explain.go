package engine

import (
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/admission"
)

// Explain fills in, for every Manifest of the Outcome, its changes, its edits and the reasons of
// policies that were not applied.
func Explain() Observer {
	return Observer{conclude: func(r *run, j *job) { j.explain(r.defaulting) }}
}

// Views keeps the admission views of every Manifest of the Outcome. They take much more memory than
// the manifest.
func Views() Observer {
	return Observer{conclude: func(_ *run, j *job) {
		if j.trace == nil {
			return
		}
		j.result.Before = j.trace.before
		if !j.denied {
			j.result.After = j.trace.after
		}
	}}
}

// explain fills in the fields of a result that explain it.
func (j *job) explain(server defaulting) {
	m := j.result
	for _, e := range j.tree {
		for _, c := range change.Diff(e.before, e.written, j.kind.Type()) {
			m.Tree = append(m.Tree, Change{Change: c, By: e.by, At: e.at, Disposition: Written, Sensitive: len(e.sensitive) > 0})
		}
	}
	m.NotApplied = append(m.NotApplied, j.untouched...)
	if j.trace != nil {
		j.explainTrace(server)
	}
	for _, c := range j.normalized {
		m.Changes = append(m.Changes, Change{Change: c, Disposition: Normalized})
	}
	if !j.failed() && (len(j.tree) > 0 || !change.Equal(j.edited, j.raw)) {
		j.attribute()
	}
}

func (j *job) explainTrace(server defaulting) {
	m := j.result
	m.NotApplied = append(m.NotApplied, j.trace.untouched()...)
	m.Changes = slices.Grow(m.Changes, len(j.trace.events))
	for i, e := range j.trace.events {
		if !e.drops {
			m.Changes = append(m.Changes, j.changes(server, e)...)
			continue
		}
		if i >= len(j.edits) {
			continue
		}
		dropped := change.NewPathIndex(j.edits[i].dropped)
		for n, c := range m.Changes {
			if len(dropped.Above(c.Path)) > 0 {
				m.Changes[n].Disposition = Dropped
			}
		}
	}
	for _, c := range j.pinned {
		m.Changes = append(m.Changes, Change{Change: c, Disposition: Pinned})
	}
}

// changes returns the changes of an event in the form in which the server stores them. Defaults
// that the server adds, and changes that the server reverts, are not changes.
func (j *job) changes(server defaulting, e event) []Change {
	if change.Same(e.written, e.next) { // a webhook's object is defaulted only after its last step
		if next, err := server.again(j.memo, j.kind, e.written); err == nil {
			e.next = next
		}
	}
	from, to := server.stored(j.kind, e)
	all := change.Diff(from, to, j.kind.Type())
	changes := make([]Change, 0, len(all))
	for _, c := range all {
		by := Change{Change: c, By: e.by, At: e.at, Pass: e.pass, Disposition: Written, Sensitive: len(e.sensitive) > 0}
		if admission.ServerOwned(j.kind, c.Path) {
			by.Disposition = Dropped
		}
		if !slices.ContainsFunc(admission.Unwritable, c.Path.HasPrefix) { // a warning tells these
			changes = append(changes, by)
		}
	}
	return changes
}
