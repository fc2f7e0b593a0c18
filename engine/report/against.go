package report

import (
	"slices"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/secret"
)

// Run is the outcome and the streams of a run.
type Run struct {
	Outcome *engine.Outcome
	Streams []*manifest.Stream
}

// Against returns a report of how the output changes if the policies of the run after replace the
// policies of the run before. Both runs had the same manifests. Manifests that controllers made are
// left out. The causes of a change are the steps of either run at its path. secrets hides values;
// nil hides none.
func Against(before, after Run, secrets *secret.Mask) *Report {
	was, is := New(before.Outcome, before.Streams, nil, secrets), New(after.Outcome, after.Streams, nil, secrets)
	r := &Report{Total: is.Total, Manifests: is.Manifests}
	wasAt, isAt := before.index(), after.index()
	for i, s := range after.Streams {
		if i >= len(before.Streams) || before.Streams[i].Name() != s.Name() {
			break // the streams from here on were made by controllers
		}
		old := before.Streams[i]
		f := Compare(s.Name(), string(old.Bytes()), string(s.Bytes()), secrets)
		f.against, f.before, f.after = true, was.Files[i].after, is.Files[i].after
		r.Files = append(r.Files, f)
		from, to := objectsIn(string(old.Bytes())), objectsIn(string(s.Bytes()))
		for n, d := range s.Documents() {
			at, ok := isAt[d]
			if !ok || len(from) != len(s.Documents()) || len(to) != len(from) || len(old.Documents()) != len(from) {
				continue
			}
			edits := slices.Clone(is.Manifests[at].Edits)
			if earlier, ok := wasAt[old.Documents()[n]]; ok {
				edits = append(edits, was.Manifests[earlier].Edits...)
			}
			r.Manifests[at].Edits = mask{secrets}.between(d, from[n], to[n], edits)
			r.Manifests[at].Dropped, r.Manifests[at].NotApplied = nil, nil
		}
	}
	return r
}

// index maps documents to the indexes of their manifests.
func (r Run) index() map[*manifest.Document]int {
	index := map[*manifest.Document]int{}
	for i, m := range r.Outcome.Manifests {
		index[m.Document] = i
	}
	return index
}

// between returns the edits that turn one object into the other. Their causes are the causes of the
// given edits, which made the two objects.
func (m mask) between(d *manifest.Document, from, to map[string]any, given []Edit) []Edit {
	var edits []Edit
	for _, c := range change.Diff(from, to, nil) {
		hidden := of(d)
		if slices.ContainsFunc(given, func(g Edit) bool { return g.sensitive && related(g.Path, c.Path.String()) }) {
			hidden = everything
		}
		old, value := m.pair(hidden, c.Path, c.Old, c.New)
		e := Edit{Op: c.Op, Path: m.text(c.Path.String()), Pointer: m.text(c.Path.Pointer()), Old: old, New: value, At: d.At(c.Path), last: m.last(c.Path)}
		if c.Op == change.Move {
			e.From = m.text(c.Path[:len(c.Path)-1].Index(c.From).Pointer())
		}
		for _, g := range given {
			if !related(g.Path, e.Path) {
				continue
			}
			for _, s := range g.Causes {
				if !slices.ContainsFunc(e.Causes, func(other Step) bool { return other.by() == s.by() }) {
					e.Causes = append(e.Causes, s)
				}
			}
		}
		edits = append(edits, e)
	}
	return edits
}
