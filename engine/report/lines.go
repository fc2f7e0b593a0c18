package report

import "strings"

// Line is a line of a file before, after, or both.
type Line struct {
	Text string
	// Before and After are its numbers; zero where it does not occur.
	Before, After int
	// Edit is what a line that has changed belongs to, as far as that is known: one of those
	// of the report's Manifests.
	Edit *Edit
}

// Lines aligns the lines of the file before and after.
func (f File) Lines() []Line {
	lines := compare(f.Before, f.After)
	for i := range lines {
		l := &lines[i]
		l.Text = strings.TrimRight(l.Text, "\r\n")
		if m, ok := f.markOf(*l); ok {
			l.Edit = m.edit
		}
	}
	return lines
}

// markOf finds the edit that a line belongs to, if it has changed.
func (f File) markOf(l Line) (mark, bool) {
	switch {
	case l.Before > 0 && l.After > 0:
		return mark{}, false
	case l.After == 0:
		return editAt(f.before, l.Before)
	}
	return editAt(f.after, l.After)
}

// compare aligns the lines of two texts.
func compare(before, after string) []Line {
	var lines []Line
	a, b := 0, 0
	for _, l := range align(splitLines(before), splitLines(after)) {
		n := Line{Text: l.text}
		if l.op != '+' {
			a++
			n.Before = a
		}
		if l.op != '-' {
			b++
			n.After = b
		}
		lines = append(lines, n)
	}
	return lines
}
