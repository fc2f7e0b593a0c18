// Package celenv is the CEL environment of the admission policies of one
// Kubernetes version: the language options, function libraries, declared variables
// and cost limits that k8s.io/apiserver v0.36.3 gives to expressions, and values for
// the types that only these expressions know, Object and JSONPatch. It is the only
// importer of cel-go and of the API server's CEL libraries.
//
// The environment of every version is one table (env.go). An Env is made once per
// version and shared; a Scope is what the expressions of one policy share, its
// variables; a Program is a compiled expression; an Activation gives it values.
// Expressions are checked in the API server's words, and results are plain Go
// values: map[string]any, []any, string, int64, float64, bool, nil.
//
// The files in order: env.go, types.go (declared types), scope.go (compilation),
// activation.go (evaluation, lazy variables, costs), authorizer.go, object.go and
// patch.go (values of Object and JSONPatch), check.go (mistakes that a server accepts).
package celenv

import (
	"fmt"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/ext"
	"github.com/google/cel-go/interpreter"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/library"
)

// libraries says which options came with which minor version of Kubernetes 1.x;
// until is the first minor version without them, zero if there is none. The table
// follows k8s.io/apiserver v0.36.3, pkg/cel/environment.
var libraries = []struct {
	since, until int
	options      func() []cel.EnvOption
}{
	{options: func() []cel.EnvOption {
		return []cel.EnvOption{
			cel.HomogeneousAggregateLiterals(),
			cel.EagerlyValidateDeclarations(true),
			cel.DefaultUTCTimeZone(true),
			library.URLs(),
			library.Regex(),
			library.Lists(),
			cel.CostEstimatorOptions(checker.PresenceTestHasCost(false)),
		}
	}},
	{since: 27, options: func() []cel.EnvOption { return []cel.EnvOption{library.Authz()} }},
	{since: 28, options: func() []cel.EnvOption {
		return []cel.EnvOption{cel.CrossTypeNumericComparisons(true), library.Quantity()}
	}},
	// Kubernetes does not say which version of optional types it wants and gets the
	// newest that its cel-go has: since 1.33 that has first, last and unwrap.
	{since: 28, until: 32, options: func() []cel.EnvOption {
		return []cel.EnvOption{cel.OptionalTypes(cel.OptionalTypesVersion(1))}
	}},
	{since: 32, options: func() []cel.EnvOption {
		return []cel.EnvOption{cel.OptionalTypes(cel.OptionalTypesVersion(2))}
	}},
	{since: 29, options: func() []cel.EnvOption {
		return []cel.EnvOption{
			cel.ASTValidators(
				cel.ValidateDurationLiterals(),
				cel.ValidateTimestampLiterals(),
				cel.ValidateRegexLiterals(),
				cel.ValidateHomogeneousAggregateLiterals(),
			),
			ext.Strings(ext.StringsVersion(2)),
			ext.Sets(),
		}
	}},
	{until: 29, options: func() []cel.EnvOption { return []cel.EnvOption{ext.Strings(ext.StringsVersion(0))} }},
	{since: 30, options: func() []cel.EnvOption { return []cel.EnvOption{library.IP(), library.CIDR()} }},
	{since: 31, options: func() []cel.EnvOption {
		return []cel.EnvOption{library.Format(), library.AuthzSelectors()}
	}},
	{since: 32, options: func() []cel.EnvOption { return []cel.EnvOption{ext.TwoVarComprehensions()} }},
	{since: 33, options: func() []cel.EnvOption {
		return []cel.EnvOption{library.SemverLib(library.SemverVersion(1))}
	}},
	{since: 34, options: func() []cel.EnvOption { return []cel.EnvOption{ext.Lists(ext.ListsVersion(3))} }},
}

// Env is the CEL environment of one Kubernetes version. It is safe for concurrent
// use.
type Env struct {
	minor int
	base  func() (*cel.Env, error)
	patch func() (*cel.Env, error)
}

// New returns the environment that Kubernetes 1.minor compiles new admission
// policies in: a server accepts only what the version before it understood as well,
// so that it can be rolled back. Nothing is built before the first expression.
func New(minor int) *Env {
	e := &Env{minor: minor}
	e.base = sync.OnceValues(e.buildBase)
	e.patch = sync.OnceValues(e.buildPatch)
	return e
}

// libraryEnv makes the environment of all expressions, without any variables.
func (e *Env) libraryEnv() (*cel.Env, error) {
	compatible := e.minor - 1
	var options []cel.EnvOption
	for _, l := range libraries {
		if l.since <= compatible && (l.until == 0 || compatible < l.until) {
			options = append(options, l.options()...)
		}
	}
	return cel.NewEnv(options...)
}

// buildBase makes the environment of variables and matchConditions.
func (e *Env) buildBase() (*cel.Env, error) {
	env, err := e.libraryEnv()
	if err != nil {
		return nil, err
	}
	return env.Extend(variablesOf(cel.DynType)...)
}

// variablesOf declares the variables of all expressions; object is the type of the
// objects of the request.
func variablesOf(object *cel.Type) []cel.EnvOption {
	return []cel.EnvOption{
		cel.Variable("object", object),
		cel.Variable("oldObject", object),
		cel.Variable("namespaceObject", namespaceType),
		cel.Variable("request", requestType),
		cel.Variable("authorizer", library.AuthorizerType),
		cel.Variable("authorizer.requestResource", library.ResourceCheckType),
	}
}

// buildPatch makes the environment of mutations.
func (e *Env) buildPatch() (*cel.Env, error) {
	base, err := e.base()
	if err != nil {
		return nil, err
	}
	return base.Extend(library.JSONPatch())
}

// programOptions are the API server's: constant folding, and cost limits at run
// time.
var programOptions = []cel.ProgramOption{
	cel.EvalOptions(cel.OptOptimize, cel.OptTrackCost),
	cel.CostLimit(celconfig.PerCallLimit),
	cel.CostTrackerOptions(interpreter.PresenceTestHasCost(false)),
	cel.CostTracking(&library.CostEstimator{}),
	cel.InterruptCheckFrequency(celconfig.CheckFrequency),
}

// internalError is a fault of this package that no expression should be able to
// cause.
func internalError(err error) *CompileError {
	return &CompileError{Internal: true, Text: fmt.Sprintf("unexpected error loading CEL environment: %v", err)}
}
