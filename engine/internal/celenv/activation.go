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

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/celenv/library"
	"github.com/preadmit/preadmit/engine/internal/unknown"
)

// The budgets of the API server, in CEL cost units. Besides, every expression is limited to
// 1,000,000 units.
const (
	// MutationBudget is the budget of one mutation with the variables that it uses.
	MutationBudget int64 = celconfig.RuntimeCELCostBudget
	// ValidationsBudget is the budget of all validations of a policy together, with their messages.
	// AnnotationsBudget is that of its audit annotations.
	ValidationsBudget = MutationBudget
	AnnotationsBudget = MutationBudget
	// ConditionsBudget is the budget of all matchConditions of a policy together.
	ConditionsBudget int64 = celconfig.RuntimeCELCostBudgetMatchConditions
)

// ErrBudget is the error of an evaluation that exceeds its budget. Afterwards, nothing may be
// evaluated on that budget.
var ErrBudget = errors.New("validation failed due to running out of cost budget, no further validation rules will be run")

var errOldUnknown = errors.New("oldObject was read, but the object before the update is not known; give it with the option old")

// Input has the values that expressions can read. They are not modified.
type Input struct {
	// Object, OldObject and Params are nil where the variable is null.
	Object, OldObject, Params map[string]any
	// GoTypes are the Go types of what the server gives as Go values.
	GoTypes GoTypes
	// Namespace returns the variable namespaceObject when an expression first reads it. The
	// variable is null if Namespace or its result is nil.
	Namespace func() map[string]any
	// OldUnknown says that the old object exists but is not known: an expression that reads it
	// fails.
	OldUnknown bool
	// Request returns the AdmissionRequest in its JSON form. It is called when an expression
	// first reads the request.
	Request    func() map[string]any
	Authorizer Authorizer
	// Unauthorized says that authorizer has no value: an expression that reads it fails.
	Unauthorized bool
	// World and Exceptions are for the expressions of Kyverno's policies.
	World      World
	Exceptions Exceptions
	// Reads notes what expressions read of these values and of variables. It may be nil.
	Reads *Reads
}

// Program is a compiled expression. It is safe for concurrent use.
type Program struct {
	expression string
	program    cel.Program
	// tracked returns the program that tells what it does with unknown values.
	tracked        func() (cel.Program, error)
	output         *cel.Type
	expr           ast.Expr
	readsNamespace bool
	// branches and held record what has been evaluated.
	branches []*Branch
	held     atomic.Bool
	// constant says that the program always has the same result; given is that result, once it
	// is known.
	constant bool
	given    atomic.Pointer[given]
}

// given is the result and the cost of a program.
type given struct {
	value ref.Val
	cost  int64
	// object is the value as ApplyConfiguration returns it; nil before the first call.
	object map[string]any
}

// Activation evaluates expressions of one scope on one input. A variable is evaluated when an
// expression first reads it, once per Activation.
type Activation struct {
	ctx       context.Context
	input     Input
	host      *host
	request   map[string]any // nil until it is read
	variables ref.Val
	// spent is the cost of the variables that were evaluated since the last charge.
	spent int64
	// evaluated counts the evaluated variables.
	evaluated int
	sizes     sizes
	// crashes says that the host crashes on an Object literal in a list or map of a JSONPatch.
	crashes bool
	// refusal is set when an expression needs something that only the cluster knows.
	refusal error
	// observer is told what expressions do with unknown values, trace by the parts of one.
	observer unknown.Observer
	trace    *trace
	// readNamespace: see ReadNamespace.
	readNamespace bool
}

// Activate prepares the evaluation of expressions of the scope.
func (s *Scope) Activate(ctx context.Context, input Input) *Activation {
	a := &Activation{ctx: ctx, input: input, host: &s.env.host, observer: unknown.In(ctx), crashes: s.env.host.minor < 37}
	if a.observer.IsActive() {
		a.trace = newTrace(a.observer)
	}
	a.variables = &variableMap{
		opaque: opaque{s.env.host.variable}, activation: a, scope: s,
	}
	return a
}

