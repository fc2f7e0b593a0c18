package source

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Fix is a change of files that removes the cause of a diagnostic.
type Fix struct {
	// Title says what the fix does.
	Title string
	Edits []Edit
}

// Edit replaces a text in a file.
type Edit struct {
	// At is where the text begins.
	At Position
	// To is where the text ends, if it is known. Otherwise the text is the name Old, at At or next to it on the
	// line; without it, the edit does not apply. If Old is empty, New is inserted at At. An edit has no
	// value of a manifest, which may be secret.
	To       Position
	Old, New string
	// Scalar, unless it is nil, changes the scalar of YAML or JSON between At and To. How its text must be edited for
	// that, and whether it can be, is found out when somebody asks for it (manifest.Stream.Edits).
	Scalar *Rewrite
	// Put, unless it is nil, gives a field of the object that begins at At a value, in the same way.
	Put *Put
}

// Put gives a field of an object a value, or removes it if the value is nil. The maps around the field are added if they
// are missing.
type Put struct {
	Keys  []any // texts, and the numbers of items
	Value any   // as in JSON
}

// Rewrite is a change of a scalar that leaves it where it is. The zero Rewrite puts it in quotes or, if it has quotes,
// out of them.
type Rewrite struct {
	// Changes are those of its text as it reads.
	Changes []Change
	// Listed says that it becomes the only item of a list, and Spaced that a space after its colon makes a map of it.
	Listed, Spaced bool
}

// Extent is where a scalar begins and ends, if it can be edited. Otherwise it is the zero Extent.
type Extent struct{ At, To Position }

// Replacing returns the edit that makes a text of the scalar, which reads as another one.
func (x Extent) Replacing(old, new string) Edit {
	return Edit{At: x.At, To: x.To, Scalar: &Rewrite{Changes: []Change{{To: len(old), New: new}}}}
}

// Texts returns the texts that an edit writes or looks for.
func (e Edit) Texts() []string {
	texts := []string{e.Old, e.New}
	if e.Scalar != nil {
		for _, c := range e.Scalar.Changes {
			texts = append(texts, c.New)
		}
	}
	if e.Put != nil {
		texts = append(texts, textsIn(e.Put.Value)...)
	}
	return texts
}

// textsIn returns the texts in a value, with the keys of its maps.
func textsIn(value any) (texts []string) {
	switch value := value.(type) {
	case string:
		return []string{value}
	case []any:
		for _, item := range value {
			texts = append(texts, textsIn(item)...)
		}
	case map[string]any:
		for key, inner := range value {
			texts = append(append(texts, key), textsIn(inner)...)
		}
	}
	return texts
}

// Advice says what to do about a mistake.
type Advice struct {
	Text string
	// Old is a name at the place of the mistake, and New the name to write instead. Both are empty if
	// only the user can decide that.
	Old, New string
}

// Meant returns the advice to write another name.
func Meant(old, new string) Advice { return Advice{"did you mean " + new + "?", old, new} }

// Expected returns advice with a text about an unknown name. The name to write instead is the nearest known
// one.
func Expected(text, name string, known []string) Advice {
	if best := Nearest(name, known); best != "" {
		return Advice{text, name, best}
	}
	return Advice{Text: text}
}

// Advised returns d with advice.
func (d Diagnostic) Advised(a Advice) Diagnostic { return d.AdvisedAt(d.At, a) }

// AdvisedAt returns d with advice. at is the place of the name that the advice replaces.
func (d Diagnostic) AdvisedAt(at Position, a Advice) Diagnostic {
	return d.With(a.Text).Replacing(at, a)
}

// Replacing returns d with the fix that follows advice about a name.
func (d Diagnostic) Replacing(at Position, a Advice) Diagnostic {
	if a.Old == "" || a.Old == a.New || !at.IsKnown() {
		return d
	}
	return d.Mended(a.title(), Edit{At: at, Old: a.Old, New: a.New})
}

// Mended returns d with a fix.
func (d Diagnostic) Mended(title string, edits ...Edit) Diagnostic {
	d.Fixes = append(slices.Clip(d.Fixes), Fix{title, edits})
	return d
}

// Change replaces text[From:To] of a text.
type Change struct {
	From, To int
	New      string
}

// Changed returns a text after changes, which are in their order in the text.
func Changed(text string, changes []Change) string {
	var b strings.Builder
	at := 0
	for _, c := range changes {
		b.WriteString(text[at:c.From] + c.New)
		at = c.To
	}
	return b.String() + text[at:]
}

// Mend is advice about a text, and the changes of the text that follow it. The zero Mend says nothing.
type Mend struct {
	Advice, Title string
	Changes       []Change
}

// In returns the mend that follows advice about a name in a text, at an offset or after it.
func (a Advice) In(text string, from int) Mend {
	m := Mend{Advice: a.Text}
	if a.Old == a.New {
		return m
	}
	isWord := func(c rune) bool { return c == '_' || c == '-' || unicode.IsLetter(c) || unicode.IsDigit(c) }
	for at := from; ; at++ {
		n := strings.Index(text[min(at, len(text)):], a.Old)
		if n < 0 {
			return m
		}
		at += n
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at+len(a.Old):])
		if !isWord(before) && !isWord(after) {
			m.Title, m.Changes = a.title(), []Change{{at, at + len(a.Old), a.New}}
			return m
		}
	}
}

func (a Advice) title() string { return fmt.Sprintf("Replace %s with %s", a.Old, a.New) }

// Shifted returns m for a text that has by more bytes before it.
func (m Mend) Shifted(by int) Mend {
	m.Changes = slices.Clone(m.Changes)
	for i := range m.Changes {
		m.Changes[i].From += by
		m.Changes[i].To += by
	}
	return m
}
