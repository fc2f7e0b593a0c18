package engine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/preadmit/preadmit/engine/internal/admission"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/internal/snapshot"
	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// say returns the outcome of a run. All diagnostics are masked here. If anything has failed, all
// documents are reset.
func (r *run) say() *Outcome {
	outcome := &Outcome{Secrets: r.input.secrets}
	diagnostics := slices.Concat(r.compiled, r.diagnostics)
	if err := r.ctx.Err(); err != nil {
		diagnostics = append(diagnostics, source.Errorf(source.Position{}, "interrupted", "the run did not finish: %v", err))
	}
	for _, j := range r.jobs {
		outcome.Manifests = append(outcome.Manifests, j.result)
		outcome.Denied = outcome.Denied || j.denied
		for _, d := range j.diagnostics {
			if d.Subject == j.result.ID {
				d.Origin = j.document.At(nil)
			}
			diagnostics = append(diagnostics, d)
		}
	}
	diagnostics = append(diagnostics, r.tellBlocked()...)
	for _, o := range r.observers {
		if o.ended != nil {
			diagnostics = append(diagnostics, o.ended(r, outcome)...)
		}
	}
	outcome.Diagnostics = r.decide(unique(diagnostics))
	if r.set != nil && r.set.settings.Strict {
		escalate(outcome.Diagnostics)
	}
	outcome.Invalid = invalidates(outcome.Diagnostics)
	for _, o := range r.observers {
		o.warned(outcome.Diagnostics)
	}
	if outcome.Failed() && !isPartial(r.observers) {
		for _, j := range r.jobs {
			j.document.Reset()
		}
	}
	return outcome
}

// decide removes from diagnostics what must not be shown.
func (r *run) decide(diagnostics []source.Diagnostic) []source.Diagnostic {
	if r.set == nil {
		return r.input.secrets.Messages(diagnostics)
	}
	if len(diagnostics) > 0 || r.watched { // observers find more text than diagnostics
		r.set.learnPrivate(r.input.secrets, slices.Concat(r.input.local, r.input.manifests))
	}
	return r.set.files.decide(diagnostics, r.input.secrets)
}

// unique removes repeated warnings.
func unique(diagnostics []source.Diagnostic) []source.Diagnostic {
	type said struct{ code, subject, field, message string }
	seen := map[said]bool{}
	var kept []source.Diagnostic
	for _, d := range diagnostics {
		key := said{d.Code, d.Subject, d.Field, d.Message}
		if d.Severity != source.Error && seen[key] {
			continue
		}
		seen[key] = true
		kept = append(kept, d)
	}
	source.Sort(kept)
	return kept
}

// escalate turns warnings into errors if they mean that preadmit cannot tell what a cluster would
// do.
func escalate(diagnostics []source.Diagnostic) {
	for i := range diagnostics {
		if entry, _ := source.Lookup(diagnostics[i].Code); entry.Unsure && diagnostics[i].Severity == source.Warning {
			diagnostics[i].Severity = source.Error
		}
	}
}

// invalidates reports whether there is an error other than a denial.
func invalidates(diagnostics []source.Diagnostic) bool {
	for _, d := range diagnostics {
		if d.Severity == source.Error && d.Code != denied {
			return true
		}
	}
	return false
}

// denied is the code of denials by a server.
const denied = "denied"

// refuse reports the errors of an object, field by field, with a prefix.
func (j *job) refuse(code, prefix string, err error) {
	problems := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		problems = joined.Unwrap()
	}
	for _, problem := range problems {
		d := source.Errorf(j.document.At(nil), code, "%s%v", prefix, problem)
		var field *admission.FieldError
		if errors.As(problem, &field) {
			d = source.Errorf(j.document.At(field.Path), code, "%s%s", prefix, field.Problem)
			d.Field = field.Path.String()
		}
		j.tell(d)
	}
}

// warnIgnored warns about a failure that failurePolicy Ignore has ignored.
func (j *job) warnIgnored(f policy.Failure) {
	j.warn(source.Warningf(f.At, "failure-ignored", "%s failed, and was ignored as its failurePolicy says: %v", f.ID, f.Err))
}

// deny reports that a policy denies a job.
func (j *job) deny(f policy.Failure) {
	d := j.denial(f)
	j.tell(d)
	if d.Code == denied {
		j.denied, j.result.Reason = true, f.Status
	}
}

// refuseBy reports that validating admission refuses a job, as an error or a warning.
func (j *job) refuseBy(f policy.Failure, mode Validation) {
	if mode != ValidationWarn {
		j.deny(f)
		return
	}
	d := j.denial(f)
	if d.Code == denied {
		d.Code, j.result.Reason = "would-be-denied", f.Status
	}
	d.Severity = source.Warning
	j.tell(d)
}

// denial returns the diagnostic for a failure of a policy.
func (j *job) denial(f policy.Failure) source.Diagnostic {
	var unknown *schema.NoSchemaError
	if errors.As(f.Err, &unknown) {
		return source.Errorf(f.At, "schema-missing", "%s: %v", f.ID, unknown).
			With(fmt.Sprintf("give the CustomResourceDefinition of %s with the option context, or the cluster's OpenAPI document with the option openapi", unknown.Kind.Kind))
	}
	var unconverted *policy.UnconvertedError
	if errors.As(f.Err, &unconverted) {
		return source.Errorf(f.At, "conversion-missing", "%s: %v", f.ID, unconverted).With("give the manifest in that version, or set matchPolicy: Exact if the policy need not see it")
	}
	if d, exceeded := limited(source.Errorf(f.At, denied, "%v", f.Err), f.Err); exceeded {
		return d
	}
	d := source.Errorf(f.At, denied, "%v", f.Err).With(f.Advice)
	if !f.At.IsKnown() {
		d.At = j.document.At(nil)
	}
	return d
}

// spoilt reports whether a lookup of the job has failed. The failure then blocks the job, because
// its result cannot be right.
func (j *job) spoilt(reader *snapshot.Reader) bool {
	var b *blockade
	if errors.As(reader.Err(), &b) {
		j.blocked = cmp.Or(j.blocked, b)
	}
	return reader.Err() != nil
}

// limited replaces the code and the advice of a diagnostic if err says that a limit has been
// exceeded.
func limited(d source.Diagnostic, err error) (source.Diagnostic, bool) {
	var exceeded *limit.Error
	if !errors.As(err, &exceeded) {
		return d, false
	}
	d.Code, d.Advice = exceeded.Code, exceeded.Advice
	return d, true
}
