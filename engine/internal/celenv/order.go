package celenv

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// ordered is an adapter whose maps are iterated in the order of their keys. The maps of cel-go,
// and so of an API server, have Go's random order, so that a policy that lists the keys of a map
// would have a different result every time.
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

// ordering makes the comprehensions that return new maps, such as transformMap, return ordered
// ones. They create their maps without an adapter. It is nil if the expression has none.
func ordering(checked *ast.AST) []cel.ProgramOption {
	results := map[int64]bool{}
	ast.PreOrderVisit(checked.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.ComprehensionKind && e.AsComprehension().AccuInit().Kind() == ast.MapKind {
			results[e.AsComprehension().Result().ID()] = true
		}
	}))
	if len(results) == 0 {
		return nil
	}
	return []cel.ProgramOption{cel.CustomDecorator(func(node interpreter.Interpretable) (interpreter.Interpretable, error) {
		if attribute, ok := node.(interpreter.InterpretableAttribute); ok && results[node.ID()] {
			return orderedResult{attribute}, nil
		}
		return node, nil
	})}
}

// orderedResult is the variable that holds the new map of a comprehension.
type orderedResult struct {
	interpreter.InterpretableAttribute
}

// Eval implements interpreter.Interpretable.
func (r orderedResult) Eval(vars interpreter.Activation) ref.Val {
	value := r.InterpretableAttribute.Eval(vars)
	if m, ok := value.(traits.MutableMapper); ok {
		return &orderedMap{m.ToImmutableMap()}
	}
	return value
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
