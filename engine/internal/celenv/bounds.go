package celenv

import (
	"reflect"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/preadmit/preadmit/engine/limit"
)

// CEL's costs limit the work of an expression, but the cost of a function is known only after it
// ran, and a value inside another value costs nothing, however large it is. So functions whose
// result may be much larger than their arguments check their arguments first, and the size of
// every new list and map is computed.

// sizesName is the variable that holds the sizes of an evaluation. Expressions cannot name it.
const sizesName = "@sizes"

// sizes computes and remembers the sizes of the values of one evaluation.
type sizes struct {
	known map[any]int
	// kept is the size of the variables.
	kept int
}

// check returns a new value, or an error if it is too large.
func (s *sizes) check(value ref.Val) ref.Val {
	if s.of(value) <= limit.ObjectBytes {
		return value
	}
	return types.WrapErr(limit.Exceeded(limit.Expression, "do not put a value into itself again and again",
		"the expression makes a list or map of more than %d MiB", limit.ObjectBytes>>20))
}

// keep counts the value of a variable.
func (s *sizes) keep(value ref.Val) ref.Val {
	if s.kept += s.of(value); s.kept <= limit.Texts {
		return value
	}
	return types.WrapErr(limit.Exceeded(limit.Expression, "compute less in variables", "the variables of the policy take more than %d MiB", limit.Texts>>20))
}

// of returns the size of a value as limit.Size counts it, or more than limit.ObjectBytes if the
// value is larger than that. Shared values are visited once.
func (s *sizes) of(value ref.Val) int {
	switch value := value.(type) {
	case types.String:
		return limit.Unit + len(value)
	case *objectValue:
		if value.size == 0 {
			value.size = s.sum(fieldsOf(value.fields))
		}
		return value.size
	case *patchValue:
		if value.value == nil {
			return limit.Unit
		}
		return limit.Unit + s.of(value.value)
	case *types.Optional:
		if value.HasValue() {
			return s.of(value.GetValue())
		}
	case *goList:
		return s.ofNative(value.items)
	case *goMap:
		return s.ofNative(value.entries)
	case traits.Lister, traits.Mapper:
		if reflect.TypeOf(value).Kind() == reflect.Pointer {
			return s.once(value, func() int { return s.ofCollection(value) })
		}
	}
	return limit.Unit
}

// once computes the size for a key once.
func (s *sizes) once(key any, size func() int) int {
	if n, ok := s.known[key]; ok {
		return n
	}
	n := size()
	s.note(key, n)
	return n
}

// note remembers the size for a key.
func (s *sizes) note(key any, size int) {
	if s.known == nil {
		s.known = map[any]int{}
	}
	s.known[key] = size
}

func (s *sizes) ofCollection(value ref.Val) int {
	switch native := unread(value).(type) {
	case []ref.Val:
		return s.sum(func(yield func(ref.Val) bool) {
			for _, item := range native {
				if !yield(item) {
					return
				}
			}
		})
	case map[ref.Val]ref.Val:
		return s.sum(func(yield func(ref.Val) bool) {
			for key, item := range native {
				if !yield(key) || !yield(item) {
					return
				}
			}
		})
	default:
		return s.ofNative(native)
	}
}

func (s *sizes) ofNative(native any) int {
	switch native := native.(type) {
	case map[string]any:
		return s.once(reflect.ValueOf(native).UnsafePointer(), func() int { return sizeOf(native) })
	case []any:
		if len(native) > 0 {
			return s.once(&native[0], func() int { return sizeOf(native) })
		}
	case []string:
		return sizeOf(native)
	}
	return limit.Unit
}

func sizeOf(native any) int {
	size, fits := limit.Size(native, limit.ObjectBytes)
	if !fits {
		return limit.ObjectBytes + 1
	}
	return size
}

func (s *sizes) sum(values func(yield func(ref.Val) bool)) int {
	total := limit.Unit
	for value := range values {
		if total += s.of(value); total > limit.ObjectBytes {
			break
		}
	}
	return total
}

func fieldsOf(fields map[string]ref.Val) func(yield func(ref.Val) bool) {
	return func(yield func(ref.Val) bool) {
		for name, value := range fields {
			if !yield(types.String(name)) || !yield(value) {
				return
			}
		}
	}
}

