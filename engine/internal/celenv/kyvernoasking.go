package celenv

import (
	"fmt"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"github.com/preadmit/preadmit/engine/internal/number"
)

// globalContext declares the variable globalContext and its members.
func (l kyvernoLibrary) globalContext() []cel.EnvOption {
	self := contextTypes["globalContext"]
	entry := func(values ...ref.Val) ref.Val {
		name, projection := string(values[1].(types.String)), ""
		if len(values) > 2 {
			projection = string(values[2].(types.String))
		}
		data, failed := ask(values[0], "failed to get global reference", func(w World) (any, error) { return w.Entry(name, projection) })
		if failed != nil {
			return failed
		}
		return l.NativeToValue(data)
	}
	options := []cel.EnvOption{cel.Variable("globalContext", self)}
	for _, name := range []string{"Get", "get"} {
		options = append(options, cel.Function(name,
			cel.MemberOverload("globalcontext_"+name+"_string", []*cel.Type{self, cel.StringType}, cel.DynType, cel.FunctionBinding(entry)),
			cel.MemberOverload("globalcontext_"+name+"_string_string", []*cel.Type{self, cel.StringType, cel.StringType}, cel.DynType, cel.FunctionBinding(entry)),
		))
	}
	return options
}

// http declares the variable http and its members. Headers and bodies do not affect the answer.
func (l kyvernoLibrary) http() []cel.EnvOption {
	self, headers := contextTypes["http"], cel.MapType(cel.StringType, cel.StringType)
	request := func(method string) cel.OverloadOpt {
		return cel.FunctionBinding(func(values ...ref.Val) ref.Val {
			url := string(values[1].(types.String))
			var status int64
			body, failed := ask(values[0], "request failed", func(w World) (body any, err error) {
				body, status, err = w.Request(method, url)
				return body, err
			})
			if failed != nil {
				return failed
			}
			// The status is added to an answer that is an object.
			answer, ok := number.Floats(body).(map[string]any)
			if !ok {
				answer = map[string]any{"body": number.Floats(body)}
			}
			answer["statusCode"] = status
			return l.NativeToValue(answer)
		})
	}
	options := []cel.EnvOption{cel.Variable("http", self)}
	for _, names := range [][3]string{{"Get", "Post", "Client"}, {"get", "post", "client"}} {
		options = append(options,
			cel.Function(names[0],
				cel.MemberOverload("http_"+names[0]+"_string", []*cel.Type{self, cel.StringType}, cel.AnyType, request("GET")),
				cel.MemberOverload("http_"+names[0]+"_string_headers", []*cel.Type{self, cel.StringType, headers}, cel.AnyType, request("GET"))),
			cel.Function(names[1],
				cel.MemberOverload("http_"+names[1]+"_string_any", []*cel.Type{self, cel.StringType, cel.AnyType}, cel.AnyType, request("POST")),
				cel.MemberOverload("http_"+names[1]+"_string_any_headers", []*cel.Type{self, cel.StringType, cel.AnyType, headers}, cel.AnyType, request("POST"))),
			cel.Function(names[2],
				cel.MemberOverload("http_"+names[2]+"_string", []*cel.Type{self, cel.StringType}, self,
					cel.BinaryBinding(func(client, certificates ref.Val) ref.Val { return client }))),
		)
	}
	return options
}

// imageData declares the variable image, which differs from the function image.
func (l kyvernoLibrary) imageData() []cel.EnvOption {
	self := contextTypes["image"]
	options := []cel.EnvOption{cel.Variable("image", self)}
	for _, name := range []string{"GetMetadata", "getMetadata"} {
		options = append(options, cel.Function(name, cel.MemberOverload("imagedata_"+name+"_string", []*cel.Type{self, cel.StringType}, cel.DynType,
			cel.BinaryBinding(func(target, reference ref.Val) ref.Val {
				data, failed := ask(target, "failed to get image data", func(w World) (map[string]any, error) {
					return w.Image(string(reference.(types.String)))
				})
				if failed != nil {
					return failed
				}
				return l.NativeToValue(number.Floats(data))
			}))))
	}
	return options
}

// defaultPattern is the pattern of random() without an argument.
const defaultPattern = "[0-9a-z]{8}"

