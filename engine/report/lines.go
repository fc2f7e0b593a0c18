package report

import "strings"

// Line is a line of a file: before, after, or both.
type Line struct {
	Text string
	// Before and After are the line's numbers, or zero where the line does not occur.
	Before, After int
	// Edit is the edit that changed the line, one of the edits of the report's Manifests. It is nil
	// if the line has not changed or the edit is unknown.
	Edit *Edit
}

// Lines aligns the lines of the file before and after the policies.
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

// markOf returns the mark of the edit that changed a line.
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
