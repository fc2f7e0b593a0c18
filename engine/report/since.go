package report

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/redact"
)

// State is a run on one state of a repository.
type State struct {
	// Name is the name of the state in a diff.
	Name string
	Run  Run
	// Hold returns the objects that a cluster holds for documents of the output, each at the index
	// of its document.
	Hold func(output []*manifest.Document) []map[string]any
	// Policies are the policies and bindings of the run, and Context all documents that policies may
	// have read: params and Namespaces among them.
	Policies, Context []*manifest.Document
}

// presence says that an object is in only one of two states of a repository.
type presence string

const (
	added   presence = "added"
	removed presence = "removed"
)

// Since returns a report of how the objects change that a cluster holds, if the state head of a
// repository replaces the state base. Each state has its own policies. Objects are the same if
// they have the same ID, preferably in the same file. Objects that policies deny in both states are
// compared as they are written. Other objects that are not admitted in the state head are left out: the
// diagnostics of its outcome name them. secrets hides values; nil hides none.
func Since(base, head State, secrets *redact.Redactor) *Report {
	s := &since{
		report: &Report{since: true}, converter: converter{secrets}, base: newAdmitted(base, secrets), head: newAdmitted(head, secrets),
		policies: changedNames(base.Policies, head.Policies), params: changedNames(base.Context, head.Context),
	}
	s.adopt()
	pairs := s.pairs()
	s.hold(pairs)
	// Marks point to manifests, so the slice must not grow.
	s.report.Manifests = make([]Manifest, len(pairs))
	for i, p := range pairs {
		s.compare(&s.report.Manifests[i], p)
	}
	s.report.Total = len(pairs)
	return s.report
}

// since compares two states of a repository.
type since struct {
	report     *Report
	converter  converter
	base, head *admitted
	// policies and params are the names of the objects that differ between the states.
	policies, params map[string]bool
}

// admitted are the admitted objects of one state.
type admitted struct {
	state  State
	report *Report
	// index has the manifests by their documents.
	index map[*manifest.Document]int
	// outputs are the documents of the output, by the index of the manifest. They are nil for a
	// manifest that was not admitted.
	outputs []*manifest.Document
	// denied are the indexes of the manifests that policies deny. Their outputs are as they are written.
	denied map[int]bool
	// held are the objects that a cluster holds, by the index of the manifest, as far as they are
	// needed.
	held map[int]map[string]any
}

func newAdmitted(state State, secrets *redact.Redactor) *admitted {
	a := &admitted{state: state, report: New(state.Run.Outcome, nil, nil, secrets), index: state.Run.index(), held: map[int]map[string]any{}}
	a.report.Diagnostics = state.Run.Outcome.Diagnostics
	a.outputs = make([]*manifest.Document, len(a.report.Manifests))
	failed := a.report.failed()
	a.denied = a.report.denied(failed)
	for _, s := range state.Run.Streams {
		written, _ := manifest.Reread(s.Name(), s.Bytes())
		if len(written.Documents()) != len(s.Documents()) {
			continue
		}
		for n, d := range s.Documents() {
			if i, ok := a.index[d]; ok && (!failed[i] || a.denied[i]) && state.Run.Outcome.Manifests[i].ID != "" && d.Kind().Kind != "" { // without a kind, no cluster holds it
				a.outputs[i] = written.Documents()[n]
			}
		}
	}
	return a
}

// adopt takes over what the run of the base has taken over from that of the head.
func (s *since) adopt() {
	for i, m := range s.base.state.Run.Outcome.Manifests {
		if m.Same == nil {
			continue
		}
		same := s.head.index[m.Same.Document]
		s.base.outputs[i], s.base.denied[i] = s.head.outputs[same], s.head.denied[same]
		s.base.report.Manifests[i].Edits = s.head.report.Manifests[same].Edits
	}
}

// id returns the ID of a manifest. fileAndID has the name of its file as well.
func (a *admitted) id(i int) string { return a.state.Run.Outcome.Manifests[i].ID }

