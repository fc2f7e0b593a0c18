package manifest

import (
	"strings"

	"github.com/preadmit/preadmit/engine/change"
)

// editFlowMap edits the entries of the flow map at index m. It leaves a map that
// keeps none of its entries alone and reports false.
func (e *editor) editFlowMap(m int, to map[string]any, shape change.Shape) bool {
	entries := e.t.entries(m)
	if !keepsAny(entries, to) {
		return false
	}
	var removed []int
	kept := -1
	for i, en := range entries {
		value, ok := to[en.name]
		if !ok {
			removed = append(removed, i)
			continue
		}
		kept = i
		e.edit(en.value, place{flow: true, like: e.likeIn(m, plain)}, value, fieldShape(shape, en.name))
	}
	e.addFlow(m, entries, kept, added(entries, to), to)
	e.removeFlow(entries, removed)
	return true
}

// addFlow adds the entries of to with the given names to the flow map at index m,
// behind the entry at index before.
func (e *editor) addFlow(m int, entries []entry, before int, names []string, to map[string]any) {
	st := e.style
	st.colon, st.comma = e.t.flowStyle(m, e.style)
	like := e.likeIn(m, plain)
	for _, name := range names {
		out := emitter{style: st}
		out.WriteString(out.scalar(name, like, true))
		out.WriteString(st.colon)
		out.flow(to[name], like, e.flowIndentation(e.flowStart(entries[before])))
		e.insertFlow(entries, before, out.String(), st.comma)
	}
}

// editFlowList edits the items of the flow sequence at index q. It leaves a
// sequence that keeps none of its items alone and reports false.
func (e *editor) editFlowList(q int, p place, to []any, shape change.Shape) bool {
	plan, ok := e.planList(q, to, shape)
	if !ok {
		return false
	}
	items := e.t.entries(q)
	p = place{flow: true, like: e.likeIn(q, p.like)}
	if plan.moved {
		e.rebuildFlowList(items, p, plan, to, shape)
		return true
	}
	before := -1
	for j, i := range plan.pairs {
		if i >= 0 {
			e.edit(items[i].value, p, to[j], itemShape(shape))
			before = i
			continue
		}
		text := e.flowText(to[j], p.like, e.flowStart(items[0]))
		if before >= 0 {
			e.insertFlow(items, before, text, e.itemComma(items))
			continue
		}
		at := e.flowStart(items[firstKept(plan.pairs)])
		e.cut(at, at, text+e.separator(items, e.itemComma(items)))
	}
	e.removeFlow(items, plan.removed)
	return true
}

func firstKept(pairs []int) int {
	for _, i := range pairs {
		if i >= 0 {
			return i
		}
	}
	return -1
}

// itemComma is what separates the items of a flow sequence on one line.
func (e *editor) itemComma(items []entry) string {
	if len(items) > 1 {
		if text := e.t.text[e.flowEnd(items[0]):e.flowStart(items[1])]; strings.Trim(text, " ,") == "" {
			return text
		}
	}
	return e.comma
}

func (e *editor) flowStart(en entry) int { return int(e.t.nodes[en.key].start) }
func (e *editor) flowEnd(en entry) int   { return int(e.t.nodes[en.value].end) }

// separator is what goes between two entries: a line break where each has a line of
// its own.
func (e *editor) separator(entries []entry, comma string) string {
	if at := e.flowStart(entries[len(entries)-1]); e.t.startsLine(at) {
		return "," + e.lineBreak + e.t.indentation(at)
	}
	return comma
}

// insertFlow adds an entry behind the one at index before.
func (e *editor) insertFlow(entries []entry, before int, text, comma string) {
	separator := e.separator(entries, comma)
	at := e.flowEnd(entries[before])
	if separator == comma {
		e.cut(at, at, comma+text)
		return
	}
	rest := e.t.text[at:lineEnd(e.t.text, at)]
	hash := strings.IndexByte(rest, '#')
	if hash < 0 {
		e.cut(at, at, separator+text)
		return
	}
	// A comment behind the entry stays with it.
	below := e.t.nextLine(at)
	line := e.t.indentation(e.flowStart(entries[before])) + text
	if strings.Contains(rest[:hash], ",") {
		e.cutLines(below, below, line+","+e.lineBreak)
		return
	}
	e.cut(at, at, ",")
	e.cutLines(below, below, line+e.lineBreak)
}

// removeFlow takes entries away, and as many commas. At least one of the entries
// stays.
func (e *editor) removeFlow(entries []entry, removed []int) {
	for len(removed) > 0 {
		first, last := removed[0], removed[0]
		for len(removed) > 0 && removed[0] <= last+1 {
			last = removed[0]
			removed = removed[1:]
		}
		start, end := e.flowStart(entries[first]), e.flowEnd(entries[last])
		switch {
		case first == 0:
			e.cut(start, e.flowStart(entries[last+1]), "")
		case strings.Contains(e.t.text[e.flowEnd(entries[first-1]):start], "#") && e.t.startsLine(start):
			// The comment belongs to the entry before, which keeps its comma.
			e.cut(e.t.lineStart(start), e.lineBehind(end), "")
		default:
			e.cut(e.flowEnd(entries[first-1]), end, "")
		}
	}
}

// lineBehind returns where the next line starts if only a comma and a comment are
// left on the line of end, and otherwise where the white space behind the comma
// ends.
func (e *editor) lineBehind(end int) int {
	rest := e.t.text[end:]
	trimmed := strings.TrimLeft(strings.TrimPrefix(strings.TrimLeft(rest, " \t"), ","), " \t\r")
	if trimmed == "" || trimmed[0] == '\n' || trimmed[0] == '#' {
		return e.t.nextLine(end)
	}
	return end + len(rest) - len(trimmed)
}

// rebuildFlowList writes a flow sequence whose items change their order.
func (e *editor) rebuildFlowList(items []entry, p place, plan plan, to []any, shape change.Shape) {
	separator := e.separator(items, e.itemComma(items))
	var text strings.Builder
	for j, i := range plan.pairs {
		if j > 0 {
			text.WriteString(separator)
		}
		if i < 0 {
			text.WriteString(e.flowText(to[j], p.like, e.flowStart(items[0])))
			continue
		}
		text.WriteString(e.edited(items[i].value, p, to[j], itemShape(shape), e.flowStart(items[i]), e.flowEnd(items[i])))
	}
	e.cut(e.flowStart(items[0]), e.flowEnd(items[len(items)-1]), text.String())
}