func sizesIn(vars interpreter.Activation) *sizes {
	found, _ := vars.ResolveName(sizesName)
	s, _ := found.(*sizes)
	return s
}

// sized is a decorator of programs. It computes the sizes of new lists and maps. Constant lists
// and maps are not sized: they are as small as the expression.
func sized(node interpreter.Interpretable) (interpreter.Interpretable, error) {
	switch node := node.(type) {
	case interpreter.InterpretableConstructor:
		for _, value := range node.InitVals() {
			if _, constant := value.(interpreter.InterpretableConst); !constant {
				return sizedConstructor{node}, nil
			}
		}
	case interpreter.InterpretableCall:
		if node.Function() == operators.Add && len(node.Args()) == 2 {
			return sizedAdd{node}, nil
		}
	}
	return node, nil
}

type sizedConstructor struct {
	interpreter.InterpretableConstructor
}

// Eval implements interpreter.Interpretable.
func (c sizedConstructor) Eval(vars interpreter.Activation) ref.Val {
	value := c.InterpretableConstructor.Eval(vars)
	if s := sizesIn(vars); s != nil {
		return s.check(value)
	}
	return value
}

type sizedAdd struct{ interpreter.InterpretableCall }

// Eval implements interpreter.Interpretable. The sum of two lists has the size of both, except
// for the list of a comprehension; cel-go would have to walk the sum.
func (c sizedAdd) Eval(vars interpreter.Activation) ref.Val {
	left := c.Args()[0].Eval(vars)
	right := c.Args()[1].Eval(vars)
	switch {
	case types.IsUnknownOrError(left):
		return left
	case types.IsUnknownOrError(right):
		return right
	}
	adder, ok := left.(traits.Adder)
	if !ok {
		return c.InterpretableCall.Eval(vars)
	}
	s := sizesIn(vars)
	_, isList := left.(traits.Lister)
	if _, growing := left.(traits.MutableLister); !isList || growing || s == nil {
		if sum := adder.Add(right); !types.IsError(sum) {
			return sum
		}
		return c.InterpretableCall.Eval(vars) // for its error text
	}
	if _, ok := right.(traits.Lister); !ok {
		return c.InterpretableCall.Eval(vars)
	}
	size := s.of(left) + s.of(right)
	sum := adder.Add(right)
	if reflect.TypeOf(sum).Kind() == reflect.Pointer {
		s.note(sum, size)
	}
	return s.check(sum)
}

// boundedStrings are text functions whose result grows with the product of the arguments.
func boundedStrings() []cel.EnvOption {
	text, integer, texts := cel.StringType, cel.IntType, cel.ListType(cel.StringType)
	return []cel.EnvOption{
		cel.Function("replace",
			cel.MemberOverload("string_replace_string_string", []*cel.Type{text, text, text}, text,
				cel.FunctionBinding(func(args ...ref.Val) ref.Val {
					return replaceText(args[0].(types.String), args[1].(types.String), args[2].(types.String), -1)
				})),
			cel.MemberOverload("string_replace_string_string_int", []*cel.Type{text, text, text, integer}, text,
				cel.FunctionBinding(func(args ...ref.Val) ref.Val {
					return replaceText(args[0].(types.String), args[1].(types.String), args[2].(types.String), int(args[3].(types.Int)))
				}))),
		cel.Function("join",
			cel.MemberOverload("list_join", []*cel.Type{texts}, text, cel.UnaryBinding(func(list ref.Val) ref.Val {
				return joinTexts(list.(traits.Lister), "")
			})),
			cel.MemberOverload("list_join_string", []*cel.Type{texts, text}, text, cel.BinaryBinding(func(list, separator ref.Val) ref.Val {
				return joinTexts(list.(traits.Lister), separator.(types.String))
			}))),
	}
}

// textTooLong returns the error of a text function.
func textTooLong(function string) ref.Val {
	return types.WrapErr(limit.Exceeded(limit.Expression, "no object in a cluster can hold a text as long",
		"%s: the text becomes longer than %d MiB", function, limit.TextBytes>>20))
}

