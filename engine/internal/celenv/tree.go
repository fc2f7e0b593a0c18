package celenv

import (
	"context"
	"encoding/base64"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"

	"github.com/preadmit/preadmit/engine/internal/number"
	"github.com/preadmit/preadmit/engine/source"
)

// bindingsType is the type of the variable bindings: its fields are dynamic.
var bindingsType = types.NewObjectType("preadmit.bindings")

// buildTree returns the environment of expressions in mutation trees: the functions of admission
// policies, the variable object with the value at the expression's place, and bindings, whose
// entries are read as bindings.name, or as bindings.resolve("name") as in kyverno-json.
func (e *Env) buildTree() (*cel.Env, error) {
	shared, err := e.functions()
	if err != nil {
		return nil, err
	}
	return shared.Extend(
		cel.CustomTypeAdapter(ordered{shared.CELTypeAdapter()}),
		cel.Variable("object", cel.DynType),
		cel.Variable("bindings", cel.DynType),
		cel.Function("resolve", cel.MemberOverload("bindings_resolve_string", []*cel.Type{cel.DynType, cel.StringType}, cel.DynType,
			cel.BinaryBinding(func(target, name ref.Val) ref.Val {
				if bound, ok := target.(*bindingValue); ok {
					return bound.Get(name)
				}
				return types.NewErr("resolve is a function of bindings")
			}))),
	)
}

// TreeProgram is a compiled expression of a mutation tree. It is safe for concurrent
// use.
type TreeProgram struct{ program cel.Program }

// TreeExpression compiles an expression of a mutation tree, which may be of any type.
func (e *Env) TreeExpression(expression string) (*TreeProgram, *CompileError) {
	env, err := e.tree()
	if err != nil {
		return nil, internalError(err)
	}
	trimmed := strings.TrimSpace(expression)
	e.mu.Lock() // cel-go's checker writes to the environment
	checked, issues := compileIn(env, trimmed)
	var mend source.Mend
	if issues.Err() != nil {
		mend = mendOf(env, nil, trimmed, issues)
	}
	e.mu.Unlock()
	if issues.Err() != nil {
		return nil, compileError(expression, trimmed, issues.String(), issues, mend)
	}
	program, err := env.Program(checked, slices.Concat(programOptions, ordering(checked.NativeRep()))...)
	if err != nil {
		return nil, internalError(err)
	}
	return &TreeProgram{program}, nil
}

// Evaluate evaluates the expression on a value. resolve finds bindings by name.
func (p *TreeProgram) Evaluate(ctx context.Context, value any, resolve func(name string) (any, error)) (any, error) {
	activation, err := interpreter.NewActivation(map[string]any{"object": value, "bindings": &bindingValue{opaque{bindingsType}, resolve}, sizesName: &sizes{known: map[any]int{}}})
	if err != nil {
		return nil, err
	}
	result, _, err := p.program.ContextEval(ctx, activation)
	if err != nil {
		return nil, err
	}
	return manifestValue(result)
}

// bindingValue is the value of bindings.
type bindingValue struct {
	opaque
	resolve func(name string) (any, error)
}

// Get implements traits.Indexer.
func (b *bindingValue) Get(name ref.Val) ref.Val {
	text, ok := name.(types.String)
	if !ok {
		return types.NewErr("the name of a binding is a string")
	}
	value, err := b.resolve(string(text))
	if err != nil {
		return types.WrapErr(err)
	}
	return ordered{types.DefaultTypeAdapter}.NativeToValue(value)
}

// Equal implements ref.Val.
func (b *bindingValue) Equal(other ref.Val) ref.Val { return types.Bool(ref.Val(b) == other) }

// Value implements ref.Val.
func (b *bindingValue) Value() any { return b }

// manifestValue converts a result to a value of a manifest. Bytes become base64; timestamps and
// durations become the strings that Kubernetes writes.
func manifestValue(value ref.Val) (any, error) {
	switch value := value.(type) {
	case types.Null:
		return nil, nil
	case types.Bool:
		return bool(value), nil
	case types.String:
		return string(value), nil
	case types.Int:
		return int64(value), nil
	case types.Uint:
		if value > math.MaxInt64 {
			return nil, fmt.Errorf("the result %d is too large for a manifest", uint64(value))
		}
		return int64(value), nil
	case types.Double:
		return manifestNumber(float64(value))
	case types.Bytes:
		return base64.StdEncoding.EncodeToString(value), nil
	case types.Timestamp:
		return value.Time.Format(time.RFC3339Nano), nil
	case types.Duration:
		return value.Duration.String(), nil
	case *types.Optional:
		if !value.HasValue() {
			return nil, nil
		}
		return manifestValue(value.GetValue())
	case traits.Mapper, traits.Lister:
		return parts(value, manifestValue, stringKey("the result is a map with keys that are not strings"))
	default:
		return nil, fmt.Errorf("the result is of type %s, which no manifest can hold", value.Type().TypeName())
	}
}

// manifestNumber converts a float without a fraction to an integer, as YAML does.
func manifestNumber(f float64) (any, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, fmt.Errorf("the result is %v, which no manifest can hold", f)
	}
	return number.Whole(f), nil
}
