package manifest

import (
	"slices"
	"strings"
)

// A flowLayout is the layout of a collection in brackets: the positions of its entries and commas.
// The comma of an entry is the comma after it.
type flowLayout struct {
	e       *editor
	at      int // the index of the collection
	entries []entry
	like    kind
	// opening and closing are the positions of the brackets.
	opening, closing int
	// commas are the positions of the entries' commas, -1 if the last entry has no comma.
	commas []int
	// apart means that no two entries share a line.
	apart bool
}

func (e *editor) flowLayout(i int, p surroundings, entries []entry) *flowLayout {
	n := &e.t.nodes[i]
	around := plain
	if n.kind == flowSequence {
		around = p.like
	}
	l := &flowLayout{
		e: e, at: i, entries: entries, like: e.likeIn(i, around),
		opening: int(n.start), closing: int(n.end) - 1, commas: make([]int, len(entries)),
	}
	for i := range entries {
		l.commas[i] = l.commaAfter(l.end(i))
	}
	l.apart = l.isApart()
	return l
}

func (l *flowLayout) commaAfter(i int) int {
	for ; i < l.closing; i++ {
		switch l.e.t.text[i] {
		case ',':
			return i
		case '#':
			i = lineEnd(l.e.t.text, i)
		}
	}
	return -1
}

func (l *flowLayout) surroundings() surroundings { return surroundings{flow: true, like: l.like} }
func (l *flowLayout) start(i int) int            { return l.e.t.start(l.entries[i].key) }
func (l *flowLayout) end(i int) int              { return int(l.e.t.nodes[l.entries[i].value].end) }
func (l *flowLayout) last() int                  { return len(l.entries) - 1 }

// next returns the start of the entry after the entry at index i, or of the closing bracket.
func (l *flowLayout) next(i int) int {
	if i < l.last() {
		return l.start(i + 1)
	}
	return l.closing
}

// trails reports whether the last entry has a comma.
func (l *flowLayout) trails() bool { return l.commas[l.last()] >= 0 }

// isApart reports whether no two entries share a line, and only a comma and a comment follow each.
func (l *flowLayout) isApart() bool {
	for i := range l.entries {
		if !l.e.t.startsLine(l.start(i)) {
			return false
		}
		if end := lineEnd(l.e.t.text, l.end(i)); end >= l.next(i) || l.commas[i] >= end {
			return false
		}
	}
	return true
}

// isOrderly reports whether every comment between the brackets is about one entry.
func (l *flowLayout) isOrderly() bool {
	if l.apart {
		return true
	}
	at := l.opening
	for i := range l.entries {
		if strings.Contains(l.e.t.text[at:l.start(i)], "#") {
			return false
		}
		at = l.end(i)
	}
	return !strings.Contains(l.e.t.text[at:l.closing], "#")
}

// head returns the start of the lines of the entry at index i, including the comments above it.
func (l *flowLayout) head(i int) int {
	limit := l.e.t.nextLine(l.opening)
	if i > 0 {
		limit = l.below(i - 1)
	}
	at := l.e.t.lineStart(l.start(i))
	for at > limit {
		above := l.e.t.lineStart(at - 1)
		if isComment, _ := commentColumn(l.e.t.text[above : at-1]); !isComment {
			break
		}
		at = above
	}
	return at
}

// below returns the start of the line below the entry at index i.
func (l *flowLayout) below(i int) int { return l.e.t.nextLine(l.end(i)) }

// write returns the text of a new entry on the line of an entry.
func (l *flowLayout) write(g goal, near int) string {
	if l.e.t.nodes[l.at].kind == flowSequence {
		return l.e.flowText(g.to, l.like, l.start(near), noModel)
	}
	out := l.e.emitter()
	out.style.colon, out.style.comma = l.e.t.flowStyle(l.at, l.e.style)
	out.WriteString(out.scalar(g.name, l.like, true))
	out.WriteString(out.style.colon)
	out.flow(g.to, l.like, l.e.flowIndentation(l.start(near)), noModel)
	return out.String()
}

