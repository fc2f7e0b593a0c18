// Package celenv provides the CEL environments of policies. For each Kubernetes version it has
// the language options, function libraries, declared types and costs of admission policies, and
// values for the types Object and JSONPatch. It also has the environments of Kyverno's CEL
// policies and of mutation trees. Only this package, library and syntax import cel-go.
//
// One table has the environment of every version (env.go), another the differences between hosts
// (host.go). An Env is made once for each version and shared. A Scope has what the expressions
// of one policy share: their variables. A Program is a compiled expression, and an Activation
// evaluates it. Errors in expressions have the API server's texts. Results are plain Go values:
// map[string]any, []any, string, int64, float64, bool, nil.
//
// The files in order: env.go, host.go, functions.go (functions, for editors), types.go (declared types), scope.go
// (compilation), compiler.go, activation.go (evaluation, lazy variables, costs), unknown.go and tracked.go (values
// that are not known yet), reads.go (which values expressions read), order.go (maps in the order of their keys),
// bounds.go (what costs do not bound), authorizer.go, object.go and patch.go (values of Object and JSONPatch),
// govalue.go (Go values of a server), forms.go (when there are any), check.go, pointers.go, guard.go, missing.go,
// certain.go and costly.go (mistakes that a server accepts), mend.go, meant.go and grammar.go (what was meant by
// expressions with errors), coverage.go (what has been evaluated), draft.go (types of expressions in drafts);
// rules.go (rules of custom resources); tree.go (the environment of mutation trees); kyverno.go (Kyverno's
// environment), world.go (what its functions ask), kyvernoresource.go and kyvernoasking.go (the functions that
// ask), kyvernoimage.go, kyvernotext.go, kyvernox509.go, kyvernoregex.go and kyvernovalues.go (the others).
package celenv

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/decls"
	"github.com/google/cel-go/common/stdlib"
	"github.com/google/cel-go/ext"
	"github.com/google/cel-go/interpreter"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/preadmit/preadmit/engine/internal/celenv/library"
	"github.com/preadmit/preadmit/engine/internal/celenv/syntax"
)

// libraries has the options of each minor version of Kubernetes 1.x. The table follows
// k8s.io/apiserver v0.36.3, pkg/cel/environment.
var libraries = []struct {
	since   int
	options func() []cel.EnvOption
}{
	{options: func() []cel.EnvOption {
		return []cel.EnvOption{
			cel.HomogeneousAggregateLiterals(),
			cel.DefaultUTCTimeZone(true),
			library.URLs(),
			library.Regex(),
			library.Lists(),
			cel.CostEstimatorOptions(checker.PresenceTestHasCost(false)),
			library.Authz(),
			cel.CrossTypeNumericComparisons(true),
			library.Quantity(),
			// Kubernetes does not set a version of optional types, and gets the newest that its
			// cel-go has, which has first, last and unwrap.
			cel.OptionalTypes(cel.OptionalTypesVersion(2)),
			cel.ASTValidators(
				cel.ValidateDurationLiterals(),
				cel.ValidateTimestampLiterals(),
				cel.ValidateRegexLiterals(),
				cel.ValidateHomogeneousAggregateLiterals(),
			),
			ext.Strings(ext.StringsVersion(2)),
			ext.Sets(),
			library.IP(),
			library.CIDR(),
			library.Format(),
			library.AuthzSelectors(),
			ext.TwoVarComprehensions(),
			library.Semver(),
		}
	}},
	{since: 34, options: func() []cel.EnvOption { return []cel.EnvOption{ext.Lists(ext.ListsVersion(3))} }},

	// Functions with the same results, within bounds.
	{options: boundedStrings},
	{options: boundedSets},
	{since: 34, options: boundedLists},
}

// Env is the CEL environment of one Kubernetes version. It is safe for concurrent
// use.
type Env struct {
	host host
	// functions is the common part of the others. base is the environment of variables, conditions
	// and validations, unauthorized that of messages, patch that of mutations; all are extended by
	// the declarations of a policy. tree is the environment of mutation trees.
	functions, base, unauthorized, patch, tree func() (*cel.Env, error)
	// planner plans most programs; full is the environment of the others.
	planner func() (*planner, error)
	full    func() (*cel.Env, error)

	// syntax and declarations are used to compile expressions; see compiler. Rules have no variables of
	// policies.
	syntax                                                   func() *syntax.Parser
	declarations, unauthorizedDeclarations, ruleDeclarations func() (*checker.Env, error)

	mu   sync.Mutex
	idle map[dialect][]*compiler
}

// New returns the environment in which Kubernetes 1.minor compiles new admission policies. A
// server accepts only what the version before it accepts, too, so that it can be rolled back.
// Nothing is built before the first expression.
func New(minor int) *Env {
	return newEnv(kubernetes(minor))
}

func newEnv(h host) *Env {
	e := &Env{host: h, idle: map[dialect][]*compiler{}}
	e.functions = sync.OnceValues(e.buildFunctions)
	e.base = sync.OnceValues(func() (*cel.Env, error) { return e.buildBase(e.host.variables(cel.DynType)) })
	e.unauthorized = sync.OnceValues(func() (*cel.Env, error) { return e.buildBase(inputVariables(cel.DynType)) })
	e.patch = sync.OnceValues(e.buildPatch)
	e.tree = sync.OnceValues(e.buildTree)
	e.planner = sync.OnceValues(e.buildPlanner)
	e.full = sync.OnceValues(e.buildFull)
	e.syntax = sync.OnceValue(e.buildSyntax)
	e.declarations = sync.OnceValues(func() (*checker.Env, error) { return e.declarationsOf(e.base) })
	e.unauthorizedDeclarations = sync.OnceValues(func() (*checker.Env, error) { return e.declarationsOf(e.unauthorized) })
	e.ruleDeclarations = sync.OnceValues(func() (*checker.Env, error) { return e.declarationsOf(e.functions) })
	return e
}

