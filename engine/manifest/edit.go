package manifest

import (
	"strings"

	"github.com/preadmit/preadmit/engine/change"
)

// An editor finds the splices that make a part of a tape read as another value.
type editor struct {
	t       *tape
	style   style
	splices []splice
	// tidy drops the blank lines below edited values.
	tidy bool
	// names are the anchors above the edited part.
	names names
	// exact writes numbers so that they are the same in JSON.
	exact bool
	// If limit is not 0, collections at that level or deeper are written anew; the root has level
	// 1. anew are the indexes of these collections.
	limit, level int
	anew         []int
}

// surroundings are what is around a value.
type surroundings struct {
	// column is the column of the block collection around the value, -1 for a root.
	column int
	// item means that the value is after a dash, not after a colon.
	item bool
	// flow means that the value is in a flow collection, and like is the way in which strings are
	// quoted there.
	flow bool
	like kind
}

func (e *editor) cut(start, end int, text string) {
	e.splices = append(e.splices, splice{start: start, end: end, text: text, tidy: e.tidy})
}

// cutLines replaces whole lines.
func (e *editor) cutLines(start, end int, lines string) {
	e.splices = append(e.splices, splice{start: start, end: end, text: lines, line: true, tidy: e.tidy})
}

// edit makes the value at index i read as to. was is the value if it is known; its parts that to shares
// are not compared.
func (e *editor) edit(i int, p surroundings, was, to any, shape change.Shape) {
	e.names.define(e.t, i, to)
	n := &e.t.nodes[i]
	switch {
	case n.kind == alias && e.names.read(e.t, i, to):
		return
	case n.kind != alias && !e.t.hasAliases(i) && (shares(was, to) || e.t.equals(i, to)) && (!e.exact || e.t.isExact(i)):
		e.names.pass(e.t, i+1, int(n.next))
		return
	}
	if !e.editInside(i, p, was, to, shape) {
		e.replace(i, p, to)
	}
}

// shares reports whether a value is the same map or list as another one.
func shares(was, to any) bool { return was != nil && change.Same(was, to) }

// editInside edits the collection at index i. It does nothing and returns false if the whole value
// must be replaced.
func (e *editor) editInside(i int, p surroundings, was, to any, shape change.Shape) bool {
	n := &e.t.nodes[i]
	e.level++
	defer func() { e.level-- }()
	if e.level == e.limit && int(n.next) > i+1 {
		e.anew = append(e.anew, i)
		return false
	}
	switch to := to.(type) {
	case map[string]any:
		before, _ := was.(map[string]any)
		return n.kind.isMap() && e.editMap(i, p, before, to, shape)
	case []any:
		before, _ := was.([]any)
		return n.kind.isSequence() && e.editList(i, p, before, to, shape)
	}
	return false
}

// replace replaces the value at index i. The anchor of the value stays.
func (e *editor) replace(i int, p surroundings, to any) {
	n := &e.t.nodes[i]
	start, end := int(n.start), int(n.end)
	indicator := int(n.lead) // the offset of the indicator before the node
	if p.item {
		indicator++
	}
	if a := e.t.anchor(i); a != nil {
		indicator = int(a.end)
	}
	if n.kind.isFlow() && n.next == int32(i+1) && strings.Contains(e.t.text[start:end], "#") {
		e.anew = append(e.anew, i)
	}
	switch {
	case p.flow || n.kind.isFlow() && n.next > int32(i+1) && !isScalar(to):
		// A value in brackets stays in brackets.
		e.cut(start, end, e.flowText(to, e.likeIn(i, p.like), start, e.modelOf(i)))
	case p.column < 0:
		e.replaceRoot(i, to)
	default:
		e.replaceLines(i, p, to, indicator)
	}
}

