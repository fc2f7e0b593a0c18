package celenv

import (
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/preadmit/preadmit/engine/internal/unknown"
)

// The functions that a tracked expression calls in addition. No expression can write their names.
const (
	// plainOf(x, site, trace) is x without unknown values. scalarOf is x, plain if it is a scalar.
	// listOf is x, plain if it is a list.
	plainOf, scalarOf, listOf = "@plain", "@scalar", "@list"
	// computedBy(x, site, trace) is x, unknown if an argument of the call at the site was.
	computedBy = "@computed"
	// usedBy(x, trace) is x without unknown values, which it uses.
	usedBy = "@used"
	// decidedBy(x) is a bool that is not unknown.
	decidedBy = "@decided"
	// presentBy(present, x, site, trace) is present, unknown if the unknown x may be absent.
	presentBy = "@present"
	traceName = "@trace"
)

// total are the functions that do not fail if the types of their arguments are right, with what
// they take of their arguments.
var total = map[string][]string{
	operators.Equals: {plainOf, plainOf}, operators.NotEquals: {plainOf, plainOf}, operators.In: {plainOf, listOf},
	operators.Less: {plainOf, plainOf}, operators.LessEquals: {plainOf, plainOf}, operators.Greater: {plainOf, plainOf}, operators.GreaterEquals: {plainOf, plainOf},
	operators.Add: {scalarOf, scalarOf}, operators.LogicalNot: {plainOf}, "size": {scalarOf}, "string": {plainOf},
	"contains": {plainOf, plainOf}, "startsWith": {plainOf, plainOf}, "endsWith": {plainOf, plainOf},
	"lowerAscii": {plainOf}, "upperAscii": {plainOf}, "trim": {plainOf}, "join": {plainOf, plainOf}, "jsonpatch.escapeKey": {plainOf},
}

// passing are the functions that pass their arguments on. The first of some, named in deciding,
// decides, and the second of some, named in selecting, selects.
var (
	passing = []string{
		operators.Conditional, operators.Index, operators.OptIndex, operators.OptSelect, "dyn", "optional.of", "orValue", "or", "value", "hasValue",
		operators.LogicalAnd, operators.LogicalOr, operators.NotStrictlyFalse, "cel.@block",
	}
	deciding  = []string{operators.Conditional, operators.NotStrictlyFalse}
	connected = []string{operators.LogicalAnd, operators.LogicalOr}
	selecting = []string{operators.Index, operators.OptIndex, operators.OptSelect}
)

// tracker rewrites an expression so that it tells what it does with unknown values.
type tracker struct {
	tree  *ast.AST
	make  ast.ExprFactory
	last  int64
	sites int64
}

// tracked returns the program of an expression that tells what it does with unknown values.
func (e *Env) tracked(checked *ast.AST) (cel.Program, error) {
	t := &tracker{tree: ast.Copy(checked), make: ast.NewExprFactory(), last: ast.MaxID(checked)}
	ast.PostOrderVisit(t.tree.Expr(), ast.NewExprVisitor(t.visit))
	full, err := e.full()
	if err != nil {
		return nil, err
	}
	env, err := full.Extend(trackingFunctions...)
	if err != nil {
		return nil, err
	}
	options := slices.Concat([]cel.ProgramOption{cel.EvalOptions(cel.OptOptimize), cel.CustomDecorator(sized)}, e.host.programs, ordering(t.tree))
	return env.PlanProgram(t.tree, options...)
}

func (t *tracker) visit(e ast.Expr) {
	switch e.Kind() {
	case ast.CallKind:
		t.call(e)
	case ast.SelectKind:
		if e.AsSelect().IsTestOnly() {
			t.presence(e)
		}
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			t.wrap(entry.AsMapEntry().Key(), usedBy, t.trace())
		}
	}
}

// call replaces the arguments of a call, and the call of a function that does not fail.
func (t *tracker) call(e ast.Expr) {
	call := e.AsCall()
	args := call.Args()
	if call.IsMemberFunction() {
		args = append([]ast.Expr{call.Target()}, args...)
	}
	name := call.FunctionName()
	if takes := total[name]; takes != nil {
		site := t.site()
		for i, arg := range args {
			t.wrap(arg, takes[min(i, len(takes)-1)], site, t.trace())
		}
		t.wrap(e, computedBy, site, t.trace())
		return
	}
	for i, arg := range args {
		switch {
		case slices.Contains(connected, name), i == 0 && slices.Contains(deciding, name):
			t.wrap(arg, decidedBy)
		case i == 1 && slices.Contains(selecting, name), !slices.Contains(passing, name):
			t.wrap(arg, usedBy, t.trace())
		}
	}
}

// presence replaces has(x.f) by @present(has(x.f), has(x.f) ? x.f : false, …).
func (t *tracker) presence(e ast.Expr) {
	selected := e.AsSelect()
	value := t.typed(t.make.NewSelect(t.id(), t.copy(selected.Operand()), selected.FieldName()), types.DynType)
	test := t.typed(t.make.NewPresenceTest(t.id(), t.copy(selected.Operand()), selected.FieldName()), types.BoolType)
	found := t.typed(t.make.NewCall(t.id(), operators.Conditional, test, value, t.typed(t.make.NewLiteral(t.id(), types.False), types.BoolType)), types.DynType)
	t.tree.SetReference(found.ID(), ast.NewFunctionReference("conditional"))
	t.wrap(e, presentBy, found, t.trace())
}

