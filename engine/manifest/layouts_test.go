package manifest

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/change"
)

// A writer writes documents in the ways that people do, and some more.
type writer struct {
	*rand.Rand
	strings.Builder
	lineBreak string
	anchors   bool
}

func (w *writer) oneOf(texts ...string) string { return texts[w.IntN(len(texts))] }

// document writes a document; the same seed gives the same one.
func document(seed uint64) string {
	w := &writer{Rand: rand.New(rand.NewPCG(seed, 1)), lineBreak: "\n"}
	if w.IntN(8) == 0 {
		w.lineBreak = "\r\n"
	}
	w.anchors = w.IntN(6) == 0
	w.comments(0)
	switch w.IntN(8) {
	case 0:
		w.flow(3, w.IntN(2) == 0, "")
		w.end()
	case 1:
		w.WriteString("apiVersion: v1" + w.lineBreak + "kind: " + w.oneOf("List", "PodList") + w.lineBreak + "items:" + w.lineBreak)
		w.sequence(w.IntN(2)*2, 3, true)
	default:
		w.mapping(w.oneColumn(), 4)
	}
	if text := w.String(); w.IntN(6) == 0 {
		return strings.TrimRight(text, "\r\n")
	}
	return w.String()
}

func (w *writer) oneColumn() int {
	if w.IntN(10) == 0 {
		return 1 + w.IntN(3)
	}
	return 0
}

func (w *writer) spaces(n int) { w.WriteString(strings.Repeat(" ", n)) }

// end ends a line, perhaps with a comment.
func (w *writer) end() {
	if w.IntN(6) == 0 {
		w.WriteString(w.oneOf(" # c", "  # c: d", "   ", " #"))
	}
	w.WriteString(w.lineBreak)
	if w.IntN(12) == 0 {
		w.WriteString(w.oneOf("", "  ") + w.lineBreak)
	}
}

// comments writes comment lines at or near a column.
func (w *writer) comments(column int) {
	for w.IntN(7) == 0 {
		w.spaces(max(0, column+w.IntN(5)-2))
		w.WriteString(w.oneOf("# - x", "# a: b", "#") + w.lineBreak)
		if w.IntN(3) == 0 {
			w.WriteString(w.lineBreak)
		}
	}
}

func (w *writer) mapping(column, depth int) {
	for i, name := range w.names() {
		if i > 0 {
			w.comments(column)
		}
		if i > 0 || w.Len() == 0 || strings.HasSuffix(w.String(), "\n") {
			w.spaces(column)
		}
		w.WriteString(name + w.oneOf(":", ":", ":", ":", " :"))
		w.value(column, depth, false)
	}
}

func (w *writer) names() []string {
	names := []string{"a", "b", "name", `"c d"`, "'e'", "on", "1", "kind"}
	w.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	return names[:1+w.IntN(4)]
}

func (w *writer) sequence(column, depth int, maps bool) {
	for i := range 1 + w.IntN(4) {
		if i > 0 {
			w.comments(column)
		}
		if i > 0 || strings.HasSuffix(w.String(), "\n") {
			w.spaces(column)
		}
		w.WriteString("-")
		if !maps {
			w.value(column, depth, true)
			continue
		}
		if w.IntN(4) == 0 {
			w.end()
			w.spaces(column + 2)
			w.mapping(column+2, depth-1)
			continue
		}
		width := 1 + w.IntN(2)*w.IntN(3)
		w.spaces(width)
		w.mapping(column+1+width, depth-1)
	}
}

// value writes what stands behind a colon or dash, and the lines below.
func (w *writer) value(column, depth int, item bool) {
	step := 1 + w.IntN(3)
	if depth <= 0 {
		step = 2
	}
	switch n := w.IntN(16); {
	case n < 4 && depth > 0:
		if item && w.IntN(3) > 0 {
			w.spaces(step)
			w.mapping(column+1+step, depth-1)
			return
		}
		w.end()
		w.comments(column + step)
		w.mapping(column+step, depth-1)
	case n < 7 && depth > 0:
		switch {
		case item && w.IntN(3) > 0:
			w.spaces(step)
			w.sequence(column+1+step, depth-1, false)
		case !item && w.IntN(2) == 0:
			w.end()
			w.comments(column)
			w.sequence(column, depth-1, false)
		default:
			w.end()
			w.comments(column + step)
			w.sequence(column+step, depth-1, w.IntN(3) == 0)
		}
	case n < 9 && depth > 0:
		w.WriteString(" ")
		w.flow(2, false, "")
		w.end()
	case n < 10:
		w.blockScalar(column, step)
	case n < 11:
		w.WriteString(w.oneOf(" 'x", " \"x", " x") + w.lineBreak)
		w.spaces(column + step)
		text := w.String()
		w.WriteString("y z" + w.oneOf("", w.lineBreak+w.lineBreak+strings.Repeat(" ", column+step)+"w"))
		if c := text[strings.LastIndexAny(strings.TrimRight(text, " \r\n"), " ")+1]; c == '\'' || c == '"' {
			w.WriteByte(c)
		}
		w.WriteString(w.lineBreak)
	case n < 12:
		w.end() // null
	case n < 13 && w.anchors:
		w.WriteString(w.oneOf(" &x 1", " !!str 2", " ! 3", " !t 'u'") + w.lineBreak)
	default:
		if w.IntN(12) == 0 {
			w.end()
			w.spaces(column + step - 1)
		}
		w.WriteString(" " + w.scalar(false))
		w.end()
	}
}

