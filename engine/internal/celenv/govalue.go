package celenv

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/preadmit/preadmit/engine/internal/admission"
)

// Since 1.37 a server gives some variables to expressions as Go values, in wrappers that CEL
// takes for lists and maps (k8s.io/apiserver v0.37.1, pkg/cel/common/valuesschemalesstyped.go).
// The wrappers cannot be converted to JSON, so that a JSONPatch refuses them. A list or map
// literal with a wrapper as an item holds the Go value.

// GoTypes are the Go types of the variables that a server gives as Go values. A variable with
// the zero GoType is JSON.
type GoTypes struct{ Object, OldObject, Params, Namespace, Request admission.GoType }

// variableOf returns the value of a variable: null for the nil object.
func variableOf(object map[string]any, goType admission.GoType) any {
	switch {
	case object == nil:
		return nil
	case goType.IsStruct():
		return wrap(object, goType)
	}
	return object
}

// wrap returns the CEL value of a Go value, given as JSON.
func wrap(value any, goType admission.GoType) ref.Val {
	switch value := value.(type) {
	case []any:
		if goType.IsList() {
			return &goList{value, goType}
		}
	case map[string]any:
		if goType.IsMap() || goType.IsStruct() {
			return &goMap{value, goType}
		}
	}
	return plainAdapter.NativeToValue(value)
}

var plainAdapter = ordered{types.DefaultTypeAdapter}

// goList is the wrapper of a slice.
type goList struct {
	items  []any
	goType admission.GoType
}

// Type implements ref.Val.
func (l *goList) Type() ref.Type { return types.ListType }

// Value implements ref.Val.
func (l *goList) Value() any { return goValue{l.items, l.goType} }

// ConvertToNative implements ref.Val.
func (l *goList) ConvertToNative(want reflect.Type) (any, error) {
	return nil, fmt.Errorf("type conversion error from '%s' to '%s'", l.Type(), want)
}

// ConvertToType implements ref.Val.
func (l *goList) ConvertToType(want ref.Type) ref.Val { return convertWrapper(l, types.ListType, want) }

// convertWrapper converts a wrapper of a CEL type to another type.
func convertWrapper(wrapper ref.Val, own *types.Type, want ref.Type) ref.Val {
	switch want {
	case own:
		return wrapper
	case types.TypeType:
		return own
	}
	return types.NewErr("type conversion error from '%s' to '%s'", own, want.TypeName())
}

// Equal implements ref.Val.
func (l *goList) Equal(other ref.Val) ref.Val {
	list, ok := other.(traits.Lister)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	if l.Size() != list.Size() {
		return types.False
	}
	for i := range l.items {
		if l.Get(types.Int(i)).Equal(list.Get(types.Int(i))) != types.True {
			return types.False
		}
	}
	return types.True
}

// Add implements traits.Adder. Unlike the sum of other lists, the sum is like a list literal.
func (l *goList) Add(other ref.Val) ref.Val {
	list, ok := other.(traits.Lister)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	var items []ref.Val
	for _, part := range []traits.Lister{l, list} {
		for it := part.Iterator(); it.HasNext() == types.True; {
			items = append(items, it.Next())
		}
	}
	return types.NewRefValList(plainAdapter, items)
}

// Contains implements traits.Container.
func (l *goList) Contains(value ref.Val) ref.Val {
	for i := range l.items {
		if l.Get(types.Int(i)).Equal(value) == types.True {
			return types.True
		}
	}
	return types.False
}

// Get implements traits.Indexer.
func (l *goList) Get(index ref.Val) ref.Val {
	i, ok := index.(types.Int)
	switch {
	case !ok:
		return types.ValOrErr(index, "unsupported index type: %T", index)
	case i < 0 || int(i) >= len(l.items):
		return types.NewErr("index out of bounds: %d", i)
	}
	return wrap(l.items[i], l.goType.Elem())
}

// Iterator implements traits.Iterable.
func (l *goList) Iterator() traits.Iterator {
	items := make([]ref.Val, len(l.items))
	for i := range items {
		items[i] = l.Get(types.Int(i))
	}
	return types.NewRefValList(plainAdapter, items).Iterator()
}

// Size implements traits.Sizer.
func (l *goList) Size() ref.Val { return types.Int(len(l.items)) }

// goMap is the wrapper of a map or struct.
type goMap struct {
	entries map[string]any
	goType  admission.GoType
}

// Type implements ref.Val.
func (m *goMap) Type() ref.Type { return types.MapType }

// Value implements ref.Val.
func (m *goMap) Value() any { return goValue{m.entries, m.goType} }

// ConvertToNative implements ref.Val.
func (m *goMap) ConvertToNative(want reflect.Type) (any, error) {
	if m.goType.IsStruct() {
		return nil, fmt.Errorf("type conversion error from struct type %v to %v", m.goType, want)
	}
	return nil, fmt.Errorf("type conversion error from '%s' to '%s'", m.Type(), want)
}

