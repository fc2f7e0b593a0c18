// Package report prints what a run did: as text for people, as a unified diff, as a comment
// for a pull request, and as JSON, SARIF, JUnit, GitHub annotations and HTML. A Report is made
// once from an engine.Outcome. The formats only write down what is in it.
//
// The values of Secrets are masked when the Report is made, so no format can show them.
//
// The files in order: report.go (Report), mask.go and comments.go (values and comments of
// Secrets), against.go (the Report of two runs), diff.go (unified diffs), lines.go (the same
// with numbers), hunks.go (what changed in each), values.go (values on one line), fold.go
// (rules that were not applied for one reason), summary.go
// and findings.go (what several formats share). Each format has a file: text.go, unified.go,
// markdown.go, json.go, sarif.go, junit.go, github.go, html.go, stats.go (counts).
package report

import (
	"path"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/secret"
	"github.com/preadmit/preadmit/engine/source"
)

// Report is what there is to say about a run.
type Report struct {
	Files       []File
	Manifests   []Manifest
	Diagnostics []source.Diagnostic
	// Policies are the texts of the files that policies are in.
	Policies []Text
	// Field is the field that the report is narrowed to, and Total how many manifests
	// there were before that.
	Field string
	Total int
}

// Text is a file.
type Text struct{ Name, Text string }

// File is a file of manifests, before the policies and after.
type File struct {
	Name          string
	Before, After string
	// marks say which edits begin on which lines.
	before, after []mark
	// against says that both texts are admitted, by different policies.
	against bool
}

// mark says that an edit of a manifest begins on a line.
type mark struct {
	line     int
	edit     *Edit
	manifest *Manifest
}

// Manifest is what became of a manifest.
type Manifest struct {
	// MadeOf is what a controller made it of; "" if somebody wrote it.
	MadeOf string
	ID     string
	// Kind and Name are the two parts of the ID: apps/Deployment and shop/checkout.
	Kind, Name string
	At         source.Position
	Edits      []Edit
	Dropped    []Step
	NotApplied []NotApplied
}

// Edit is a net change to a manifest.
type Edit struct {
	Op   change.Op
	Path string
	// Pointer is the path as a JSON Pointer, and From where a moved item was. Carried out
	// one after the other on the manifest, as a JSON Patch, edits make the output.
	Pointer, From string
	Old, New      any
	// At is where the value is in the manifest, or what will hold it.
	At     source.Position
	Causes []Step
	// source and result are where it is in the manifest as it was, and as it is; last is
	// the last element of its path.
	source, result change.Path
	// sensitive says that the value must stay secret.
	sensitive bool
	last      change.Element
}

// Step is what one rule of a policy wrote, or admission.
type Step struct {
	Disposition                  engine.Disposition
	Policy, Binding, Param, Rule string
	// Plugin is an admission plug-in that is part of the server, in place of a policy.
	Plugin   string
	At       source.Position
	Pass     int
	Op       change.Op
	Path     string
	Old, New any
}

// NotApplied says why a policy left a manifest alone.
type NotApplied struct {
	Policy, Binding, Param, Rule string
	At                           source.Position
	Reason                       string
}

// Changed counts the manifests that the policies change.
func (r *Report) Changed() int {
	n := 0
	for _, m := range r.Manifests {
		if len(m.Edits) > 0 {
			n++
		}
	}
	return n
}

// Filter says what a report is narrowed to. Empty fields let everything through.
type Filter struct {
	// Field is a field; what is at it, in it or around it counts.
	Field string
	// Object is Kind/name or the whole ID, with * and ? for parts of a name.
	Object string
	// Policy is the name of a policy, with * and ?.
	Policy string
	// Changed leaves only manifests that change.
	Changed bool
}

// Narrow leaves only what a filter lets through. Files stay whole.
func (r *Report) Narrow(f Filter) {
	r.Field = f.Field
	var manifests []Manifest
	for _, m := range r.Manifests {
		if f.Object != "" && !m.isCalled(f.Object) {
			continue
		}
		m.Edits = slices.DeleteFunc(slices.Clone(m.Edits), func(e Edit) bool {
			return !related(f.Field, e.Path) || !slices.ContainsFunc(e.Causes, func(s Step) bool { return f.by(s.Policy) })
		})
		m.Dropped = slices.DeleteFunc(slices.Clone(m.Dropped), func(s Step) bool { return !related(f.Field, s.Path) || !f.by(s.Policy) })
		m.NotApplied = slices.DeleteFunc(slices.Clone(m.NotApplied), func(n NotApplied) bool { return !f.by(n.Policy) })
		if (f.Field != "" || f.Changed) && len(m.Edits)+len(m.Dropped) == 0 || f.Policy != "" && len(m.Edits)+len(m.Dropped)+len(m.NotApplied) == 0 {
			continue
		}
		manifests = append(manifests, m)
	}
	r.Manifests = manifests
}

// by reports whether the filter lets a policy through.
func (f *Filter) by(policy string) bool { return f.Policy == "" || matches(f.Policy, policy) }

