package redact

import (
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

// Manifests is a text of manifests.
type Manifests struct {
	Name, Text string
	// Hidden are further hidden paths by index of the document.
	Hidden map[int]Hidden
}

// Pair returns the texts of manifests before and after a change as they may be shown: without the
// values and the comments of Secrets, and without documents that cannot be read. The number of
// lines of such documents does not change. Hidden values that differ have different masks.
func (r *Redactor) Pair(before, after Manifests) (string, string) {
	if r == nil {
		return before.Text, after.Text
	}
	from, to := r.open(before), r.open(after)
	if len(from.documents) != len(to.documents) {
		from.hideAll()
		to.hideAll()
	}
	return r.show(from, to, " (before)"), r.show(to, from, " (after)")
}

// Manifests returns a text of manifests as it may be shown; see Pair.
func (r *Redactor) Manifests(m Manifests) string {
	if r == nil {
		return m.Text
	}
	return r.show(r.open(m), opened{}, "")
}

// opened is a text of which all documents can be read.
type opened struct {
	given     Manifests
	documents []*manifest.Document
	bytes     func() []byte
}

// open withholds the documents of a text that cannot be read, and reads the others.
func (r *Redactor) open(m Manifests) opened {
	stream, problems := manifest.Reread(m.Name, []byte(m.Text))
	if source.HasErrors(problems) {
		known := len(stream.Documents())
		m.Text = withheld(m.Text)
		stream, problems = manifest.Reread(m.Name, []byte(m.Text))
		if source.HasErrors(problems) || len(stream.Documents()) != known && len(m.Hidden) > 0 {
			m.Text = hideLines(m.Text) // the index of a document is not known
			stream, _ = manifest.Reread(m.Name, []byte(m.Text))
		}
	}
	return opened{m, stream.Documents(), stream.Bytes}
}

// hideAll hides all values if any path is hidden, because the texts have different documents.
func (m *opened) hideAll() {
	if len(m.given.Hidden) == 0 {
		return
	}
	m.given.Hidden = map[int]Hidden{}
	for i := range m.documents {
		m.given.Hidden[i] = Everything
	}
}

// show hides the values of documents, and the comments of Secrets. other has their counterparts.
func (r *Redactor) show(m, other opened, suffix string) string {
	if len(m.given.Hidden) == 0 && r.Shows(m.documents) {
		return m.given.Text
	}
	secrets := false
	for i, d := range m.documents {
		object := d.Object()
		var counterpart any
		if len(other.documents) == len(m.documents) {
			counterpart = other.documents[i].Object()
		}
		hidden := HiddenIn(d)
		secrets = secrets || hidden != nil
		hidden = hidden.or(m.given.Hidden[i])
		masked := r.Value(hidden, nil, object, counterpart, suffix).(map[string]any)
		if err := d.Set(masked, nil); err != nil {
			return Mask + "\n"
		}
	}
	text := r.maskedExceptNames(string(m.bytes()))
	if secrets {
		text = hideComments(text)
	}
	return text
}

// maskedExceptNames hides the values in a text of manifests, except in the names of objects.
func (r *Redactor) maskedExceptNames(text string) string {
	if !r.holds(text) {
		return text
	}
	stream, _ := manifest.Reread("-", []byte(text))
	lines := slices.Collect(strings.Lines(text))
	var b strings.Builder
	line, from := 0, 0
	// copyTo copies the text before a position, and returns the rest of its line.
	copyTo := func(at source.Position) string {
		for ; line < at.Line-1; line, from = line+1, 0 {
			b.WriteString(r.masked(lines[line][from:]))
		}
		return lines[line][from:]
	}
	for _, at := range r.namesIn(stream.Documents()) {
		rest := copyTo(at.at)
		if before, _, ok := strings.Cut(rest, at.name); ok {
			b.WriteString(r.masked(before) + at.name)
			from += len(before) + len(at.name)
		}
	}
	b.WriteString(r.masked(lines[line][from:] + strings.Join(lines[line+1:], "")))
	return b.String()
}

// placedName is a name with its position.
type placedName struct {
	at   source.Position
	name string
}

// namesIn returns the names in documents that contain hidden values by chance, in the order of the
// text.
func (r *Redactor) namesIn(documents []*manifest.Document) []placedName {
	var found []placedName
	for _, d := range documents {
		object := d.Object()
		for _, path := range namePaths {
			value, _ := path.Get(object)
			if name, ok := value.(string); ok && r.holds(name) {
				found = append(found, placedName{d.At(path), name})
			}
		}
	}
	slices.SortFunc(found, func(a, b placedName) int { return a.at.Compare(b.at) })
	return found
}

// Shows reports whether all of the documents may be shown.
func (r *Redactor) Shows(documents []*manifest.Document) bool {
	return r == nil || r.hidesNothing() && !slices.ContainsFunc(documents, isSecret)
}

// withheld hides the lines of all parts of a text that cannot be read.
func withheld(text string) string {
	var b strings.Builder
	for _, part := range splitDocuments(text) {
		if _, problems := manifest.Reread("-", []byte(part)); source.HasErrors(problems) {
			part = hideLines(part)
		}
		b.WriteString(part)
	}
	return b.String()
}

// hideLines replaces all lines of a text that are neither blank nor separators.
func hideLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		content := strings.TrimRight(line, "\r\n")
		if separator := strings.TrimRight(content, " \t"); separator != "" && separator != "---" {
			line = "# " + Mask + line[len(content):]
		}
		b.WriteString(line)
	}
	return b.String()
}