// ResolveName implements interpreter.Activation.
func (a *Activation) ResolveName(name string) (any, bool) {
	switch name {
	case "object":
		return a.input.Reads.variable(name, a.variableOf(a.input.Object, a.input.GoTypes.Object)), true
	case "oldObject":
		if a.input.OldUnknown {
			a.refusal = errOldUnknown
		}
		return a.input.Reads.variable(name, a.variableOf(a.input.OldObject, a.input.GoTypes.OldObject)), true
	case "params":
		return a.input.Reads.variable(name, a.variableOf(a.input.Params, a.input.GoTypes.Params)), true
	case "namespaceObject":
		if a.input.Namespace == nil {
			return nil, true
		}
		return a.input.Reads.variable(name, a.variableOf(a.input.Namespace(), a.input.GoTypes.Namespace)), true
	case "request":
		return a.input.Reads.variable(name, a.variableOf(a.requestObject(), a.input.GoTypes.Request)), true
	case "variables":
		return a.variables, a.variables != nil
	case "authorizer", "authorizer.requestResource":
		if a.input.Unauthorized {
			return nil, false
		}
		if name == "authorizer.requestResource" {
			return library.ResourceCheck(a.authorize), true
		}
		return library.Authorizer(a.authorize), true
	case "exceptions":
		return a.input.Exceptions.value(), true
	}
	return a.resolveInternal(name)
}

// resolveInternal returns the value of a name that no expression declares.
func (a *Activation) resolveInternal(name string) (any, bool) {
	switch name {
	case sizesName:
		return &a.sizes, true
	case traceName:
		return a.trace, true
	case worldName:
		return a.input.World, true
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

// Bool evaluates a condition. Its cost is taken from budget; nil is no limit. The error
// ErrBudget ends the evaluation of all conditions.
func (a *Activation) Bool(p *Program, budget *int64) (bool, error) {
	value, err := a.eval(p, budget)
	if err != nil {
		return false, err
	}
	value = decide(value)
	if value == types.True && !p.held.Load() {
		p.held.Store(true)
	}
	return value == types.True, nil
}

// Always returns the result of a condition that has the same result for every input. always is false if
// the result depends on the input, or is an error.
func (s *Scope) Always(p *Program) (holds, always bool) {
	if !p.constant {
		return false, false
	}
	value, err := s.Activate(context.Background(), Input{}).eval(p, nil)
	return err == nil && decide(value) == types.True, err == nil
}

// Text evaluates an expression that gives a string or null; isNull says that it is null. Its cost is
// taken from budget; nil is no limit.
func (a *Activation) Text(p *Program, budget *int64) (text string, isNull bool, err error) {
	value, err := a.eval(p, budget)
	if err != nil {
		return "", false, err
	}
	if value == types.NullValue {
		return "", true, nil
	}
	text, err = nativeOf[string](value)
	return text, false, err
}

// eval evaluates a program. Errors have the texts of the API server.
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

// run evaluates a program (a mutation, a condition or a variable) and returns its cost.
func (a *Activation) run(p *Program) (ref.Val, int64, error) {
	a.readNamespace = a.readNamespace || p.readsNamespace
	if known := p.given.Load(); known != nil {
		return known.value, known.cost, nil
	}
	program := p.program
	if a.observer.IsActive() {
		tracked, err := p.tracked()
		if err != nil {
			return nil, 0, err
		}
		program = tracked
	}
	if err := a.ctx.Err(); err != nil { // cel-go looks only now and then, and inside of loops
		return nil, 0, err
	}
	value, details, err := program.ContextEval(a.ctx, a)
	cost := actualCost(details)
	if p.constant && err == nil {
		p.given.Store(&given{value: value, cost: cost})
	}
	return value, cost, err
}

// Evaluated returns the number of variables evaluated so far.
func (a *Activation) Evaluated() int { return a.evaluated }

// ReadNamespace reports whether an expression evaluated so far may have read more of
// namespaceObject than its name.
func (a *Activation) ReadNamespace() bool { return a.readNamespace }

// charge takes the cost of an expression, with the variables that it evaluated, from the budget;
// nil is no limit.
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

// variableMap is the value of `variables`. Its fields are evaluated when they are read.
type variableMap struct {
	opaque
	activation *Activation
	scope      *Scope
	values     map[string]ref.Val
}

// Get implements traits.Indexer.
func (m *variableMap) Get(key ref.Val) ref.Val {
	name := string(key.(types.String))
	if value, ok := m.values[name]; ok {
		return value
	}
	i, declared := m.scope.numbers[name]
	if !declared {
		return types.ValOrErr(key, "no such key: %v", key)
	}
	value := m.evaluate(&m.scope.variables[i])
	if reads := m.activation.input.Reads; reads != nil {
		value = reads.watch(nil, change.Keys("variables", name), value)
	}
	if m.values == nil {
		m.values = map[string]ref.Val{}
	}
	m.values[name] = value
	return value
}

// IsSet implements traits.FieldTester. As on the API server, testing whether a variable is set
// evaluates the variable.
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
		return types.WrapErr(ErrBudget) // charge reports it
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
