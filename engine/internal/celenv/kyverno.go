package celenv

import (
	"fmt"
	"maps"
	"reflect"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/ext"

	"github.com/preadmit/preadmit/engine/internal/celenv/library"
)

// Kyverno returns the environment of the CEL policies of Kyverno v1.19.0: the environment of the
// newest Kubernetes version, and the libraries of github.com/kyverno/sdk with their signatures,
// types and error texts. In namespaced policies, resource has other signatures.
//
// Differences where v1.19.0 deviates from its documentation:
//
//   - the argument of orValue is evaluated only if it is needed (Kyverno: its errors always count)
//   - the result of http.Client can be called (Kyverno: no such overload)
//   - json.marshal accepts nested literals (Kyverno: unsupported type)
func Kyverno(namespaced bool) *Env {
	if namespaced {
		return namespacedKyverno()
	}
	return clusterKyverno()
}

// Environments are created once.
var (
	clusterKyverno    = sync.OnceValue(func() *Env { return newKyverno(false) })
	namespacedKyverno = sync.OnceValue(func() *Env { return newKyverno(true) })
)

func newKyverno(namespaced bool) *Env {
	return newEnv(host{
		minor:     kyvernoMinor,
		libraries: func() []cel.EnvOption { return kyvernoLibraries(namespaced) },
		variables: kyvernoVariables,
		types:     kyvernoTypes(),
		variable:  kyvernoVariablesType,
		dialect:   func(dialect) dialect { return dialect{variables: true, patches: true} },
		keepTypes: true,
		programs:  []cel.ProgramOption{cel.CustomDecorator(answered)},
		words:     kyvernoWords,
	})
}

// kyvernoMinor is the minor version of Kubernetes whose code Kyverno v1.19.0 uses.
const kyvernoMinor = 36

// kyvernoLibrary declares Kyverno's libraries. It converts the results of their functions to CEL
// values.
type kyvernoLibrary struct{ types.Adapter }

func kyvernoLibraries(namespaced bool) []cel.EnvOption {
	l := kyvernoLibrary{ordered{types.DefaultTypeAdapter}}
	options := []cel.EnvOption{
		ext.Bindings(), ext.Encoders(), ext.Math(), ext.Protos(), ext.Regex(ext.RegexVersion(1)), library.JSONPatch(),
	}
	for _, part := range [][]cel.EnvOption{
		l.resource(namespaced), l.globalContext(), l.http(), l.imageData(), l.chance(), l.orValue(), l.times(),
		l.images(), l.texts(), l.certificates(), l.values(), boundedRegex(),
	} {
		options = append(options, part...)
	}
	return options
}

// kyvernoVariablesType is the type of the variable variables.
var kyvernoVariablesType = types.NewObjectType("kyverno.variables")

// kyvernoVariables declares the variables of all expressions, except for the variables of the
// libraries.
func kyvernoVariables(object *cel.Type) []cel.EnvOption {
	return append(inputVariables(object), cel.Variable("exceptions", exceptionType))
}

// kyvernoRecords are the declared types that only Kyverno has.
var kyvernoRecords = map[string]map[string]*types.Type{
	"user.ServiceAccount": {"Name": types.StringType, "Namespace": types.StringType},
	"libs.Exception":      {"allowedImages": stringList, "allowedValues": stringList},
}

// kyvernoTypes returns the declared types: those of Kubernetes, with two more fields in the
// request.
func kyvernoTypes() map[string]map[string]*types.Type {
	all := maps.Clone(structs)
	maps.Copy(all, kyvernoRecords)
	request := maps.Clone(structs[requestType.TypeName()])
	request["object"], request["oldObject"] = types.DynType, types.DynType
	all[requestType.TypeName()] = request
	return all
}

// kyvernoWords are the error texts of Kyverno v1.19.0.
var kyvernoWords = words{
	compilation: func(issues string) string { return issues },
	mismatch: func(want, _ *types.Type) string {
		return fmt.Sprintf("output is expected to be of type %s", want.TypeName())
	},
	evaluation: func(_ string, err error) error { return err },
	variable:   func(_ string, err error) error { return err },
	nested:     "Kyverno 1.19.0 crashes on it",
}

