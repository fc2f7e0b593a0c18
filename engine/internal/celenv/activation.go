package celenv

import (
	"context"
	"errors"
	"math"
	"sync/atomic"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/preadmit/preadmit/engine/internal/celenv/library"
)

// The budgets of the API server, in CEL cost units. Every expression is limited to
// 1,000,000 units besides.
const (
	// MutationBudget is what one mutation and the variables it uses may cost.
	MutationBudget int64 = celconfig.RuntimeCELCostBudget
	// ConditionsBudget is what all matchConditions of a policy may cost together.
	ConditionsBudget int64 = celconfig.RuntimeCELCostBudgetMatchConditions
)

// ErrBudget is the error of an evaluation that exceeds its budget. Nothing more may
// be evaluated on that budget.
var ErrBudget = errors.New("validation failed due to running out of cost budget, no further validation rules will be run")

var errOldUnknown = errors.New("oldObject was read, but the object before the update is not known; give it with the option old")

// Input is what expressions see. The values are read, never modified.
type Input struct {
	// Object, OldObject and Params are nil where the variable is null.
	Object, OldObject, Params map[string]any
	// Namespace makes the variable namespaceObject, when an expression reads it; nil, or
	// the result nil, is null.
	Namespace func() map[string]any
	// OldUnknown says that there is an old object but that nobody said what it is;
	// an expression that reads it fails.
	OldUnknown bool
	// Request makes the AdmissionRequest in its JSON form. It is called when an
	// expression first reads it.
	Request    func() map[string]any
	Authorizer Authorizer
	// World and Exceptions are for the expressions of Kyverno's policies.
	World      World
	Exceptions Exceptions
}

// Program is a compiled expression. It is safe for concurrent use.
type Program struct {
	expression     string
	program        cel.Program
	output         *cel.Type
	expr           ast.Expr
	readsNamespace bool
	// branches and held are what has been evaluated.
	branches []*Branch
	held     atomic.Bool
	// constant says that the program always gives the same; given is what, once it is
	// known.
	constant bool
	given    atomic.Pointer[given]
}

// given is what a program gives, and what it costs.
type given struct {
	value ref.Val
	cost  int64
	// object is the value as ApplyConfiguration returns it; nil if it has not.
	object map[string]any
}

// Activation evaluates expressions of one scope on one input. Variables are
// evaluated when an expression first reads them, once per Activation.
type Activation struct {
	ctx       context.Context
	input     Input
	host      *host
	request   map[string]any // nil until it is read
	variables ref.Val
	// spent is the cost of the variables evaluated since it was last charged.
	spent int64
	// evaluated is how many variables were evaluated.
	evaluated int
	sizes     sizes
	// crashes says that the host crashes on an Object literal in a list or map of a JSONPatch.
	crashes bool
	// refusal is set when an expression asks for what only the cluster knows.
	refusal error
	// readNamespace: see ReadNamespace.
	readNamespace bool
}

// Activate prepares the evaluation of expressions of the scope.
func (s *Scope) Activate(ctx context.Context, input Input) *Activation {
	a := &Activation{ctx: ctx, input: input, host: &s.env.host, crashes: s.env.host.minor < 37}
	a.variables = &variableMap{
		opaque: opaque{s.env.host.variable}, activation: a, variables: s.variables,
	}
	return a
}

// ResolveName implements interpreter.Activation.
func (a *Activation) ResolveName(name string) (any, bool) {
	switch name {
	case "object":
		return nullable(a.input.Object), true
	case "oldObject":
		if a.input.OldUnknown {
			a.refusal = errOldUnknown
		}
		return nullable(a.input.OldObject), true
	case "params":
		return nullable(a.input.Params), true
	case "namespaceObject":
		if a.input.Namespace == nil {
			return nullable(nil), true
		}
		return nullable(a.input.Namespace()), true
	case "request":
		return a.requestObject(), true
	case "variables":
		return a.variables, a.variables != nil
	case "authorizer":
		return library.Authorizer(a.authorize), true
	case "authorizer.requestResource":
		return library.ResourceCheck(a.authorize), true
	case sizesName:
		return &a.sizes, true
	case worldName:
		return a.input.World, true
	case "exceptions":
		return a.input.Exceptions.value(), true
	}
	if t, ok := contextTypes[name]; ok {
		return contextValue{opaque{t}, a.input.World}, true
	}
	return nil, false
}

