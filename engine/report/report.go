// Package report prints the result of a run: as text for people, as a unified diff, as a comment
// for a pull request, and as JSON, SARIF, JUnit, GitHub annotations and HTML. A Report is built
// once from an engine.Outcome. The formats only print it.
//
// What must not be shown is decided when the Report is made, by package redact, so no format can show
// it. Names and texts of the Report are printable, on one line; only values and the text of files
// are exact.
//
// The files in order: report.go (Report), convert.go (from the results of the engine), against.go (the Report of
// two runs), since.go (of two states of a repository), diff.go (unified diffs), lines.go (the same with numbers),
// hunks.go (what changed in each), values.go (changes with their values), objections.go (what validation says),
// fold.go (rules that were not applied for one reason), filter.go (parts of a Report), known.go (only new
// changes), matrix.go (what each policy did to each object), summary.go and findings.go (what several formats
// share). Each format has a file: text.go, unified.go, markdown.go, json.go, sarif.go, junit.go, github.go,
// html.go, stats.go (counts), and of a matrix matrixtext.go, matrixdata.go (JSON and CSV) and matrixhtml.go.
package report

import (
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/redact"
	"github.com/preadmit/preadmit/engine/source"
)

// Report has everything that is printed about a run.
type Report struct {
	Files       []File
	Manifests   []Manifest
	Diagnostics []source.Diagnostic
	// Policies are the files that the policies were read from.
	Policies []Text
	// Field is the field that the report is narrowed to, or "". Total is the number of manifests
	// before narrowing.
	Field string
	Total int
	// KyvernoVersion is that of the outcome.
	KyvernoVersion string
	// Full means that what does not change is shown, too: whole values and whole files. What changes
	// is always whole.
	Full bool
	// Verbose means that all places of a finding are listed, not only the first.
	Verbose bool
	// resembling is a changed field that resembles Field, if nothing changes in Field.
	resembling string
	// since means that the report compares two states of a repository.
	since bool
}

// Text is a file with its name.
type Text struct{ Name, Text string }

// File is a file of manifests, before the policies and after.
type File struct {
	Name          string
	Before, After string
	// before and after have the line at which each edit begins in Before and After.
	before, after []mark
	// objects are the objects in Before by their first lines.
	objects []objectAt
	// states name the two texts in a diff; nil means the manifests as they are written and as they are
	// admitted.
	states *[2]string
}

// mark is the line at which an edit of a manifest begins.
type mark struct {
	line     int
	edit     *Edit
	manifest *Manifest
}

// objectAt is the line at which an object with a name begins, with the comments above it.
type objectAt struct {
	line int
	name string
}

// Manifest is the result of one manifest.
type Manifest struct {
	// MadeOf is the object from which a controller made the manifest, or "".
	MadeOf string
	ID     string
	// Kind and Name are the two parts of the ID: apps/Deployment and shop/checkout.
	Kind, Name string
	// At is the position of the object in the repository, and Origin that in what was read, which
	// differs for an object that a program has rendered.
	At, Origin source.Position
	Edits      []Edit
	Dropped    []Step
	NotApplied []NotApplied
	// Audit are the annotations of the audit event, from validating policies.
	Audit []policy.Annotation
	// Objections are what validation says about the object, and why.
	Objections []engine.Objection
	// presence says that the object is in only one of two states of a repository.
	presence presence
}

// Edit is one net change to a manifest.
type Edit struct {
	Op   change.Op
	Path string
	// Pointer is the path as a JSON Pointer, and From the pointer from which an item was moved. The
	// edits, applied in order as a JSON Patch, turn the manifest into the output.
	Pointer, From string
	Old, New      any
	// At is the position of the value in the manifest, or of the parent that will hold it.
	At     source.Position
	Causes []Step
	// Reasons say, between two states of a repository, what has made the edit: "the manifest", "policy p",
	// or "the context" that policies read.
	Reasons []string
	// path is the exact Path. source and result are the path of the value before and after the
	// policies, and last is the last element of the path.
	path, source, result change.Path
	// known means that the edit is left out, because it is not new.
	known bool
	// sensitive means that the value must stay secret.
	sensitive bool
	last      change.Element
}

// Step is one write by a rule of a policy or by admission.
type Step struct {
	Disposition                  engine.Disposition
	Policy, Binding, Param, Rule string
	// Kind is policy.WebhookKind if a webhook wrote the value: Policy is then its configuration, and
	// Rule the webhook.
	Kind string
	// Plugin is the admission plug-in of the server that wrote the value, if no policy did.
	Plugin   string
	At       source.Position
	Pass     int
	Op       change.Op
	Path     string
	Old, New any
	last     change.Element
}

// difference returns what an edit changes.
func (e *Edit) difference() difference { return difference{e.Op, e.Path, e.last, e.Old, e.New} }

// difference returns what a step changed.
func (s *Step) difference() difference { return difference{s.Op, s.Path, s.last, s.Old, s.New} }

// NotApplied says why a policy left a manifest alone.
type NotApplied struct {
	Policy, Binding, Param, Rule string
	// Kind is as in Step.
	Kind   string
	At     source.Position
	Reason string
}

// Changed returns the number of manifests that the policies change.
func (r *Report) Changed() int {
	n := 0
	for _, m := range r.Manifests {
		if m.differs() {
			n++
		}
	}
	return n
}

// differs reports whether the report shows a change of the manifest.
func (m *Manifest) differs() bool { return len(m.Edits) > 0 || m.presence != "" }

