package source

import (
	stderrors "errors"
	"fmt"
	"slices"
	"strings"
)

// Origin says where a part of a text comes from. It decides what of the text may be shown; see
// package redact.
type Origin byte

// The origins.
const (
	// Input is text that may contain values of the input. Text of unknown origin counts as Input.
	Input Origin = iota
	// Computed is text that an expression has computed from the object of a request or from objects
	// that it has read. The values in it may be changed beyond recognition.
	Computed
	// Identity is the name of something: an object, its kind and namespace, a file, a policy.
	Identity
	// Ours is a literal text of preadmit.
	Ours
)

// Span is a part of a text with its origin.
type Span struct {
	Text   string
	Origin Origin
}

// The types of arguments for Messagef that state their origin: the name of something, a text that an
// expression has computed, and a literal text of ours.
type (
	Name    string
	Result  string
	Literal string
)

// judged is an error whose text has other origins than the error itself says.
type judged struct {
	cause error
	spans []Span
}

// Derive returns an error with the same text, which may contain what an expression has computed.
func Derive(err error) error { return &judged{err, []Span{{err.Error(), Computed}}} }

// Error returns the text.
func (j *judged) Error() string { return j.cause.Error() }

// Spans returns the parts of the text.
func (j *judged) Spans() []Span { return j.spans }

// Unwrap returns the error.
func (j *judged) Unwrap() error { return j.cause }

// Identifier is implemented by values whose texts are names.
type Identifier interface{ IsIdentity() }

// IsIdentity implements Identifier.
func (Name) IsIdentity() {}

// IsIdentity implements Identifier: a position names a file.
func (Position) IsIdentity() {}

// Message is a text that knows the origins of its parts. It is also an error.
type Message struct {
	spans []Span
	cause error
}

// Messagef formats a message. The format is Ours. The arguments that implement Identifier are Identity, those of
// type Result are Computed, and those of type Literal and int are Ours. Errors have the origins of Spans; the last
// is the cause. All other arguments are Input.
func Messagef(format string, args ...any) *Message {
	m := &Message{}
	var spans [][]Span // of each argument
	wrapped := make([]any, len(args))
	for i, arg := range args {
		if err, ok := arg.(error); ok {
			m.cause = err
		}
		wrapped[i] = argument{arg, &spans}
	}
	for i, literal := range strings.Split(fmt.Sprintf(format, wrapped...), mark) {
		if i > 0 {
			m.spans = append(m.spans, spans[i-1]...)
		}
		m.spans = append(m.spans, Span{literal, Ours})
	}
	m.spans = slices.DeleteFunc(m.spans, isEmpty)
	return m
}

// mark takes the place of an argument in a formatted text. No format contains it.
const mark = "\x00"

// argument formats a value into spans, and as a mark.
type argument struct {
	value any
	spans *[][]Span
}

// Format implements fmt.Formatter.
func (a argument) Format(state fmt.State, verb rune) {
	spans := []Span{{fmt.Sprintf(fmt.FormatString(state, verb), a.value), originOf(a.value)}}
	if err, ok := a.value.(error); ok && (verb == 'v' || verb == 's') {
		spans = Spans(err)
	}
	*a.spans = append(*a.spans, spans)
	fmt.Fprint(state, mark)
}

func originOf(value any) Origin {
	switch value.(type) {
	case Identifier:
		return Identity
	case Result:
		return Computed
	case Literal, int:
		return Ours
	}
	return Input
}

// Error returns the text of the message.
func (m *Message) Error() string {
	var b strings.Builder
	for _, s := range m.spans {
		b.WriteString(s.Text)
	}
	return b.String()
}

// Spans returns the parts of the message.
func (m *Message) Spans() []Span { return m.spans }

// String returns the text of the message.
func (m *Message) String() string { return m.Error() }

// Unwrap returns the cause, or nil.
func (m *Message) Unwrap() error { return m.cause }

// MessageOf returns the message of its parts.
func MessageOf(parts ...Span) *Message { return &Message{spans: parts} }

// Spans returns the parts of the text of an error. They are known of a Message and of a Derived, also
// at the end of an error that wraps one. All other text is Input.
func Spans(err error) []Span {
	text := err.Error()
	var known interface {
		error
		Spans() []Span
	}
	if stderrors.As(err, &known) {
		if before, ok := strings.CutSuffix(text, known.Error()); ok {
			return slices.DeleteFunc(append([]Span{{before, Input}}, known.Spans()...), isEmpty)
		}
	}
	return []Span{{text, Input}}
}

func isEmpty(s Span) bool { return s.Text == "" }