// replaceLines replaces the value at index i in a block collection. indicator is the offset of what
// is before the value on its line.
func (e *editor) replaceLines(i int, p surroundings, to any, indicator int) {
	n := &e.t.nodes[i]
	start, end := int(n.start), int(n.end)
	first, rest := e.render(i, p, to)
	inline := !strings.Contains(e.t.text[indicator:start], "\n")
	switch {
	case n.kind == literal || n.kind == folded:
		size, _, _ := blockHeader(e.t.text[n.start:end])
		if size += int(n.start); first == "" {
			start = indicator
		}
		e.cut(start, size, first)
		below := e.t.nextLine(int(n.start))
		e.cutLines(below, max(below, e.t.nextLine(end)), rest)
	case n.kind == absent || !inline && (n.kind.isBlock() || rest != ""):
		if first != "" {
			e.cut(indicator, indicator, " "+first)
		}
		below, last := e.t.nextLine(indicator), e.t.nextLine(indicator)
		if n.kind != absent {
			last = e.t.lineAfter(i, p.column)
		}
		e.cutLines(below, last, rest)
	case n.kind.isScalar() || n.kind.isFlow() || n.kind == alias:
		if first == "" {
			start = indicator
		}
		e.cut(start, end, first)
		if rest != "" {
			below := e.t.nextLine(end)
			e.cutLines(below, below, rest)
		}
	default: // a block collection on the line of its dash
		e.cut(start, e.t.lineAfter(i, p.column), first+e.style.lineBreak+rest)
	}
}

// modelOf returns the model for the replacement of the value at index i.
func (e *editor) modelOf(i int) int {
	if real := e.t.real(i); real != i || e.t.nodes[i].next > int32(i+1) {
		return real
	}
	return noModel
}

// replaceRoot replaces the root of a document by a new map.
func (e *editor) replaceRoot(i int, to any) {
	n := &e.t.nodes[i]
	out := e.emitter()
	out.inline = true
	object, _ := to.(map[string]any)
	if len(object) == 0 {
		out.WriteString("{}" + e.style.lineBreak)
	}
	out.entries(object, sortedKeys(object), int(n.column), noModel)
	e.cut(int(n.start), e.t.lineAfter(i, int(n.column)), out.String())
}

// render writes the replacement of the value at index i. first goes on the line of its key or dash,
// and rest on the lines below.
func (e *editor) render(i int, p surroundings, to any) (first, rest string) {
	n := &e.t.nodes[i]
	out := e.emitter()
	if s, ok := to.(string); ok {
		if n.kind == literal || n.kind == folded { // the lines keep their column
			out.style.step = int(n.column) - max(p.column, 0)
		}
		if header, ok := out.blockHeader(s); ok {
			out.blockLines(s, max(p.column, 0)+out.style.step)
			return header, out.String()
		}
	}
	model := e.modelOf(i)
	switch {
	case isScalar(to) && model != noModel:
		return out.scalarLike(to, plain, false, model), ""
	case isScalar(to):
		return out.scalar(to, n.kind, false), ""
	case !p.item:
		out.afterKey(to, p.column, model)
	case n.marks&anchored != 0: // text after an anchor starts on a new line
		out.style.compact = false
		out.afterKey(to, p.column, model)
	default:
		column := p.column + 2
		if dash := int(n.lead); n.kind != absent && !strings.Contains(e.t.text[dash:n.start], "\n") {
			column = p.column + int(n.start) - dash
		}
		out.afterDash(to, p.column, column, model)
	}
	first, rest, _ = strings.Cut(out.String(), e.style.lineBreak)
	return strings.TrimPrefix(first, " "), rest
}

// emitter returns an emitter for a part of the document.
func (e *editor) emitter() emitter { return emitter{style: e.style, t: e.t, names: e.names} }

// flowText returns a value as text of a flow collection on the line of i.
func (e *editor) flowText(value any, like kind, i, model int) string {
	out := e.emitter()
	out.flow(value, like, e.flowIndentation(i), model)
	return out.String()
}

// flowIndentation returns the indentation of the line of i, if it matters.
func (e *editor) flowIndentation(i int) string {
	if e.style.tab == "" {
		return ""
	}
	return e.t.indentation(i)
}

// likeIn returns how strings are quoted in the flow value at index i: like the value, or like its
// first key or item, if that is a string, or else like the strings around.
func (e *editor) likeIn(i int, around kind) kind {
	n := &e.t.nodes[i]
	if !n.kind.isScalar() && n.next > int32(i+1) {
		n = &e.t.nodes[i+1]
	}
	if _, isString := resolve(e.t.text[n.start:n.end]); !n.kind.isScalar() || n.kind == plain && !isString {
		return around
	}
	return n.kind
}

// isScalar reports whether a value is written as a scalar. Empty collections are.
func isScalar(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return true
}

