package report

import (
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/source"
)

// hunkText is a hunk of a diff as text, with the names of its objects and of what changes them.
type hunkText struct {
	text string
	// objects are the manifests in which lines change, and authors what changes them.
	objects, authors []string
	// places are where the objects are changed, and policies where the policies are that change them.
	places, policies []source.Position
	added, removed   int
	noted            map[string]bool
	// edits are the edits whose authors have been noted.
	edits map[*Edit]bool
}

// hunks returns the hunks of the diff of a file. If full is true, there is one with all lines.
func (f *File) hunks(full bool) []hunkText {
	lines, context := align(splitLines(f.Before), splitLines(f.After)), diffContext
	if full {
		context = len(lines)
	}
	var found []hunkText
	var c counter
	for _, h := range hunks(lines, context) {
		c.pass(lines[c.lines:h.start])
		a := hunkText{noted: map[string]bool{}, edits: map[*Edit]bool{}}
		before, after := c.before, c.after
		for _, l := range lines[h.start:h.end] {
			switch l.op {
			case '-':
				before++
				a.removed++
				a.note(f.before, before)
			case '+':
				after++
				a.added++
				a.note(f.after, after)
			default:
				before++
				after++
			}
		}
		var text strings.Builder
		c.writeHunk(&text, lines[h.start:h.end], a.about())
		a.text = text.String()
		if !a.isKnown() {
			found = append(found, a)
		}
	}
	return found
}

// note adds the manifest and the authors of a changed line.
func (a *hunkText) note(marks []mark, line int) {
	m, ok := editAt(marks, line)
	if !ok || a.edits[m.edit] {
		return
	}
	a.edits[m.edit] = true
	if object := m.manifest.object(); !a.noted["object "+object] {
		a.noted["object "+object] = true
		a.objects = append(a.objects, object)
		a.places = append(a.places, m.at())
	}
	for _, step := range m.edit.Causes {
		if by := step.At.String(); step.At.IsKnown() && m.edit.isBy(step) && !a.noted["policy "+by] {
			a.noted["policy "+by] = true
			a.policies = append(a.policies, step.At)
		}
	}
	for _, by := range m.edit.authors() {
		if !a.noted["author "+by] {
			a.noted["author "+by] = true
			a.authors = append(a.authors, by)
		}
	}
}

// at returns where the edit can be changed: in the manifest, or at the object.
func (m mark) at() source.Position {
	if m.edit.At.IsKnown() {
		return m.edit.At
	}
	return m.manifest.At
}

// isBy reports whether a step is an author of the edit. Between two states of a repository, these are its reasons.
func (e *Edit) isBy(step Step) bool {
	return e.Reasons == nil || slices.Contains(e.Reasons, step.reason())
}

// about returns the objects and authors of a hunk on one line.
func (a *hunkText) about() string {
	text := strings.Join(a.objects, ", ")
	if len(a.authors) > 0 {
		text += " by " + strings.Join(a.authors, ", ")
	}
	return text
}

// object returns the name of a manifest for people.
func (m *Manifest) object() string { return strings.TrimSpace(m.Kind + " " + m.Name) }

// authors returns what made an edit: its reasons, or the author of each cause.
func (e *Edit) authors() []string {
	if e.Reasons != nil {
		return e.Reasons
	}
	var authors []string
	for _, s := range e.Causes {
		authors = append(authors, s.author())
	}
	return authors
}

// author returns the policy that made a step, or the stage that made it instead.
func (s Step) author() string {
	switch {
	case s.Policy != "":
		return s.Policy
	case s.Disposition == engine.Pinned:
		return "admission"
	}
	return "normalization"
}
