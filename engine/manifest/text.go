package manifest

import "strings"

// Text returns the text of the document by itself, before and after its edits. They
// are the same if it is not Changed.
func (d *Document) Text() (before, after string) {
	w := d.window
	margin := strings.Repeat(" ", w.column)
	before = margin + d.unit.text()[w.start:w.end]
	if !d.Changed() {
		return before, before
	}
	return before, margin + applySplices(d.unit.text(), w.start, w.end, d.splices, d.unit.lineBreak)
}
