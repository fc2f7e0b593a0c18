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
// come from the same place, whatever their names: the first of them gets the number of all, and the next places up to a total of
// most. Items of a list count as the same field.
func Fold(diagnostics []Diagnostic, most int) []Diagnostic {
	keys := sayings(diagnostics)
	count := map[saying]int{}
	for _, key := range keys {
		count[key]++
	}
	index := map[saying]int{}
	var folded []Diagnostic
	for n, d := range diagnostics {
		key := keys[n]
		if count[key] < 2 || count[key] <= FewPlaces && !key.at.IsKnown() {
			folded = append(folded, d)
			continue
		}
		i, ok := index[key]
		if !ok {
			index[key] = len(folded)
			d.Count = count[key]
			folded = append(folded, d)
		} else if first := &folded[i]; len(first.Also)+1 < most {
			first.Also = append(first.Also, Place{d.At, d.about()})
		}
	}
	return folded
}

// sayings returns what each diagnostic says. That of few objects has its place.
func sayings(diagnostics []Diagnostic) []saying {
	keys, count := make([]saying, len(diagnostics)), map[saying]int{}
	for i, d := range diagnostics {
		keys[i] = d.saying()
		count[keys[i]]++
	}
	for i, d := range diagnostics {
		if count[keys[i]] <= FewPlaces {
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

func (d Diagnostic) saying() saying {
	field := d.Field
	if strings.Contains(field, "[") {
		field = items().ReplaceAllString(field, "[]")
	}
	related := ""
	if rule := slices.DeleteFunc(slices.Clone(d.Related), Place.isRendered); len(rule) > 0 {
		related = fmt.Sprint(rule)
	}
	return saying{
		severity: d.Severity, code: d.Code, field: field, message: d.unnamed(d.Message), advice: d.unnamed(d.Advice), related: related,
	}
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
