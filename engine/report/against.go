package report

import (
	"slices"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/redact"
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
func Against(before, after Run, secrets *redact.Redactor) *Report {
	was, is := New(before.Outcome, before.Streams, nil, secrets), New(after.Outcome, after.Streams, nil, secrets)
	r := &Report{Total: is.Total, Manifests: is.Manifests}
	wasAt, isAt := before.index(), after.index()
	for i, s := range after.Streams {
		if i >= len(before.Streams) || before.Streams[i].Name() != s.Name() {
			break // the streams from here on were made by controllers
		}
		old := before.Streams[i]
		_, hiddenBefore := hiddenIn(old.Documents(), before.Outcome.Manifests, wasAt)
		_, hiddenAfter := hiddenIn(s.Documents(), after.Outcome.Manifests, isAt)
		f := compared(redact.Manifests{Name: s.Name(), Text: string(old.Bytes()), Hidden: hiddenBefore}, redact.Manifests{Name: s.Name(), Text: string(s.Bytes()), Hidden: hiddenAfter}, secrets)
		f.states, f.before, f.after = &[2]string{"before", "after"}, was.Files[i].after, is.Files[i].after
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
			r.Manifests[at].Edits = converter{secrets}.between(d, from[n], to[n], edits)
			r.Manifests[at].Dropped, r.Manifests[at].NotApplied = nil, nil
		}
	}
	return r
}

// objectsIn reads the objects in a text.
func objectsIn(text string) []map[string]any {
	stream, _ := manifest.Reread("-", []byte(text))
	var objects []map[string]any
	for _, d := range stream.Documents() {
		objects = append(objects, d.Object())
	}
	return objects
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
func (c converter) between(d *manifest.Document, from, to map[string]any, given []Edit) []Edit {
	var edits []Edit
	index := &change.PathIndex{}
	for i, g := range given {
		index.Add(g.path, i)
	}
	for _, difference := range change.Diff(from, to, nil) {
		related := index.Overlapping(difference.Path)
		hidden := redact.HiddenIn(d)
		if slices.ContainsFunc(related, func(i int) bool { return given[i].sensitive }) {
			hidden = redact.Everything
		}
		e := c.edit(hidden, difference)
		e.At = d.At(difference.Path)
		for _, i := range related {
			for _, s := range given[i].Causes {
				if !slices.ContainsFunc(e.Causes, func(other Step) bool { return other.by() == s.by() }) {
					e.Causes = append(e.Causes, s)
				}
			}
		}
		edits = append(edits, e)
	}
	return edits
}