// nextLine returns the start of the line after the line of i.
func (t *tape) nextLine(i int) int {
	return min(lineEnd(t.text, i)+1, len(t.text))
}

// lineStart returns the start of the line of i.
func (t *tape) lineStart(i int) int {
	return strings.LastIndexByte(t.text[:i], '\n') + 1
}

// indentation returns the white space at the start of the line of i.
func (t *tape) indentation(i int) string {
	line := t.text[t.lineStart(i):]
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

// startsLine reports whether only white space is before i on its line.
func (t *tape) startsLine(i int) bool {
	for i > 0 && isBlank(t.text[i-1]) {
		i--
	}
	return i == 0 || t.text[i-1] == '\n'
}

// lineAfter returns the start of the line after the value at index i. Comments below the value that
// are indented more than column belong to the value.
func (t *tape) lineAfter(i, column int) int {
	at := t.nextLine(int(t.nodes[i].end))
	for probe := at; probe < len(t.text); {
		end := lineEnd(t.text, probe)
		line := strings.TrimRight(t.text[probe:end], " \t\r")
		probe = min(end+1, len(t.text))
		switch comment, deep := commentColumn(line); {
		case line == "":
		case comment && deep > column:
			at = probe
		default:
			return at
		}
	}
	return at
}

// above returns the start of the lines of the entry at i. It includes the comments directly above
// that are not indented more than column, down to limit.
func (t *tape) above(i, column, limit int) int {
	at := t.lineStart(i)
	for at > limit {
		start := t.lineStart(at - 1)
		if comment, deep := commentColumn(t.text[start : at-1]); start < limit || !comment || deep > column {
			break
		}
		at = start
	}
	return at
}

// commentColumn reports whether a line is a comment, and the start of the comment.
func commentColumn(line string) (bool, int) {
	column := len(line) - len(strings.TrimLeft(line, " "))
	return column < len(line) && line[column] == '#', column
}

// styleOf returns the style of the document at index i, found in the document or else in the rest
// of the text, from root on.
func (t *tape) styleOf(i, root int, lineBreak string) style {
	st := style{lineBreak: lineBreak, step: 2, compact: true, colon: ": ", comma: ", "}
	n := &t.nodes[i]
	st.json, st.strict = n.marks&fromJSON != 0, n.marks&strict != 0
	if !st.json {
		t.blockStyle(&st, i, root)
		return st
	}
	if n.next == int32(i+1) {
		i = root
	}
	if t.nodes[i].kind == flowMap && t.nodes[i].next > int32(i+1) {
		st.colon, st.comma = t.flowStyle(i, st)
		if at := int(t.nodes[i+1].start); t.startsLine(at) {
			st.tab = strings.TrimPrefix(t.indentation(at), t.indentation(int(t.nodes[i].start)))
		}
	}
	return st
}

// blockStyle finds the indentation of maps, and of the items of lists.
func (t *tape) blockStyle(st *style, i, root int) {
	const enough = 1000 // nodes to check
	stepKnown, listKnown := false, false
	for _, from := range [...]int{i, root} {
		last := min(int(t.nodes[from].next), from+enough)
		for m := from; m < last && !(stepKnown && listKnown); m++ {
			if t.nodes[m].kind != blockMap {
				continue
			}
			for k := m + 1; k < int(t.nodes[m].next); k = int(t.nodes[k+1].next) {
				value := &t.nodes[k+1]
				deeper := int(value.column - t.nodes[m].column)
				switch {
				case value.kind == blockMap && !stepKnown:
					st.step, stepKnown = deeper, true
				case value.kind == blockSequence && !listKnown:
					st.compact, listKnown = deeper == 0, true
				}
			}
		}
	}
}

// flowStyle returns the separators between key and value, and between entries, in the flow map at
// index m. Separators that the map does not have are taken from st.
func (t *tape) flowStyle(m int, st style) (colon, comma string) {
	colon, comma = st.colon, st.comma
	value := &t.nodes[m+2]
	if text := t.text[t.nodes[m+1].end:value.start]; strings.Trim(text, " :") == "" {
		colon = text
	}
	if value.next < t.nodes[m].next {
		if text := t.text[value.end:t.nodes[value.next].start]; strings.Trim(text, " ,") == "" {
			comma = text
		}
	} else if colon == ":" {
		comma = ","
	}
	return colon, comma
}
