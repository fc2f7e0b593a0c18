package engine

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// validate runs the validating admission on the object of a trace, after a server has prepared it
// for storage. It adds to the trace whether the object is refused, and what policies say about it.
func (s server) validate(p place, request policy.Request, t *trace) {
	if s.checks(p.kind) && !s.check(p, &request, t) || !s.checkMetadata(p, &request, t.after, t) {
		return
	}
	programs := s.programs[s.mutating():]
	if !slices.ContainsFunc(programs, func(program policy.Program) bool { return program.Covers(&request) }) {
		for _, program := range programs {
			t.planned(program.Hook(), program.Plan(&request), &request)
		}
		return
	}
	object, old, err := s.defaulting.prepare(p, t.after, request.OldObject)
	if err != nil {
		t.refuse(policy.Failure{Err: err})
		return
	}
	request.Object, request.OldObject = object, old
	if s.judging != nil {
		request.Context = s.judging
	}
	if p.kind.Kind != namespaceKind {
		request.Name = textAt(object, "metadata", "name")
	}
	t.judged = &request
	for _, program := range programs {
		if !t.validate(program, &request) {
			return
		}
	}
}

// check validates an object against its kind, and reports whether the request continues.
func (s server) check(p place, request *policy.Request, t *trace) bool {
	object := t.after
	if t.unpruned != nil {
		object = inNamespace(t.unpruned, textAt(t.after, "metadata", "namespace"))
	}
	object, old, err := s.defaulting.prepare(p, object, request.OldObject)
	if err != nil {
		return t.refuse(policy.Failure{Err: err})
	}
	warnings, err := s.defaulting.validation.Check(request.Context, p.kind, object, old)
	for _, text := range warnings {
		t.warnings = append(t.warnings, Warning{Text: text})
	}
	return s.valid(err, request, t)
}

// checkMetadata validates the metadata of an object of a built-in kind, and reports whether the request
// continues.
func (s server) checkMetadata(p place, request *policy.Request, object map[string]any, t *trace) bool {
	return s.defaulting.validation == nil || s.valid(s.defaulting.validation.CheckMetadata(p.kind, object), request, t)
}

// valid reports whether a request continues after the validation of its object. An error is only a doubt
// if a webhook may change the object.
func (s server) valid(err error, request *policy.Request, t *trace) bool {
	if err == nil {
		return true
	}
	refusal := policy.Failure{Err: err, Status: "Invalid"}
	if refusal.Advice = s.doubt(request); refusal.Advice != "" {
		t.doubted = append(t.doubted, refusal)
		return true
	}
	return t.refuse(refusal)
}

// mutating returns the number of programs before validating admission.
func (s server) mutating() int {
	i := slices.IndexFunc(s.programs, func(p policy.Program) bool { return p.Hook().Point == policy.Validating })
	if i < 0 {
		return len(s.programs)
	}
	return i
}

// validate runs one validating program, and reports whether the request continues. Policies all
// run, even if the first refuses; of several refusals, the server reports the first.
func (t *trace) validate(program policy.Program, r *policy.Request) bool {
	plan := program.Plan(r)
	t.planned(program.Hook(), plan, r)
	failures := plan.Failures
	for _, invocation := range plan.Invocations {
		if notApplied, _ := invocation.Conditions(r); notApplied != nil {
			t.conditions(nil, notApplied, nil, true)
			continue
		}
		t.tries.note(invocation.ID(), Accepted)
		for step := range invocation.Steps(r) {
			t.said(step)
			if step.Failure != nil || len(step.Warnings)+len(step.Annotations) > 0 {
				t.objections = append(t.objections, objection{step, invocation, r})
			}
			if step.Failure == nil {
				t.tries.step(step, applied)
				continue
			}
			failures = append(failures, *t.failed(step, step.Failure))
			if step.Failure.Abort {
				return t.refuse(*step.Failure)
			}
		}
	}
	slices.SortStableFunc(failures, func(a, b policy.Failure) int {
		return cmp.Or(strings.Compare(a.ID.Policy, b.ID.Policy), strings.Compare(a.ID.Binding, b.ID.Binding))
	})
	if i := slices.IndexFunc(failures, func(f policy.Failure) bool { return !f.Ignored }); i >= 0 {
		t.unreported = failures[i+1:]
		return t.refuse(failures[i])
	}
	t.ignore(failures...)
	return true
}

// refuse records that validating admission refuses the object.
func (t *trace) refuse(f policy.Failure) bool {
	t.refusals = append(t.refusals, f)
	return false
}

// tellValidation adds to the result of a job what validating admission said.
func (r *run) tellValidation(a *admitted) {
	for _, o := range r.observers {
		if o.judge != nil {
			o.judge(r, a)
		}
	}
	for _, f := range a.trace.refusals {
		d := r.ruled(a.job.refusedBy(f, r.set.settings.options.Validation), a, f)
		a.tell(a.explained(d, Refused, f.ID, f.At))
	}
	for _, f := range a.trace.doubted {
		d := r.ruled(a.job.denial(f), a, f)
		d.Severity, d.Code = source.Info, "maybe-denied"
		a.tell(d)
	}
	a.tellRepaired()
	result := a.job.result
	result.Audit = combined(a.trace.audit)
	scope := a.scope(nil)
	for i, annotation := range result.Audit {
		result.Audit[i].Shown = scope.Text(source.Span{Text: annotation.Value, Origin: annotation.Origin})
	}
	a.tellWarnings()
}

