package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/celenv"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/redact"
	"github.com/preadmit/preadmit/engine/source"
)

// Objections fills in the Objections of every Manifest, with the values that rules have read and the
// mutations that have caused them. The diagnostics about refusals and warnings get these values, too.
func Objections() Observer {
	return Observer{judge: func(r *run, a *admitted) {
		a.objections = (&inquiry{run: r, admitted: a}).objections()
		a.job.result.Objections = a.objections
	}}
}

// objection is a step of a trace in which validation had something to say.
type objection struct {
	step       policy.Step
	invocation policy.Invocation
	request    *policy.Request
}

// key returns what identifies the rule.
func (o objection) key() ruleAt { return ruleAt{o.step.ID, o.step.At} }

// ruleAt identifies a rule.
type ruleAt struct {
	id policy.ID
	at source.Position
}

// inquiry finds out why validation says what it says about an object.
type inquiry struct {
	run      *run
	admitted *admitted
	writers  *writers
}

// objections returns what validation says about the object.
func (q *inquiry) objections() (all []Objection) {
	t := q.admitted.trace
	unchanged := q.run.server.unchanged(q.admitted)
	for _, f := range t.refusals {
		if !slices.ContainsFunc(t.objections, func(o objection) bool { return o.key() == (ruleAt{f.ID, f.At}) && o.step.Failure != nil }) {
			t.objections = append(t.objections, objection{step: policy.Step{ID: f.ID, At: f.At, Failure: &f}})
		}
	}
	for _, o := range t.objections {
		for _, said := range q.said(o) {
			if unchanged != nil && said.Effect == Refused && len(all) < mostFacts && !unchanged.objects(o) {
				q.blame(&said, o)
			}
			all = append(all, said)
		}
	}
	if unchanged != nil && len(t.refusals) == 0 && len(unchanged.refusals) > 0 {
		all = append(all, q.repaired(unchanged))
	}
	return all
}

// unchanged returns the trace of the validation of an object without the changes of policies; nil if
// they have changed nothing.
func (s server) unchanged(a *admitted) *trace {
	if !a.trace.changed() {
		return nil
	}
	return s.revalidate(a, a.trace.before)
}

// revalidate returns the trace of the validation of another state of an object.
func (s server) revalidate(a *admitted, object map[string]any) *trace {
	request := *a.request
	request.Warn = func(source.Diagnostic) {}
	probe := s.trace(nil)
	probe.after = object
	s.validate(a.job.place, request, probe)
	return probe
}

// objects reports whether a trace has the refusal of an objection, too.
func (t *trace) objects(o objection) bool {
	same := func(other objection) bool { return other.key() == o.key() && other.step.Failure != nil }
	return slices.ContainsFunc(t.objections, same) ||
		slices.ContainsFunc(t.refusals, func(f policy.Failure) bool { return f.ID == o.step.ID && f.At == o.step.At })
}

// said returns what an objection says, in words that may be shown.
func (q *inquiry) said(o objection) (all []Objection) {
	scope := q.admitted.scope(nil)
	base := func(effect Effect, rule string, at source.Position, text ...source.Span) Objection {
		said := Objection{By: o.step.ID, At: at, Effect: effect}
		said.By.Rule = rule
		for _, part := range text {
			said.Said += scope.Text(part)
		}
		said.Expression, said.Facts = q.evidence(o, rule)
		return said
	}
	if f := o.step.Failure; f != nil && !f.Ignored {
		all = append(all, base(Refused, o.step.ID.Rule, o.step.At, source.Spans(f.Err)...))
	}
	for _, w := range o.step.Warnings {
		all = append(all, base(Warns, o.step.ID.Rule, o.step.At, w))
	}
	told := len(all) > 0
	for _, a := range o.step.Annotations {
		if a.Rule == "" || told { // of a plug-in, which has no rules, or the same as a warning
			continue
		}
		key := source.Span{Text: a.Key + ": ", Origin: source.Identity}
		all = append(all, base(Annotated, a.Rule, a.At, key, source.Span{Text: a.Value, Origin: a.Origin}))
	}
	return all
}

// mostFacts is how many of the values that a rule has read are told: the last ones, which have decided.
const mostFacts = 8

// evidence returns the expression of a rule and what it has read.
func (q *inquiry) evidence(o objection, rule string) (expression string, facts []source.Fact) {
	var evidence policy.Evidence
	invocation := o.invocation
	if timed, ok := invocation.(timedInvocation); ok {
		invocation = timed.Invocation
	}
	if witness, ok := invocation.(policy.Witness); ok {
		evidence = witness.Evidence(o.request, rule)
	} else if o.step.Failure != nil {
		evidence = q.fields(o.step.Failure.Err)
	}
	reads := evidence.Reads
	if left := len(reads) - mostFacts; left > 0 {
		facts = append(facts, source.Fact{Name: "values read before", Value: fmt.Sprint(left)})
		reads = reads[left:]
	}
	if q.writers == nil && len(reads) > 0 {
		q.writers = newWriters(q.run, q.admitted)
	}
	for _, read := range reads {
		facts = append(facts, q.fact(read))
	}
	return strings.TrimSpace(evidence.Expression), facts
}

