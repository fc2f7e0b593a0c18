package manifest

import (
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
)

// editFlowMap edits the entries of the flow map at index m. If no entry stays, it does nothing and
// returns false.
func (e *editor) editFlowMap(m int, to map[string]any, shape change.Shape) bool {
	entries := e.t.entries(m)
	plan := e.planMerge(m, entries, to, shape)
	if len(entries) == 0 || !keepsAny(entries, to, plan) {
		return e.fillFlow(m, entries, to)
	}
	copied := plan.copied
	removed := e.editEntries(entries, place{flow: true, like: e.likeIn(m, plain)}, plan, to, shape, func(en entry) bool {
		if len(copied) > 0 {
			e.copyFlowMerged(m, en, to, copied)
			copied = nil
			return true
		}
		return false
	})
	e.addFlow(m, entries, removed, added(entries, to, plan.given), to)
	return true
}

// addFlow removes entries of the flow map at index m, and adds the entries of to with the given
// names after the last entry that stays.
func (e *editor) addFlow(m int, entries []entry, removed []int, names []string, to map[string]any) {
	var order []flowItem
	for i := range entries {
		if !slices.Contains(removed, i) {
			order = append(order, flowItem{entry: i})
		}
	}
	near := entries[order[len(order)-1].entry]
	for _, name := range names {
		order = append(order, flowItem{entry: -1, text: e.flowEntry(m, near, name, to[name])})
	}
	_, comma := e.t.flowStyle(m, e.style)
	e.arrange(m, entries, order, comma)
}

// flowEntry returns the text of an entry for the flow map at index m, in the style of the entry
// near.
func (e *editor) flowEntry(m int, near entry, name string, value any) string {
	out := e.emitter()
	out.colon, out.comma = e.t.flowStyle(m, e.style)
	like, model := e.likeIn(m, plain), noModel
	if e.t.nodes[m].marks&merging != 0 {
		model = e.t.lookup(m, name)
	}
	out.WriteString(out.scalar(name, like, true))
	out.WriteString(out.colon)
	out.flow(value, like, e.flowIndentation(e.flowStart(near)), model)
	return out.String()
}

// fillFlow edits a flow collection that has a comment, but no entries. For other collections it
// returns false.
func (e *editor) fillFlow(i int, entries []entry, to any) bool {
	n := &e.t.nodes[i]
	if len(entries) > 0 || isScalar(to) || !strings.Contains(e.t.text[n.start:n.end], "#") {
		return false
	}
	text := e.flowText(to, e.likeIn(i, plain), int(n.start), noModel)
	e.cut(int(n.start)+1, int(n.start)+1, text[1:len(text)-1])
	return true
}

// editFlowList edits the items of the flow sequence at index q. If no item stays, it does nothing
// and returns false.
func (e *editor) editFlowList(q int, p place, to []any, shape change.Shape) bool {
	items := e.t.entries(q)
	plan, ok := e.planList(q, to, shape)
	if !ok {
		return e.fillFlow(q, items, to)
	}
	p = place{flow: true, like: e.likeIn(q, p.like)}
	order := make([]flowItem, len(to))
	for j, i := range plan.pairs {
		order[j].entry = i
		switch {
		case i < 0:
			order[j].text = e.flowText(to[j], p.like, e.flowStart(items[0]), noModel)
		case plan.moved:
			order[j].text = e.edited(items[i].value, p, to[j], itemShape(shape), e.flowStart(items[i]), e.flowEnd(items[i]))
		default:
			e.edit(items[i].value, p, to[j], itemShape(shape))
		}
	}
	if plan.moved {
		e.rearrange(q, items, order)
	} else {
		e.arrange(q, items, order, e.itemComma(items))
	}
	return true
}

// itemComma returns the separator of the items of a flow sequence on one line.
func (e *editor) itemComma(items []entry) string {
	if len(items) > 1 {
		if text := e.t.text[e.flowEnd(items[0]):e.flowStart(items[1])]; strings.Trim(text, " ,") == "" {
			return text
		}
	}
	return e.comma
}

func (e *editor) flowStart(en entry) int { return e.t.start(en.key) }
func (e *editor) flowEnd(en entry) int   { return int(e.t.nodes[en.value].end) }
