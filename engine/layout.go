package engine

import (
	"crypto/sha256"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// layout says where the documents of a run begin, by file, in order.
type layout map[string][]begun

// begun is the start of a document. text is a digest of its text from there on.
type begun struct {
	at   source.Position
	text digest
}

// findLayout returns the layout of the input of a run.
func (r *run) findLayout() layout {
	places := layout{}
	for _, documents := range [][]*manifest.Document{r.set.given, r.set.old, r.input.policies, r.input.local, r.input.manifests} {
		for _, d := range documents {
			at := d.At(nil)
			places[at.File] = append(places[at.File], begun{at, policy.Keep(r.kept, "layout", []*manifest.Document{d}, func() digest { return layoutOf(d) })})
		}
	}
	for _, all := range places {
		slices.SortFunc(all, func(a, b begun) int { return a.at.Compare(b.at) })
	}
	return places
}

// layoutOf returns a digest of the text of a document without the comments before its first key.
func layoutOf(d *manifest.Document) digest {
	text, _ := d.Text()
	for strings.HasPrefix(strings.TrimLeft(text, " \r"), "#") || strings.HasPrefix(strings.TrimLeft(text, " \r"), "\n") || strings.HasPrefix(text, "---") {
		_, text, _ = strings.Cut(text, "\n")
	}
	return sha256.Sum256([]byte(strings.TrimRight(text, " \r\n")))
}

// move leads from the places of documents in an earlier run to those in this one. It has the files in which a
// document is elsewhere, or has another text.
type move map[string][]moved

// moved is the start of a document in the earlier run, and in this one; that is unknown if no document has
// the text.
type moved struct{ from, to source.Position }

func newMove(from, to layout) move {
	m := move{}
	for file, before := range from {
		if slices.Equal(before, to[file]) {
			continue
		}
		after := map[digest][]source.Position{}
		for _, is := range to[file] {
			after[is.text] = append(after[is.text], is.at)
		}
		for _, was := range before {
			one := moved{from: was.at}
			if same := after[was.text]; len(same) > 0 {
				one.to, after[was.text] = same[0], same[1:]
			}
			m[file] = append(m[file], one)
		}
	}
	return m
}

// at returns where a position is now. It returns false if the document there has another text.
func (m move) at(p source.Position) (now source.Position, ok bool) {
	all := m[p.File]
	if len(all) == 0 || p.Line == 0 {
		return p, true
	}
	i, found := slices.BinarySearchFunc(all, p, func(one moved, p source.Position) int { return one.from.Compare(p) })
	if !found {
		i--
	}
	if i < 0 || !all[i].to.IsKnown() {
		return p, false
	}
	by := all[i]
	if p.Line == by.from.Line {
		p.Column += by.to.Column - by.from.Column
	}
	p.Line += by.to.Line - by.from.Line
	return p, true
}

// mover moves positions.
type mover func(*source.Position)

// kept returns what is kept of a job, with its positions in this run. It returns false if a position is
// lost.
func (m move) kept(k *kept, j *job) (now *kept, ok bool) {
	ok = true
	at := mover(func(p *source.Position) {
		var known bool
		*p, known = m.at(*p)
		ok = ok && known
	})
	one := *k
	one.result = at.manifest(k.result, j)
	one.diagnostics = at.diagnostics(k.diagnostics)
	one.written = at.written(k.written)
	return &one, ok
}

// each returns the values of a list with their positions moved.
func each[T any](all []T, move func(*T)) []T {
	all = slices.Clone(all)
	for i := range all {
		move(&all[i])
	}
	return all
}

// manifest returns a result as that of a job. Reasons of policies that do not match it are left out.
func (at mover) manifest(m *Manifest, j *job) *Manifest {
	one := *m
	one.Document, one.ID, one.Namespace = j.document, j.result.ID, j.result.Namespace
	changed := func(c *Change) { at(&c.At) }
	one.Tree, one.Changes = each(m.Tree, changed), each(m.Changes, changed)
	one.Edits = each(m.Edits, func(e *Edit) { at(&e.At) })
	one.NotApplied = at.reasons(m.NotApplied)
	one.Verdicts = each(m.Verdicts, func(v *Verdict) { v.Because = at.reasons(v.Because) })
	one.Warnings = each(m.Warnings, func(w *Warning) {
		at(&w.At)
		at(&w.field)
		at(&w.name)
	})
	one.Audit = each(m.Audit, func(a *policy.Annotation) { at(&a.At) })
	one.Objections = each(m.Objections, func(o *Objection) {
		at(&o.At)
		at(&o.CauseAt)
		o.Facts = at.facts(o.Facts)
	})
	return &one
}

func (at mover) facts(all []source.Fact) []source.Fact {
	return each(all, func(f *source.Fact) { at(&f.At) })
}

func (at mover) places(all []source.Place) []source.Place {
	return each(all, func(p *source.Place) { at(&p.At) })
}

func (at mover) reasons(all []policy.NotApplied) []policy.NotApplied {
	matching := slices.DeleteFunc(slices.Clone(all), policy.NotApplied.IsOutOfScope)
	return each(matching, func(n *policy.NotApplied) { at(&n.At) })
}

func (at mover) failures(all []policy.Failure) []policy.Failure {
	return each(all, func(f *policy.Failure) { at(&f.At) })
}

func (at mover) diagnostics(all []source.Diagnostic) []source.Diagnostic {
	return each(all, func(d *source.Diagnostic) {
		at(&d.At)
		at(&d.Origin)
		d.Related, d.Also, d.Facts = at.places(d.Related), at.places(d.Also), at.facts(d.Facts)
		d.Fixes = each(d.Fixes, func(f *source.Fix) {
			f.Edits = each(f.Edits, func(e *source.Edit) {
				at(&e.At)
				at(&e.To)
			})
		})
	})
}

// written returns what is kept of an admission.
func (at mover) written(w *written) *written {
	one, a := *w, *w.admitted
	if t := a.trace; t != nil {
		moved := *t
		moved.events = each(t.events, func(e *event) { at(&e.at) })
		moved.ignored = at.failures(t.ignored)
		a.trace = &moved
	}
	if a.sample != nil && a.sample.tried != nil {
		sample := *a.sample
		sample.tried = &tried{at.diagnostics(sample.tried.found)}
		a.sample = &sample
	}
	one.admitted = &a
	return &one
}