// Parent implements interpreter.Activation.
func (a *Activation) Parent() interpreter.Activation { return nil }

func (a *Activation) requestObject() map[string]any {
	if a.request == nil {
		a.request = a.input.Request()
	}
	return a.request
}

func nullable(object map[string]any) any {
	if object == nil {
		return nil
	}
	return object
}

// Bool evaluates a condition. What it costs is taken from budget, nil for none; an error that is
// ErrBudget ends the evaluation of all conditions.
func (a *Activation) Bool(p *Program, budget *int64) (bool, error) {
	value, err := a.eval(p, budget)
	if err != nil {
		return false, err
	}
	if value == types.True && !p.held.Load() {
		p.held.Store(true)
	}
	return value == types.True, nil
}

// eval evaluates a program; its errors are in the API server's words.
func (a *Activation) eval(p *Program, budget *int64) (ref.Val, error) {
	value, cost, err := a.run(p)
	if err := a.charge(cost, budget); err != nil {
		return nil, err
	}
	if a.refusal != nil {
		err = a.refusal
	}
	if err != nil {
		return nil, a.host.words.evaluation(p.expression, err)
	}
	return value, nil
}

// run evaluates a program, be it a mutation, a condition or a variable, and says what that
// costs.
func (a *Activation) run(p *Program) (ref.Val, int64, error) {
	a.readNamespace = a.readNamespace || p.readsNamespace
	if known := p.given.Load(); known != nil {
		return known.value, known.cost, nil
	}
	value, details, err := p.program.ContextEval(a.ctx, a)
	cost := actualCost(details)
	if p.constant && err == nil {
		p.given.Store(&given{value: value, cost: cost})
	}
	return value, cost, err
}

// Evaluated is how many variables have been evaluated so far.
func (a *Activation) Evaluated() int { return a.evaluated }

// ReadNamespace reports whether an expression evaluated so far may have read more of
// namespaceObject than its name.
func (a *Activation) ReadNamespace() bool { return a.readNamespace }

// charge takes the cost of an expression and of the variables that it made evaluate
// from the budget; nil is one without end.
func (a *Activation) charge(cost int64, budget *int64) error {
	cost += a.spent
	a.spent = 0
	if budget == nil {
		return nil
	}
	if cost > *budget {
		*budget = 0
		return ErrBudget
	}
	*budget -= cost
	return nil
}

func actualCost(details *cel.EvalDetails) int64 {
	if details == nil || details.ActualCost() == nil {
		return 0
	}
	return int64(min(*details.ActualCost(), math.MaxInt64/4))
}

// variableMap is the value of `variables`: its fields are evaluated when they are
// read.
type variableMap struct {
	opaque
	activation *Activation
	variables  []variable
	values     map[string]ref.Val
}

// Get implements traits.Indexer.
func (m *variableMap) Get(key ref.Val) ref.Val {
	if value, ok := m.values[string(key.(types.String))]; ok {
		return value
	}
	for i := range m.variables {
		if v := &m.variables[i]; v.name == string(key.(types.String)) {
			value := m.evaluate(v)
			if m.values == nil {
				m.values = map[string]ref.Val{}
			}
			m.values[v.name] = value
			return value
		}
	}
	return types.ValOrErr(key, "no such key: %v", key)
}

// IsSet implements traits.FieldTester. As on the API server, asking whether a
// variable is set evaluates it.
func (m *variableMap) IsSet(key ref.Val) ref.Val {
	if value := m.Get(key); types.IsError(value) {
		return value
	}
	return types.True
}

func (m *variableMap) evaluate(v *variable) ref.Val {
	if v.err != nil {
		return types.NewErr("composited variable %q fails to compile: %v", v.name, v.err)
	}
	if limit := m.activation.host.budget; limit > 0 && m.activation.spent > limit {
		return types.WrapErr(ErrBudget) // which charge will say
	}
	m.activation.evaluated++
	value, cost, err := m.activation.run(v.program)
	m.activation.spent += cost
	if err != nil {
		return types.WrapErr(m.activation.host.words.variable(v.name, err))
	}
	return m.activation.sizes.keep(value)
}

// Equal implements ref.Val.
func (m *variableMap) Equal(other ref.Val) ref.Val { return types.Bool(ref.Val(m) == other) }

// Value implements ref.Val.
func (m *variableMap) Value() any { return m }