func (w *writer) scalar(quoted bool) string {
	if quoted {
		return w.oneOf(`"x"`, "1", "true", "null", `"a\nb"`, `""`, "-2.50", `"é"`)
	}
	return w.oneOf("x", "'it''s'", `"q\"\n"`, "12", "yes", "~", "1.50", "http://x:80/#y", "{}", "[]", "a b  c", "2024-01-02", "-x", "0644", "é")
}

func (w *writer) blockScalar(column, step int) {
	w.WriteString(" " + w.oneOf("|", ">", "|-", ">-", "|+", ">+") + w.oneOf("", " # c") + w.lineBreak)
	for range w.IntN(4) {
		w.spaces(column + step)
		w.WriteString(w.oneOf("x", "x y", "# not a comment", "- z", "a: b", "") + w.lineBreak)
		if w.IntN(4) == 0 {
			w.WriteString(w.lineBreak)
		}
	}
}

// flow writes a flow collection, on one line or as JSON on several.
func (w *writer) flow(depth int, pretty bool, indent string) {
	isMap := w.IntN(3) > 0 || indent == "" && pretty
	w.WriteString(map[bool]string{true: "{", false: "["}[isMap])
	quoted := pretty || w.IntN(3) == 0
	comma, colon := w.oneOf(",", ", "), ": "
	count := w.IntN(4)
	for i := range count {
		if i > 0 {
			w.WriteString(map[bool]string{true: ",", false: comma}[pretty])
		}
		if pretty {
			w.WriteString(w.lineBreak + indent + "  ")
		}
		if isMap {
			name := string(rune('a' + i))
			if quoted {
				name = `"` + name + `"`
			}
			w.WriteString(name + colon)
		}
		if depth > 0 && w.IntN(3) == 0 {
			w.flow(depth-1, pretty, indent+"  ")
		} else if quoted {
			w.WriteString(w.scalar(true))
		} else {
			w.WriteString(w.oneOf("x", "'y'", "1", `"z"`, "a b", "yes"))
		}
	}
	if pretty && count > 0 {
		w.WriteString(w.lineBreak + indent)
	}
	w.WriteString(map[bool]string{true: "}", false: "]"}[isMap])
}

// FuzzLayouts holds the laws on documents that are written in many ways.
func FuzzLayouts(f *testing.F) {
	for seed := range uint64(1000) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		text := document(seed)
		if seed%3 == 0 {
			text += "\n---\n" + document(seed+1<<32)
		}
		random := rand.New(rand.NewPCG(seed, 2))
		recipe := make([]byte, 3+random.IntN(40))
		for i := range recipe {
			recipe[i] = byte(random.Uint32())
		}
		checkRead(t, text)
		checkSet(t, text, recipe)
		checkAdded(t, text, random)
	})
}

// checkAdded adds a key to a map that has some, and expects all the text to stay.
func checkAdded(t *testing.T, text string, random *rand.Rand) {
	s, _ := Read("in.yaml", []byte(text))
	for _, d := range s.Documents() {
		if d.unit.rewritten != nil {
			continue
		}
		object := d.Object()
		var maps []map[string]any
		eachPath(nil, object, func(path change.Path) {
			if value, _ := path.Get(object); value != nil {
				if m, ok := value.(map[string]any); ok && len(m) > 0 {
					maps = append(maps, m)
				}
			}
		})
		if len(maps) == 0 {
			continue
		}
		maps[random.IntN(len(maps))]["added"] = "text"
		if err := d.Set(object, nil); err != nil {
			t.Fatal(err)
		}
		got := string(s.Bytes())
		head := 0
		for head < len(text) && head < len(got) && text[head] == got[head] {
			head++
		}
		if !strings.HasSuffix(got, text[head:]) && !strings.HasSuffix(got, text[head:]+"\n") && !strings.HasSuffix(got, text[head:]+"\r\n") {
			t.Errorf("adding a key to\n%s\ngives\n%s", text, got)
		}
		return
	}
}
