package celenv

import (
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
)

// guards finds the parts of a policy's expressions that are evaluated only after a check: for a
// field, or for the kind of the object.
type guards struct {
	texts []string
	trees []*ast.AST // nil for texts that do not parse
	// asking are the variables that check something; live are the variables that are evaluated
	// for every object.
	asking, live map[string]bool
	// open has the offsets of the parts that are evaluated for every object, asked the offsets
	// of the operands of has() and ?, by expression.
	open, asked []map[int]bool
}

// guardsOf finds the checks in the expressions of a policy.
func guardsOf(env *cel.Env, expressions []Expression) *guards {
	g := &guards{asking: map[string]bool{}, live: map[string]bool{}}
	for _, x := range expressions {
		var tree *ast.AST
		if parsed, issues := env.Parse(x.Text); issues.Err() == nil {
			tree = parsed.NativeRep()
		}
		g.texts, g.trees = append(g.texts, x.Text), append(g.trees, tree)
		g.open, g.asked = append(g.open, map[int]bool{}), append(g.asked, map[int]bool{})
		g.asking[x.Variable] = x.Variable != "" && tree != nil && g.asks(tree.Expr())
	}
	// A variable is evaluated when an expression after it uses it.
	for i, x := range slices.Backward(expressions) {
		if g.trees[i] != nil {
			g.visit(i, g.trees[i].Expr(), x.Variable != "" && !g.live[x.Variable])
		}
	}
	return g
}

// asks reports whether an expression checks for a field, or for the kind of the object.
func (g *guards) asks(e ast.Expr) bool {
	found := false
	ast.PreOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		found = found || g.isQuestion(e)
	}))
	return found
}

func (g *guards) isQuestion(e ast.Expr) bool {
	switch e.Kind() {
	case ast.IdentKind:
		return e.AsIdent() == "request"
	case ast.CallKind:
		return isOptional(e) || e.AsCall().FunctionName() == operators.In
	case ast.SelectKind:
		s := e.AsSelect()
		return s.IsTestOnly() || isKindOf(e) || isVariable(s.Operand()) && g.asking[s.FieldName()]
	}
	return false
}

// isKindOf reports whether an expression is the kind or the apiVersion of the object.
func isKindOf(e ast.Expr) bool {
	s := e.AsSelect()
	return s.Operand().Kind() == ast.IdentKind && s.Operand().AsIdent() == "object" && (s.FieldName() == "kind" || s.FieldName() == "apiVersion")
}

func isVariable(e ast.Expr) bool { return e.Kind() == ast.IdentKind && e.AsIdent() == "variables" }

func isOptional(e ast.Expr) bool {
	return e.Kind() == ast.CallKind && (e.AsCall().FunctionName() == operators.OptSelect || e.AsCall().FunctionName() == operators.OptIndex)
}

// visit records the parts of an expression; guarded says that a check comes before them.
func (g *guards) visit(i int, e ast.Expr, guarded bool) {
	at := offsetOf(g.texts[i], g.trees[i], e)
	switch e.Kind() {
	case ast.LiteralKind:
		g.note(i, at, guarded, false)
	case ast.SelectKind:
		s := e.AsSelect()
		if isVariable(s.Operand()) && !guarded {
			g.live[s.FieldName()] = true
		}
		g.note(i, at, guarded, s.IsTestOnly())
		g.visit(i, s.Operand(), guarded)
	case ast.CallKind:
		g.note(i, at, guarded, isOptional(e))
		g.visitCall(i, e, guarded)
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		for _, part := range []ast.Expr{c.IterRange(), c.AccuInit(), c.LoopCondition(), c.LoopStep(), c.Result()} {
			g.visit(i, part, guarded)
		}
	case ast.ListKind:
		for _, item := range e.AsList().Elements() {
			g.visit(i, item, guarded)
		}
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			g.visit(i, entry.AsMapEntry().Key(), guarded)
			g.visit(i, entry.AsMapEntry().Value(), guarded)
		}
	case ast.StructKind:
		for _, entry := range e.AsStruct().Fields() {
			g.note(i, offsetOfID(g.texts[i], g.trees[i], entry.ID()), guarded, false)
			g.visit(i, entry.AsStructField().Value(), guarded)
		}
		g.note(i, at, guarded, false)
	}
}

// visitCall visits the arguments of a call. An argument of && or || is not evaluated if another
// one decides, and only one branch of ? : is evaluated.
func (g *guards) visitCall(i int, e ast.Expr, guarded bool) {
	call := e.AsCall()
	if call.IsMemberFunction() {
		g.visit(i, call.Target(), guarded)
	}
	for k, argument := range call.Args() {
		within := guarded
		switch call.FunctionName() {
		case operators.Conditional:
			within = guarded || k > 0 && g.asks(call.Args()[0])
		case operators.LogicalAnd, operators.LogicalOr:
			within = guarded || slices.ContainsFunc(call.Args(), func(other ast.Expr) bool { return other != argument && g.asks(other) })
		}
		g.visit(i, argument, within)
	}
}

func (g *guards) note(i, at int, guarded, asked bool) {
	switch {
	case asked:
		g.asked[i][at] = true
	case !guarded:
		g.open[i][at] = true
	}
}

// mark marks the problems that checks of the policy guard.
func (g *guards) mark(expressions []Expression, problems []Problem) {
	conditioned := g.conditioned(expressions, problems)
	for i := range problems {
		problems[i].Guarded = conditioned || g.covers(problems[i])
	}
}

// covers reports whether a problem of an expression may never occur, because of a check before
// it.
func (g *guards) covers(x Problem) bool {
	if g.trees[x.Expression] == nil {
		return true
	}
	return !g.open[x.Expression][x.Offset]
}

// conditioned reports whether the conditions of a policy check for the kind of the object, or
// for a field that the kind lacks.
func (g *guards) conditioned(expressions []Expression, problems []Problem) bool {
	for i, x := range expressions {
		if x.Variable != "" || x.Patch || g.trees[i] == nil {
			continue
		}
		isAsked := func(p Problem) bool { return p.Expression == i && g.asked[i][p.Offset] }
		if g.asksKind(g.trees[i].Expr()) || slices.ContainsFunc(problems, isAsked) {
			return true
		}
	}
	return false
}

// asksKind reports whether an expression reads the kind of the object, or the resource of the
// request.
func (g *guards) asksKind(e ast.Expr) bool {
	found := false
	ast.PreOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.SelectKind {
			return
		}
		s := e.AsSelect()
		ofRequest := s.Operand().Kind() == ast.IdentKind && s.Operand().AsIdent() == "request" && slices.Contains(kindFields, s.FieldName())
		found = found || isKindOf(e) || ofRequest
	}))
	return found
}

// kindFields are the fields of a request that name the kind or the resource.
var kindFields = []string{"kind", "resource", "requestKind", "requestResource", "subResource", "requestSubResource"}
