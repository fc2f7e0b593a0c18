// Package library has the functions that the API server adds to CEL, as of k8s.io/apiserver
// v0.36.3, and their costs. Values have the API server's types of k8s.io/apiserver/pkg/cel. The
// package pkg/cel/library there has the same functions, but it imports feature gates, metrics
// registries and an HTTP client: it costs every run 4 milliseconds of processor time, a third of
// a run with one policy (go -C engine/internal/bench run . measures it again). The tests compare
// with it: every overload has the same declaration, values, errors and cost.
//
// The files in order: library.go (how a library is declared), authz.go, formats.go,
// lists.go, network.go (IP addresses and CIDR), quantity.go, semver.go, texts.go
// (regular expressions, JSON pointers), urls.go, cost.go (costs of calls), estimate.go (costs before a
// call).
package library

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// library is a set of functions; programs are options of the programs that call them.
type library struct {
	functions []cel.EnvOption
	programs  []cel.ProgramOption
}

// CompileOptions implements cel.Library.
func (l library) CompileOptions() []cel.EnvOption { return l.functions }

// ProgramOptions implements cel.Library.
func (l library) ProgramOptions() []cel.ProgramOption { return l.programs }

func newLibrary(functions ...cel.EnvOption) cel.EnvOption {
	return cel.Lib(library{functions: functions})
}

// signature has the types of the arguments of a function.
type signature []*cel.Type

// on declares a member function with one overload.
func on(arguments signature, name, overload string, result *cel.Type, call cel.OverloadOpt) cel.EnvOption {
	return cel.Function(name, cel.MemberOverload(overload, arguments, result, call))
}

// of declares a global function with one overload.
func of(arguments signature, name, overload string, result *cel.Type, call cel.OverloadOpt) cel.EnvOption {
	return cel.Function(name, cel.Overload(overload, arguments, result, call))
}

// unary converts a function of a Go value to a function of a CEL value.
func unary[T any](call func(T) ref.Val) cel.OverloadOpt {
	return cel.UnaryBinding(func(arg ref.Val) ref.Val {
		value, ok := arg.Value().(T)
		if !ok {
			return types.MaybeNoSuchOverloadErr(arg)
		}
		return call(value)
	})
}

// binary converts a function of two Go values to a function of CEL values.
func binary[T, U any](call func(T, U) ref.Val) cel.OverloadOpt {
	return cel.BinaryBinding(func(arg, other ref.Val) ref.Val {
		first, ok := arg.Value().(T)
		if !ok {
			return types.MaybeNoSuchOverloadErr(arg)
		}
		second, ok := other.Value().(U)
		if !ok {
			return types.MaybeNoSuchOverloadErr(arg)
		}
		return call(first, second)
	})
}

// boolean and text convert functions of one Go value with a result of that type.
func boolean[T any](call func(T) bool) cel.OverloadOpt {
	return unary(func(value T) ref.Val { return types.Bool(call(value)) })
}

func text[T any](call func(T) string) cel.OverloadOpt {
	return unary(func(value T) ref.Val { return types.String(call(value)) })
}

func integer[T any, N int | int64 | uint64](call func(T) N) cel.OverloadOpt {
	return unary(func(value T) ref.Val { return types.Int(call(value)) })
}

// comparisons returns the functions of an ordered type. compare returns a negative, zero or
// positive number.
func comparisons[T any](typ *cel.Type, prefix string, compare func(a, b T) int) []cel.EnvOption {
	pair := signature{typ, typ}
	return []cel.EnvOption{
		on(pair, "isGreaterThan", prefix+"_is_greater_than", cel.BoolType, binary(func(a, b T) ref.Val { return types.Bool(compare(a, b) > 0) })),
		on(pair, "isLessThan", prefix+"_is_less_than", cel.BoolType, binary(func(a, b T) ref.Val { return types.Bool(compare(a, b) < 0) })),
		on(pair, "compareTo", prefix+"_compare_to", cel.IntType, binary(func(a, b T) ref.Val { return types.Int(compare(a, b)) })),
	}
}
