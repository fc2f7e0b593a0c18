package manifest

import (
	"slices"

	"github.com/preadmit/preadmit/engine/change"
)

// An entry is a key and its value on the tape, or an item of a sequence, which has the same index
// for key and value.
type entry struct {
	key, value int
	name       string
}

// entries lists the entries of the map, or the items of the sequence, at index i.
func (t *tape) entries(i int) []entry {
	count := t.count(i)
	if t.nodes[i].kind.isMap() {
		count /= 2
	}
	list := make([]entry, 0, count)
	for k := i + 1; k < int(t.nodes[i].next); {
		en := entry{key: k, value: k}
		if t.nodes[i].kind.isMap() {
			en.value, en.name = k+1, t.key(k)
		}
		list = append(list, en)
		k = int(t.nodes[en.value].next)
	}
	return list
}

// A goal is what an entry of a collection becomes. Goals are in the order of the new collection.
type goal struct {
	// old is the index of the entry, or -1 for a new entry.
	old     int
	name    string
	was, to any
	shape   change.Shape
}

// A layout is the way in which the entries of a collection are written.
type layout interface {
	// surroundings returns those of the values.
	surroundings() surroundings
	// update adds and removes entries. The others keep their order, and at least one stays.
	update(goals []goal)
	// reorder writes all entries anew in another order, each with its edited text.
	reorder(goals []goal)
	// isOrderly reports whether update and reorder keep all comments of entries that stay.
	isOrderly() bool
}

// layout returns the layout of the collection at index i, which has entries.
func (e *editor) layout(i int, p surroundings, entries []entry) layout {
	if e.t.nodes[i].kind.isFlow() {
		return e.flowLayout(i, p, entries)
	}
	return e.blockLayout(i, p, entries)
}

// editMap edits the entries of the map at index m. If no entry stays, it does nothing and returns
// false.
func (e *editor) editMap(m int, p surroundings, was, to map[string]any, shape change.Shape) bool {
	entries := e.t.entries(m)
	goals := make([]goal, 0, len(to))
	for i, en := range entries {
		if value, ok := to[en.name]; ok {
			goals = append(goals, goal{old: i, name: en.name, was: was[en.name], to: value, shape: fieldShape(shape, en.name)})
		}
	}
	if len(goals) == 0 {
		return false
	}
	if len(goals) < len(to) {
		for _, name := range added(entries, to) {
			goals = append(goals, goal{old: -1, name: name, to: to[name]})
		}
	}
	return e.editEntries(m, p, entries, goals, false)
}

// added returns, in order, the keys of to that are not in entries.
func added(entries []entry, to map[string]any) []string {
	written := make(map[string]bool, len(entries))
	for _, en := range entries {
		written[en.name] = true
	}
	var names []string
	for name := range to {
		if !written[name] {
			names = append(names, name)
		}
	}
	return orderKeys(names)
}

// editList edits the items of the sequence at index q. If no item stays, it does nothing and
// returns false.
func (e *editor) editList(q int, p surroundings, from, to []any, shape change.Shape) bool {
	if from == nil {
		from, _ = e.t.value(q).([]any)
	}
	pairs := change.Align(from, to, shape)
	pairEqual(pairs, from, to)
	last, moved := -1, false
	goals := make([]goal, len(to))
	for j, i := range pairs {
		goals[j] = goal{old: i, to: to[j], shape: itemShape(shape)}
		if i >= 0 {
			goals[j].was = from[i]
			moved = moved || i < last
			last = i
		}
	}
	return last >= 0 && e.editEntries(q, p, e.t.entries(q), goals, moved)
}

// pairEqual pairs new items with equal old items, which have moved.
func pairEqual(pairs []int, from, to []any) {
	const many = 1000 // comparisons
	stays := staying(len(from), pairs, func(i int) int { return i })
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

// staying returns, for each of count old entries, whether it is the old entry of a new one.
func staying[T any](count int, list []T, old func(T) int) []bool {
	stays := make([]bool, count)
	for _, it := range list {
		if i := old(it); i >= 0 {
			stays[i] = true
		}
	}
	return stays
}

func (g goal) index() int { return g.old }

// editEntries turns the entries of the collection at index i into the goals. It returns false if
// the collection must be written anew.
func (e *editor) editEntries(i int, p surroundings, entries []entry, goals []goal, moved bool) bool {
	l := e.layout(i, p, entries)
	isNew := func(g goal) bool { return g.old < 0 }
	stay := len(goals) == len(entries) && !slices.ContainsFunc(goals, isNew)
	if (moved || !stay) && !l.isOrderly() {
		e.anew = append(e.anew, i)
		return false
	}
	if moved {
		l.reorder(goals)
		return true
	}
	for _, g := range goals {
		if g.old >= 0 {
			en := entries[g.old]
			e.names.pass(e.t, en.key, en.value)
			e.edit(en.value, l.surroundings(), g.was, g.to, g.shape)
		}
	}
	if !stay {
		l.update(goals)
	}
	return true
}

// edited returns the text from start to end, with the value of an entry in it edited.
func (e *editor) edited(en entry, p surroundings, g goal, start, end int) string {
	inner := *e
	inner.splices = nil
	inner.edit(en.value, p, g.was, g.to, g.shape)
	e.anew = inner.anew
	if splices := inner.splices; end < len(e.t.text) {
		return applySplices(e.t.text, start, end, splices, e.style.lineBreak)
	}
	return applySplices(e.t.text, start, end, e.t.end(inner.splices, true), e.style.lineBreak)
}

// setEntry sets the value of one entry of the root map at index m, without comparing the other
// entries. An empty list removes the entry.
func (e *editor) setEntry(m int, name string, list []any) {
	p := surroundings{column: -1}
	entries := e.t.entries(m)
	goals := make([]goal, 0, len(entries)+1)
	at := -1
	for i, en := range entries {
		if en.name == name {
			at = i
		} else {
			goals = append(goals, goal{old: i})
		}
	}
	l := e.layout(m, p, entries)
	switch {
	case at >= 0 && len(list) > 0:
		e.replace(entries[at].value, l.surroundings(), list)
		return
	case len(list) > 0:
		goals = append(goals, goal{old: -1, name: name, to: list})
	case at < 0:
		return
	}
	l.update(goals)
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
