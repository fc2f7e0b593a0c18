package manifest

import "strings"

// Text returns the text of the document alone, before and after its edits. The texts are equal if
// the document is not Changed.
func (d *Document) Text() (before, after string) {
	w := d.window
	margin := strings.Repeat(" ", w.column)
	before = margin + d.unit.text()[w.start:w.end]
	if !d.Changed() {
		return before, before
	}
	t := d.unit.tape()
	return before, margin + applySplices(t.text, w.start, w.end, t.end(d.splices, false), d.unit.lineBreak)
}
