package library

import (
	"regexp"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/decls"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// JSONPatch returns the library for the paths of JSON patches.
func JSONPatch() cel.EnvOption { return newLibrary(cel.FunctionDecls(EscapeKey())) }

// EscapeKey returns the function of JSONPatch that escapes a key for a path.
var EscapeKey = sync.OnceValue(func() *decls.FunctionDecl {
	escaper := strings.NewReplacer("~", "~0", "/", "~1")
	function, err := decls.NewFunction("jsonpatch.escapeKey",
		decls.Overload("string_jsonpatch_escapeKey_string", signature{cel.StringType}, cel.StringType, text(escaper.Replace)))
	if err != nil {
		panic(err)
	}
	return function
})

// Regex returns the library that finds matches of a regular expression. A constant regular
// expression is compiled with the program.
func Regex() cel.EnvOption {
	str, texts := cel.StringType, cel.ListType(cel.StringType)
	return cel.Lib(library{
		functions: []cel.EnvOption{
			on(signature{str, str}, "find", "string_find_string", str, cel.BinaryBinding(func(s, pattern ref.Val) ref.Val {
				return find.in(s, pattern)
			})),
			cel.Function("findAll",
				cel.MemberOverload("string_find_all_string", signature{str, str}, texts, cel.BinaryBinding(func(s, pattern ref.Val) ref.Val {
					return findAll.in(s, pattern)
				})),
				cel.MemberOverload("string_find_all_string_int", signature{str, str, cel.IntType}, texts, cel.FunctionBinding(findAll.in))),
		},
		programs: []cel.ProgramOption{cel.OptimizeRegex(compiled("find", find), compiled("findAll", findAll))},
	})
}

// finder implements a function for a compiled regular expression; args are all arguments.
type finder func(r *regexp.Regexp, args []ref.Val) ref.Val

var find finder = func(r *regexp.Regexp, args []ref.Val) ref.Val {
	return types.String(r.FindString(string(args[0].(types.String))))
}

var findAll finder = func(r *regexp.Regexp, args []ref.Val) ref.Val {
	limit := -1
	if len(args) == 3 {
		limit = int(args[2].(types.Int))
	}
	return types.NewStringList(types.DefaultTypeAdapter, r.FindAllString(string(args[0].(types.String)), limit))
}

// in calls the finder with the pattern in the second argument.
func (f finder) in(args ...ref.Val) ref.Val {
	r, err := regexp.Compile(string(args[1].(types.String)))
	if err != nil {
		return types.NewErr("Illegal regex: %v", err)
	}
	return f(r, args)
}

func compiled(function string, f finder) *interpreter.RegexOptimization {
	return &interpreter.RegexOptimization{
		Function: function, RegexIndex: 1,
		Factory: func(call interpreter.InterpretableCall, pattern string) (interpreter.InterpretableCall, error) {
			r, err := regexp.Compile(pattern)
			if err != nil {
				return nil, err
			}
			return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(), func(args ...ref.Val) ref.Val {
				if _, ok := args[0].(types.String); !ok {
					return types.MaybeNoSuchOverloadErr(args[0])
				}
				if len(args) == 3 && args[2].Type() != types.IntType {
					return types.MaybeNoSuchOverloadErr(args[2])
				}
				return f(r, args)
			}), nil
		},
	}
}
