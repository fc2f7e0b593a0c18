package manifest

import (
	"slices"
	"strings"
)

// A blockLayout is the layout of a block collection, whose entries are lines.
type blockLayout struct {
	e       *editor
	entries []entry
	isMap   bool
	column  int
	// limit is how far up the comments above the first entry go.
	limit int
}

func (e *editor) blockLayout(i int, p surroundings, entries []entry) *blockLayout {
	n := &e.t.nodes[i]
	l := &blockLayout{e: e, entries: entries, isMap: n.kind == blockMap, column: int(n.column)}
	if p.column < 0 && l.isMap {
		// The comments above the first key of a document belong to the document.
		l.limit = e.t.lineStart(int(n.start))
	} else {
		l.limit = e.t.nextLine(int(n.lead))
	}
	return l
}

func (l *blockLayout) surroundings() surroundings {
	return surroundings{column: l.column, item: !l.isMap}
}

func (l *blockLayout) isOrderly() bool { return true }

// start returns the start of the entry at index i: of its key or its dash.
func (l *blockLayout) start(i int) int {
	if en := l.entries[i]; l.isMap {
		return l.e.t.start(en.key)
	}
	return int(l.e.t.nodes[l.entries[i].key].lead)
}

// end returns the start of the line after the entry at index i.
func (l *blockLayout) end(i int) int { return l.e.t.lineAfter(l.entries[i].value, l.column) }

// startsLine reports whether the entry at index i does not start on the line of a dash.
func (l *blockLayout) startsLine(i int) bool { return l.e.t.startsLine(l.start(i)) }

// lines returns the bounds of the lines of an entry, including its comments.
func (l *blockLayout) lines(i int) (start, end int) {
	limit := l.limit
	if i > 0 {
		limit = l.end(i - 1)
	}
	if start = l.start(i); l.startsLine(i) {
		start = l.e.t.above(start, l.column, limit)
	}
	return start, l.end(i)
}

// write writes a new entry. inline means that it starts on the current line.
func (l *blockLayout) write(g goal, inline bool) string {
	out := l.e.emitter()
	out.inline = inline
	if l.isMap {
		out.entries(map[string]any{g.name: g.to}, []string{g.name}, l.column, noModel)
	} else {
		out.item(g.to, l.column, l.dashWidth(), noModel)
	}
	if inline { // the next entry follows
		out.indent(l.column)
	}
	return out.String()
}

// dashWidth returns the distance from the dashes of the items to their values.
func (l *blockLayout) dashWidth() int {
	t := l.e.t
	for _, it := range l.entries {
		n := &t.nodes[it.value]
		if n.kind != absent && !strings.Contains(t.text[n.lead:n.start], "\n") {
			return int(n.start - n.lead)
		}
	}
	return 2
}

func (l *blockLayout) update(goals []goal) {
	before := -1
	if l.isMap {
		before = len(l.entries) - 1 // new keys go last
	}
	for _, g := range goals {
		switch {
		case g.old < 0:
			l.insert(before, g)
		case !l.isMap:
			before = g.old
		}
	}
	l.remove(staying(len(l.entries), goals, goal.index))
}

// insert adds an entry after the entry at index before, or as the first entry if before is -1.
func (l *blockLayout) insert(before int, g goal) {
	switch {
	case before >= 0:
		l.e.cutLines(l.end(before), l.end(before), l.write(g, false))
	case l.startsLine(0):
		at := l.e.t.above(l.start(0), l.column, l.limit)
		l.e.cutLines(at, at, l.write(g, false))
	default:
		l.e.cut(l.start(0), l.start(0), l.write(g, true))
	}
}

// remove removes the lines of the entries that do not stay, with their comments.
func (l *blockLayout) remove(stays []bool) {
	first := 0
	// If the first entry is on the line of a dash, the next entry that stays, or the comment above
	// it, moves up to that line.
	if !stays[0] && !l.startsLine(0) {
		first = slices.Index(stays, true)
		end, text := l.end(first-1), l.e.t.text
		end += len(text[end:]) - len(strings.TrimLeft(text[end:], " \r\n"))
		l.e.cut(l.start(0), end, "")
	}
	for i := first; i < len(stays); i++ {
		if !stays[i] {
			start, end := l.lines(i)
			l.e.cut(start, end, "")
		}
	}
}

// reorder writes the items in a new order. The items take their lines and comments along. Text
// between items stays in place.
func (l *blockLayout) reorder(goals []goal) {
	starts, ends := make([]int, len(l.entries)), make([]int, len(l.entries))
	for i := range l.entries {
		starts[i], ends[i] = l.lines(i)
	}
	var text strings.Builder
	for j, g := range goals {
		if i := g.old; i < 0 {
			text.WriteString(l.write(g, false))
		} else {
			if !l.startsLine(i) {
				text.WriteString(strings.Repeat(" ", l.column))
			}
			lines := l.e.edited(l.entries[i], l.surroundings(), g, starts[i], ends[i])
			text.WriteString(lines)
			if !strings.HasSuffix(lines, "\n") {
				text.WriteString(l.e.style.lineBreak)
			}
		}
		if j+1 < len(l.entries) && j+1 < len(goals) {
			gap := ends[j]
			if l.e.tidy {
				gap = min(skipBlankLines(l.e.t.text, gap), starts[j+1])
			}
			text.WriteString(l.e.t.text[gap:starts[j+1]])
		}
	}
	last := len(l.entries) - 1
	if l.startsLine(0) {
		l.e.cutLines(starts[0], ends[last], text.String())
	} else {
		l.e.cut(starts[0], ends[last], strings.TrimLeft(text.String(), " "))
	}
}
