package redact

import (
	"fmt"
	"slices"

	"github.com/preadmit/preadmit/engine/source"
)

// Name returns a name as it may be shown. Names are never secret.
func (r *Redactor) Name(name string) string { return source.Printable(name) }

// Text returns a text of the input as it may be shown.
func (r *Redactor) Text(text string) string { return source.Printable(r.masked(text)) }

// Messages returns diagnostics without hidden values. The parts of their messages keep their origins.
func (r *Redactor) Messages(diagnostics []source.Diagnostic) []source.Diagnostic {
	for i := range diagnostics {
		d := &diagnostics[i]
		*d = d.Saying(source.MessageOf(r.parts(d.Spans())...))
		d.Field, d.Advice, d.Excerpt = r.masked(d.Field), r.masked(d.Advice), r.masked(d.Excerpt)
		d.Facts, d.Fixes = r.Facts(d.Facts), r.fixes(d.Fixes)
	}
	return diagnostics
}

// fixes returns the fixes that write no hidden value.
func (r *Redactor) fixes(fixes []source.Fix) []source.Fix {
	if r.hidesNothing() {
		return fixes
	}
	return slices.DeleteFunc(slices.Clone(fixes), func(f source.Fix) bool {
		return r.holds(f.Title) || slices.ContainsFunc(f.Edits, func(e source.Edit) bool { return slices.ContainsFunc(e.Texts(), r.holds) })
	})
}

// Facts returns facts without hidden values.
func (r *Redactor) Facts(facts []source.Fact) []source.Fact {
	shown := slices.Clone(facts)
	for i := range shown {
		shown[i].Name, shown[i].Value = r.masked(shown[i].Name), r.masked(shown[i].Value)
	}
	return shown
}

// Reason returns the reason why a policy did not apply, as it may be shown.
func (r *Redactor) Reason(reason fmt.Stringer) string {
	return source.MessageOf(r.parts(spansOf(reason))...).Printable()
}

// parts returns the parts of a text without hidden values.
func (r *Redactor) parts(parts []source.Span) []source.Span {
	shown := slices.Clone(parts)
	for i, s := range parts {
		if s.Origin == source.Input || s.Origin == source.Computed {
			shown[i].Text = r.masked(s.Text)
		}
	}
	return shown
}
