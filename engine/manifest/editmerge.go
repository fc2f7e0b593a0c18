package manifest

import (
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
)

// A mergePlan is the plan for the merge keys of a map. The zero mergePlan is for a map without
// merge keys.
type mergePlan struct {
	// keeps means that the merge keys stay. Otherwise copies of their entries replace them.
	keeps  bool
	copied []string
	// given are the keys that the map has from its merge keys, or from the copies.
	given map[string]bool
	// idle are the indexes of entries that a merge key overrides now and after the edit.
	idle map[int]bool
}

// planMerge plans the merge keys of the map at index m, which is to read as to. The merge keys stay
// if the map can override all merged values that differ.
func (e *editor) planMerge(m int, entries []entry, to map[string]any, shape change.Shape) mergePlan {
	if e.t.nodes[m].marks&merging == 0 {
		return mergePlan{}
	}
	p := mergePlan{keeps: !e.expand, given: map[string]bool{}, idle: map[int]bool{}}
	own, merged := map[string]int{}, map[string]any{}
	for i, en := range entries {
		if !en.merge {
			own[en.name] = i
			delete(merged, en.name)
			continue
		}
		for _, source := range slices.Backward(e.t.sources(en.value)) {
			object, ok := e.mergedValue(source, m, to, shape)
			p.keeps = p.keeps && ok
			for key, value := range object {
				merged[key] = value
				if _, stays := to[key]; !stays {
					p.keeps = false
				}
			}
		}
	}
	for key, value := range merged {
		i, isOwn := own[key]
		switch {
		case change.Equal(value, to[key]):
			p.given[key] = true
			if isOwn {
				p.idle[i] = true
			}
		case isOwn: // the map already has this key, after the merge key
			p.keeps = false
		}
	}
	if p.keeps {
		return p
	}
	p.given, p.idle = map[string]bool{}, nil
	for _, en := range e.t.merged(m) {
		_, isOwn := own[en.name]
		if _, ok := to[en.name]; ok && !isOwn {
			p.copied = append(p.copied, en.name)
			p.given[en.name] = true
		}
	}
	return p
}

// mergedValue returns how the map at index i, which is in the value of a merge key of the map at
// index m, will read after the edit. It returns false if the value will not be a map.
func (e *editor) mergedValue(i, m int, to map[string]any, shape change.Shape) (map[string]any, bool) {
	if e.t.nodes[i].kind != alias {
		return e.t.object(i), true
	}
	var value any
	if target := e.t.real(i); m < target && target < i {
		value, _ = e.planned(m, target, to, shape)
	} else {
		value, _ = e.names.value(e.t, i)
	}
	object, ok := value.(map[string]any)
	return object, ok
}

// planned returns how the node at index target, inside the node at index i, will read once i reads
// as to. It returns false if target will be removed.
func (e *editor) planned(i, target int, to any, shape change.Shape) (any, bool) {
	if i == target {
		return to, true
	}
	switch to := to.(type) {
	case map[string]any:
		if e.t.nodes[i].kind.isMap() {
			for k := i + 1; k < int(e.t.nodes[i].next); k = int(e.t.nodes[k+1].next) {
				if k < target && target < int(e.t.nodes[k+1].next) {
					name := e.t.key(k)
					value, ok := to[name]
					if e.t.nodes[k].marks&merge != 0 {
						return e.t.value(target), true
					}
					return e.plannedIf(ok, k+1, target, value, fieldShape(shape, name))
				}
			}
		}
	case []any:
		if plan, ok := e.planList(i, to, shape); ok {
			items := e.t.entries(i)
			for j, item := range plan.pairs {
				if item >= 0 && items[item].value <= target && target < int(e.t.nodes[items[item].value].next) {
					return e.plannedIf(true, items[item].value, target, to[j], itemShape(shape))
				}
			}
		}
	}
	return nil, false
}

func (e *editor) plannedIf(stays bool, i, target int, to any, shape change.Shape) (any, bool) {
	if !stays {
		return nil, false
	}
	return e.planned(i, target, to, shape)
}

// keepMerge keeps the value of a merge key at index i unchanged.
func (e *editor) keepMerge(i int, p place) {
	e.names.define(e.t, i, e.t.value(i))
	for _, source := range e.t.sources(i) {
		if e.t.nodes[source].kind != alias {
			e.edit(source, p, e.t.value(source), nil)
		}
	}
}

// copyMerged replaces the merge key of a block map by copies of its entries.
func (e *editor) copyMerged(m int, en entry, to map[string]any, names []string) {
	out := e.emitter()
	out.inline = true
	column := int(e.t.nodes[m].column)
	out.entries(to, names, column, m)
	text, end := out.String(), int(e.t.nodes[en.value].end)
	if k := e.t.nodes[en.value].kind; k.isFlow() || k == alias {
		// A comment after the alias stays.
		text = strings.TrimSuffix(text, e.lineBreak)
	} else {
		end = e.t.lineAfter(en.value, column)
	}
	e.cut(e.start(en), end, text)
}

// copyFlowMerged is copyMerged for a flow map.
func (e *editor) copyFlowMerged(m int, en entry, to map[string]any, names []string) {
	_, comma := e.t.flowStyle(m, e.style)
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = e.flowEntry(m, en, name, to[name])
	}
	e.cut(e.flowStart(en), e.flowEnd(en), strings.Join(texts, comma))
}