// fields returns the values of the fields that an error about an object names.
func (q *inquiry) fields(err error) (evidence policy.Evidence) {
	paths := fieldsOf(err)
	for _, rule := range q.run.rulesOf(q.admitted.job.place.kind, err) {
		if inside := rule.reads(); rule.rule != "" {
			paths = slices.DeleteFunc(paths, func(path change.Path) bool { return slices.Equal(path, rule.scope) })
			paths, evidence.Expression = append(paths, inside...), rule.rule
		}
	}
	for _, path := range paths {
		value, present := path.Get(q.admitted.trace.after)
		if slices.ContainsFunc(evidence.Reads, func(known celenv.Read) bool { return slices.Equal(known.Path[1:], path) }) {
			continue
		}
		evidence.Reads = append(evidence.Reads, celenv.Read{Path: slices.Concat(change.Keys("object"), path), Value: value, Absent: !present})
	}
	return evidence
}

// fact returns a value that a rule has read, in a form that may be shown.
func (q *inquiry) fact(read celenv.Read) source.Fact {
	f := source.Fact{Name: read.Path.String()}
	variable, path := read.Path[0].Key, read.Path[1:]
	if variable == "object" {
		f.By, f.At = q.writers.of(path, read.Absent)
	}
	if read.Absent {
		return f
	}
	origin := source.Input
	if variable == "variables" {
		origin = source.Computed
	}
	text := source.Span{Text: string(manifest.JSON(read.Value)), Origin: origin}
	own := redact.HiddenIn(q.admitted.job.document)
	if f.Value = text.Text; q.admitted.scope(nil).Hides([]source.Span{text}) || variable == "object" && own != nil && own(path) {
		f.Value = redact.Mask
	}
	return f
}

// blame finds the change without which validation would not object.
func (q *inquiry) blame(said *Objection, o objection) {
	e := q.search(func(t *trace) bool { return t.objects(o) })
	said.Cause, said.CauseAt = e.by, e.at
}

// repaired returns the refusal of the object as it was sent.
func (q *inquiry) repaired(unchanged *trace) Objection {
	f := unchanged.refusals[0]
	o := objection{step: policy.Step{ID: f.ID, At: f.At, Failure: &f}}
	if i := slices.IndexFunc(unchanged.objections, func(o objection) bool { return o.key() == (ruleAt{f.ID, f.At}) }); i >= 0 {
		o = unchanged.objections[i]
		o.step.Warnings, o.step.Annotations = nil, nil
		o.request = q.admitted.trace.judged // what the rule reads of the object that it accepts
	}
	said := q.said(o)[0]
	e := q.search(func(t *trace) bool { return len(t.refusals) == 0 })
	said.Effect, said.Cause, said.CauseAt = Repaired, e.by, e.at
	return said
}

// search returns a change after which a condition holds that holds after all changes, but not before the
// change.
func (q *inquiry) search(holds func(*trace) bool) event {
	changes := slices.DeleteFunc(slices.Clone(q.admitted.trace.events), func(e event) bool { return e.drops || change.Equal(e.before, e.written) })
	before, after := -1, len(changes)-1
	for after-before > 1 {
		if middle := (before + after) / 2; holds(q.run.server.revalidate(q.admitted, changes[middle].next)) {
			after = middle
		} else {
			before = middle
		}
	}
	return changes[after]
}

// writers tells who has written the values of an object.
type writers struct {
	job    *job
	causes *causes
	// raw is the manifest, and steps lead from it to the object that was validated.
	raw   map[string]any
	steps []change.Change
}

func newWriters(r *run, a *admitted) *writers {
	var all []Change
	shape := a.job.place.kind.Type()
	for _, e := range slices.Concat(a.loaded.tree, a.trace.events) {
		switch {
		case e.drops:
		case e.program == nil && e.pass == 0: // a mutation tree
			for _, c := range change.Diff(e.before, e.written, shape) {
				all = append(all, Change{Change: c, By: e.by, At: e.at})
			}
		default:
			all = append(all, a.changes(r.server.defaulting, e)...)
		}
	}
	steps := change.Diff(a.loaded.original, a.loaded.raw, shape)
	steps = append(steps, change.Diff(a.trace.before, a.trace.after, shape)...)
	return &writers{job: a.job, causes: newCauses(all), raw: a.loaded.original, steps: steps}
}

// of returns who has written the value at a path, or removed it, and where; or where the manifest has the
// value.
func (w *writers) of(path change.Path, absent bool) (by string, at source.Position) {
	if found := w.causes.index.Overlapping(path); len(found) > 0 {
		c := w.causes.all[found[len(found)-1]]
		if absent {
			return "after " + c.By.String(), c.At
		}
		return "written by " + c.By.String(), c.At
	}
	if absent {
		return "", source.Position{}
	}
	given := change.Before(append(slices.Clip(w.steps), change.Change{Op: change.Replace, Path: path}))
	if _, ok := given[len(w.steps)].Get(w.raw); ok || redact.IsSecret(w.raw) { // stringData becomes data
		return "", w.job.document.At(given[len(w.steps)])
	}
	return "set by the server", source.Position{}
}