// separator returns the text between two entries: a line break if the last entry has its own line,
// else a comma like that of the other entries.
func (l *flowLayout) separator() string {
	t := l.e.t
	if at := l.start(l.last()); t.startsLine(at) {
		return "," + l.e.style.lineBreak + t.indentation(at)
	}
	if t.nodes[l.at].kind == flowMap {
		_, comma := t.flowStyle(l.at, l.e.style)
		return comma
	}
	if len(l.entries) > 1 {
		if text := t.text[l.end(0):l.start(1)]; strings.Trim(text, " ,") == "" {
			return text
		}
	}
	return l.e.style.comma
}

func (l *flowLayout) update(goals []goal) {
	if l.apart {
		l.updateLines(goals)
		return
	}
	l.updateInline(goals)
}

// updateLines updates entries that do not share lines.
func (l *flowLayout) updateLines(goals []goal) {
	at, near := l.head(0), 0
	indent := l.e.t.indentation(l.start(0))
	for j, g := range goals {
		separated := j+1 < len(goals) || l.trails()
		if g.old < 0 {
			l.e.cutLines(at, at, indent+l.write(g, near)+commaIf(separated)+l.e.style.lineBreak)
			continue
		}
		at, near = l.below(g.old), g.old
		switch comma := l.commas[g.old]; {
		case separated && comma < 0:
			l.e.cut(l.end(g.old), l.end(g.old), ",")
		case !separated && comma >= 0:
			l.e.cut(comma, comma+1, "")
		}
	}
	for i, stays := range staying(len(l.entries), goals, goal.index) {
		if !stays {
			l.e.cut(l.head(i), l.below(i), "")
		}
	}
}

func commaIf(separated bool) string {
	if separated {
		return ","
	}
	return ""
}

// updateInline updates entries that share lines with each other or with a bracket.
func (l *flowLayout) updateInline(goals []goal) {
	stays := staying(len(l.entries), goals, goal.index)
	first, separator := l.start(slices.Index(stays, true)), l.separator()
	last := -1
	for _, g := range goals {
		switch {
		case g.old >= 0:
			last = g.old
		case last < 0:
			l.e.cut(first, first, l.write(g, 0)+separator)
		default:
			l.e.cut(l.end(last), l.end(last), separator+l.write(g, last))
		}
	}
	for i := range last {
		if !stays[i] {
			l.removeInline(i, i > 0 && stays[i-1])
		}
	}
	if last < l.last() {
		l.e.cut(l.end(last), l.end(l.last()), "")
	}
}

// removeInline removes the entry at index i, which is not the last that stays, and one comma.
func (l *flowLayout) removeInline(i int, staysBefore bool) {
	start, end, next := l.start(i), l.end(i), l.next(i)
	text := l.e.t.text
	if staysBefore && (!strings.Contains(text[l.end(i-1):start], "\n") || strings.Contains(text[end:next], "\n")) {
		l.e.cut(l.end(i-1), end, "")
		return
	}
	l.e.cut(start, next, "")
}

// reorder writes the items in a new order. Items that do not share lines take their comments along.
// Text between the lines stays in place.
func (l *flowLayout) reorder(goals []goal) {
	texts := make([]string, len(goals))
	for j, g := range goals {
		if g.old < 0 {
			texts[j] = l.write(g, 0)
		} else {
			texts[j] = l.e.edited(l.entries[g.old], l.surroundings(), g, l.start(g.old), l.end(g.old))
		}
	}
	if !l.apart {
		l.e.cut(l.start(0), l.end(l.last()), strings.Join(texts, l.separator()))
		return
	}
	t := l.e.t
	indent := t.indentation(l.start(0))
	var text strings.Builder
	for j, g := range goals {
		comma := commaIf(j+1 < len(goals) || l.trails())
		if i := g.old; i < 0 {
			text.WriteString(indent + texts[j] + comma + l.e.style.lineBreak)
		} else {
			rest := t.text[l.end(i):l.below(i)]
			if at := l.commas[i] - l.end(i); at >= 0 {
				rest = rest[:at] + rest[at+1:]
			}
			text.WriteString(t.text[l.head(i):l.start(i)] + texts[j] + comma + rest)
		}
		if j < l.last() && j+1 < len(goals) {
			text.WriteString(t.text[l.below(j):l.head(j+1)])
		}
	}
	l.e.cutLines(l.head(0), l.below(l.last()), text.String())
}
