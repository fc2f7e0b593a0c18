package celenv

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// ordered is an adapter whose maps are gone through in the order of their keys. Those of
// cel-go, and so of an API server, have Go's random order: a policy that writes down the
// keys of a map would give another result every time. Maps that transformMap makes do not
// come through an adapter, and stay in that order.
type ordered struct{ types.Adapter }

// NativeToValue implements types.Adapter.
func (a ordered) NativeToValue(value any) ref.Val {
	switch value := value.(type) {
	case map[string]any:
		return &orderedMap{types.NewStringInterfaceMap(a, value)}
	case map[string]string:
		return &orderedMap{types.NewStringStringMap(a, value)}
	case map[ref.Val]ref.Val:
		return &orderedMap{types.NewRefValMap(a, value)}
	case []any:
		return types.NewDynamicList(a, value)
	case []ref.Val:
		return types.NewRefValList(a, value)
	}
	return a.Adapter.NativeToValue(value)
}

// orderedMap is a map of cel-go with another order.
type orderedMap struct{ traits.Mapper }

// Iterator implements traits.Iterable: text in its order, other keys after it in theirs.
func (m *orderedMap) Iterator() traits.Iterator {
	var keys []ref.Val
	for it := m.Mapper.Iterator(); it.HasNext() == types.True; {
		keys = append(keys, it.Next())
	}
	slices.SortFunc(keys, compareKeys)
	return types.NewRefValList(types.DefaultTypeAdapter, keys).Iterator()
}

func compareKeys(a, b ref.Val) int {
	x, isText := a.(types.String)
	y, isToo := b.(types.String)
	switch {
	case isText && isToo:
		return cmp.Compare(x, y)
	case isText:
		return -1
	case isToo:
		return 1
	}
	if c, ok := a.(traits.Comparer); ok {
		if order, ok := c.Compare(b).(types.Int); ok {
			return int(order)
		}
	}
	return cmp.Compare(a.Type().TypeName(), b.Type().TypeName())
}

// IsZeroValue implements traits.Zeroer.
func (m *orderedMap) IsZeroValue() bool { return m.Size() == types.IntZero }

// String is the map as cel-go v0.26 prints it, in order.
func (m *orderedMap) String() string {
	var entries []string
	for it := m.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		entries = append(entries, fmt.Sprintf("%v: %v", key, m.Get(key)))
	}
	return "{" + strings.Join(entries, ", ") + "}"
}
