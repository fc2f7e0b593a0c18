// Package source has positions in the files of users, and diagnostics: messages about a position.
// It imports no other package of the module.
//
// All diagnostics of a run are collected, sorted and printed together; a run does not stop at
// the first. A Diagnostic is a Go error as well, with a code that does not change between
// releases.
//
// A message knows the origins of its parts: a literal text, a name, a value of the input. Package
// redact decides by them what may be shown.
//
// The files in order: source.go (Position, Place, Diagnostic), message.go (texts with origins), words.go (texts
// that may be computed), printable.go (control characters), errors.go (diagnostics as errors), fold.go (many
// diagnostics that say the same), catalogue.go with catalogue_running.go and catalogue_cluster.go (what each code
// means), suggest.go (advice about unknown names), fix.go (advice that programs can follow).
package source

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Position is a place in a file. The zero Position means that the place is unknown.
type Position struct {
	// File is the name of the file as the user gave it, "-" for standard input.
	File string
	// Line and Column count from 1, Column in characters, not bytes. Zero means unknown.
	Line, Column int
}

// IsKnown reports whether p names at least a file.
func (p Position) IsKnown() bool { return p.File != "" }

// String prints p as "file:line:col", on one line, and omits unknown parts.
func (p Position) String() string {
	file := Printable(p.File)
	switch {
	case p.Line == 0:
		return file
	case p.Column == 0:
		return fmt.Sprintf("%s:%d", file, p.Line)
	default:
		return fmt.Sprintf("%s:%d:%d", file, p.Line, p.Column)
	}
}

// Compare orders positions by file, line and column.
func (p Position) Compare(q Position) int {
	return cmp.Or(cmp.Compare(p.File, q.File), cmp.Compare(p.Line, q.Line), cmp.Compare(p.Column, q.Column))
}

// Severity says how a diagnostic affects the run.
type Severity int

// The severities, from harmless to fatal.
const (
	// Info needs no action.
	Info Severity = iota
	// Warning means that there is output, but it may not be what was meant.
	Warning
	// Error means that there is no output.
	Error
)

// String returns the severity in lower case.
func (s Severity) String() string {
	return [...]string{"info", "warning", "error"}[s]
}

// Diagnostic is one message to the user.
type Diagnostic struct {
	// At is where the reader can change something. In a message about a manifest, it is the field, or
	// the start of the object; the position of the policy is in Related.
	At       Position
	Severity Severity
	// Code identifies the kind of message and is stable across releases.
	Code string
	// Message says what is wrong, in one line or, for a CEL error, with the
	// excerpt that the API server adds.
	Message string
	// Advice says what was expected or what to do; it may be empty.
	Advice string
	// Fixes are changes of files that follow the advice. Each of them alone removes the cause.
	Fixes []Fix
	// Subject is the manifest that the message is about ("apps/Deployment/ns/name"),
	// or empty.
	Subject string
	// Origin is the start of that manifest if it is in the input. It tells manifests with the same
	// name apart.
	Origin Position
	// Field is the path of the field that the message is about, or empty.
	Field string
	// Missing is the ID of the object whose absence is the cause, if that is known.
	Missing string
	// Excerpt is the line at At with a caret below it. It is set for policy files
	// only: manifests may hold secrets.
	Excerpt string
	// Related are further places that the message is about, such as the rule of a policy that denies
	// the manifest at At.
	Related []Place
	// Facts are what the message is based on: an expression, and the values that it has read.
	Facts []Fact
	// Count is the number of places if the diagnostic is folded, and Also are the next of them; see
	// Fold.
	Count int
	Also  []Place
	// said is the message with the origins of its parts, or nil. It does not count if Message has
	// another text.
	said *Message
}

// Place is a position with the name of what is there: "policy team, mutations[0]".
type Place struct {
	At   Position
	Name string
}

// String prints the place as "file:line:col: name".
func (p Place) String() string {
	switch {
	case !p.At.IsKnown():
		return Printable(p.Name)
	case p.Name == "":
		return p.At.String()
	}
	return p.At.String() + ": " + Printable(p.Name)
}

// Fact is an expression, or a value that it has read.
type Fact struct {
	// Name is the path of the value, such as object.spec.replicas, or else says what the fact is. Value is
	// the value as JSON, or "" if it is absent.
	Name, Value string
	// By is a clause that says who has set the value; "" if nobody has to be named. At is where that
	// was, or where the value is in the manifest.
	By string
	At Position
}

// maxFact is how many bytes of a value are printed.
const maxFact = 200

// String prints the fact as "file:line:col: name: value, by".
func (f Fact) String() string {
	text := f.Name + ": " + cutMiddle(f.Value, maxFact)
	if f.Value == "" {
		text = f.Name + " is absent"
	}
	if f.By != "" {
		text += ", " + f.By
	}
	return Place{f.At, text}.String()
}

// Naming returns d with a related place. Without a position it returns d.
func (d Diagnostic) Naming(at Position, name string) Diagnostic {
	if at.IsKnown() {
		d.Related = append(slices.Clip(d.Related), Place{at, name})
	}
	return d
}

