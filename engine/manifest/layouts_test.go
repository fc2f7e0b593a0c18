package manifest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/source"
)

// A writer writes documents in common and rare layouts.
type writer struct {
	*rand.Rand
	strings.Builder
	lineBreak string
	// anchors enables anchors, aliases and tags. names are the anchors so far, and maps the anchors
	// of maps.
	anchors     bool
	names, maps []string
	// noted counts comments, so that all comments differ.
	noted int
}

func (w *writer) oneOf(texts ...string) string { return texts[w.IntN(len(texts))] }

// document returns a document, always the same for the same seed.
func document(seed uint64) string {
	w := &writer{Rand: rand.New(rand.NewPCG(seed, 1)), lineBreak: "\n"}
	if w.IntN(8) == 0 {
		w.lineBreak = "\r\n"
	}
	w.anchors = w.IntN(3) == 0
	w.comments(0)
	switch w.IntN(8) {
	case 0:
		if w.IntN(2) == 0 {
			w.json(3, "")
		} else {
			w.flow(3, 0)
		}
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

func (w *writer) comment(text string) {
	w.noted++
	fmt.Fprintf(w, "%s%d", text, w.noted)
}

// end ends a line, sometimes with a comment.
func (w *writer) end() {
	switch w.IntN(8) {
	case 0:
		w.comment(w.oneOf(" # c", "  # c: d", " #"))
	case 1:
		w.WriteString("   ")
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
		w.comment(w.oneOf("# - x", "# a: b", "#"))
		w.WriteString(w.lineBreak)
		if w.IntN(3) == 0 {
			w.WriteString(w.lineBreak)
		}
	}
}

func (w *writer) mapping(column, depth int) {
	for i, name := range w.keys() {
		if i > 0 {
			w.comments(column)
		}
		if i > 0 || w.Len() == 0 || strings.HasSuffix(w.String(), "\n") {
			w.spaces(column)
		}
		if len(w.maps) > 0 && w.IntN(5) == 0 {
			w.merge()
			w.end()
			w.spaces(column)
		}
		w.WriteString(name + w.oneOf(":", ":", ":", ":", " :"))
		w.value(column, depth, false)
	}
}

func (w *writer) keys() []string {
	names := []string{"a", "b", "name", `"c d"`, "'e'", "on", "1", "kind"}
	w.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	return names[:1+w.IntN(4)]
}

func (w *writer) merge() {
	switch w.IntN(4) {
	case 0:
		w.WriteString("<<: [*" + w.oneOf(w.maps...) + ", *" + w.oneOf(w.maps...) + "]")
	case 1:
		w.WriteString("<<: {name: n, m: 1}")
	default:
		w.WriteString("<<: *" + w.oneOf(w.maps...))
	}
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

// value writes the value after a colon or dash, and the lines below.
func (w *writer) value(column, depth int, item bool) {
	if len(w.names) > 0 && w.IntN(5) == 0 {
		w.WriteString(" *" + w.oneOf(w.names...))
		w.end()
		return
	}
	name, isMap := "", false
	if w.anchors && w.IntN(4) == 0 {
		name = fmt.Sprintf("x%d", w.IntN(4))
		w.WriteString(" &" + name)
	} else if w.anchors && w.IntN(12) == 0 {
		w.WriteString(w.oneOf(" !!str 2", " ! 3", " !t 'u'", " !!int \"4\"", " !!binary aGk=") + w.lineBreak)
		return
	}
	// A map does not start on the line of an anchor.
	isMap = w.unnamed(column, depth, item, name == "")
	if name != "" {
		w.names = append(w.names, name)
		w.maps = slices.DeleteFunc(w.maps, func(other string) bool { return other == name })
		if isMap {
			w.maps = append(w.maps, name)
		}
	}
}

// unnamed writes a value without its anchor, and reports whether it is a map.
func (w *writer) unnamed(column, depth int, item, inline bool) (isMap bool) {
	step := 1 + w.IntN(3)
	if depth <= 0 {
		step = 2
	}
	switch n := w.IntN(16); {
	case n < 4 && depth > 0:
		if item && inline && w.IntN(3) > 0 {
			w.spaces(step)
			w.mapping(column+1+step, depth-1)
			return true
		}
		w.end()
		w.comments(column + step)
		w.mapping(column+step, depth-1)
		return true
	case n < 7 && depth > 0:
		switch {
		case item && inline && w.IntN(3) > 0:
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
	case n < 10 && depth > 0:
		w.WriteString(" ")
		isMap = w.flow(2, column+step)
		w.end()
	case n < 11:
		w.blockScalar(column, step)
	case n < 12:
		w.WriteString(w.oneOf(" 'x", " \"x", " x") + w.lineBreak)
		w.spaces(column + step)
		text := w.String()
		w.WriteString("y z" + w.oneOf("", w.lineBreak+w.lineBreak+strings.Repeat(" ", column+step)+"w"))
		if c := text[strings.LastIndexAny(strings.TrimRight(text, " \r\n"), " ")+1]; c == '\'' || c == '"' {
			w.WriteByte(c)
		}
		w.WriteString(w.lineBreak)
	case n < 13:
		w.end() // null
	default:
		if w.IntN(12) == 0 {
			w.end()
			w.spaces(column + step - 1)
		}
		w.WriteString(" " + w.scalar(false))
		w.end()
	}
	return isMap
}

func (w *writer) scalar(quoted bool) string {
	if quoted {
		return w.oneOf(`"x"`, "1", "true", "null", `"a\nb"`, `""`, "-2.50", `"é"`)
	}
	return w.oneOf("x", "'it''s'", `"q\"\n"`, "12", "yes", "~", "1.50", "http://x:80/#y", "{}", "[]", "a b  c", "2024-01-02", "-x", "0644", "é")
}

func (w *writer) blockScalar(column, step int) {
	w.WriteString(" " + w.oneOf("|", ">", "|-", ">-", "|+", ">+"))
	if w.IntN(2) == 0 {
		w.comment(" # c")
	}
	w.WriteString(w.lineBreak)
	for range w.IntN(4) {
		w.spaces(column + step)
		w.WriteString(w.oneOf("x", "x y", "# not a comment", "- z", "a: b", "") + w.lineBreak)
		if w.IntN(4) == 0 {
			w.WriteString(w.lineBreak)
		}
	}
}

// json writes a JSON object on several lines.
func (w *writer) json(depth int, indent string) {
	w.WriteString("{")
	count := w.IntN(4)
	for i := range count {
		if i > 0 {
			w.WriteString(",")
		}
		w.WriteString(w.lineBreak + indent + `  "` + string(rune('a'+i)) + `": `)
		if depth > 0 && w.IntN(3) == 0 {
			w.json(depth-1, indent+"  ")
		} else {
			w.WriteString(w.scalar(true))
		}
	}
	if count > 0 {
		w.WriteString(w.lineBreak + indent)
	}
	w.WriteString("}")
}

// flow writes a flow collection whose further lines start at column, and reports whether it is a
// map.
func (w *writer) flow(depth, column int) (isMap bool) {
	isMap = w.IntN(3) > 0 || depth == 3
	w.WriteString(map[bool]string{true: "{", false: "["}[isMap])
	quoted, count := w.IntN(3) == 0, w.IntN(5)
	// breaks is how many of four commas end a line.
	breaks, comma := w.oneOf("", "", "n", "nc", "n,c", "c"), w.oneOf(",", ", ")
	w.gap(breaks, "", column)
	for i := range count {
		if isMap {
			w.WriteString(map[bool]string{true: `"` + string(rune('a'+i)) + `": `, false: string(rune('a'+i)) + ": "}[quoted])
		}
		w.flowValue(depth, column, quoted)
		switch {
		case i+1 < count:
			w.gap(breaks, comma, column)
		case w.IntN(4) == 0:
			w.gap(breaks, ",", column)
		default:
			w.gap(breaks, "", column)
		}
	}
	w.WriteString(map[bool]string{true: "}", false: "]"}[isMap])
	return isMap
}

func (w *writer) flowValue(depth, column int, quoted bool) {
	switch {
	case len(w.names) > 0 && w.IntN(6) == 0:
		w.WriteString("*" + w.oneOf(w.names...) + " ")
	case w.anchors && w.IntN(8) == 0:
		name := fmt.Sprintf("x%d", w.IntN(4))
		w.WriteString("&" + name + w.oneOf(" ", " !t ") + w.scalar(true))
		w.names = append(w.names, name)
		w.maps = slices.DeleteFunc(w.maps, func(other string) bool { return other == name })
	case depth > 0 && w.IntN(3) == 0:
		w.flow(depth-1, column+2)
	case quoted:
		w.WriteString(w.scalar(true))
	default:
		w.WriteString(w.oneOf("x", "'y'", "1", `"z"`, "a b", "yes"))
	}
}

// gap writes the text between two entries. In breaks, n adds line breaks and c comments.
func (w *writer) gap(breaks, comma string, column int) {
	late := comma != "" && strings.Contains(breaks, ",") && w.IntN(3) == 0
	if !late {
		w.WriteString(comma)
	}
	if strings.Contains(breaks, "n") || breaks == "c" && w.IntN(3) == 0 {
		if strings.Contains(breaks, "c") && w.IntN(2) == 0 {
			w.comment(" # f")
		}
		w.WriteString(w.lineBreak)
		if strings.Contains(breaks, "c") && w.IntN(5) == 0 {
			w.spaces(column)
			w.comment("# g")
			w.WriteString(w.lineBreak)
		}
		w.spaces(column)
	}
	if late {
		w.WriteString(comma)
	}
}

// FuzzLayouts checks the laws on documents in many layouts.
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
		checkKept(t, text, random)
	})
}

// checkKept makes one edit and checks which other text changes: none if no anchor is involved. Otherwise comments
// and anchors must stay.
func checkKept(t *testing.T, text string, random *rand.Rand) {
	s, found := Read("in.yaml", []byte(text))
	docs := s.Documents()
	if len(docs) == 0 || source.HasErrors(found) {
		return
	}
	d := docs[random.IntN(len(docs))]
	if d.unit.rewritten != nil || d.unit.stream.text != d.unit.tape().text {
		return
	}
	object := d.Object()
	var paths []change.Path
	eachPath(nil, object, func(path change.Path) { paths = append(paths, path) })
	slices.SortFunc(paths, func(a, b change.Path) int { return strings.Compare(a.Pointer(), b.Pointer()) })
	path := paths[random.IntN(len(paths))]
	gone := d.touch(object, path, random)
	if impliedLost(d, object) {
		return
	}
	if err := d.Set(object, nil); err != nil {
		t.Fatal(err)
	}
	got := string(s.Bytes())
	if gone == nil {
		return
	}
	if len(d.anew) > 0 {
		return // checkSet knows why
	}
	before, after := parts(t, text), parts(t, got)
	if !gone.entangled && (!strings.HasPrefix(got, text[:gone.start]) || !strings.HasSuffix(got, text[gone.end:])) {
		t.Errorf("an edit at %s of\n%s\ntouches more than\n%q\nand gives\n%s", path, text, text[gone.start:gone.end], got)
	}
	for _, inside := range [...]bool{false, true} {
		for _, part := range before {
			if inside != (gone.start <= part.at && part.at < gone.end) {
				continue
			}
			if i := slices.IndexFunc(after, func(p remark) bool { return p.text == part.text }); i >= 0 {
				after = slices.Delete(after, i, i+1)
			} else if !inside {
				t.Errorf("an edit at %s of\n%s\nloses %s and gives\n%s", path, text, part.text, got)
			}
		}
	}
	for _, part := range after {
		t.Errorf("an edit at %s of\n%s\nadds %s and gives\n%s", path, text, part.text, got)
	}
}

// remark is a comment or an anchor of a text.
type remark struct {
	at   int
	text string
}

// parts returns the comments and anchors of a text.
func parts(t *testing.T, text string) []remark {
	t.Helper()
	s, found := Read("in.yaml", []byte(text))
	if source.HasErrors(found) {
		t.Fatalf("%q is refused: %v", text, found)
	}
	var list []remark
	scalars := make([]bool, len(text)) // whether a byte is inside a scalar
	for _, u := range s.units {
		if u.rewritten != nil {
			continue // its tape has another text
		}
		tape := u.tape()
		for _, a := range tape.anchors {
			list = append(list, remark{int(a.start), text[a.start:a.end]})
		}
		for _, n := range tape.nodes {
			start := int(n.start)
			switch {
			case !n.kind.isScalar():
				continue
			case n.kind == literal || n.kind == folded:
				start = tape.nextLine(start)
			}
			for i := start; i < int(n.end); i++ {
				scalars[i] = true
			}
		}
	}
	for i := 0; i < len(text); i++ {
		if text[i] == '#' && !scalars[i] {
			end := lineEnd(text, i)
			list = append(list, remark{i, strings.TrimRight(text[i:end], " \r")})
			i = end
		}
	}
	return list
}

// A touched text is the text that an edit may change.
type touched struct {
	start, end int
	// entangled means that the edit involves other values.
	entangled bool
}

// touch changes the value at path in an object, and returns the text that the edit may change. It
// returns nil if that text is unknown.
func (d *Document) touch(object map[string]any, path change.Path, random *rand.Rand) *touched {
	t := d.unit.tape()
	var area touched
	at, parent := d.root, -1
	for _, e := range path {
		n := &t.nodes[at]
		area.entangled = area.entangled || n.marks&anchored != 0 || n.kind == alias
		parent = at
		if e.IsIndex() {
			at = t.item(at, e.Index)
		} else {
			at = t.lookup(at, e.Key)
		}
		if at < 0 { // the list implies the value
			return nil
		}
	}
	n := &t.nodes[at]
	from, _ := slices.BinarySearchFunc(t.anchors, at, func(a anchor, i int) int { return int(a.node) - i })
	area.entangled = area.entangled || n.kind == alias || from < len(t.anchors) && t.anchors[from].node < n.next
	area.start, area.end = int(n.start), int(n.end)
	value, _ := path.Get(object)
	switch v := value.(type) {
	case map[string]any:
		if len(v) > 0 && random.IntN(2) == 0 {
			v["added"] = "text"
			if n.kind == blockMap {
				area.end = t.lineAfter(at, int(n.column))
			}
			return &area
		}
	case []any:
		if len(v) > 0 && random.IntN(2) == 0 {
			i := random.IntN(len(v) + 1)
			list := slices.Insert(slices.Clone(v), i, any("added"))
			if len(path) == 0 || change.Apply(object, []change.Change{{Op: change.Replace, Path: path, New: list}}) != nil {
				return nil
			}
			if n.kind == blockSequence {
				if n.lead >= 0 {
					area.start = min(area.start, t.nextLine(int(n.lead)))
				}
				area.end = t.lineAfter(at, int(n.column))
			}
			return &area
		}
	default:
		if len(path) > 0 && random.IntN(2) == 0 && change.Apply(object, []change.Change{{Op: change.Replace, Path: path, New: "text"}}) == nil {
			return &area
		}
	}
	if parent < 0 || t.count(t.real(parent)) < 4 || t.nodes[parent].kind == alias {
		return nil
	}
	if siblings, _ := path[:len(path)-1].Get(object); isRepeated(siblings, value) ||
		change.Apply(object, []change.Change{{Op: change.Remove, Path: path}}) != nil {
		return nil
	}
	// The comments above and after an entry are removed with it.
	area.start = t.lineStart(t.start(at))
	if n.lead >= 0 {
		area.start = t.lineStart(int(n.lead))
	}
	for area.start > 0 {
		above := t.lineStart(area.start - 1)
		if isComment, _ := commentColumn(t.text[above : area.start-1]); !isComment && strings.TrimSpace(t.text[above:area.start]) != "" {
			break
		}
		area.start = above
	}
	// Blank lines below it might become part of the block scalar above.
	area.end = skipBlankLines(t.text, t.lineAfter(at, max(0, int(t.nodes[parent].column))))
	if key := t.start(at - 1); n.lead >= 0 && t.nodes[parent].kind == blockMap && !t.startsLine(key) {
		// The next entry moves to the line of the dash.
		area.start = key
		area.end += len(t.text[area.end:]) - len(strings.TrimLeft(t.text[area.end:], " \r\n"))
	}
	if t.nodes[parent].kind.isFlow() {
		area.start, area.end = int(t.nodes[parent].start), int(t.nodes[parent].end)
	}
	return &area
}

// isRepeated reports whether a list has a value more than once. Then it is not clear which of the
// items was removed.
func isRepeated(list, value any) bool {
	items, _ := list.([]any)
	count := 0
	for _, item := range items {
		if change.Equal(item, value) {
			count++
		}
	}
	return count > 1
}
