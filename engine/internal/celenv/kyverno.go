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

// Kyverno returns the environment of the CEL policies of Kyverno v1.19.0: what Kubernetes
// has in its newest version, and the libraries of github.com/kyverno/sdk with their
// signatures, types and texts of errors. In policies of a namespace, resource has other
// signatures.
//
// Where v1.19.0 does not do what its documentation says:
//
//   - the argument of orValue counts only if it is needed (Kyverno: its errors always do)
//   - what http.Client returns can be called (Kyverno: no such overload)
//   - json.marshal takes literals within literals (Kyverno: unsupported type)
func Kyverno(namespaced bool) *Env {
	if namespaced {
		return namespacedKyverno()
	}
	return clusterKyverno()
}

// Environments are made once.
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

// kyvernoMinor is the minor version of Kubernetes whose code Kyverno v1.19.0 has.
const kyvernoMinor = 36

// kyvernoLibrary makes the values that functions of Kyverno's libraries return.
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

// kyvernoVariables declares the variables of all expressions but those of the libraries.
func kyvernoVariables(object *cel.Type) []cel.EnvOption {
	return []cel.EnvOption{
		cel.Variable("object", object),
		cel.Variable("oldObject", object),
		cel.Variable("namespaceObject", namespaceType),
		cel.Variable("request", requestType),
		cel.Variable("exceptions", exceptionType),
	}
}

// kyvernoRecords are the declared types that only Kyverno has.
var kyvernoRecords = map[string]map[string]*types.Type{
	"user.ServiceAccount": {"Name": types.StringType, "Namespace": types.StringType},
	"libs.Exception":      {"allowedImages": stringList, "allowedValues": stringList},
}

// kyvernoTypes are the declared types: those of Kubernetes, of which the request has two
// fields more.
func kyvernoTypes() map[string]map[string]*types.Type {
	all := maps.Clone(structs)
	maps.Copy(all, kyvernoRecords)
	request := maps.Clone(structs[requestType.TypeName()])
	request["object"], request["oldObject"] = types.DynType, types.DynType
	all[requestType.TypeName()] = request
	return all
}

// kyvernoWords are the texts of Kyverno v1.19.0.
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

// Exceptions are what the variable exceptions says: what the exceptions that apply in part
// allow.
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

// Targets compiles an expression that finds the targets of a policy, which must be what
// resource.Get and resource.List return.
func (s *Scope) Targets(expression string) (*Program, error) {
	program, err := s.compile(dialect{}, expression, nil)
	if err == nil && !program.output.IsExactType(objectMap) {
		err = &CompileError{Text: "output type must be a map"}
	}
	return program, errorOf(err)
}

// SetObject gives expressions another object. Variables keep the values that they have.
func (a *Activation) SetObject(object map[string]any) { a.input.Object = object }

// Annotation evaluates an audit annotation; isNull says that it has no value.
func (a *Activation) Annotation(p *Program) (text string, isNull bool, err error) {
	value, err := a.eval(p, nil)
	if err != nil {
		return "", false, err
	}
	if value == types.NullValue {
		return "", true, nil
	}
	text, err = nativeOf[string](value)
	return text, false, err
}

// Targets evaluates the expression of targets: an object, or a list of them below items;
// nil if it is missing.
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

// Variables are the programs of the variables that compile.
func (s *Scope) Variables() []*Program {
	var programs []*Program
	for _, v := range s.variables {
		if v.program != nil {
			programs = append(programs, v.program)
		}
	}
	return programs
}

// Mentions reports whether an expression has a variable of that name.
func (p *Program) Mentions(name string) bool {
	found := false
	ast.PreOrderVisit(p.expr, ast.NewExprVisitor(func(e ast.Expr) {
		found = found || e.Kind() == ast.IdentKind && e.AsIdent() == name
	}))
	return found
}

// HideNamespace has namespaceObject be null.
func (a *Activation) HideNamespace() { a.input.Namespace = nil }

// HideVariables has expressions find no variable variables.
func (a *Activation) HideVariables() { a.variables = nil }
