package gatekeeper

import (
	"fmt"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// reader collects what is wrong with one document.
type reader struct {
	document *manifest.Document
	subject  string
	root     policy.Node
	problems []source.Diagnostic
	// refused are the paths that errors are about.
	refused []change.Path
	// code is that of errors, quiet says that lines of the document are not quoted, since
	// they may be secret.
	code  string
	quiet bool
}

func newReader(d *manifest.Document) *reader {
	return &reader{
		document: d, subject: strings.TrimSpace(d.Kind().Kind + " " + d.Name()), root: policy.Node{Value: d.Object()},
		code: "policy-invalid",
	}
}

// invalid reports an error about the value at n.
func (r *reader) invalid(n policy.Node, format string, args ...any) {
	r.advise(n, 0, "", format, args...)
}

// advise reports an error at a byte of the text at n, and what to do about it.
func (r *reader) advise(n policy.Node, offset int, advice, format string, args ...any) {
	at := r.document.At(n.Path)
	if offset > 0 {
		at = r.document.In(n.Path, offset)
	}
	r.report(source.Errorf(at, r.code, format, args...).With(advice), n.Path)
}

// warn reports a warning about the value at n.
func (r *reader) warn(n policy.Node, code, advice, format string, args ...any) {
	r.report(source.Warningf(r.document.At(n.Path), code, format, args...).With(advice), n.Path)
}

func (r *reader) report(d source.Diagnostic, path change.Path) {
	d.Subject, d.Field = r.subject, path.String()
	if !r.quiet {
		d.Excerpt = r.document.Excerpt(d.At)
	}
	if d.Severity == source.Error {
		r.refused = append(r.refused, path)
	}
	r.problems = append(r.problems, d)
}

// sound reports whether no error is about the value at n or about something in it.
func (r *reader) sound(n policy.Node) bool {
	return !slices.ContainsFunc(r.refused, func(path change.Path) bool { return path.HasPrefix(n.Path) })
}

// refuse reports an error about the document itself.
func (r *reader) refuse(key, code, advice, format string, args ...any) {
	r.code = code
	r.advise(r.root.At(key), 0, advice, format, args...)
}

// describe prints a value as Gatekeeper does in its messages, if it is not too long.
func describe(value any) string {
	text := []rune(fmt.Sprintf("%+v", value))
	if len(text) > limit.Excerpt {
		return string(text[:limit.Excerpt]) + "…"
	}
	return string(text)
}

// goType is the type of a value in Gatekeeper's messages.
func goType(value any) string {
	switch value.(type) {
	case map[string]any:
		return "map[string]interface {}"
	case []any:
		return "[]interface {}"
	case float, float64:
		return "float64"
	case placeholder:
		return "*unversioned.ExternalDataPlaceholder"
	}
	return fmt.Sprintf("%T", value)
}
