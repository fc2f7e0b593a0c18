package reach

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/preadmit/preadmit/engine/internal/jmespath"
	"github.com/preadmit/preadmit/engine/internal/jsonpatch"
	"github.com/preadmit/preadmit/engine/internal/kyverno"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/internal/witness"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
)

// patch adds what the patch of a rule, or of an entry of foreach, asks.
func (w *wishes) patch(n policy.Node) {
	switch {
	case n.At("patchStrategicMerge").Given():
		w.merge(n.At("patchStrategicMerge").Value, nil)
	case n.At("patchesJson6902").Given():
		w.operations(n.At("patchesJson6902").Text())
	default:
		w.unclear = true
	}
}

// merge adds what a part of a strategic merge patch asks: its conditions hold, and it writes something
// that is not there.
func (w *wishes) merge(value any, path []string) {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			w.member(key, value[key], path)
		}
	case []any:
		for i, item := range value {
			w.merge(item, append(slices.Clip(path), strconv.Itoa(i)))
		}
	case nil:
		w.need(witness.Exists(path))
	default:
		if !kyverno.HasSubstitutions(value) {
			w.need(witness.Differs(path, value))
			return
		}
		w.replaced(value.(string))
		w.need(witness.Need{Path: path, Values: []any{witness.Absent, "other"}, Holds: anything})
	}
}

// member is merge for a member of a map.
func (w *wishes) member(key string, value any, path []string) {
	a, bare := kyverno.ParseAnchor(key)
	below := append(slices.Clip(path), bare)
	switch {
	case kyverno.HasSubstitutions(key), strings.HasPrefix(key, "$"):
		w.unclear = true
	case a == kyverno.Condition, a == kyverno.Global:
		w.pattern(value, below)
	case a == kyverno.Add:
		w.need(witness.Lacks(below))
		w.merge(value, below)
	case a != kyverno.NoAnchor:
		w.unclear = true
	case len(path) == 0 && (key == "apiVersion" || key == "kind"), len(path) == 1 && path[0] == "metadata" && key == "name":
	default:
		w.merge(value, below)
	}
}

// operations adds what a JSON Patch asks.
func (w *wishes) operations(text string) {
	value, err := manifest.Value(w.replaced(text))
	if err != nil {
		w.unclear = true
		return
	}
	for _, op := range (policy.Node{Value: value}).Items() {
		path, value := jsonpatch.Keys(op.At("path").Text()), op.At("value").Value
		if len(path) == 0 {
			w.unclear = true
			return
		}
		isItem := path[len(path)-1] == "-"
		if len(path) > 1 {
			w.need(witness.Need{Path: path[:len(path)-1], Values: []any{witness.Present, witness.Absent}, Holds: anything})
		}
		switch op.At("op").Text() {
		case "test":
			w.need(witness.Is(path, value))
		case "remove":
			w.need(witness.Exists(path))
		case "move", "copy":
			w.need(witness.Exists(jsonpatch.Keys(op.At("from").Text())))
		case "replace":
			w.need(witness.Exists(path))
			w.need(witness.Differs(path, value))
		default:
			if !isItem {
				w.need(witness.Differs(path, value))
			}
		}
	}
}

// foreach adds what an entry of foreach asks.
func (w *wishes) foreach(entry policy.Node) {
	n, err := jmespath.Parse(entry.At("list").Text())
	list, ok := w.read(n)
	if ok && !slices.ContainsFunc(w.kinds, func(k *schema.Kind) bool { return !isUndefined(k.Type(), list.path) }) {
		w.never = true
		return
	}
	const deepest = 3
	if err != nil || !ok || entry.At("context").Given() || !w.isList(list.path) || len(w.elements) == deepest {
		w.unclear = true
		return
	}
	element := append(slices.Clip(list.path), "0")
	w.elements = append(w.elements, element)
	w.need(witness.Exists(element))
	any := entry.At("preconditions", "any").Items()
	w.conditions(entry.At("preconditions"), orOne(any)[0])
	w.unclear = w.unclear || len(any) > 1
	if inner := entry.At("foreach").Items(); len(inner) > 0 {
		for _, entry := range inner {
			w.foreach(entry)
		}
	} else {
		w.patch(entry)
	}
	w.elements = w.elements[:len(w.elements)-1]
}

// isList reports whether a field is not something else than a list in any of the kinds.
func (w *wishes) isList(path []string) bool {
	return !w.anyType(path, func(t *schema.Type) bool { return !t.IsList })
}

// areScalars reports whether a field is no map and no list in any of the kinds.
func (w *wishes) areScalars(path []string) bool {
	return !w.anyType(path, func(t *schema.Type) bool { return t.IsList || t.Scalar == schema.NotScalar })
}

// anyType reports whether the type of a field, where it is known, has a property in any of the kinds.
func (w *wishes) anyType(path []string, has func(t *schema.Type) bool) bool {
	return slices.ContainsFunc(w.kinds, func(k *schema.Kind) bool {
		t := witness.TypeAt(k.Type(), path)
		return t != nil && has(t)
	})
}

// isUndefined reports whether objects of a type cannot have a field.
func isUndefined(t *schema.Type, path []string) bool {
	for _, key := range path {
		switch {
		case t == nil || t.Preserve:
			return false
		case t.IsList:
			t = t.ItemType()
		case len(t.Fields) > 0 && t.Elem == nil && t.Declared(key) == nil:
			return true
		default:
			t = t.FieldType(key)
		}
	}
	return false
}