// wrap replaces an expression by a call with the expression as its first argument. Literals stay.
func (t *tracker) wrap(e ast.Expr, function string, rest ...ast.Expr) {
	if isConstant(e) {
		return
	}
	inner := t.make.NewUnspecifiedExpr(t.id())
	inner.SetKindCase(e)
	t.inherit(e.ID(), inner.ID())
	args := append([]ast.Expr{inner}, rest...)
	e.SetKindCase(t.make.NewCall(e.ID(), function, args...))
	t.tree.SetReference(e.ID(), ast.NewFunctionReference(function))
}

// isConstant reports whether an expression is a literal, or a list or map of them.
func isConstant(e ast.Expr) bool {
	switch e.Kind() {
	case ast.LiteralKind:
		return true
	case ast.ListKind:
		return !slices.ContainsFunc(e.AsList().Elements(), func(item ast.Expr) bool { return !isConstant(item) })
	}
	return false
}

func (t *tracker) id() int64 {
	t.last++
	return t.last
}

// copy returns a copy of an expression with new ids.
func (t *tracker) copy(e ast.Expr) ast.Expr {
	known := map[int64]int64{}
	copied := t.make.CopyExpr(e)
	copied.RenumberIDs(func(id int64) int64 {
		if known[id] == 0 {
			known[id] = t.id()
			t.inherit(id, known[id])
		}
		return known[id]
	})
	return copied
}

// inherit gives an expression the type and the reference of another one.
func (t *tracker) inherit(from, to int64) {
	if kind := t.tree.TypeMap()[from]; kind != nil {
		t.tree.SetType(to, kind)
	}
	if reference := t.tree.ReferenceMap()[from]; reference != nil {
		t.tree.SetReference(to, reference)
	}
}

func (t *tracker) typed(e ast.Expr, kind *types.Type) ast.Expr {
	t.tree.SetType(e.ID(), kind)
	return e
}

// site returns a literal that identifies a call.
func (t *tracker) site() ast.Expr {
	t.sites++
	return t.typed(t.make.NewLiteral(t.id(), types.Int(t.sites)), types.IntType)
}

func (t *tracker) trace() ast.Expr {
	trace := t.typed(t.make.NewIdent(t.id(), traceName), types.DynType)
	t.tree.SetReference(trace.ID(), ast.NewIdentReference(traceName, nil))
	return trace
}

// trace has the unknown arguments of the calls that are evaluated, by their sites.
type trace struct {
	opaque
	observer  unknown.Observer
	arguments map[ref.Val]*unknownValue
}

func newTrace(o unknown.Observer) *trace {
	return &trace{opaque: opaque{types.DynType}, observer: o, arguments: map[ref.Val]*unknownValue{}}
}

// Equal implements ref.Val.
func (t *trace) Equal(other ref.Val) ref.Val { return types.Bool(ref.Val(t) == other) }

// Value implements ref.Val.
func (t *trace) Value() any { return t }

// plain returns an argument of the call at a site without unknown values. If their types are not
// known, the function may fail, so it uses them.
func (t *trace) plain(value, site ref.Val) ref.Val {
	plain, found := reveal(value)
	switch {
	case found == nil:
	case t.observer.IsUntyped():
		t.observer.UseOf(found.of)
	default:
		t.arguments[site] = found
	}
	return plain
}

// computed returns the result of the call at a site.
func (t *trace) computed(value, site ref.Val) ref.Val {
	found := t.arguments[site]
	if found == nil {
		return value
	}
	delete(t.arguments, site)
	return compute(value, found)
}

func (t *trace) used(value ref.Val) ref.Val {
	plain, found := reveal(value)
	if found != nil {
		t.observer.UseOf(found.of)
	}
	return plain
}

// trackingFunctions are the functions that a tracked expression calls.
var trackingFunctions = []cel.EnvOption{
	tracingFunction(plainOf, 3, func(t *trace, args []ref.Val) ref.Val { return t.plain(args[0], args[1]) }),
	tracingFunction(scalarOf, 3, func(t *trace, args []ref.Val) ref.Val {
		if _, is := args[0].(*unknownValue); is {
			return t.plain(args[0], args[1])
		}
		return args[0]
	}),
	tracingFunction(listOf, 3, func(t *trace, args []ref.Val) ref.Val {
		if args[0].Type() == types.ListType {
			return t.plain(args[0], args[1])
		}
		return args[0]
	}),
	tracingFunction(computedBy, 3, func(t *trace, args []ref.Val) ref.Val { return t.computed(args[0], args[1]) }),
	tracingFunction(usedBy, 2, func(t *trace, args []ref.Val) ref.Val { return t.used(args[0]) }),
	tracingFunction(presentBy, 3, func(t *trace, args []ref.Val) ref.Val {
		if u, is := args[1].(*unknownValue); is && u.of.MayBeAbsent {
			return compute(args[0], u)
		}
		return args[0]
	}),
	cel.Function(decidedBy, cel.Overload(decidedBy, []*cel.Type{cel.DynType}, cel.DynType, cel.UnaryBinding(decide))),
}

// tracingFunction declares a function whose last argument is the trace.
func tracingFunction(name string, arity int, call func(t *trace, args []ref.Val) ref.Val) cel.EnvOption {
	parameters := slices.Repeat([]*cel.Type{cel.DynType}, arity)
	return cel.Function(name, cel.Overload(name, parameters, cel.DynType, cel.FunctionBinding(func(args ...ref.Val) ref.Val {
		t, ok := args[arity-1].(*trace)
		if !ok {
			return types.NewErr("%s is called without a trace", name)
		}
		return call(t, args)
	})))
}
