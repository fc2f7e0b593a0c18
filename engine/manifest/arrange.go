package manifest

import (
	"slices"
	"strings"
)

// A flowItem is an entry of a flow collection after the edit: an entry of the text, or a new entry.
type flowItem struct {
	entry int // the index of the entry, -1 for a new one
	text  string
}

// A flowLayout has the positions of the entries of a flow collection, and of their commas and
// comments. The comma of an entry is the comma after it.
type flowLayout struct {
	*editor
	entries []entry
	// opening and closing are the positions of the brackets.
	opening, closing int
	// commas are the positions of the entries' commas, -1 if the last entry has no comma.
	commas []int
}

func (e *editor) layout(i int, entries []entry) *flowLayout {
	n := &e.t.nodes[i]
	l := &flowLayout{editor: e, entries: entries, opening: int(n.start), closing: int(n.end) - 1, commas: make([]int, len(entries))}
	for i := range entries {
		l.commas[i] = l.commaAfter(l.end(i))
	}
	return l
}

func (l *flowLayout) commaAfter(i int) int {
	for ; i < l.closing; i++ {
		switch l.t.text[i] {
		case ',':
			return i
		case '#':
			i = lineEnd(l.t.text, i)
		}
	}
	return -1
}

func (l *flowLayout) start(i int) int { return l.flowStart(l.entries[i]) }
func (l *flowLayout) end(i int) int   { return l.flowEnd(l.entries[i]) }
func (l *flowLayout) last() int       { return len(l.entries) - 1 }

// next returns the start of the entry after the entry at index i, or of the closing bracket.
func (l *flowLayout) next(i int) int {
	if i < l.last() {
		return l.start(i + 1)
	}
	return l.closing
}

// trails reports whether the last entry has a comma.
func (l *flowLayout) trails() bool { return l.commas[l.last()] >= 0 }

// hasComment reports whether there is a comment between two positions, which are both between
// entries.
func (l *flowLayout) hasComment(start, end int) bool {
	return strings.Contains(l.t.text[start:end], "#")
}

// endsLine reports whether only its comma and a comment follow the entry at index i on its line.
func (l *flowLayout) endsLine(i int) bool {
	end := lineEnd(l.t.text, l.end(i))
	return end < l.next(i) && l.commas[i] < end
}

// isLines reports whether no two entries share a line.
func (l *flowLayout) isLines() bool {
	for i := range l.entries {
		if !l.t.startsLine(l.start(i)) || !l.endsLine(i) {
			return false
		}
	}
	return true
}

// head returns the start of the lines of the entry at index i, including the comments above it.
func (l *flowLayout) head(i int) int {
	limit := l.t.nextLine(l.opening)
	if i > 0 {
		limit = l.below(i - 1)
	}
	at := l.t.lineStart(l.start(i))
	for at > limit {
		above := l.t.lineStart(at - 1)
		if isComment, _ := commentColumn(l.t.text[above : at-1]); !isComment {
			break
		}
		at = above
	}
	return at
}

// below returns the start of the line below the entry at index i.
func (l *flowLayout) below(i int) int { return l.t.nextLine(l.end(i)) }

// indent returns the white space before a new entry on the line below the entry at index i.
func (l *flowLayout) indent(i int) string {
	start, line, next := l.start(i), l.t.lineStart(l.start(i)), l.next(i)
	switch {
	case line > l.opening:
		return l.t.indentation(start)
	case next < l.closing && l.t.startsLine(next):
		return l.t.indentation(next)
	}
	return strings.Repeat(" ", start-line)
}

// arrange edits a flow collection so that it has the entries in order. Entries that stay keep their
// order among themselves, and at least one entry stays. comma separates entries on one line.
func (e *editor) arrange(i int, entries []entry, order []flowItem, comma string) {
	isNew := func(item flowItem) bool { return item.entry < 0 }
	if len(order) == len(entries) && !slices.ContainsFunc(order, isNew) {
		return
	}
	l := e.layout(i, entries)
	if l.isLines() {
		l.arrangeLines(order)
		return
	}
	l.arrangeInline(order, comma)
}

// arrangeLines arranges entries that do not share lines.
func (l *flowLayout) arrangeLines(order []flowItem) {
	stays := make([]bool, len(l.entries))
	at, indent := l.head(0), l.indent(0)
	for j, item := range order {
		separated := j+1 < len(order) || l.trails()
		if item.entry < 0 {
			l.cutLines(at, at, indent+item.text+commaIf(separated)+l.lineBreak)
			continue
		}
		stays[item.entry] = true
		at = l.below(item.entry)
		switch comma := l.commas[item.entry]; {
		case separated && comma < 0:
			l.cut(l.end(item.entry), l.end(item.entry), ",")
		case !separated && comma >= 0:
			l.cut(comma, comma+1, "")
		}
	}
	for i := range l.entries {
		if !stays[i] {
			l.cut(l.head(i), l.below(i), "")
		}
	}
}

func commaIf(separated bool) string {
	if separated {
		return ","
	}
	return ""
}

// arrangeInline arranges entries that share lines with each other or with a bracket.
func (l *flowLayout) arrangeInline(order []flowItem, comma string) {
	stays := make([]bool, len(l.entries))
	last := -1
	for _, item := range order {
		if item.entry >= 0 {
			stays[item.entry] = true
			last = item.entry
		}
	}
	separator := l.separator(comma)
	for j := 0; j < len(order); {
		before, texts := j, []string(nil)
		for j++; j < len(order) && order[j].entry < 0; j++ {
			texts = append(texts, order[j].text)
		}
		if order[before].entry >= 0 {
			l.insert(order[before].entry, texts, separator, order[before].entry == last && last < l.last())
			continue
		}
		at := l.start(slices.Index(stays, true))
		for _, text := range append([]string{order[before].text}, texts...) {
			l.cut(at, at, text+separator)
		}
	}
	for i := range last {
		if !stays[i] {
			l.remove(i, i > 0 && stays[i-1])
		}
	}
	l.removeTail(last)
}

