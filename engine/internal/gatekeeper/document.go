package gatekeeper

import (
	"fmt"

	"github.com/preadmit/preadmit/engine/internal/policydoc"
	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// reader reads one document with Gatekeeper configuration.
type reader struct{ doc *policydoc.Reader }

func newReader(d *manifest.Document) *reader { return &reader{policydoc.New(d)} }

// advise reports an error at a byte offset of the text at n, with advice on how to fix it.
func (r *reader) advise(n policy.Node, offset int, advice, format string, args ...any) {
	at := r.doc.Document.At(n.Path)
	if offset > 0 {
		at = r.doc.Document.In(n.Path, offset)
	}
	r.doc.Report(source.Errorf(at, "policy-invalid", format, args...).With(advice), n.Path)
}

// warn reports a warning about the value at n.
func (r *reader) warn(n policy.Node, code, advice, format string, args ...any) {
	r.doc.Note(n, source.Warning, code, fmt.Sprintf(format, args...), advice)
}

// describe prints a value as Gatekeeper does in its messages, but shortens long values.
func describe(value any) string {
	text := []rune(fmt.Sprintf("%+v", value))
	if len(text) > limit.Excerpt {
		return string(text[:limit.Excerpt]) + "…"
	}
	return string(text)
}

// goType returns the name of a value's type in Gatekeeper's messages.
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