// tellWarnings adds to the result of a job the warnings of the server.
func (a *admitted) tellWarnings() {
	warnings := a.loaded.warnings
	if a.trace != nil {
		warnings = slices.Concat(warnings, a.trace.warnings)
	}
	a.job.result.Warnings = sent(warnings)
	for _, w := range a.job.result.Warnings {
		text := source.MessageOf(source.Span{Text: w.Text, Origin: w.origin})
		d := source.Warningf(w.field, cmp.Or(w.code, "policy-warning"), "%v", text).Naming(w.At, w.By.String()).Replacing(w.name, w.advice)
		a.tell(a.explained(d, Warns, w.By, w.At))
	}
}

// explained adds to a diagnostic about an objection what is known of it.
func (a *admitted) explained(d source.Diagnostic, effect Effect, id policy.ID, at source.Position) source.Diagnostic {
	i := slices.IndexFunc(a.objections, func(o Objection) bool { return o.Effect == effect && o.By == id && o.At == at })
	if i < 0 {
		return d
	}
	o := a.objections[i]
	if o.Expression != "" && !strings.Contains(d.Message, o.Expression) {
		d.Facts = append(d.Facts, source.Fact{Name: "expression", Value: strings.Join(strings.Fields(o.Expression), " ")})
	}
	d.Facts = append(d.Facts, o.Facts...)
	if o.Cause != (policy.ID{}) && effect != Repaired {
		text := "made by " + o.Cause.String() + ": as it was sent, the object does not violate the rule"
		if o.CauseAt.IsKnown() {
			return d.Naming(o.CauseAt, text)
		}
		d.Advice = strings.TrimPrefix(d.Advice+"\n"+text, "\n")
	}
	return d
}

// tellRepaired notes that policies make a server accept an object.
func (a *admitted) tellRepaired() {
	for _, o := range a.objections {
		if o.Effect == Repaired {
			d := source.Notef(source.Position{}, "refusal-averted", "%s makes the object one that the server accepts; as it was sent, it says: %s", o.Cause, o.Said).
				Naming(o.CauseAt, o.Cause.String()).Naming(o.At, o.By.String())
			a.tell(a.explained(d, Repaired, o.By, o.At))
		}
	}
}

// Warning is a warning that a server sends with its answer to a request.
type Warning struct {
	Text string
	// By is the policy that warns. It is empty if the server warns itself.
	By policy.ID
	// At is the position of the validation.
	At source.Position
	// origin is that of the text.
	origin source.Origin
	// code is the code of the diagnostic, "" for policy-warning. field is the position of the field
	// in the manifest that the warning is about.
	code  string
	field source.Position
	// advice replaces what is at name.
	advice source.Advice
	name   source.Position
}

// The limits of warnings in characters: beyond all of them together, each is cut.
const (
	maxWarnings = 4 << 10
	maxWarning  = 256
)

// sent returns the warnings that reach a client, as in k8s.io/apiserver v0.36.3
// (pkg/endpoints/filters/warning.go): each text once, none that is empty or has control characters, and cut if
// they are too long together.
func sent(warnings []Warning) []Warning {
	var kept []Warning
	seen := map[string]bool{}
	total := 0
	for _, w := range warnings {
		if w.Text != "" && !seen[w.Text] && utf8.ValidString(w.Text) && !strings.ContainsFunc(w.Text, unicode.IsControl) {
			kept = append(kept, w)
			total += utf8.RuneCountInString(w.Text)
		}
		seen[w.Text] = true
	}
	if total <= maxWarnings {
		return kept
	}
	total = 0
	for i := range kept {
		text := []rune(kept[i].Text)
		kept[i].Text = string(text[:min(len(text), maxWarning)])
		if total += min(len(text), maxWarning); total >= maxWarnings {
			return kept[:i+1]
		}
	}
	return kept
}

// combined returns the annotations of the audit event of a request, sorted by key.
func combined(annotations []policy.Annotation) []policy.Annotation {
	values := map[string][]string{}
	var kept []policy.Annotation
	for _, a := range annotations {
		if values[a.Key] == nil {
			kept = append(kept, a)
		}
		if i := slices.IndexFunc(kept, func(k policy.Annotation) bool { return k.Key == a.Key }); a.Origin == source.Computed {
			kept[i].Origin = a.Origin
		}
		if !slices.Contains(values[a.Key], a.Value) {
			values[a.Key] = append(values[a.Key], a.Value)
		}
	}
	for i, a := range kept {
		switch all := values[a.Key]; a.Combine {
		case policy.JoinValues:
			kept[i].Value = strings.Join(all, ", ")
		case policy.JoinLists:
			kept[i].Value = joinLists(all)
		}
	}
	slices.SortFunc(kept, func(a, b policy.Annotation) int { return strings.Compare(a.Key, b.Key) })
	return kept
}

// maxListed is the maximum number of items in an annotation that is a list.
const maxListed = 50

// joinLists joins JSON lists to one.
func joinLists(lists []string) string {
	var items []json.RawMessage
	for _, list := range lists {
		var more []json.RawMessage
		_ = json.Unmarshal([]byte(list), &more) // policies give lists only
		items = append(items, more...)
	}
	joined, _ := json.Marshal(items[:min(len(items), maxListed)]) // it was valid JSON
	return string(joined)
}
