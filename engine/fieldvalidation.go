package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/admission"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// decodes reports whether the server serves the kind of a manifest and can decode the manifest, as the
// first thing that it does with a request. It collects the server's warnings about the manifest.
func (r *run) decodes(l *loaded, memo *change.Memo) bool {
	j := l.job
	if j.made != nil {
		return true
	}
	if lifecycle, removed := r.currentSchemas().Removed(j.place.kind.Kind, r.set.settings.minor); removed {
		return r.refusesKind(l, lifecycle)
	}
	if text := j.place.kind.Deprecation(r.set.settings.minor); text != "" {
		l.warnings = append(l.warnings, Warning{Text: text, code: "version-deprecated", field: j.document.At(change.Keys("apiVersion"))})
	}
	return r.acceptsFields(l, memo)
}

// refusesKind reports that the server does not serve the kind of a manifest, in the words of kubectl. It
// returns whether the request continues.
func (r *run) refusesKind(l *loaded, lifecycle schema.Lifecycle) bool {
	kind, mode := l.job.place.kind.Kind, r.set.settings.options.Validation
	if mode == ValidationOff {
		return true
	}
	refusal := policy.Failure{Status: "NotFound", Err: fmt.Errorf("no matches for kind %q in version %q", kind.Kind, kind.APIVersion())}
	refusal.Advice = fmt.Sprintf("Kubernetes 1.%d removed it", lifecycle.Removed)
	if new := lifecycle.Replacement; new.Kind != "" {
		refusal.Advice += fmt.Sprintf(": use apiVersion %s", new.APIVersion())
	}
	d := l.job.refusedBy(refusal, mode)
	d.At = l.job.document.At(change.Keys("apiVersion"))
	l.tell(d)
	return mode == ValidationWarn
}

// acceptsFields reports whether the server accepts the fields of a manifest.
func (r *run) acceptsFields(l *loaded, memo *change.Memo) bool {
	j := l.job
	unknown, typed := j.place.kind.UnknownFields(memo, l.raw)
	if !typed {
		if _, err := r.server.defaulting.view(memo, j.place, l.raw); err != nil && !isFilledIn(l.raw, err) {
			l.tell(j.refusal("manifest-invalid", "", err)...)
			return false
		}
	}
	unknown = append(unknown, r.set.settings.validation.UnknownFields(j.place.kind, l.raw)...)
	switch mode := r.set.settings.options.FieldValidation; {
	case len(unknown) == 0 || mode == FieldValidationIgnore:
		return true
	case mode == FieldValidationStrict:
		l.tell(j.strictRefusal(unknown))
		return false
	}
	for _, p := range unknown {
		l.warnings = append(l.warnings, Warning{Text: p.Text, code: "field-unknown", field: j.document.At(p.Path)})
	}
	return true
}

// isFilledIn reports whether an error is about values that are references to variables, such as ${SIZE},
// which Flux and envsubst fill in later.
func isFilledIn(object map[string]any, err error) bool {
	joined, ok := err.(interface{ Unwrap() []error })
	return ok && !slices.ContainsFunc(joined.Unwrap(), func(problem error) bool {
		var field *admission.FieldError
		if !errors.As(problem, &field) {
			return true
		}
		value, _ := field.Path.Get(object)
		text, _ := value.(string)
		return !strings.Contains(text, "${")
	})
}

// strictRefusal returns the refusal of a server that validates fields strictly.
func (j *job) strictRefusal(unknown []schema.Problem) source.Diagnostic {
	texts := make([]string, len(unknown))
	for i, p := range unknown {
		texts[i] = p.Text
	}
	kind := j.place.kind
	d := j.deny(policy.Failure{Status: "BadRequest", Err: fmt.Errorf("%s in version %q cannot be handled as a %s: strict decoding error: %s",
		kind.Kind.Kind, kind.Version, kind.Kind.Kind, strings.Join(texts, ", "))})
	d.At = j.document.At(unknown[0].Path)
	return d
}