func replaceText(text, old, replacement types.String, n int) ref.Val {
	count := strings.Count(string(text), string(old))
	if n >= 0 {
		count = min(count, n)
	}
	if len(text)+count*len(replacement) > limit.TextBytes {
		return textTooLong("replace")
	}
	return types.String(strings.Replace(string(text), string(old), string(replacement), n))
}

func joinTexts(list traits.Lister, separator types.String) ref.Val {
	var out strings.Builder
	for i := types.Int(0); i < list.Size().(types.Int); i++ {
		item := list.Get(i)
		text, ok := item.(types.String)
		if !ok {
			return types.NewErr("join: invalid input: %v", item)
		}
		if i > 0 {
			out.WriteString(string(separator))
		}
		if out.WriteString(string(text)); out.Len() > limit.TextBytes {
			return textTooLong("join")
		}
	}
	return types.String(out.String())
}

// boundedLists are list functions that do their work before cel-go computes the cost.
func boundedLists() []cel.EnvOption {
	anyList := cel.ListType(cel.TypeParamType("T"))
	return []cel.EnvOption{
		cel.Function("lists.range", cel.Overload("lists_range", []*cel.Type{cel.IntType}, cel.ListType(cel.IntType), cel.UnaryBinding(rangeOf))),
		cel.Function("distinct", cel.MemberOverload("list_distinct", []*cel.Type{anyList}, anyList, cel.UnaryBinding(distinct))),
	}
}

// boundedSets are functions that compare all items of two lists.
func boundedSets() []cel.EnvOption {
	lists := []*cel.Type{cel.ListType(cel.TypeParamType("T")), cel.ListType(cel.TypeParamType("T"))}
	sets := func(name, overload string, compare func(a, b traits.Lister) ref.Val) cel.EnvOption {
		return cel.Function(name, cel.Overload(overload, lists, cel.BoolType, cel.BinaryBinding(func(a, b ref.Val) ref.Val {
			n, m := a.(traits.Lister), b.(traits.Lister)
			if size := n.Size().(types.Int); size > 0 && m.Size().(types.Int) > celconfig.PerCallLimit/size {
				return overCost()
			}
			return compare(n, m)
		})))
	}
	return []cel.EnvOption{
		sets("sets.contains", "list_sets_contains_list", containsAll),
		sets("sets.equivalent", "list_sets_equivalent_list", func(a, b traits.Lister) ref.Val {
			if all := containsAll(a, b); all != types.True {
				return all
			}
			return containsAll(b, a)
		}),
		sets("sets.intersects", "list_sets_intersects_list", func(a, b traits.Lister) ref.Val {
			for it := a.Iterator(); it.HasNext() == types.True; {
				if b.Contains(it.Next()) == types.True {
					return types.True
				}
			}
			return types.False
		}),
	}
}

func containsAll(list, items traits.Lister) ref.Val {
	for it := items.Iterator(); it.HasNext() == types.True; {
		if contained := list.Contains(it.Next()); contained != types.True {
			return contained
		}
	}
	return types.True
}

// overCost returns the error of an expression that exceeds its cost.
func overCost() ref.Val { return types.NewErr("operation cancelled: actual cost limit exceeded") }

func rangeOf(n ref.Val) ref.Val {
	if n.(types.Int) > celconfig.PerCallLimit {
		return overCost()
	}
	list := make([]ref.Val, 0, max(0, n.(types.Int)))
	for i := types.Int(0); i < n.(types.Int); i++ {
		list = append(list, i)
	}
	return types.DefaultTypeAdapter.NativeToValue(list)
}

func distinct(value ref.Val) ref.Val {
	list := value.(traits.Lister)
	size := list.Size().(types.Int)
	switch {
	case size == 0:
		return list
	case size > celconfig.PerCallLimit/size:
		return overCost()
	}
	unique := make([]ref.Val, 0, size)
	for i := types.Int(0); i < size; i++ {
		item, seen := list.Get(i), false
		for j, other := range unique {
			if seen = types.Int(j) != i && item.Equal(other) == types.True; seen {
				break
			}
		}
		if !seen {
			unique = append(unique, item)
		}
	}
	return types.DefaultTypeAdapter.NativeToValue(unique)
}