// chance declares functions whose result differs in every run. They have no argument with a
// World: see answered.
func (l kyvernoLibrary) chance() []cel.EnvOption {
	unanswered := cel.FunctionBinding(func(...ref.Val) ref.Val { return types.WrapErr(errNoWorld) })
	options := []cel.EnvOption{cel.Function("time.now", cel.Overload("time_now", nil, cel.TimestampType, unanswered))}
	for _, name := range []string{"random", "random.random"} {
		id := map[string]string{"random": "random_string_non_prefixed", "random.random": "random_string_prefixed"}[name]
		options = append(options, cel.Function(name,
			cel.Overload(id, []*cel.Type{cel.StringType}, cel.StringType, unanswered),
			cel.Overload(id+"_default", nil, cel.StringType, unanswered)))
	}
	return options
}

// answered is a decorator of Kyverno's programs. It gives functions of chance and orValue the
// World of the evaluation.
func answered(node interpreter.Interpretable) (interpreter.Interpretable, error) {
	call, ok := node.(interpreter.InterpretableCall)
	if !ok {
		return node, nil
	}
	switch call.Function() {
	case "time.now":
		return chanceCall{call, func(w World, _ string) (ref.Val, error) {
			now, err := w.Now()
			return types.Timestamp{Time: now.UTC()}, err
		}}, nil
	case "random", "random.random":
		return chanceCall{call, func(w World, pattern string) (ref.Val, error) {
			text, err := w.Random(pattern)
			return types.String(text), err
		}}, nil
	}
	return node, nil
}

// chanceCall is a call that the World answers.
type chanceCall struct {
	interpreter.InterpretableCall
	answer func(w World, pattern string) (ref.Val, error)
}

// Eval implements interpreter.Interpretable.
func (c chanceCall) Eval(vars interpreter.Activation) ref.Val {
	pattern := defaultPattern
	if args := c.Args(); len(args) > 0 {
		value := args[0].Eval(vars)
		text, ok := value.(types.String)
		if !ok {
			return types.MaybeNoSuchOverloadErr(value)
		}
		pattern = string(text)
	}
	w := worldIn(vars)
	if w == nil {
		return types.WrapErr(errNoWorld)
	}
	value, err := c.answer(w, pattern)
	if err != nil {
		return types.WrapErr(err)
	}
	return value
}

// orValueFunction is the function that the macro orValue calls.
const orValueFunction = "__orValueCompat__"

// orValue replaces x.orValue(y) by a call of its own function, as Kyverno does: x need not be
// optional, the type of the result is dynamic, and y is evaluated even if it is not needed.
func (kyvernoLibrary) orValue() []cel.EnvOption {
	return []cel.EnvOption{
		cel.Macros(cel.ReceiverMacro("orValue", 1, expandOrValue)),
		cel.Function(orValueFunction, cel.Overload("__orValueCompat___dyn_dyn", []*cel.Type{cel.DynType, cel.DynType}, cel.DynType,
			cel.BinaryBinding(func(value, other ref.Val) ref.Val { return orValue(value, other) }))),
	}
}

func expandOrValue(factory cel.MacroExprFactory, target ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
	return factory.NewCall(orValueFunction, target, args[0]), nil
}

// orValue returns the value, or the other value if the first is an empty optional.
func orValue(value, other ref.Val) ref.Val {
	optional, ok := value.(*types.Optional)
	switch {
	case !ok:
		return value
	case optional.HasValue():
		return optional.GetValue()
	}
	return other
}

// times declares functions on times.
func (l kyvernoLibrary) times() []cel.EnvOption {
	return []cel.EnvOption{
		cel.Function("time.toCron", cel.Overload("time_to_cron", []*cel.Type{cel.TimestampType}, cel.StringType, cel.UnaryBinding(func(value ref.Val) ref.Val {
			t := value.(types.Timestamp)
			return types.String(fmt.Sprintf("%d %d %d %d %d", t.Minute(), t.Hour(), t.Day(), t.Month(), t.Weekday()))
		}))),
		cel.Function("time.truncate", cel.Overload("time_truncate", []*cel.Type{cel.TimestampType, cel.DurationType}, cel.TimestampType, cel.BinaryBinding(func(value, unit ref.Val) ref.Val {
			return types.Timestamp{Time: value.(types.Timestamp).Truncate(time.Duration(unit.(types.Duration).Duration))}
		}))),
	}
}