func (a *admitted) fileAndID(i int) string {
	return a.state.Run.Outcome.Manifests[i].Document.Stream().Name() + "\n" + a.id(i)
}

// pair are the indexes of an object in both states; -1 where it does not exist.
type pair struct{ base, head int }

// pairs returns the objects in the order of the state head. The objects that are gone follow.
func (s *since) pairs() []pair {
	partners, taken := slices.Repeat([]int{-1}, len(s.head.outputs)), make([]bool, len(s.base.outputs))
	for _, key := range []func(*admitted, int) string{(*admitted).fileAndID, (*admitted).id} {
		waiting := map[string][]int{}
		for i, d := range s.base.outputs {
			if d != nil && !taken[i] {
				waiting[key(s.base, i)] = append(waiting[key(s.base, i)], i)
			}
		}
		for i := range s.head.outputs {
			name := key(s.head, i)
			if found := waiting[name]; partners[i] < 0 && len(found) > 0 {
				partners[i], waiting[name] = found[0], found[1:]
				taken[found[0]] = true
			}
		}
	}
	var pairs []pair
	for i, d := range s.head.outputs {
		switch base := partners[i]; {
		case d == nil:
		case s.head.denied[i] && (base < 0 || !s.base.denied[base]): // an error says so
		case base >= 0 && s.base.denied[base] && !s.head.denied[i]:
			pairs = append(pairs, pair{-1, i})
		default:
			pairs = append(pairs, pair{base, i})
		}
	}
	for i, d := range s.base.outputs {
		if d != nil && !taken[i] && !s.base.denied[i] {
			pairs = append(pairs, pair{i, -1})
		}
	}
	return pairs
}

// InState returns the name of a file in another state of a repository, as git writes it.
func InState(state, file string) string { return state + ":" + file }

// hold asks for the objects that a cluster holds, except for those with the same output in both
// states.
func (s *since) hold(pairs []pair) {
	var base, head []int
	for _, p := range pairs {
		if p.base >= 0 && p.head >= 0 {
			was, is := s.base.outputs[p.base], s.head.outputs[p.head]
			if was == is || reflect.DeepEqual(was.Object(), is.Object()) {
				continue
			}
		}
		if p.base >= 0 {
			base = append(base, p.base)
		}
		if p.head >= 0 {
			head = append(head, p.head)
		}
	}
	s.base.hold(base)
	s.head.hold(head)
}

func (a *admitted) hold(indexes []int) {
	documents := make([]*manifest.Document, len(indexes))
	for n, i := range indexes {
		documents[n] = a.outputs[i]
	}
	for n, object := range a.state.Hold(documents) {
		a.held[indexes[n]] = object
	}
}

// text returns the object that the cluster holds for a manifest, with what is hidden in it.
func (a *admitted) text(i int, name string) redact.Manifests {
	if i < 0 {
		return redact.Manifests{Name: name}
	}
	_, hidden := hiddenIn([]*manifest.Document{a.state.Run.Outcome.Manifests[i].Document}, a.state.Run.Outcome.Manifests, a.index)
	return redact.Manifests{Name: name, Text: string(manifest.YAML(a.held[i])), Hidden: hidden}
}

// compare fills in how an object differs between the states.
func (s *since) compare(m *Manifest, p pair) {
	a, i := s.head, p.head
	if i < 0 {
		a, i = s.base, p.base
	}
	from := a.report.Manifests[i]
	*m = Manifest{MadeOf: from.MadeOf, ID: from.ID, Kind: from.Kind, Name: from.Name, At: from.At, Origin: from.Origin}
	switch {
	case p.base < 0:
		m.presence = added
	case p.head < 0:
		m.presence = removed
		m.At.File = InState(s.base.state.Name, m.At.File)
		m.Origin.File = m.At.File
	case s.head.held[p.head] == nil:
		return
	default:
		m.Edits = s.edits(p)
		if len(m.Edits) == 0 {
			return
		}
	}
	f := compared(s.base.text(p.base, m.ID), s.head.text(p.head, m.ID), s.converter.redactor)
	f.states = &[2]string{s.base.state.Name, s.head.state.Name}
	f.before, f.after = s.marks(m, f.Before), s.marks(m, f.After)
	s.report.Files = append(s.report.Files, f)
}