// isCalled reports whether a pattern is for the ID of a manifest, or for its kind and name,
// with or without group and namespace.
func (m *Manifest) isCalled(pattern string) bool { return IsCalled(pattern, m.ID, m.Kind, m.Name) }

// IsCalled reports whether a pattern is for an object with an ID: for that, or for its kind
// and name, with or without group and namespace.
func IsCalled(pattern, id, groupKind, namespacedName string) bool {
	kind, name := groupKind[strings.LastIndexByte(groupKind, '/')+1:], namespacedName[strings.LastIndexByte(namespacedName, '/')+1:]
	for _, called := range []string{id, kind + "/" + namespacedName, kind + "/" + name, groupKind + "/" + name} {
		if matches(strings.ToLower(pattern), strings.ToLower(called)) {
			return true
		}
	}
	return false
}

// matches reports whether a pattern with * and ? is for a name. One that is malformed is for
// itself only.
func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok || err != nil && pattern == name
}

// related reports whether one of two fields holds the other; the empty one holds all.
func related(a, b string) bool {
	if a == "" || b == "" {
		return true
	}
	if len(a) > len(b) {
		a, b = b, a
	}
	rest, ok := strings.CutPrefix(b, a)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// New makes the report of a run. The streams are the manifests of the run, the policy
// streams those that policies were read from. secrets hides values, those of the outcome;
// nil hides none.
func New(outcome *engine.Outcome, streams, policies []*manifest.Stream, secrets *secret.Mask) *Report {
	r, mask := &Report{Manifests: make([]Manifest, 0, len(outcome.Manifests))}, mask{secrets}
	index := make(map[*manifest.Document]int, len(outcome.Manifests))
	for i, m := range outcome.Manifests {
		index[m.Document] = i
		r.Manifests = append(r.Manifests, mask.manifest(m))
	}
	r.Total = len(r.Manifests)
	for _, s := range streams {
		r.Files = append(r.Files, r.fileOf(s, outcome.Manifests, index, secrets))
	}
	for _, s := range policies {
		if len(s.Documents()) > 0 && s.Documents()[0].At(nil).IsKnown() {
			r.Policies = append(r.Policies, Text{s.Name(), mask.manifests(s.Name(), s.Text(), nil, "", nil)})
		}
	}
	return r
}

// Compare makes a File of two texts of manifests. secrets hides values; nil hides none.
func Compare(name, before, after string, secrets *secret.Mask) File {
	return mask{secrets}.compare(name, before, after, nil)
}

// compare is Compare; hides are the paths that are hidden in the documents after.
func (m mask) compare(name, before, after string, hides map[int]hidden) File {
	return File{Name: name, Before: m.manifests(name, before, &after, " (before)", nil), After: m.manifests(name, after, &before, " (after)", hides)}
}

// fileOf compares a stream with what became of it.
func (r *Report) fileOf(s *manifest.Stream, manifests []*engine.Manifest, index map[*manifest.Document]int, secrets *secret.Mask) File {
	before, after := s.Text(), s.Bytes()
	written, _ := manifest.Reread(s.Name(), after)
	f, read := File{Name: s.Name(), Before: before, After: written.Text()}, s
	mask, hides := mask{secrets}, hiddenIn(s, manifests, index)
	if len(hides) > 0 || !mask.hidesNothingIn(slices.Concat(s.Documents(), written.Documents())) {
		f = mask.compare(s.Name(), before, f.After, hides)
		read, _ = manifest.Reread(s.Name(), []byte(f.Before))
		written, _ = manifest.Reread(s.Name(), []byte(f.After))
	}
	if len(read.Documents()) != len(s.Documents()) || len(written.Documents()) != len(s.Documents()) {
		return f
	}
	for i, d := range s.Documents() {
		m, ok := index[d]
		if !ok {
			continue
		}
		about := &r.Manifests[m]
		for n := range about.Edits {
			e := &about.Edits[n]
			at := e.At
			if read != s {
				at = read.Documents()[i].At(e.source)
			}
			f.before = append(f.before, mark{at.Line, e, about})
			f.after = append(f.after, mark{startOf(written.Documents()[i], e.result), e, about})
		}
		written.Documents()[i].Release()
	}
	sortMarks(f.before)
	sortMarks(f.after)
	return f
}

// startOf is the line of a value in a document, or of its key if that is above.
func startOf(d *manifest.Document, path change.Path) int {
	at := d.At(path)
	above := at
	above.Line--
	if key := path[len(path)-1].Key; key != "" && strings.HasSuffix(strings.TrimSpace(d.Line(above)), key+":") {
		return above.Line
	}
	return at.Line
}

// sortMarks puts marks in the order of their lines.
func sortMarks(marks []mark) {
	slices.SortStableFunc(marks, func(a, b mark) int { return a.line - b.line })
}

// editAt finds the edit that a changed line belongs to: the last that begins on the
// line or before it.
func editAt(marks []mark, line int) (mark, bool) {
	after, _ := slices.BinarySearchFunc(marks, line+1, func(m mark, line int) int { return m.line - line })
	if after == 0 {
		return mark{}, false
	}
	return marks[after-1], true
}
