package source

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/preadmit/preadmit/internal/lazyregexp"
)

// FewPlaces is how many places of a folded diagnostic are listed.
const FewPlaces = 3

// Fold joins diagnostics that say the same of the same field of more than FewPlaces objects, or of objects that
// come from the same place, whatever their names: the first of them gets the number of all, and the next places up
// to a total of most. Items of a list count as the same field, and so do all fields in notes about manifests,
// which need no action. Names in the texts of many may differ; each place then has its own.
func Fold(diagnostics []Diagnostic, most int) []Diagnostic {
	keys := sayings(diagnostics)
	count := map[saying]int{}
	for _, key := range keys {
		count[key]++
	}
	type fold struct{ in, first int } // the index of the result, and of the first diagnostic
	folds := map[saying]fold{}
	var folded []Diagnostic
	for n, d := range diagnostics {
		key := keys[n]
		if count[key] < 2 || count[key] <= FewPlaces && !key.at.IsKnown() {
			folded = append(folded, d)
			continue
		}
		f, ok := folds[key]
		if !ok {
			folds[key] = fold{len(folded), n}
			d.Count = count[key]
			folded = append(folded, d)
		} else if first := &folded[f.in]; len(first.Also)+1 < most {
			first.Also = append(first.Also, Place{d.At, d.aboutUnlike(diagnostics[f.first])})
		}
	}
	return folded
}

// sayings returns what each diagnostic says. That of few objects has their names and the place.
func sayings(diagnostics []Diagnostic) []saying {
	keys, count := make([]saying, len(diagnostics)), map[saying]int{}
	for i, d := range diagnostics {
		keys[i] = d.saying(nameless)
		count[keys[i]]++
	}
	for i, d := range diagnostics {
		if count[keys[i]] <= FewPlaces {
			keys[i] = d.saying(Span.text)
			keys[i].at = d.At
		}
	}
	return keys
}

// saying is what diagnostics have in common that are folded. The place is one of them if they are few.
type saying struct {
	severity                              Severity
	code, field, message, advice, related string
	at                                    Position
}

// items are the indexes of items in a field path.
var items = lazyregexp.New(`\[\d+\]`)

// saying returns what a diagnostic says, with the parts of its message as written by a function.
func (d Diagnostic) saying(write func(Span) string) saying {
	field := d.Field
	switch {
	case d.Severity == Info && d.Excerpt == "":
		field = ""
	case strings.Contains(field, "["):
		field = items().ReplaceAllString(field, "[]")
	}
	related := ""
	if rule := slices.DeleteFunc(slices.Clone(d.Related), Place.isRendered); len(rule) > 0 {
		related = fmt.Sprint(rule)
	}
	message, advice := "", " "+d.Advice+" "
	for _, part := range d.Spans() {
		message += write(part)
		advice = strings.ReplaceAll(advice, " "+part.Text+" ", " "+write(part)+" ")
	}
	return saying{severity: d.Severity, code: d.Code, field: field, message: d.unnamed(message), advice: d.unnamed(advice), related: related}
}

// text returns the text of a span.
func (s Span) text() string { return s.Text }

// nameless returns the text of a span unless it is a name.
func nameless(s Span) string {
	if s.Origin == Identity {
		return "\x00"
	}
	return s.Text
}

// names returns the names in the message.
func (d Diagnostic) names() (names []string) {
	for _, s := range d.Spans() {
		if s.Origin == Identity {
			names = append(names, s.Text)
		}
	}
	return names
}

// unnamed returns a text without the name of the object, which servers repeat in it.
func (d Diagnostic) unnamed(text string) string {
	i := strings.LastIndexByte(d.Subject, '/')
	if i < 0 || i == len(d.Subject)-1 {
		return text
	}
	return strings.ReplaceAll(text, strconv.Quote(d.Subject[i+1:]), "")
}

// RenderedHere is the name of the place where an object was rendered from what is in the repository.
const RenderedHere = "rendered here"

func (p Place) isRendered() bool { return p.Name == RenderedHere }

// about returns the object and the field that a diagnostic is about, and where the object was rendered.
func (d Diagnostic) about() string {
	if i := slices.IndexFunc(d.Related, Place.isRendered); i >= 0 {
		rendered := d.Related[i].At.File
		d.Related = nil
		return d.about() + ", rendered in " + Printable(rendered)
	}
	if d.Subject != "" && d.Field != "" {
		return d.Subject + ": " + d.Field
	}
	return d.Subject + d.Field
}

// aboutUnlike returns what a diagnostic is about, with the names in its message that another one has not.
func (d Diagnostic) aboutUnlike(other Diagnostic) string {
	about, known := []string{d.about()}, other.names()
	for i, name := range d.names() {
		if (i >= len(known) || name != known[i]) && !strings.Contains(about[0], name) {
			about = append(about, Printable(name))
		}
	}
	return strings.Join(slices.DeleteFunc(about, func(part string) bool { return part == "" }), ", ")
}

// Others says how many places are the same, and which. It returns nil if the diagnostic is not
// folded.
func (d Diagnostic) Others() []string {
	if d.Count == 0 {
		return nil
	}
	lines := []string{fmt.Sprintf("the same in %d more places:", d.Count-1)}
	if d.Count == 2 {
		lines[0] = "the same in 1 more place:"
	}
	for _, p := range d.Also {
		lines = append(lines, p.String())
	}
	if left := d.Count - 1 - len(d.Also); left > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", left))
	}
	return lines
}
