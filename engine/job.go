package engine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/admission"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/internal/snapshot"
	"github.com/preadmit/preadmit/engine/internal/validation"
	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/redact"
	"github.com/preadmit/preadmit/engine/source"
)

// job is a manifest on its way through the stages: what it is, how far it is, and what was found.
// The results of the stages are values of their own, which later stages get: see loaded.
type job struct {
	// index is the index among the manifests.
	index    int
	document *manifest.Document
	place    place
	// made says how a controller made the object; it is nil for other objects.
	made *made

	state state
	// done is closed when the job is done.
	done chan struct{}
	// awaits is the job that this job waits for, or nil.
	awaits *job
	// blocked is the reason that the job cannot run although its manifest has no error.
	blocked *blockade
	// blocks is the blockade of jobs that need this job, if it failed.
	blocks *blockade
	// loaded waits for admission, if the manifest was read before. written waits for the jobs that
	// may still change it.
	loaded  *loaded
	written *written
	// held is what policies find if they look up the object. It is nil if they cannot.
	held *held
	// readers are those with which policies look up objects for the job.
	readers []*snapshot.Reader
	// key is what decides about the result; nil before it is needed.
	key *resultKey
	// matching are the policies of the key that may match the object.
	matching []digest
	// kept is what a later run needs to take the result over; nil if no observer keeps it.
	kept *kept

	result      *Manifest
	diagnostics []source.Diagnostic
	denied      bool
}

// state is the progress of a job.
type state int

const (
	waiting state = iota
	running
	done
)

// held is a manifest before and after admission.
type held struct{ raw, edited map[string]any }

// failed reports whether the job has no result and will not get one.
func (j *job) failed() bool {
	return j.denied || j.blocked != nil || source.HasErrors(j.diagnostics)
}

// locate gives diagnostics without a position that of their fields in the manifest, or else of the
// object. changes have led from the manifest to the object that has the fields.
func (j *job) locate(changes []change.Change, diagnostics []source.Diagnostic) {
	steps := slices.Clip(changes)
	for _, d := range diagnostics {
		field, _ := change.ParsePath(d.Field)
		steps = append(steps, change.Change{Op: change.Replace, Path: field})
	}
	for i, path := range change.Before(steps)[len(changes):] {
		if d := &diagnostics[i]; !d.At.IsKnown() {
			d.At = j.document.At(path)
		}
	}
}

// tell adds diagnostics about the job, without what they must not show of sensitive objects.
func (j *job) tell(scope redact.Scope, diagnostics ...source.Diagnostic) {
	for _, d := range diagnostics {
		d.Subject = cmp.Or(d.Subject, j.result.ID)
		j.diagnostics = append(j.diagnostics, scope.Message(d))
	}
}

// defect returns a diagnostic about a defect of preadmit.
func (j *job) defect(format string, args ...any) source.Diagnostic {
	return source.Errorf(j.document.At(nil), "internal", format, args...).
		With("this is a defect of preadmit: please report it with the manifest and the policies")
}

// refusal returns the errors of an object, field by field, with a prefix.
func (j *job) refusal(code, prefix string, err error) []source.Diagnostic {
	problems := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		problems = joined.Unwrap()
	}
	var diagnostics []source.Diagnostic
	for _, problem := range problems {
		d := source.Errorf(j.document.At(nil), code, "%s%v", prefix, problem)
		var field *admission.FieldError
		if errors.As(problem, &field) {
			d = j.document.Retyped(source.Errorf(j.document.At(field.Path), code, "%s%s", prefix, field.Problem), field.Path, field.Fits)
			d.Field = field.Path.String()
		}
		diagnostics = append(diagnostics, d)
	}
	return diagnostics
}

// deny makes a failure of a policy the end of the job. It returns the diagnostic about it.
func (j *job) deny(f policy.Failure) source.Diagnostic {
	d := j.denial(f)
	if d.Code == source.CodeDenied {
		j.denied, j.result.Reason = true, f.Status
	}
	return d
}

