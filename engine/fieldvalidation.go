package engine

import (
	"fmt"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// decodes reports whether the server can decode a manifest, as the first thing that it does with a
// request. It collects the server's warnings about the manifest.
func (r *run) decodes(l *loaded, memo *change.Memo) bool {
	j := l.job
	if j.made != nil {
		return true
	}
	unknown, typed := j.place.kind.UnknownFields(memo, l.raw)
	if !typed {
		if _, err := r.server.defaulting.view(memo, j.place, l.raw); err != nil {
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