// marks returns the lines at which the edits of an object begin in its text.
func (s *since) marks(m *Manifest, text string) []mark {
	if m.presence != "" {
		return []mark{{1, &Edit{}, m}}
	}
	stream, _ := manifest.Reread(m.ID, []byte(text))
	if len(stream.Documents()) != 1 {
		return nil
	}
	var marks []mark
	for i := range m.Edits {
		marks = append(marks, mark{startOf(stream.Documents()[0], m.Edits[i].path), &m.Edits[i], m})
	}
	sortMarks(marks)
	return marks
}

// edits returns the edits that turn the object of the state base into that of the state head, with
// their reasons.
func (s *since) edits(p pair) []Edit {
	was, is := s.base.state.Run.Outcome.Manifests[p.base].Document, s.head.state.Run.Outcome.Manifests[p.head].Document
	given := slices.Concat(s.head.report.Manifests[p.head].Edits, s.base.report.Manifests[p.base].Edits)
	edits := s.converter.between(is, s.base.held[p.base], s.head.held[p.head], given)
	written := change.NewPathIndex(change.Diff(was.Object(), is.Object(), nil))
	for i := range edits {
		edits[i].Reasons = s.reasons(edits[i], written)
		if s.head.denied[p.head] {
			edits[i].Reasons = []string{byManifest + ", which policies deny in both states"}
		}
	}
	return edits
}

// reasons says what has made an edit: the author of the manifest if the manifest itself differs there,
// and the policies that have written there if they differ; else what these policies have read. written
// are the paths at which the manifest differs as it is written.
func (s *since) reasons(e Edit, written *change.PathIndex) []string {
	var reasons, through []string
	if written.Overlaps(e.path) {
		reasons = append(reasons, byManifest)
	}
	for _, step := range e.Causes {
		switch by := step.reason(); {
		case step.Policy == "" || slices.Contains(reasons, by) || slices.Contains(through, by):
		case s.policies[step.Policy] || s.policies[step.Binding] || s.params[step.Param]:
			reasons = append(reasons, by)
		default:
			through = append(through, by)
		}
	}
	if len(reasons) > 0 {
		return reasons
	}
	reason := "the context"
	if written.Overlaps(nil) { // it differs elsewhere
		reason = byManifest
	}
	if len(through) > 0 {
		reason += " through " + strings.Join(through, " and ")
	}
	return []string{reason}
}

// byManifest is the reason for an edit that the author of the manifest has made.
const byManifest = "the manifest"

// reason returns the reason for an edit that the policy of a step has made.
func (s Step) reason() string { return "policy " + s.Policy }

// changedNames returns the names of the objects that are not the same in two lists, with and without
// their namespace. A list may have an object several times, and several objects of a name: one for each part of a run.
func changedNames(base, head []*manifest.Document) map[string]bool {
	type object struct{ kind, namespace, name string }
	texts := func(list []*manifest.Document) map[object]map[string]bool {
		all := map[object]map[string]bool{}
		for _, d := range list {
			key := object{d.Kind().String(), d.Namespace(), d.Name()}
			if all[key] == nil {
				all[key] = map[string]bool{}
			}
			all[key][string(manifest.JSON(d.Object()))] = true
		}
		return all
	}
	was, is, changed := texts(base), texts(head), map[string]bool{}
	for _, all := range []map[object]map[string]bool{was, is} {
		for key := range all {
			if !maps.Equal(was[key], is[key]) {
				changed[strings.TrimPrefix(key.namespace+"/"+key.name, "/")], changed[key.name] = true, true
			}
		}
	}
	return changed
}