// nativeOf converts a value to a Go value; the error is CEL's.
func nativeOf[T any](value ref.Val) (T, error) {
	native, err := value.ConvertToNative(reflect.TypeFor[T]())
	if err != nil {
		var none T
		return none, err
	}
	return native.(T), nil
}

// Exceptions is the value of the variable exceptions: what partial exceptions allow.
type Exceptions struct{ Images, Values []string }

func (e Exceptions) value() ref.Val {
	return newRecord(exceptionType.TypeName(), map[string]ref.Val{
		"allowedImages": types.NewStringList(types.DefaultTypeAdapter, e.Images),
		"allowedValues": types.NewStringList(types.DefaultTypeAdapter, e.Values),
	})
}

// Annotation compiles the value of an audit annotation, which must be a string or null.
func (s *Scope) Annotation(expression string) (*Program, error) {
	program, err := s.compile(dialect{}, expression, nil)
	if err == nil && !program.output.IsExactType(types.StringType) && !program.output.IsExactType(types.NullType) {
		err = &CompileError{Text: fmt.Sprintf("output is expected to be either of type %s or %s", types.StringType.TypeName(), types.NullType.TypeName())}
	}
	return program, errorOf(err)
}

// Targets compiles an expression that returns the targets of a policy, which must have the type
// that resource.Get and resource.List return.
func (s *Scope) Targets(expression string) (*Program, error) {
	program, err := s.compile(dialect{}, expression, nil)
	if err == nil && !program.output.IsExactType(objectMap) {
		err = &CompileError{Text: "output type must be a map"}
	}
	return program, errorOf(err)
}

// SetObject sets the object that expressions see. Evaluated variables keep their values.
func (a *Activation) SetObject(object map[string]any) { a.input.Object = object }

// Targets evaluates the expression of targets. The result is an object, or a map with a list of
// objects under items; nil if there are no targets.
func (a *Activation) Targets(p *Program) (map[string]any, error) {
	value, err := a.eval(p, nil)
	if err != nil || value == types.NullValue {
		return nil, err
	}
	found, ok := value.Value().(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the expression evaluates to a %s, and not to an object or a list of them", value.Type().TypeName())
	}
	return found, nil
}

// Variables returns the programs of the variables that compile.
func (s *Scope) Variables() []*Program {
	var programs []*Program
	for _, v := range s.variables {
		if v.program != nil {
			programs = append(programs, v.program)
		}
	}
	return programs
}

// Mentions reports whether an expression uses a variable with that name.
func (p *Program) Mentions(name string) bool {
	found := false
	ast.PreOrderVisit(p.expr, ast.NewExprVisitor(func(e ast.Expr) {
		found = found || e.Kind() == ast.IdentKind && e.AsIdent() == name
	}))
	return found
}

// Call is a call of a function of a library.
type Call struct {
	Function string
	args     []ast.Expr
}

// Literals returns the first n arguments of a call: "" for those that are missing or are not literal
// texts.
func (c Call) Literals(n int) []string {
	texts := make([]string, n)
	for i, arg := range c.args[:min(n, len(c.args))] {
		if arg.Kind() == ast.LiteralKind {
			texts[i], _ = arg.AsLiteral().Value().(string)
		}
	}
	return texts
}

// Calls returns the calls of the functions of a library, such as those of resource.
func (p *Program) Calls(library string) []Call {
	var calls []Call
	ast.PreOrderVisit(p.expr, ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind || !e.AsCall().IsMemberFunction() {
			return
		}
		if target := e.AsCall().Target(); target.Kind() == ast.IdentKind && target.AsIdent() == library {
			calls = append(calls, Call{e.AsCall().FunctionName(), e.AsCall().Args()})
		}
	}))
	return calls
}

// HideNamespace makes namespaceObject null.
func (a *Activation) HideNamespace() { a.input.Namespace = nil }

// HideVariables removes the variable variables.
func (a *Activation) HideVariables() { a.variables = nil }