// ConvertToType implements ref.Val.
func (m *goMap) ConvertToType(want ref.Type) ref.Val {
	if m.goType.IsStruct() && want != types.MapType && want != types.TypeType {
		return types.NewErr("type conversion error from struct to %s", want.TypeName())
	}
	return convertWrapper(m, types.MapType, want)
}

// Equal implements ref.Val. The server compares two structs in Go.
func (m *goMap) Equal(other ref.Val) ref.Val {
	if o, ok := other.(*goMap); ok && m.goType.IsStruct() && o.goType.IsStruct() {
		return types.Bool(m.goType.String() == o.goType.String() && m.goType.Equal(m.entries, o.entries))
	}
	object, ok := other.(traits.Mapper)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	if m.Size() != object.Size() {
		return types.False
	}
	for it := m.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		value, found := object.Find(key)
		if !found {
			return types.False
		}
		if equal := m.Get(key).Equal(value); equal != types.True && m.goType.IsStruct() {
			return equal
		} else if equal != types.True {
			return types.False
		}
	}
	return types.True
}

// Find implements traits.Mapper.
func (m *goMap) Find(key ref.Val) (ref.Val, bool) {
	name, ok := key.(types.String)
	if !ok {
		return types.ValOrErr(key, "unsupported map key type: %T", key), false
	}
	value, found := m.entries[string(name)]
	if !found {
		return nil, false
	}
	return wrap(value, m.goType.At(string(name))), true
}

// Contains implements traits.Container.
func (m *goMap) Contains(key ref.Val) ref.Val {
	value, found := m.Find(key)
	if types.IsError(value) {
		return value
	}
	return types.Bool(found)
}

// Get implements traits.Indexer.
func (m *goMap) Get(key ref.Val) ref.Val {
	value, found := m.Find(key)
	if !found && value == nil {
		return types.ValOrErr(key, "no such key: %v", key)
	}
	return value
}

// Iterator implements traits.Iterable: the keys in their order, as in an orderedMap.
func (m *goMap) Iterator() traits.Iterator {
	keys := make([]ref.Val, 0, len(m.entries))
	for _, name := range slices.Sorted(maps.Keys(m.entries)) {
		keys = append(keys, types.String(name))
	}
	return types.NewRefValList(plainAdapter, keys).Iterator()
}

// Size implements traits.Sizer.
func (m *goMap) Size() ref.Val { return types.Int(len(m.entries)) }

// goValue is a slice, map or struct without its wrapper. CEL can convert slices and maps to its
// own values again, but not structs.
type goValue struct {
	json   any
	goType admission.GoType
}

// String is the value as Go prints it with %v.
func (v goValue) String() string { return v.goType.Print(v.json) }

// GoString is the value as Go prints it with %#v, if it has texts only.
func (v goValue) GoString() string {
	var items []string
	switch value := v.json.(type) {
	case []any:
		for _, item := range value {
			items = append(items, fmt.Sprintf("%#v", item))
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			items = append(items, fmt.Sprintf("%q:%#v", key, value[key]))
		}
	}
	return v.goType.String() + "{" + strings.Join(items, ", ") + "}"
}

// Type implements ref.Val.
func (v goValue) Type() ref.Type {
	if v.goType.IsList() {
		return types.ListType
	}
	return types.MapType
}

// Value implements ref.Val.
func (v goValue) Value() any { return v }

// Equal implements ref.Val.
func (v goValue) Equal(other ref.Val) ref.Val { return wrap(v.json, v.goType).Equal(other) }

// ConvertToType implements ref.Val.
func (v goValue) ConvertToType(want ref.Type) ref.Val {
	return wrap(v.json, v.goType).ConvertToType(want)
}

// ConvertToNative implements ref.Val.
func (v goValue) ConvertToNative(want reflect.Type) (any, error) {
	if foreign, found := foreignIn(v.json, v.goType); found {
		return nil, fmt.Errorf("unsupported conversion to ref.Val: (%v)%v", foreign.goType, foreign)
	}
	return plainAdapter.NativeToValue(v.json).ConvertToNative(want)
}

// foreignIn returns the first value of a type that CEL does not know.
func foreignIn(value any, goType admission.GoType) (goValue, bool) {
	if goType.IsStruct() || goType.IsQuantity() {
		return goValue{value, goType}, true
	}
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			if foreign, found := foreignIn(item, goType.Elem()); found {
				return foreign, true
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			if foreign, found := foreignIn(value[key], goType.At(key)); found {
				return foreign, true
			}
		}
	}
	return goValue{}, false
}

// goValueIn returns the first Go value in what has been converted.
func goValueIn(native any) (goValue, bool) {
	switch native := native.(type) {
	case goValue:
		return native, true
	case []any:
		for _, item := range native {
			if value, found := goValueIn(item); found {
				return value, true
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(native)) {
			if value, found := goValueIn(native[key]); found {
				return value, true
			}
		}
	}
	return goValue{}, false
}
