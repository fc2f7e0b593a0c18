package manifest

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/number"
)

// JSON returns the canonical JSON of a value that was read: sorted, compact, without a final line
// break.
func JSON(value any) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic("manifest: a value that was read cannot be written: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// JSON returns the document as it was read, without edits, as canonical JSON. Numbers keep their
// digits if the digits mean the same in JSON.
func (d *Document) JSON() []byte {
	var b jsonWriter
	b.encoder = json.NewEncoder(&b.Buffer)
	b.encoder.SetEscapeHTML(false)
	t := d.unit.tape()
	b.Grow(d.window.end - d.window.start) // JSON is seldom longer than the text
	entries := t.entries(t.real(d.root))
	for _, pair := range d.implied {
		if t.lookup(d.root, pair[0]) < 0 {
			entries = append(entries, entry{name: pair[0], value: -1})
		}
	}
	b.object(t, entries, func(en entry) {
		for _, pair := range d.implied {
			if en.value < 0 && pair[0] == en.name {
				b.string(pair[1])
			}
		}
	})
	return b.Bytes()
}

// A jsonWriter writes the values of a tape.
type jsonWriter struct {
	bytes.Buffer
	encoder *json.Encoder
}

func (b *jsonWriter) encode(value any) {
	if err := b.encoder.Encode(value); err != nil {
		panic("manifest: a value that was read cannot be written: " + err.Error())
	}
	b.Truncate(b.Len() - 1) // the line break
}

// string writes a text. Most texts only need quotes.
func (b *jsonWriter) string(text string) {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			b.encode(text)
			return
		}
	}
	b.WriteByte('"')
	b.WriteString(text)
	b.WriteByte('"')
}

// object writes entries sorted by key. implied writes the entries without a node.
func (b *jsonWriter) object(t *tape, entries []entry, implied func(entry)) {
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	b.WriteByte('{')
	for i, en := range entries {
		if i > 0 {
			b.WriteByte(',')
		}
		b.string(en.name)
		b.WriteByte(':')
		if en.value < 0 {
			implied(en)
		} else {
			b.value(t, en.value)
		}
	}
	b.WriteByte('}')
}

func (b *jsonWriter) value(t *tape, i int) {
	i = t.real(i)
	switch n := &t.nodes[i]; {
	case n.kind.isMap():
		b.object(t, t.entries(i), nil)
	case n.kind.isSequence():
		b.WriteByte('[')
		for item := i + 1; item < int(n.next); item = int(t.nodes[item].next) {
			if item > i+1 {
				b.WriteByte(',')
			}
			b.value(t, item)
		}
		b.WriteByte(']')
	default:
		if text, ok := t.digits(i); ok {
			b.WriteString(text)
			return
		}
		v := t.value(i)
		if text, ok := v.(string); ok {
			b.string(text)
		} else {
			b.encode(v)
		}
	}
}

// digits returns the text of a number if it is valid JSON and means the same in JSON.
func (t *tape) digits(i int) (string, bool) {
	n := &t.nodes[i]
	if n.kind != plain || n.marks&multiline != 0 {
		return "", false
	}
	text := t.text[n.start:n.end]
	if !isJSONNumber(text) {
		u, _ := resolve(text)
		if u, ok := u.(uint64); ok && n.marks&strict == 0 { // for instance 0xFFFFFFFFFFFFFFFF
			return strconv.FormatUint(u, 10), true
		}
		return "", false
	}
	v, err := number.Parse(text)
	return text, err == nil && change.Equal(v, t.value(i))
}
