package manifest

import (
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
)

// An entry is a key and its value on the tape, or an item of a sequence, which has the same index
// for key and value.
type entry struct {
	key, value int
	name       string
	// merge means that the key is <<.
	merge bool
}

// entries lists the entries of the map, or the items of the sequence, at index i.
func (t *tape) entries(i int) []entry {
	var list []entry
	for k := i + 1; k < int(t.nodes[i].next); {
		en := entry{key: k, value: k}
		if t.nodes[i].kind.isMap() {
			en.value, en.name, en.merge = k+1, t.key(k), t.nodes[k].marks&merge != 0
		}
		list = append(list, en)
		k = int(t.nodes[en.value].next)
	}
	return list
}

// added returns, in order, the keys of to that are neither in entries nor in given.
func added(entries []entry, to map[string]any, given map[string]bool) []string {
	if len(entries) == len(to) && keepsAll(entries, to) {
		return nil
	}
	written := make(map[string]bool, len(entries))
	for _, en := range entries {
		if !en.merge {
			written[en.name] = true
		}
	}
	var names []string
	for name := range to {
		if !written[name] && !given[name] {
			names = append(names, name)
		}
	}
	return orderKeys(names)
}

func keepsAll(entries []entry, to map[string]any) bool {
	for _, en := range entries {
		if _, ok := to[en.name]; !ok || en.merge {
			return false
		}
	}
	return true
}

func keepsAny(entries []entry, to map[string]any, p mergePlan) bool {
	for _, en := range entries {
		if _, ok := to[en.name]; ok && !en.merge {
			return true
		}
	}
	return p.keeps || len(p.copied) > 0
}

// editMap edits the entries of the block map at index m. If no entry stays, it does nothing and
// returns false.
func (e *editor) editMap(m int, p place, to map[string]any, shape change.Shape) bool {
	entries := e.t.entries(m)
	plan := e.planMerge(m, entries, to, shape)
	if !keepsAny(entries, to, plan) {
		return false
	}
	column := int(e.t.nodes[m].column)
	copied := plan.copied
	removed := e.editEntries(entries, place{column: column}, plan, to, shape, func(en entry) bool {
		if len(copied) > 0 {
			e.copyMerged(m, en, to, copied)
			copied = nil
			return true
		}
		return false
	})
	e.removeLines(entries, removed, column, e.headLimit(m, p))
	e.addLines(m, entries, added(entries, to, plan.given), to)
	return true
}

// editEntries edits the values of the entries that stay and returns the indexes of the other
// entries. expand replaces the merge key of an entry by copies, or returns false if the entry is
// removed.
func (e *editor) editEntries(entries []entry, p place, plan mergePlan, to map[string]any, shape change.Shape, expand func(entry) bool) (removed []int) {
	for i, en := range entries {
		value, ok := to[en.name]
		switch {
		case en.merge && plan.keeps:
			e.keepMerge(en.value, p)
		case en.merge:
			if !expand(en) {
				removed = append(removed, i)
			}
		case plan.idle[i]:
			e.edit(en.value, p, e.t.value(en.value), nil)
		case !ok:
			removed = append(removed, i)
		default:
			e.names.pass(e.t, en.key, en.value)
			e.edit(en.value, p, value, fieldShape(shape, en.name))
		}
	}
	return removed
}

// addLines adds the entries of to with the given names to the block map at index m.
func (e *editor) addLines(m int, entries []entry, names []string, to map[string]any) {
	if len(names) == 0 {
		return
	}
	model, column := noModel, int(e.t.nodes[m].column)
	if e.t.nodes[m].marks&merging != 0 { // new entries are formatted like the merged ones that they override
		model = m
	}
	out := e.emitter()
	out.entries(to, names, column, model)
	at := e.t.lineAfter(entries[len(entries)-1].value, column)
	e.cutLines(at, at, out.String())
}

// setEntry sets the value of one entry of the root map at index m, without comparing the other
// entries. An empty list removes the entry.
func (e *editor) setEntry(m int, name string, list []any) {
	n := &e.t.nodes[m]
	p := place{column: int(n.column), flow: n.kind.isFlow()}
	entries := e.t.entries(m)
	at := slices.IndexFunc(entries, func(en entry) bool { return en.name == name })
	switch object := map[string]any{name: list}; {
	case at >= 0 && len(list) > 0:
		e.replace(entries[at].value, p, list)
	case at >= 0 && p.flow:
		e.addFlow(m, entries, []int{at}, nil, nil)
	case at >= 0:
		e.removeLines(entries, []int{at}, p.column, e.headLimit(m, place{column: -1}))
	case len(list) == 0:
	case p.flow:
		e.addFlow(m, entries, nil, []string{name}, object)
	default:
		e.addLines(m, entries, []string{name}, object)
	}
}

// headLimit returns how far up the comments above the first entry of a collection go. The comments
// above the first key of a document belong to the document.
func (e *editor) headLimit(i int, p place) int {
	n := &e.t.nodes[i]
	if p.column < 0 {
		return e.t.lineStart(int(n.start))
	}
	return e.t.nextLine(int(n.lead))
}

// start returns the start of an entry: of its key or its dash.
func (e *editor) start(en entry) int {
	if en.key == en.value {
		return int(e.t.nodes[en.key].lead)
	}
	return e.t.start(en.key)
}

// removeLines removes the lines of entries of a block collection, with the comments of these
// entries. At least one entry stays.
func (e *editor) removeLines(entries []entry, removed []int, column, limit int) {
	// If the first entry is on the line of a dash, the next entry that stays, or the comment above
	// it, moves up to that line.
	if len(removed) > 0 && removed[0] == 0 && !e.t.startsLine(e.start(entries[0])) {
		last := 0
		for last+1 < len(removed) && removed[last+1] == last+1 {
			last++
		}
		end := e.t.lineAfter(entries[last].value, column)
		end += len(e.t.text[end:]) - len(strings.TrimLeft(e.t.text[end:], " \r\n"))
		e.cut(e.start(entries[0]), end, "")
		removed = removed[last+1:]
	}
	for _, i := range removed {
		start, end := e.lines(entries, i, column, limit)
		e.cut(start, end, "")
	}
}

// lines returns the bounds of the lines of an entry, including its comments.
func (e *editor) lines(entries []entry, i, column, limit int) (start, end int) {
	if i > 0 {
		limit = e.t.lineAfter(entries[i-1].value, column)
	}
	start = e.start(entries[i])
	if e.t.startsLine(start) {
		start = e.t.above(start, column, limit)
	}
	return start, e.t.lineAfter(entries[i].value, column)
}

func fieldShape(shape change.Shape, name string) change.Shape {
	if shape == nil {
		return nil
	}
	return shape.Field(name)
}

func itemShape(shape change.Shape) change.Shape {
	if shape == nil {
		return nil
	}
	return shape.Item()
}
