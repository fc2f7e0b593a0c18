package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/admission"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/manifest"
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
	schemas, kind := r.currentSchemas(), j.place.kind.Kind
	if lifecycle, removed := schemas.Removed(kind, r.set.settings.minor); removed {
		return r.refusesKind(l, removal(kind, lifecycle))
	}
	if near, unserved := schemas.Unserved(kind); unserved {
		return r.refusesKind(l, suggestion(kind, near))
	}
	if text := j.place.kind.Deprecation(r.set.settings.minor); text != "" {
		at := j.document.At(change.Keys("apiVersion"))
		l.warnings = append(l.warnings, Warning{Text: text, code: "version-deprecated", field: at, name: at, advice: instead(kind, schema.LifecycleOf(kind).Replacement)})
	}
	return r.acceptsFields(l, memo)
}

// removal returns advice about a kind that servers served once.
func removal(kind gvk.Kind, l schema.Lifecycle) source.Advice {
	advice := instead(kind, l.Replacement)
	advice.Text = fmt.Sprintf("Kubernetes 1.%d removed it", l.Removed)
	if new := l.Replacement; new.Kind != "" {
		advice.Text += fmt.Sprintf(": use apiVersion %s", new.APIVersion())
	}
	return advice
}

// instead returns the advice, without text, to use another version of a kind.
func instead(kind, other gvk.Kind) source.Advice {
	if other.Kind != kind.Kind {
		return source.Advice{} // such as a Role instead of a PodSecurityPolicy
	}
	return source.Advice{Old: kind.APIVersion(), New: other.APIVersion()}
}

// suggestion returns advice about a kind that servers never served.
func suggestion(kind, near gvk.Kind) source.Advice {
	switch {
	case near.Kind == "":
		return source.Advice{Text: "kubectl api-resources lists the kinds of a cluster"}
	case near.Kind == kind.Kind:
		advice := instead(kind, near)
		advice.Text = "use apiVersion " + near.APIVersion()
		return advice
	}
	return source.Meant(kind.Kind, near.Kind)
}

// refusesKind reports that the server does not serve the kind of a manifest, in the words of kubectl. It
// returns whether the request continues.
func (r *run) refusesKind(l *loaded, advice source.Advice) bool {
	kind, mode := l.job.place.kind.Kind, r.set.settings.options.Validation
	if mode == ValidationOff {
		return true
	}
	refusal := policy.Failure{Status: "NotFound", Advice: advice.Text, Err: fmt.Errorf("no matches for kind %q in version %q", kind.Kind, kind.APIVersion())}
	d := l.job.refusedBy(refusal, mode)
	d.At = l.job.document.At(change.Keys("apiVersion"))
	at := d.At
	if advice.Old == kind.Kind {
		at = l.job.document.At(change.Keys("kind"))
	}
	l.tell(d.Replacing(at, advice))
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
		l.warnings = append(l.warnings, Warning{Text: p.Text, code: "field-unknown", field: j.document.At(p.Path), name: j.document.Key(p.Path), advice: p.Advice})
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

// acceptsSurely reports whether the server surely says nothing about a manifest that policies leave
// alone. It builds only the metadata: most manifests that no policy matches are never built as a whole.
func (r *run) acceptsSurely(j *job) bool {
	kind := j.place.kind
	if j.made != nil || kind.Custom || kind.Type() == nil || kind.Deprecation(r.set.settings.minor) != "" {
		return false
	}
	if _, removed := r.currentSchemas().Removed(kind.Kind, r.set.settings.minor); removed {
		return false
	}
	if kind.Unknown { // nobody knows its fields
		_, unserved := r.currentSchemas().Unserved(kind.Kind)
		return !unserved && kind.Version != "" && kind.Kind.Kind != ""
	}
	if !j.document.Fits(strict{kind.Type()}) {
		return false
	}
	validation := r.server.defaulting.validation
	return validation == nil || validation.CheckMetadata(kind, map[string]any{"metadata": j.document.Value("metadata")}) == nil
}

// strict is a type as a strict decoder applies it.
type strict struct{ of *schema.Type }

func strictly(t *schema.Type) manifest.Fitting {
	if t == nil || t.Scalar == schema.Untyped {
		return nil
	}
	return strict{t}
}

// Member implements manifest.Fitting.
func (s strict) Member(key string) (of manifest.Fitting, ok bool) {
	switch f := s.of.Declared(key); {
	case s.of.IsList || s.of.Scalar != schema.NotScalar:
		return nil, false
	case f != nil:
		return strictly(f.Type), true
	case s.of.Elem != nil:
		return strictly(s.of.Elem), true
	}
	return nil, s.of.Preserve
}

// Item implements manifest.Fitting.
func (s strict) Item() (of manifest.Fitting, ok bool) { return strictly(s.of.Elem), s.of.IsList }

// Accepts implements manifest.Fitting.
func (s strict) Accepts(scalar any) bool {
	if _, isText := scalar.(string); isText && s.of.Scalar == schema.String && s.of.Format == "" {
		return true
	}
	return len(s.of.Check(scalar)) == 0
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
	for _, p := range unknown {
		d = d.Replacing(j.document.Key(p.Path), p.Advice)
	}
	return d
}
