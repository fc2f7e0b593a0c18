package krmfn

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

// object reads an object in the functionConfig as a document of its own. Its positions
// are those in the text that the functionConfig stands in, where that is possible.
func (f *functionConfig) object(object map[string]any, at change.Path) *manifest.Stream {
	start := f.document.At(at)
	if text, ok := cutOut(f.text, start); ok {
		stream, diagnostics := manifest.Read(start.File, text)
		if d := stream.Documents(); len(diagnostics) == 0 && len(d) == 1 && change.Equal(d[0].Object(), object) {
			return stream
		}
	}
	stream, diagnostics := manifest.Read(f.partName(at), mustEncode(object))
	f.diagnostics = append(f.diagnostics, diagnostics...)
	return stream
}

// cutOut takes the value that starts at a position out of a text: all before it is
// blanked, so that the value keeps its place, and all behind it is left out.
func cutOut(text string, start source.Position) ([]byte, bool) {
	lines := strings.SplitAfter(text, "\n")
	if start.Line == 0 || start.Line > len(lines) {
		return nil, false
	}
	column := start.Column - 1
	first := lines[start.Line-1]
	if column > len(first) {
		return nil, false
	}
	var b strings.Builder
	b.WriteString(strings.Repeat("\n", start.Line-1) + strings.Repeat(" ", column))
	rest := first[column:] + strings.Join(lines[start.Line:], "")
	if strings.HasPrefix(rest, "{") {
		var value json.RawMessage
		if err := json.NewDecoder(strings.NewReader(rest)).Decode(&value); err != nil {
			return nil, false
		}
		b.Write(value)
		return []byte(b.String()), true
	}
	b.WriteString(first[column:])
	for _, line := range lines[start.Line:] {
		content := strings.TrimLeft(line, " ")
		if indent := len(line) - len(content); indent < column && content[:min(1, len(content))] != "#" && strings.TrimSpace(content) != "" {
			break
		}
		b.WriteString(line)
	}
	return []byte(b.String()), true
}

// string reads the documents in a string of the functionConfig. locate finds their
// positions again.
func (f *functionConfig) string(text string, at change.Path) *manifest.Stream {
	name := f.partName(at)
	f.strings[name] = at
	stream, diagnostics := manifest.Read(name, []byte(text))
	f.diagnostics = append(f.diagnostics, diagnostics...)
	return stream
}

func (f *functionConfig) partName(at change.Path) string {
	return strings.TrimSpace(f.subject() + " " + at.String())
}

// locate translates a position in a string of the functionConfig to the one in the
// text that the functionConfig stands in.
func (f *functionConfig) locate(p source.Position) source.Position {
	at, ok := f.strings[p.File]
	if !ok {
		return p
	}
	value, _ := at.Get(f.document.Object())
	text, _ := value.(string)
	offset := 0
	for range p.Line - 1 {
		offset += strings.IndexByte(text[offset:], '\n') + 1
	}
	for range p.Column - 1 {
		_, size := utf8.DecodeRuneInString(text[offset:])
		offset += size
	}
	return f.document.In(at, offset)
}

// mustEncode is the JSON of a value that was read from JSON or YAML, sorted and
// compact.
func mustEncode(value any) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic("krmfn: a value that was read cannot be written: " + err.Error())
	}
	return b.Bytes()
}
