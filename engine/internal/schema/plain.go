package schema

import (
	"maps"
	"slices"

	"github.com/preadmit/preadmit/engine/change"
)

// mergePlain merges a patch into a live value as structured-merge-diff does under AnyKey, in the
// simple cases. It returns false if it is not certain that both values are of the type and that
// the patch is accepted: the patch must have no nulls, atomic values or repeated items, and the
// items that are also in live must have the same order there. live must conform to the type; it
// is nil if it is missing.
//
// The result shares with live what the patch does not change, and the rest with patch; if
// nothing changes it is live itself.
func mergePlain(t *Type, live, patch any) (merged any, ok bool) {
	switch live := live.(type) {
	case map[string]any:
		patch, ok := patch.(map[string]any)
		if !ok || !isObject(t) || t.AtomicMap {
			return nil, false
		}
		return mergeObject(t, live, patch)
	case []any:
		patch, ok := patch.([]any)
		if !ok || !isList(t) || t.List == Atomic {
			return nil, false
		}
		return mergeItems(t, live, patch)
	}
	return patch, isPatch(t, patch)
}

func mergeObject(t *Type, live, patch map[string]any) (merged map[string]any, ok bool) {
	merged = live
	copied := false
	for key, value := range patch {
		old, had := live[key]
		value, ok := mergePlain(t.FieldType(key), old, value)
		if !ok {
			return nil, false
		}
		if had && change.Same(old, value) {
			continue
		}
		if !copied {
			merged, copied = maps.Clone(live), true
		}
		merged[key] = value
	}
	return merged, true
}

// maxPairs bounds the work of mergeItems, which compares items in pairs.
const maxPairs = 1 << 14

// mergeItems merges lists: items of both lists keep their order, and a new item goes before the
// item that follows it in the patch.
func mergeItems(t *Type, live, patch []any) (merged []any, ok bool) {
	if len(live)*len(patch) > maxPairs || !t.distinct(patch) {
		return nil, false
	}
	merged = make([]any, 0, len(live)+len(patch))
	next, changed := 0, false // patch[:next] has been merged
	for _, item := range live {
		at, ok := t.find(patch, item)
		switch {
		case !ok:
			return nil, false
		case at < 0:
			merged = append(merged, item)
			continue
		case at < next: // in another order, or repeated
			return nil, false
		}
		both, ok := mergePlain(t.Elem, item, patch[at])
		if !ok || !arePatches(t.Elem, patch[next:at]) {
			return nil, false
		}
		merged = append(append(merged, patch[next:at]...), both)
		changed = changed || !change.Same(item, both)
		next = at + 1
	}
	if !arePatches(t.Elem, patch[next:]) {
		return nil, false
	}
	merged = append(merged, patch[next:]...)
	if !changed && len(merged) == len(live) {
		return live, true
	}
	return merged, true
}

// conformity checks whether values certainly conform to a type.
type conformity struct {
	memo *change.Memo
	// patch says to check also whether a patch is certainly accepted. Then nothing is
	// remembered.
	patch bool
	// looked counts the visited values.
	looked int
}

// worth is the number of values that must be saved for a result to be remembered.
const worth = 4

// conforms reports whether a value certainly conforms to the type.
func conforms(memo *change.Memo, t *Type, v any) bool {
	c := conformity{memo: memo}
	return c.value(t, v)
}

// isPatch reports whether a value is certainly accepted as a patch of the type.
func isPatch(t *Type, v any) bool {
	c := conformity{patch: true}
	return c.value(t, v)
}

func arePatches(t *Type, values []any) bool {
	c := conformity{patch: true}
	return c.all(t, values)
}

func (c *conformity) value(t *Type, v any) bool {
	c.looked++
	if t == nil {
		return false
	}
	switch v := v.(type) {
	case nil:
		return !c.patch
	case string, int64, float64, bool:
		return isPlainScalar(t, v)
	case map[string]any, []any:
		if _, known := c.memo.Recall(&t.Facts.conforms, v); known {
			return true
		}
		before := c.looked
		if !c.composite(t, v) {
			return false
		}
		if c.looked-before >= worth {
			c.memo.Note(&t.Facts.conforms, v, 0)
		}
		return true
	}
	return false
}

