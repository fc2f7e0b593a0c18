package manifest

import (
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
)

// A plan matches the old and new items of a list.
type plan struct {
	pairs   []int // for each new item the index of its old item, or -1
	removed []int // indexes of old items, rising
	moved   bool  // whether the order of the items that stay changes
}

// planList aligns the sequence at index q with a list. It returns false if no item stays.
func (e *editor) planList(q int, to []any, shape change.Shape) (plan, bool) {
	from, _ := e.t.value(q).([]any)
	p := plan{pairs: change.Align(from, to, shape)}
	pairEqual(p.pairs, from, to)
	last, stays := -1, make([]bool, len(from))
	for _, i := range p.pairs {
		if i < 0 {
			continue
		}
		p.moved = p.moved || i < last
		last = i
		stays[i] = true
	}
	for i := range stays {
		if !stays[i] {
			p.removed = append(p.removed, i)
		}
	}
	return p, last >= 0
}

// pairEqual pairs new items with equal old items, which have moved.
func pairEqual(pairs []int, from, to []any) {
	const many = 1000 // comparisons
	stays := make([]bool, len(from))
	for _, i := range pairs {
		if i >= 0 {
			stays[i] = true
		}
	}
	var free []int
	for i := range from {
		if !stays[i] {
			free = append(free, i)
		}
	}
	if len(free)*(len(to)-len(from)+len(free)) > many {
		return
	}
	for j := range pairs {
		if pairs[j] < 0 {
			if k := slices.IndexFunc(free, func(i int) bool { return i >= 0 && change.Equal(from[i], to[j]) }); k >= 0 {
				pairs[j], free[k] = free[k], -1
			}
		}
	}
}

// editList edits the items of the block sequence at index q. If no item stays, it does nothing and
// returns false.
func (e *editor) editList(q int, to []any, shape change.Shape) bool {
	plan, ok := e.planList(q, to, shape)
	if !ok {
		return false
	}
	items := e.t.entries(q)
	if plan.moved {
		e.rebuildList(q, items, plan, to, shape)
		return true
	}
	column := int(e.t.nodes[q].column)
	limit := e.listLimit(q)
	before := -1
	for j, i := range plan.pairs {
		if i >= 0 {
			e.edit(items[i].value, place{column: column, item: true}, to[j], itemShape(shape))
			before = i
			continue
		}
		e.insertItem(items, before, to[j], column, limit)
	}
	e.removeLines(items, plan.removed, column, limit)
	return true
}

// listLimit is headLimit for a sequence, which is never a root.
func (e *editor) listLimit(q int) int { return e.headLimit(q, place{}) }

// insertItem adds an item after the item at index before, or as the first item if before is -1.
func (e *editor) insertItem(items []entry, before int, value any, column, limit int) {
	out := e.emitter()
	if before >= 0 {
		at := e.t.lineAfter(items[before].value, column)
		out.item(value, column, e.dashWidth(items), noModel)
		e.cutLines(at, at, out.String())
		return
	}
	at := e.start(items[0])
	if e.t.startsLine(at) {
		at = e.t.above(at, column, limit)
		out.item(value, column, e.dashWidth(items), noModel)
		e.cutLines(at, at, out.String())
		return
	}
	out.inline = true
	out.item(value, column, e.dashWidth(items), noModel)
	out.indent(column)
	e.cut(at, at, out.String())
}

// dashWidth returns the distance from the dashes of the items to their values.
func (e *editor) dashWidth(items []entry) int {
	for _, it := range items {
		n := &e.t.nodes[it.value]
		if n.kind != absent && !strings.Contains(e.t.text[n.lead:n.start], "\n") {
			return int(n.start - n.lead)
		}
	}
	return 2
}

// rebuildList writes a block sequence whose items change their order. The items take their lines
// and comments along. Text between items stays in place.
func (e *editor) rebuildList(q int, items []entry, plan plan, to []any, shape change.Shape) {
	column, limit := int(e.t.nodes[q].column), e.listLimit(q)
	starts, ends := make([]int, len(items)), make([]int, len(items))
	for i := range items {
		starts[i], ends[i] = e.lines(items, i, column, limit)
	}
	var text strings.Builder
	for j, i := range plan.pairs {
		if i < 0 {
			out := e.emitter()
			out.item(to[j], column, e.dashWidth(items), noModel)
			text.WriteString(out.String())
		} else {
			lines := e.edited(items[i].value, place{column: column, item: true}, to[j], itemShape(shape), starts[i], ends[i])
			if !e.t.startsLine(starts[i]) {
				text.WriteString(strings.Repeat(" ", column))
			}
			text.WriteString(lines)
			if !strings.HasSuffix(lines, "\n") {
				text.WriteString(e.lineBreak)
			}
		}
		if j+1 < len(items) && j+1 < len(plan.pairs) {
			gap := ends[j]
			if e.tidy {
				gap = min(skipBlankLines(e.t.text, gap), starts[j+1])
			}
			text.WriteString(e.t.text[gap:starts[j+1]])
		}
	}
	last := len(items) - 1
	if e.t.startsLine(starts[0]) {
		e.cutLines(starts[0], ends[last], text.String())
	} else {
		e.cut(starts[0], ends[last], strings.TrimLeft(text.String(), " "))
	}
}

// edited returns the text from start to end, with the value at index i in it edited.
func (e *editor) edited(i int, p place, to any, shape change.Shape, start, end int) string {
	inner := *e
	inner.splices = nil
	inner.edit(i, p, to, shape)
	e.anew = inner.anew
	return applySplices(e.t.text, start, end, inner.splices, e.lineBreak)
}
