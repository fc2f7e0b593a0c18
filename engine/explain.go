package engine

import (
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/admission"
)

// Explain says of every Manifest of the Outcome what became of it and why: its changes,
// edits and the reasons of policies that left it alone.
func Explain() Observer {
	return Observer{conclude: func(r *run, j *job) { j.explain(r.defaulting) }}
}

// Views keeps the admission views of every Manifest of the Outcome. They take much more
// memory than the manifest.
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

// explain fills in what only those who read an explanation want to know.
func (j *job) explain(server defaulting) {
	m := j.result
	for _, e := range j.tree {
		for _, c := range change.Diff(e.before, e.written, j.kind.Type()) {
			m.Tree = append(m.Tree, Change{Change: c, By: e.by, At: e.at, Disposition: Written})
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
	m.NotApplied = append(m.NotApplied, j.trace.notApplied...)
	m.Changes = slices.Grow(m.Changes, len(j.trace.events))
	for i, e := range j.trace.events {
		if !e.drops {
			m.Changes = append(m.Changes, j.changes(server, e)...)
			continue
		}
		if i >= len(j.edits) {
			continue
		}
		for n, c := range m.Changes {
			for _, l := range j.edits[i].dropped {
				if c.Path.HasPrefix(l.Path) {
					m.Changes[n].Disposition = Dropped
				}
			}
		}
	}
	for _, c := range j.pinned {
		m.Changes = append(m.Changes, Change{Change: c, Disposition: Pinned})
	}
}

// changes are what an event wrote, in the form in which the server keeps it; what
// defaulting adds to that is not a change, and what the server takes back is none.
func (j *job) changes(server defaulting, e event) []Change {
	if change.Same(e.written, e.next) { // as after a webhook, which is completed at its end
		if next, err := server.again(j.memo, j.kind, e.written); err == nil {
			e.next = next
		}
	}
	from, to := server.stored(j.kind, e)
	all := change.Diff(from, to, j.kind.Type())
	changes := make([]Change, 0, len(all))
	for _, c := range all {
		by := Change{Change: c, By: e.by, At: e.at, Pass: e.pass, Disposition: Written, Sensitive: len(e.told) > 0}
		if admission.ServerOwned(j.kind, c.Path) {
			by.Disposition = Dropped
		}
		changes = append(changes, by)
	}
	return changes
}
