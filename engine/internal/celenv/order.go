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

// ordered is an adapter whose maps are iterated in the order of their keys. The maps of cel-go,
// and so of an API server, have Go's random order, so that a policy that lists the keys of a map
// would have a different result every time. Maps that transformMap creates do not use an
// adapter, and keep the random order.
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

// Iterator implements traits.Iterable. Strings come first, in order, and other keys after them.
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

// String returns the map as cel-go v0.26 prints it, but in order.
func (m *orderedMap) String() string {
	var entries []string
	for it := m.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		entries = append(entries, fmt.Sprintf("%v: %v", key, m.Get(key)))
	}
	return "{" + strings.Join(entries, ", ") + "}"
}