// New returns the report of a run. streams are the manifests of the run, and policies the streams
// that the policies were read from. secrets hides the values of Secrets; nil hides none.
func New(outcome *engine.Outcome, streams, policies []*manifest.Stream, secrets *redact.Redactor) *Report {
	r, c := &Report{Manifests: make([]Manifest, 0, len(outcome.Manifests)), KyvernoVersion: outcome.KyvernoVersion}, converter{secrets}
	index := make(map[*manifest.Document]int, len(outcome.Manifests))
	for i, m := range outcome.Manifests {
		index[m.Document] = i
		r.Manifests = append(r.Manifests, c.manifest(m))
	}
	r.Total = len(r.Manifests)
	for _, s := range streams {
		r.Files = append(r.Files, r.fileOf(s, outcome.Manifests, index, secrets))
	}
	for _, s := range policies {
		if len(s.Documents()) > 0 && s.Documents()[0].At(nil).IsKnown() {
			r.Policies = append(r.Policies, Text{s.Name(), secrets.Manifests(redact.Manifests{Name: s.Name(), Text: s.Text()})})
		}
	}
	return r
}

// Compare returns a File of two texts of the same manifests. hidden are further hidden paths in both;
// see Hidden. secrets hides values; nil hides none.
func Compare(name, before, after string, hidden map[int]redact.Hidden, secrets *redact.Redactor) File {
	return compared(redact.Manifests{Name: name, Text: before, Hidden: hidden}, redact.Manifests{Name: name, Text: after, Hidden: hidden}, secrets)
}

func compared(before, after redact.Manifests, secrets *redact.Redactor) File {
	f := File{Name: before.Name}
	f.Before, f.After = secrets.Pair(before, after)
	return f
}

// fileOf compares a stream before and after the run.
func (r *Report) fileOf(s *manifest.Stream, manifests []*engine.Manifest, index map[*manifest.Document]int, secrets *redact.Redactor) File {
	before, after := s.Text(), s.Bytes()
	written, problems := manifest.Reread(s.Name(), after)
	f, read := File{Name: s.Name(), Before: before, After: written.Text()}, s
	hiddenBefore, hiddenAfter := hiddenIn(s.Documents(), manifests, index)
	if len(hiddenAfter) > 0 || source.HasErrors(problems) || !secrets.Shows(slices.Concat(s.Documents(), written.Documents())) {
		f = compared(redact.Manifests{Name: s.Name(), Text: before, Hidden: hiddenBefore}, redact.Manifests{Name: s.Name(), Text: f.After, Hidden: hiddenAfter}, secrets)
		read, _ = manifest.Reread(s.Name(), []byte(f.Before))
		written, _ = manifest.Reread(s.Name(), []byte(f.After))
	}
	if len(read.Documents()) != len(s.Documents()) || len(written.Documents()) != len(s.Documents()) {
		return f
	}
	lines := splitLines(f.Before)
	for i, d := range s.Documents() {
		m, ok := index[d]
		if !ok {
			f.objects = append(f.objects, objectAt{beginOf(read.Documents()[i], lines), secrets.Text(d.Kind().Kind + " " + d.Name())})
			continue
		}
		about := &r.Manifests[m]
		f.objects = append(f.objects, objectAt{beginOf(read.Documents()[i], lines), about.object()})
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

// startOf returns the line of a value in a document, or of its key if the key is above the value.
func startOf(d *manifest.Document, path change.Path) int {
	at := d.At(path)
	above := at
	above.Line--
	if key := path[len(path)-1].Key; key != "" && strings.HasSuffix(strings.TrimSpace(d.Line(above)), key+":") {
		return above.Line
	}
	return at.Line
}

// beginOf returns the first line of a document: that of the comments above it. lines are those of its file.
func beginOf(d *manifest.Document, lines []string) int {
	line := d.At(nil).Line
	for line > 1 && strings.HasPrefix(lines[line-2], "#") {
		line--
	}
	return line
}

// Locate gives all manifests and edits the positions in the repository that at returns for positions in
// what was rendered, and the fields there.
func (r *Report) Locate(at func(source.Position, change.Path) source.Position) {
	for i := range r.Manifests {
		m := &r.Manifests[i]
		m.At = at(m.At, nil)
		for n := range m.Edits {
			m.Edits[n].At = at(m.Edits[n].At, m.Edits[n].path)
		}
		for n := range m.Objections {
			m.Objections[n].Facts = LocatedFacts(m.Objections[n].Facts, at)
		}
	}
}

// LocatedFacts returns facts with the positions in the repository that at returns for positions in what was
// rendered, and the fields there.
func LocatedFacts(facts []source.Fact, at func(source.Position, change.Path) source.Position) []source.Fact {
	facts = slices.Clone(facts)
	for i := range facts {
		name, _ := strings.CutPrefix(facts[i].Name, "object.")
		field, _ := change.ParsePath(name) // other facts have no field
		facts[i].At = at(facts[i].At, field)
	}
	return facts
}

// rendered returns the place where the object was rendered, if it was.
func (m *Manifest) rendered() []source.Place {
	if m.At.File == m.Origin.File {
		return nil
	}
	return []source.Place{{Name: source.RenderedHere, At: source.Position{File: m.Origin.File}}}
}

// sortMarks sorts marks by line.
func sortMarks(marks []mark) {
	slices.SortStableFunc(marks, func(a, b mark) int { return a.line - b.line })
}

// editAt returns the mark of a changed line: the last mark on the line or before it.
func editAt(marks []mark, line int) (mark, bool) {
	after, _ := slices.BinarySearchFunc(marks, line+1, func(m mark, line int) int { return m.line - line })
	if after == 0 {
		return mark{}, false
	}
	return marks[after-1], true
}