// refusedBy returns the diagnostic about a refusal by validating admission, as an error or a
// warning.
func (j *job) refusedBy(f policy.Failure, mode Validation) source.Diagnostic {
	if mode != ValidationWarn {
		return j.deny(f)
	}
	d := j.denial(f)
	if d.Code == source.CodeDenied {
		d.Code, j.result.Reason = "would-be-denied", f.Status
	}
	d.Severity = source.Warning
	return d
}

// denial returns the diagnostic for a failure of a policy.
func (j *job) denial(f policy.Failure) source.Diagnostic {
	var unknown *schema.NoSchemaError
	if errors.As(f.Err, &unknown) {
		return f.Errorf("schema-missing", "%s: %v", f.ID, unknown).
			With(fmt.Sprintf("give the CustomResourceDefinition of %s with the option context, or the cluster's OpenAPI document with the option openapi", unknown.Kind.Kind))
	}
	var unconverted *policy.UnconvertedError
	if errors.As(f.Err, &unconverted) {
		return f.Errorf("conversion-missing", "%s: %v", f.ID, unconverted).With("give the manifest in that version, or set matchPolicy: Exact if the policy need not see it")
	}
	var missing *policy.MissingAnswerError
	if errors.As(f.Err, &missing) {
		return f.Errorf("webhook-answer-missing", "%v", missing).With(missing.Advice)
	}
	if d, exceeded := limited(f.Errorf(source.CodeDenied, "%v", f.Err), f.Err); exceeded {
		return d
	}
	d := f.Errorf(source.CodeDenied, "%v", f.Err).With(cmp.Or(f.Advice, j.lacking()))
	d.Missing, d.Fixes = f.Missing, f.Fixes
	if paths := fieldsOf(f.Err); len(paths) > 0 {
		d.At = j.document.At(paths[0])
	}
	return d
}

// fieldsOf returns the paths of the invalid fields that an error names.
func fieldsOf(err error) (paths []change.Path) {
	var invalid *validation.InvalidError
	if !errors.As(err, &invalid) {
		return nil
	}
	for _, field := range invalid.Fields {
		if path, err := change.ParsePath(field); err == nil && field != "<nil>" { // not every field of a server is a path
			paths = append(paths, path)
		}
	}
	return paths
}

// lacking says which workload will have no Pods because an object of its controller is refused.
func (j *job) lacking() string {
	if j.made == nil {
		return ""
	}
	owner := j.made.owner
	for owner.made != nil {
		owner = owner.made.owner
	}
	return fmt.Sprintf("%s will have no Pods: a cluster accepts it, but refuses the %s that its controller creates", source.Name(owner.result.ID), j.document.Kind().Kind)
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

// blockade is the reason that jobs cannot run: an object that they need is not available.
type blockade struct {
	code, advice string
	// object is the name of the needed object; problem is a clause about it.
	object, problem string
	// at is the position of the cause, or if it is unknown of the first blocked job.
	at source.Position
}

// Error implements error.
func (b *blockade) Error() string { return b.message(0) }

// message returns the message for one job and a number of others.
func (b *blockade) message(others int) string {
	switch {
	case b.code == cycleCode:
		return b.object + " " + b.problem
	case others > 0:
		return fmt.Sprintf("%s, which policies look up for this manifest and %d more, %s", b.object, others, b.problem)
	}
	return fmt.Sprintf("%s, which policies look up for this manifest, %s", b.object, b.problem)
}

// blockade returns the blockade of the jobs that need a failed job. The caller holds the lock of
// the run.
func (j *job) blockade() *blockade {
	if j.blocks == nil {
		j.blocks = &blockade{
			code: "context-failed", object: j.result.ID, problem: "was not admitted",
			advice: "correct that manifest first; it has its own error",
		}
	}
	return j.blocks
}

// spoilt reports whether a lookup of the job has failed with an error. The failure then blocks the
// job, because its result cannot be right.
func (j *job) spoilt(err error) bool {
	var b *blockade
	if errors.As(err, &b) {
		j.blocked = cmp.Or(j.blocked, b)
	}
	return err != nil
}
