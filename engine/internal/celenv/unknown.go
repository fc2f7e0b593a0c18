package celenv

import (
	"reflect"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/preadmit/preadmit/engine/internal/admission"
	"github.com/preadmit/preadmit/engine/internal/unknown"
)

// An expression gets a placeholder as an unknownValue. Literals, conditionals and comprehensions pass
// it on. Every function gets plain values instead (see tracked.go): a function that cannot fail
// returns an unknownValue again, and any other one uses the value. A decision by an unknownValue
// explores both sides.

// variableOf returns the value of a variable, with unknown values if there are any. A Go value that
// holds one is used as a whole.
func (a *Activation) variableOf(object map[string]any, goType admission.GoType) any {
	switch {
	case !a.observer.IsActive() || object == nil:
	case goType.IsStruct():
		a.observer.Use(object)
	default:
		return tracking{plainAdapter, a.observer}.NativeToValue(object)
	}
	return variableOf(object, goType)
}

// unknownValue is the placeholder of an unknown value, or what a function has computed from it.
type unknownValue struct {
	ref.Val
	of       *unknown.Value
	observer unknown.Observer
	// computed says that a function computed the value. decided is the decision about such a bool.
	computed bool
	decided  *types.Bool
}

// truth returns the decision about a bool.
func (u *unknownValue) truth() types.Bool {
	if u.decided == nil {
		plain, _ := u.Val.(types.Bool)
		decided := types.Bool(u.observer.Choose(bool(plain)))
		u.decided = &decided
	}
	return *u.decided
}

// Value implements ref.Val. A computed bool has no placeholder by which later policies could
// recognise it, so it is decided.
func (u *unknownValue) Value() any {
	if u.isTruth() {
		return u.truth().Value()
	}
	return u.Val.Value()
}

// ConvertToNative implements ref.Val.
func (u *unknownValue) ConvertToNative(want reflect.Type) (any, error) {
	if u.isTruth() {
		return u.truth().ConvertToNative(want)
	}
	return u.Val.ConvertToNative(want)
}

func (u *unknownValue) isTruth() bool { return u.Val.Type() == types.BoolType }

// Equal implements ref.Val. Functions do not get an unknownValue, but maps may compare their values.
func (u *unknownValue) Equal(other ref.Val) ref.Val {
	u.observer.UseOf(u.of)
	return u.Val.Equal(other)
}

// decide returns a bool, after the decision if it is unknown.
func decide(value ref.Val) ref.Val {
	switch u, is := value.(*unknownValue); {
	case !is:
		return value
	case u.isTruth():
		return u.truth()
	default: // no bool: the same error for all values
		return u.Val
	}
}

// compute returns what a function that cannot fail has computed from an unknown value.
func compute(value ref.Val, u *unknownValue) ref.Val {
	computed := &unknownValue{of: u.of, observer: u.observer, computed: true}
	switch value.(type) {
	case types.Bool:
		computed.Val = types.Bool(u.observer.Truth())
	case types.String:
		computed.Val = types.String(u.of.Computed)
	case types.Int:
		computed.Val = types.Int(u.of.Number)
	default:
		if !types.IsError(value) {
			u.observer.UseOf(u.of)
		}
		return value
	}
	return computed
}

// tracking is an adapter whose scalars are unknownValues if they hold placeholders.
type tracking struct {
	types.Adapter
	observer unknown.Observer
}

// NativeToValue implements types.Adapter.
func (t tracking) NativeToValue(value any) ref.Val {
	switch value := value.(type) {
	case map[string]any:
		return &trackedMap{&orderedMap{types.NewStringInterfaceMap(t, value)}, value}
	case []any:
		return &trackedList{types.NewDynamicList(t, value), value}
	case string, int64, float64:
		if found := t.observer.Find(value); found != nil {
			return &unknownValue{Val: t.Adapter.NativeToValue(value), of: found, observer: t.observer}
		}
	}
	return t.Adapter.NativeToValue(value)
}

// unread returns the Go value of a value without deciding.
func unread(value ref.Val) any {
	if u, ok := value.(*unknownValue); ok {
		return u.Val.Value()
	}
	return value.Value()
}

// trackedMap is a map of an object with unknown values.
type trackedMap struct {
	traits.Mapper
	object map[string]any
}

// Value implements ref.Val.
func (m *trackedMap) Value() any { return m.object }

// trackedList is a list of an object with unknown values.
type trackedList struct {
	traits.Lister
	items []any
}

// IsZeroValue implements traits.Zeroer.
func (l *trackedList) IsZeroValue() bool { return len(l.items) == 0 }

// Value implements ref.Val.
func (l *trackedList) Value() any { return l.items }

// reveal returns a value without unknownValues in it, and the first of them.
func reveal(value ref.Val) (plain ref.Val, found *unknownValue) {
	note := func(item ref.Val) ref.Val {
		plain, u := reveal(item)
		if found == nil {
			found = u
		}
		return plain
	}
	switch v := value.(type) {
	case *unknownValue:
		return v.Val, v
	case *trackedMap, *trackedList:
		for it := v.(traits.Iterable).Iterator(); it.HasNext() == types.True; {
			item := it.Next()
			if m, ok := v.(*trackedMap); ok {
				item = m.Get(item)
			}
			note(item)
		}
		return plainAdapter.NativeToValue(v.Value()), found
	case *objectValue:
		fields := make(map[string]ref.Val, len(v.fields))
		for name, item := range v.fields {
			fields[name] = note(item)
		}
		return &objectValue{opaque: v.opaque, fields: fields, convert: v.convert}, found
	case *types.Optional:
		if !v.HasValue() {
			return v, nil
		}
		return types.OptionalOf(note(v.GetValue())), found
	case traits.Lister, traits.Mapper:
		return revealLiteral(v, note), found
	}
	return value, nil
}

// revealLiteral returns a list or map literal after note has replaced its items.
func revealLiteral(value ref.Val, note func(ref.Val) ref.Val) ref.Val {
	switch raw := value.Value().(type) {
	case []ref.Val:
		items := make([]ref.Val, len(raw))
		for i, item := range raw {
			items[i] = note(item)
		}
		return types.NewRefValList(plainAdapter, items)
	case map[ref.Val]ref.Val:
		entries := make(map[ref.Val]ref.Val, len(raw))
		for key, item := range raw {
			entries[key] = note(item)
		}
		return plainAdapter.NativeToValue(entries)
	}
	list, ok := value.(traits.Lister)
	if !ok {
		return value
	}
	var items []ref.Val // of a sum of lists
	for it := list.Iterator(); it.HasNext() == types.True; {
		items = append(items, note(it.Next()))
	}
	return types.NewRefValList(plainAdapter, items)
}
