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

// object reads an object in the functionConfig as a separate document. If possible, its
// positions are positions in the text of the functionConfig.
func (f *functionConfig) object(object map[string]any, at change.Path) *manifest.Stream {
	start := f.document.At(at)
	if text := cutOut(f.lines(), start); text != nil {
		stream, diagnostics := manifest.Read(start.File, text)
		if d := stream.Documents(); len(diagnostics) == 0 && len(d) == 1 && change.Equal(d[0].Object(), object) {
			return stream
		}
	}
	stream, diagnostics := manifest.Read(f.partName(at), manifest.JSON(object))
	f.diagnostics = append(f.diagnostics, diagnostics...)
	return stream
}

// cutOut returns the value that starts at a position in a text. It replaces the text before
// the value by spaces and line breaks, so that positions stay the same, and removes the text
// after it. It returns nil if it cannot find the end of the value.
func cutOut(lines []string, start source.Position) []byte {
	if start.Line == 0 || start.Line > len(lines) || start.Column > len(lines[start.Line-1]) {
		return nil
	}
	column := start.Column - 1
	first, rest := lines[start.Line-1][column:], lines[start.Line:]
	var b bytes.Buffer
	b.WriteString(strings.Repeat("\n", start.Line-1) + strings.Repeat(" ", column))
	if strings.HasPrefix(first, "{") {
		var value json.RawMessage
		if err := json.NewDecoder(strings.NewReader(first + strings.Join(rest, ""))).Decode(&value); err != nil {
			return nil
		}
		b.Write(value)
		return b.Bytes()
	}
	b.WriteString(first)
	for _, line := range rest {
		content := strings.TrimLeft(line, " ")
		if len(line)-len(content) < column && strings.TrimSpace(content) != "" && content[0] != '#' {
			break
		}
		b.WriteString(line)
	}
	return b.Bytes()
}

// string reads the documents in a string of the functionConfig. locate translates their
// positions.
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

// locate translates a position in a string of the functionConfig to a position in the text of
// the functionConfig.
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