// Relocated returns d with other names for its places.
func (d Diagnostic) Relocated(to func(Position) Position) Diagnostic {
	d.At, d.Related = to(d.At), slices.Clone(d.Related)
	d.Also, d.Facts = slices.Clone(d.Also), slices.Clone(d.Facts)
	for i := range d.Facts {
		d.Facts[i].At = to(d.Facts[i].At)
	}
	d.Fixes = slices.Clone(d.Fixes)
	for i := range d.Fixes {
		d.Fixes[i].Edits = slices.Clone(d.Fixes[i].Edits)
		for j := range d.Fixes[i].Edits {
			e := &d.Fixes[i].Edits[j]
			e.At, e.To = to(e.At), to(e.To)
		}
	}
	for _, places := range [][]Place{d.Related, d.Also} {
		for i := range places {
			places[i].At = to(places[i].At)
		}
	}
	return d
}

// Spans returns the parts of Message with their origins.
func (d Diagnostic) Spans() []Span {
	if d.said != nil && d.said.Error() == d.Message {
		return d.said.spans
	}
	return []Span{{d.Message, Input}}
}

// Saying returns d with a message.
func (d Diagnostic) Saying(m *Message) Diagnostic {
	d.Message, d.said = m.Error(), m
	return d
}

// String prints the diagnostic as "file:line:col: severity[code]: text".
func (d Diagnostic) String() string {
	where := ""
	if d.At.IsKnown() {
		where = d.At.String() + ": "
	}
	return fmt.Sprintf("%s%s[%s]: %s", where, d.Severity, d.Code, d.Text())
}

// Printed returns the message as it is printed.
func (d Diagnostic) Printed() string { return MessageOf(d.Spans()...).Printable() }

// Text returns the subject, the field and the message of the diagnostic in one line, then
// its details on lines of their own. What comes from the input is printable.
func (d Diagnostic) Text() string {
	var b strings.Builder
	if d.Subject != "" {
		fmt.Fprintf(&b, "%s: ", Printable(d.Subject))
	}
	if d.Field != "" {
		fmt.Fprintf(&b, "%s: ", Printable(d.Field))
	}
	b.WriteString(shorten(d.Printed()))
	for _, extra := range d.Details() {
		b.WriteString("\n    " + strings.ReplaceAll(shorten(PrintableDetail(extra)), "\n", "\n    "))
	}
	return b.String()
}

// Short returns Text without the places and the excerpt, which an editor shows at their positions.
func (d Diagnostic) Short() string {
	d.Related, d.Also, d.Excerpt, d.Count = nil, nil, "", 0
	return d.Text()
}

// Details returns what follows the message: the related places, the facts, the advice, the excerpt, and the
// other places of which the same is said.
func (d Diagnostic) Details() []string {
	var details []string
	for _, p := range d.Related {
		details = append(details, p.String())
	}
	for _, f := range d.Facts {
		details = append(details, f.String())
	}
	for _, extra := range []string{d.Advice, d.Excerpt} {
		if extra != "" {
			details = append(details, extra)
		}
	}
	return append(details, d.Others()...)
}

// maxLine is how many bytes of a line are printed. Lines may be long because messages quote
// expressions.
const maxLine = 2000

// shorten leaves out the middle of long lines.
func shorten(text string) string {
	if len(text) <= maxLine {
		return text
	}
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		if len(line) > maxLine {
			lines[i] = cutMiddle(line, maxLine)
		}
	}
	return strings.Join(lines, "")
}

// cutMiddle leaves out the middle of a text that has more than most bytes.
func cutMiddle(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most/2], "") + " … " + strings.ToValidUTF8(text[len(text)-most/2:], "")
}

// Errorf returns an error at a position. Its message is that of Messagef.
func Errorf(at Position, code, format string, args ...any) Diagnostic {
	return Diagnostic{At: at, Severity: Error, Code: code}.Saying(Messagef(format, args...))
}

// Warningf returns a warning at a position. Its message is that of Messagef.
func Warningf(at Position, code, format string, args ...any) Diagnostic {
	return Diagnostic{At: at, Severity: Warning, Code: code}.Saying(Messagef(format, args...))
}

// Notef returns a note at a position. Its message is that of Messagef.
func Notef(at Position, code, format string, args ...any) Diagnostic {
	return Diagnostic{At: at, Severity: Info, Code: code}.Saying(Messagef(format, args...))
}

// With returns d with advice added.
func (d Diagnostic) With(advice string) Diagnostic {
	d.Advice = advice
	return d
}

// HasErrors reports whether any of the diagnostics is an error.
func HasErrors(ds []Diagnostic) bool {
	return slices.ContainsFunc(ds, func(d Diagnostic) bool { return d.Severity == Error })
}

// Sort orders diagnostics by position. The sort is stable.
func Sort(ds []Diagnostic) {
	slices.SortStableFunc(ds, func(a, b Diagnostic) int { return a.At.Compare(b.At) })
}