// separator returns the text between two entries: a line break if the last entry has its own line,
// else comma.
func (l *flowLayout) separator(comma string) string {
	if at := l.start(l.last()); l.t.startsLine(at) {
		return "," + l.lineBreak + l.t.indentation(at)
	}
	return comma
}

// insert adds entries after the entry at index i. A comment after that entry stays there if the new
// entries can go on the lines below. isTail means that the text that follows is removed.
func (l *flowLayout) insert(i int, texts []string, separator string, isTail bool) {
	at := l.end(i)
	end := lineEnd(l.t.text, at)
	if isTail || !l.endsLine(i) || !l.hasComment(at, end) || i < l.last() && !l.t.startsLine(l.next(i)) {
		for _, text := range texts {
			l.cut(at, at, separator+text)
		}
		return
	}
	if l.commas[i] < 0 && len(texts) > 0 {
		l.cut(at, at, ",")
	}
	for j, text := range texts {
		separated := j+1 < len(texts) || l.commas[i] >= 0
		l.cutLines(l.below(i), l.below(i), l.indent(i)+text+commaIf(separated)+l.lineBreak)
	}
}

// remove removes the entry at index i and one comma, if another entry after it stays. Comments
// stay, except the comments of an entry that shares no line.
func (l *flowLayout) remove(i int, staysBefore bool) {
	start, end, next := l.start(i), l.end(i), l.next(i)
	joined := staysBefore && !l.hasComment(l.end(i-1), start)
	switch {
	case l.t.startsLine(start) && l.endsLine(i):
		l.cut(l.head(i), l.below(i), "")
	case joined && (!strings.Contains(l.t.text[l.end(i-1):start], "\n") || strings.Contains(l.t.text[end:next], "\n")):
		l.cut(l.end(i-1), end, "")
	case !l.hasComment(end, next):
		l.cut(start, next, "")
	default:
		l.cut(start, end, "")
		l.cut(l.commas[i], l.commas[i]+1, "")
	}
}

// cutBlank removes the line of a removed entry, if the line has nothing else but removed commas.
func (l *flowLayout) cutBlank(i int) {
	start, below := l.t.lineStart(l.start(i)), l.below(i)
	if start > l.opening && below <= l.closing && strings.Trim(l.t.text[start:l.start(i)]+l.t.text[l.end(i):below], " \t,\r\n") == "" {
		l.cut(start, below, "")
	}
}

// removeTail removes the entries after the entry at index i.
func (l *flowLayout) removeTail(i int) {
	if i == l.last() {
		return
	}
	if !l.hasCommentAfter(i) {
		l.cut(l.end(i), l.end(l.last()), "")
		return
	}
	if !l.trails() {
		l.cut(l.commas[i], l.commas[i]+1, "")
	}
	for i++; i <= l.last(); i++ {
		l.cut(l.start(i), l.end(i), "")
		if l.commas[i] >= 0 {
			l.cut(l.commas[i], l.commas[i]+1, "")
		}
		if !l.trails() {
			l.cutBlank(i)
		}
	}
}

// hasCommentAfter reports whether there is a comment between the entry at index i and the last
// entry.
func (l *flowLayout) hasCommentAfter(i int) bool {
	for ; i < l.last(); i++ {
		if l.hasComment(l.end(i), l.next(i)) {
			return true
		}
	}
	return false
}

// rearrange gives a flow sequence the items in a new order, each with its text.
func (e *editor) rearrange(q int, items []entry, order []flowItem) {
	l := e.layout(q, items)
	if l.isLines() {
		l.rearrangeLines(order)
		return
	}
	comma := e.itemComma(items)
	if !l.hasComment(l.opening, l.start(0)) && !l.hasCommentAfter(0) {
		texts := make([]string, len(order))
		for j, item := range order {
			texts[j] = item.text
		}
		l.cut(l.start(0), l.end(l.last()), strings.Join(texts, l.separator(comma)))
		return
	}
	// A comment may be about any of the items, so all comments stay in their places.
	places := make([]flowItem, len(order))
	for j, item := range order {
		places[j] = flowItem{entry: -1, text: item.text}
		if j <= l.last() {
			l.cut(l.start(j), l.end(j), item.text)
			places[j].entry = j
		}
	}
	l.arrangeInline(places, comma)
}

// rearrangeLines rearranges items that do not share lines. The items take their comments along.
// Text between the lines stays in place.
func (l *flowLayout) rearrangeLines(order []flowItem) {
	var text strings.Builder
	indent := l.indent(0)
	for j, item := range order {
		comma := commaIf(j+1 < len(order) || l.trails())
		if i := item.entry; i < 0 {
			text.WriteString(indent + item.text + comma + l.lineBreak)
		} else {
			rest := l.t.text[l.end(i):l.below(i)]
			if at := l.commas[i] - l.end(i); at >= 0 {
				rest = rest[:at] + rest[at+1:]
			}
			text.WriteString(l.t.text[l.head(i):l.start(i)] + item.text + comma + rest)
		}
		if j < l.last() && j+1 < len(order) {
			text.WriteString(l.t.text[l.below(j):l.head(j+1)])
		}
	}
	l.cutLines(l.head(0), l.below(l.last()), text.String())
}