func (c *conformity) composite(t *Type, v any) bool {
	switch v := v.(type) {
	case map[string]any:
		anything := isAnything(t)
		if c.patch && (anything || t.AtomicMap) || !anything && !isObject(t) {
			return false
		}
		for key, value := range v {
			of := t
			if !anything {
				of = t.FieldType(key)
			}
			if !c.value(of, value) {
				return false
			}
		}
		return true
	case []any:
		switch {
		case t.Scalar == Untyped || t.Scalar == IntOrString:
			return !c.patch && c.all(untyped, v)
		case !isList(t) || c.patch && t.List == Atomic:
			return false
		case c.patch:
			return t.distinct(v) && c.all(t.Elem, v)
		}
		return (t.List == Atomic || !slices.ContainsFunc(v, t.isIndistinct)) && c.all(t.Elem, v)
	}
	return false
}

func (c *conformity) all(t *Type, values []any) bool {
	for _, v := range values {
		if !c.value(t, v) {
			return false
		}
	}
	return true
}

// isAnything reports whether the type allows all values; see atoms.ref.
func isAnything(t *Type) bool {
	return t.Scalar == Untyped && len(t.Fields) == 0 || t.Scalar == IntOrString
}

// isObject reports whether the type allows structs, or maps with typed values, though perhaps
// other values as well.
func isObject(t *Type) bool {
	return t.Scalar == NotScalar && !t.IsList || t.Scalar == Untyped && len(t.Fields) > 0
}

func isList(t *Type) bool { return t.Scalar == NotScalar && t.IsList }

// isPlainScalar reports whether a value is a scalar of the type.
func isPlainScalar(t *Type, v any) bool {
	switch t.Scalar {
	case NotScalar:
		return false
	case Integer, Number:
		switch v.(type) {
		case int64, float64:
			return true
		}
		return false
	case Boolean:
		_, ok := v.(bool)
		return ok
	case String:
		_, ok := v.(string)
		return ok || t.Format != "" && t.Format != "byte"
	}
	return true
}

// isIndistinct reports whether an item of a list cannot be identified: it has no key or, in a
// set, is not a scalar.
func (t *Type) isIndistinct(item any) bool {
	if len(t.ListKeys) == 0 {
		switch item.(type) {
		case nil, map[string]any, []any:
			return true
		}
		return false
	}
	object, ok := item.(map[string]any)
	return !ok || t.Elem == nil || t.Elem.Scalar != NotScalar ||
		!slices.ContainsFunc(t.ListKeys, func(name string) bool { return t.key(object, name) != any(absent{}) })
}

// key returns the value, or the default, of a key of an item.
func (t *Type) key(item map[string]any, name string) any {
	if v, given := item[name]; given {
		return v
	}
	if f := t.Elem.Declared(name); f != nil && f.Default != nil {
		return f.Default
	}
	return absent{}
}

// distinct reports whether each item of a list differs from the others.
func (t *Type) distinct(list []any) bool {
	if len(list)*len(list) > maxPairs || slices.ContainsFunc(list, t.isIndistinct) {
		return false
	}
	for i, item := range list {
		if at, ok := t.find(list[:i], item); !ok || at >= 0 {
			return false
		}
	}
	return true
}

// find returns the index of the same item in a list, -1 if the list lacks it. ok is false if the
// comparison is not simple, as with numbers of different types that may be equal.
func (t *Type) find(list []any, item any) (at int, ok bool) {
	for at, other := range list {
		same, ok := t.same(item, other)
		if !ok || same {
			return at, ok
		}
	}
	return -1, true
}

// same reports whether two items are the same.
func (t *Type) same(a, b any) (same, ok bool) {
	if len(t.ListKeys) == 0 {
		return sameScalar(a, b)
	}
	x, y := a.(map[string]any), b.(map[string]any)
	same = true
	for _, name := range t.ListKeys {
		equal, ok := sameScalar(t.key(x, name), t.key(y, name))
		if !ok {
			return false, false
		}
		same = same && equal
	}
	return same, true
}

func sameScalar(a, b any) (same, ok bool) {
	for _, v := range [2]any{a, b} {
		switch v.(type) {
		case string, int64, bool, absent:
		default:
			return false, false
		}
	}
	return a == b, true
}
