package redact

import (
	"fmt"
	"slices"

	"github.com/preadmit/preadmit/engine/source"
)

// These take the place of text that would show a value, and of all text about a sensitive object.
const (
	leftOut    = "the message is left out because it would show a value of the Secret"
	allLeftOut = "the message is left out because the input is sensitive"
)

// Scope are the sensitive objects whose values a message may contain. Text of the origin Input is
// left out if it contains one of their scalars, however short, encoded or decoded. Text of the
// origin Computed is always left out.
type Scope struct {
	Objects []*Objects
	// All means that the text must not contain anything of the input.
	All bool
}

// isEmpty reports whether there is nothing to hide.
func (s Scope) isEmpty() bool { return !s.All && len(s.Objects) == 0 }

// hides reports whether a part of a text is left out.
func (s Scope) hides(part source.Span) bool {
	switch part.Origin {
	case source.Input:
		return s.All || s.holds(part.Text)
	case source.Computed:
		return true
	}
	return false
}

// Hides reports whether any part of a text is left out.
func (s Scope) Hides(text []source.Span) bool {
	return !s.isEmpty() && slices.ContainsFunc(text, s.hides)
}

// Error returns an error whose text may be shown. It wraps err.
func (s Scope) Error(err error) error {
	if err == nil || !s.Hides(source.Spans(err)) {
		return err
	}
	return &scoped{source.MessageOf(s.text(source.Spans(err))...), err}
}

// scoped is an error without parts of its text.
type scoped struct {
	message *source.Message
	err     error
}

func (e *scoped) Error() string { return e.message.Error() }

// Unwrap returns the message and the error.
func (e *scoped) Unwrap() []error { return []error{e.message, e.err} }

// Text returns a text as it may be shown.
func (s Scope) Text(text source.Span) string {
	if !s.Hides([]source.Span{text}) {
		return text.Text
	}
	return source.MessageOf(s.text([]source.Span{text})...).String()
}

// Message returns a diagnostic whose message may be shown.
func (s Scope) Message(d source.Diagnostic) source.Diagnostic {
	if !s.Hides(d.Spans()) {
		return d
	}
	return d.Saying(source.MessageOf(s.text(d.Spans())...))
}

// Reason returns a reason whose text may be shown. It is formatted only when it is printed.
func (s Scope) Reason(reason fmt.Stringer) fmt.Stringer {
	if s.isEmpty() {
		return reason
	}
	return scopedReason{s, reason}
}

type scopedReason struct {
	scope  Scope
	reason fmt.Stringer
}

// Spans returns the parts of the reason that may be shown.
func (r scopedReason) Spans() []source.Span {
	parts := spansOf(r.reason)
	if !r.scope.Hides(parts) {
		return parts
	}
	return r.scope.text(parts)
}

// String implements fmt.Stringer.
func (r scopedReason) String() string { return source.MessageOf(r.Spans()...).String() }

// spansOf returns the parts of a reason.
func spansOf(reason fmt.Stringer) []source.Span {
	switch reason := reason.(type) {
	case scopedReason:
		return reason.Spans()
	case error:
		return source.Spans(reason)
	}
	return []source.Span{{Text: reason.String(), Origin: source.Input}}
}

// text returns a text with a note in place of what it hides.
func (s Scope) text(parts []source.Span) []source.Span {
	if s.isEmpty() {
		return parts
	}
	note := leftOut
	if s.All {
		note = allLeftOut
	}
	var shown []source.Span
	for i, part := range parts {
		switch {
		case !s.hides(part):
			shown = append(shown, part)
		case i == 0 || !s.hides(parts[i-1]):
			shown = append(shown, source.Span{Text: note, Origin: source.Ours})
		}
	}
	return shown
}

// holds reports whether a text contains a value of the objects.
func (s Scope) holds(text string) bool {
	return slices.ContainsFunc(s.Objects, func(o *Objects) bool { return o.holds(text) })
}