// buildFunctions returns the environment with the libraries of the version and the host.
func (e *Env) buildFunctions() (*cel.Env, error) {
	compatible := e.host.minor - 1
	var options []cel.EnvOption
	for _, l := range libraries {
		if l.since <= compatible {
			options = append(options, l.options()...)
		}
	}
	return cel.NewEnv(append(options, e.host.libraries()...)...)
}

// buildBase returns the environment with the functions and some variables.
func (e *Env) buildBase(variables []cel.EnvOption) (*cel.Env, error) {
	env, err := e.functions()
	if err != nil {
		return nil, err
	}
	return env.Extend(variables...)
}

// variablesOf declares the variables of all expressions of Kubernetes.
func variablesOf(object *cel.Type) []cel.EnvOption {
	return append(inputVariables(object),
		cel.Variable("authorizer", library.AuthorizerType),
		cel.Variable("authorizer.requestResource", library.ResourceCheckType),
	)
}

// inputVariables declares the variables of a request. Messages of Kubernetes have no others.
func inputVariables(object *cel.Type) []cel.EnvOption {
	return []cel.EnvOption{
		cel.Variable("object", object),
		cel.Variable("oldObject", object),
		cel.Variable("namespaceObject", namespaceType),
		cel.Variable("request", requestType),
	}
}

func (e *Env) buildPatch() (*cel.Env, error) {
	base, err := e.base()
	if err != nil {
		return nil, err
	}
	return base.Extend(library.JSONPatch())
}

// buildFull returns an environment that can plan every expression. Planning depends on functions
// and types, but not on variables.
func (e *Env) buildFull() (*cel.Env, error) {
	env, err := e.patch()
	if err != nil {
		return nil, err
	}
	return env.Extend(
		cel.CustomTypeAdapter(ordered{env.CELTypeAdapter()}),
		cel.CustomTypeProvider(e.newProvider(env, true)),
	)
}

// planner plans, without the libraries, expressions that call only CEL's own functions.
// Overloads that libraries add to these functions make no difference to the plan.
type planner struct {
	*cel.Env  // without functions
	functions map[string]*decls.FunctionDecl
}

func (e *Env) buildPlanner() (*planner, error) {
	env, err := e.functions()
	if err != nil {
		return nil, err
	}
	all := env.Functions()
	p := &planner{functions: map[string]*decls.FunctionDecl{}}
	for _, f := range stdlib.Functions() {
		p.functions[f.Name()] = all[f.Name()]
	}
	p.Env, err = cel.NewCustomEnv(
		cel.CustomTypeAdapter(ordered{env.CELTypeAdapter()}),
		cel.CustomTypeProvider(e.newProvider(env, true)),
	)
	return p, err
}

// program plans a checked expression. cel-go collects all functions of an environment for every
// program, and the costs of library functions for every evaluation. So, if possible, the
// environment has only the functions that the expression calls.
func (e *Env) program(checked *ast.AST, branches []*Branch) (cel.Program, error) {
	plain, err := e.planner()
	if err != nil {
		return nil, err
	}
	var called []*decls.FunctionDecl
	for _, name := range calls(checked) {
		f := plain.functions[name]
		if f == nil {
			if f, err = e.patchFunction(name); err != nil {
				return nil, err
			}
		}
		if f == nil {
			full, err := e.full()
			if err != nil {
				return nil, err
			}
			return full.PlanProgram(checked, e.programOptions(checked, branches)...)
		}
		called = append(called, f)
	}
	env, err := plain.Extend(cel.FunctionDecls(called...))
	if err != nil {
		return nil, err
	}
	return env.PlanProgram(checked, e.programOptions(checked, branches)...)
}

// patchFunction returns a function that only patches have; nil for other names.
func (e *Env) patchFunction(name string) (*decls.FunctionDecl, error) {
	if !strings.HasPrefix(name, "jsonpatch.") {
		return nil, nil
	}
	env, err := e.patch()
	if err != nil {
		return nil, err
	}
	return env.Functions()[name], nil
}

// calls returns the names of the functions that an expression calls.
func calls(checked *ast.AST) []string {
	var names []string
	ast.PreOrderVisit(checked.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.CallKind && !slices.Contains(names, e.AsCall().FunctionName()) {
			names = append(names, e.AsCall().FunctionName())
		}
	}))
	return names
}

// programOptions are the API server's options: constant folding, and cost limits at run time.
var programOptions = []cel.ProgramOption{
	cel.EvalOptions(cel.OptOptimize, cel.OptTrackCost),
	cel.CostLimit(celconfig.PerCallLimit),
	cel.CostTrackerOptions(interpreter.PresenceTestHasCost(false)),
	cel.CostTracking(library.Costs{}),
	cel.InterruptCheckFrequency(celconfig.CheckFrequency),
	cel.CustomDecorator(sized),
}

// programOptions returns the options of a program: of all programs, of the host, for the order
// of maps, and for branches.
func (e *Env) programOptions(checked *ast.AST, branches []*Branch) []cel.ProgramOption {
	options := slices.Concat(programOptions, e.host.programs, ordering(checked))
	if len(branches) > 0 {
		options = append(options, watching(branches))
	}
	return options
}

// internalError returns the error for a bug in this package, which no expression should cause.
func internalError(err error) *CompileError {
	return &CompileError{Internal: true, Text: fmt.Sprintf("unexpected error loading CEL environment: %v", err)}
}
