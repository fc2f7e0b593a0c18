package manifest

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Text returns the text of the document by itself, before and after its edits. They
// are the same if it is not Changed.
func (d *Document) Text() (before, after string) {
	w := d.window
	margin := strings.Repeat(" ", w.column)
	before = margin + d.unit.tape.text[w.start:w.end]
	if !d.Changed() {
		return before, before
	}
	return before, margin + applySplices(d.unit.tape.text, w.start, w.end, d.splices, d.unit.lineBreak())
}

// JSON is the canonical JSON of a value that was read: sorted, compact, without a line
// break at its end.
func JSON(value any) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic("manifest: a value that was read cannot be written: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
