package library

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// comparable are the types of ordered items. Items with a zero can be added up, starting with
// the zero.
var comparable = []struct {
	name string
	typ  *cel.Type
}{
	{"int", cel.IntType},
	{"uint", cel.UintType},
	{"double", cel.DoubleType},
	{"bool", cel.BoolType},
	{"duration", cel.DurationType},
	{"timestamp", cel.TimestampType},
	{"string", cel.StringType},
	{"bytes", cel.BytesType},
}

var zeros = map[string]ref.Val{
	"int": types.IntZero, "uint": types.Uint(0), "double": types.Double(0), "duration": types.Duration{},
}

// Lists returns the library of lists.
func Lists() cel.EnvOption {
	var isSorted, sum, largest, smallest []cel.FunctionOpt
	for _, item := range comparable {
		list := signature{cel.ListType(item.typ)}
		isSorted = append(isSorted, cel.MemberOverload("list_"+item.name+"_is_sorted_bool", list, cel.BoolType, cel.UnaryBinding(sorted)))
		largest = append(largest, cel.MemberOverload("list_"+item.name+"_max_"+item.name, list, item.typ, extreme("max", types.IntNegOne)))
		smallest = append(smallest, cel.MemberOverload("list_"+item.name+"_min_"+item.name, list, item.typ, extreme("min", types.IntOne)))
		if zero := zeros[item.name]; zero != nil {
			sum = append(sum, cel.MemberOverload("list_"+item.name+"_sum_"+item.name, list, item.typ, summing(zero)))
		}
	}
	item := cel.TypeParamType("A")
	search := signature{cel.ListType(item), item}
	return newLibrary(
		cel.Function("isSorted", isSorted...),
		cel.Function("sum", sum...),
		cel.Function("max", largest...),
		cel.Function("min", smallest...),
		on(search, "indexOf", "list_a_index_of_int", cel.IntType, cel.BinaryBinding(indexOf)),
		on(search, "lastIndexOf", "list_a_last_index_of_int", cel.IntType, cel.BinaryBinding(lastIndexOf)),
	)
}

// items iterates over a list.
func items(list ref.Val) func(yield func(ref.Val) bool) {
	return func(yield func(ref.Val) bool) {
		for it := list.(traits.Iterable).Iterator(); it.HasNext() == types.True; {
			if !yield(it.Next()) {
				return
			}
		}
	}
}

func sorted(list ref.Val) ref.Val {
	var last traits.Comparer
	for item := range items(list) {
		next, ok := item.(traits.Comparer)
		if !ok {
			return types.MaybeNoSuchOverloadErr(item)
		}
		if last != nil && last.Compare(item) == types.IntOne {
			return types.False
		}
		last = next
	}
	return types.True
}

func summing(zero ref.Val) cel.OverloadOpt {
	return cel.UnaryBinding(func(list ref.Val) ref.Val {
		sum := zero
		for item := range items(list) {
			if _, ok := item.(traits.Adder); !ok {
				return types.MaybeNoSuchOverloadErr(item)
			}
			sum = sum.(traits.Adder).Add(item)
			if _, ok := sum.(traits.Adder); !ok {
				return types.MaybeNoSuchOverloadErr(sum)
			}
		}
		return sum
	})
}

// extreme finds the first item such that comparing another item with it never gives worse.
func extreme(name string, worse ref.Val) cel.OverloadOpt {
	return cel.UnaryBinding(func(list ref.Val) ref.Val {
		var best traits.Comparer
		for item := range items(list) {
			next, ok := item.(traits.Comparer)
			if !ok {
				return types.MaybeNoSuchOverloadErr(item)
			}
			if best == nil || best.Compare(item) == worse {
				best = next
			}
		}
		if best == nil {
			return types.NewErr("%s called on empty list", name)
		}
		return best.(ref.Val)
	})
}

func indexOf(list, item ref.Val) ref.Val {
	l := list.(traits.Lister)
	for i := range l.Size().(types.Int) {
		if l.Get(i).Equal(item) == types.True {
			return i
		}
	}
	return types.IntNegOne
}

func lastIndexOf(list, item ref.Val) ref.Val {
	l := list.(traits.Lister)
	for i := l.Size().(types.Int) - 1; i >= 0; i-- {
		if l.Get(i).Equal(item) == types.True {
			return i
		}
	}
	return types.IntNegOne
}
