package syntax

import (
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types/ref"
)

// call returns a call, or the expansion of a macro.
func (g *grammar) call(id int64, function string, target ast.Expr, args []ast.Expr) ast.Expr {
	if expanded := g.expand(id, function, target, args); expanded != nil {
		return expanded
	}
	if target == nil {
		return g.make.NewCall(id, function, args...)
	}
	return g.make.NewMemberCall(id, function, target, args...)
}

// expand applies a macro. It returns nil if there is no macro, or if the macro keeps the call.
func (g *grammar) expand(id int64, function string, target ast.Expr, args []ast.Expr) ast.Expr {
	macro := g.parser.macros[macroKey{function, len(args), target != nil}]
	if macro == nil {
		macro = g.parser.macros[macroKey{function, anyNumber, target != nil}]
	}
	if macro == nil {
		return nil
	}
	expanded, err := macro.Expander()(&expansion{g, id}, target, args)
	g.require(err == nil)
	if expanded == nil {
		return nil
	}
	// The call is not a node any more. Its number is free if it is the last one.
	g.info.ClearOffsetRange(id)
	if id == g.nextID-1 {
		g.nextID--
	}
	return expanded
}

// expansion creates the nodes of a macro, at the position of its call.
type expansion struct {
	grammar *grammar
	id      int64 // of the call
}

// next numbers a node of the expansion.
func (x *expansion) next() int64 {
	at, _ := x.grammar.info.GetOffsetRange(x.id)
	return x.grammar.newID(int(at.Start), 0)
}

// Copy implements parser.ExprHelper.
func (x *expansion) Copy(e ast.Expr) ast.Expr {
	at, _ := x.grammar.info.GetOffsetRange(e.ID())
	id := x.grammar.newID(int(at.Start), int(at.Stop-at.Start))
	switch e.Kind() {
	case ast.LiteralKind:
		return x.grammar.make.NewLiteral(id, e.AsLiteral())
	case ast.IdentKind:
		return x.grammar.make.NewIdent(id, e.AsIdent())
	case ast.SelectKind:
		s := e.AsSelect()
		operand := x.Copy(s.Operand())
		if s.IsTestOnly() {
			return x.grammar.make.NewPresenceTest(id, operand, s.FieldName())
		}
		return x.grammar.make.NewSelect(id, operand, s.FieldName())
	case ast.CallKind:
		call := e.AsCall()
		args := x.copyAll(call.Args())
		if !call.IsMemberFunction() {
			return x.grammar.make.NewCall(id, call.FunctionName(), args...)
		}
		return x.grammar.make.NewMemberCall(id, call.FunctionName(), x.Copy(call.Target()), args...)
	case ast.ListKind:
		return x.grammar.make.NewList(id, x.copyAll(e.AsList().Elements()), e.AsList().OptionalIndices())
	}
	panic(giveUp{}) // no existing macro copies more
}

func (x *expansion) copyAll(all []ast.Expr) []ast.Expr {
	copies := make([]ast.Expr, len(all))
	for i, e := range all {
		copies[i] = x.Copy(e)
	}
	return copies
}

// NewLiteral implements parser.ExprHelper.
func (x *expansion) NewLiteral(value ref.Val) ast.Expr {
	return x.grammar.make.NewLiteral(x.next(), value)
}

// NewList implements parser.ExprHelper.
func (x *expansion) NewList(elements ...ast.Expr) ast.Expr {
	return x.grammar.make.NewList(x.next(), elements, nil)
}

// NewMap implements parser.ExprHelper.
func (x *expansion) NewMap(entries ...ast.EntryExpr) ast.Expr {
	return x.grammar.make.NewMap(x.next(), entries)
}

// NewMapEntry implements parser.ExprHelper.
func (x *expansion) NewMapEntry(key, value ast.Expr, optional bool) ast.EntryExpr {
	return x.grammar.make.NewMapEntry(x.next(), key, value, optional)
}

// NewStruct implements parser.ExprHelper.
func (x *expansion) NewStruct(name string, fields ...ast.EntryExpr) ast.Expr {
	return x.grammar.make.NewStruct(x.next(), name, fields)
}

// NewStructField implements parser.ExprHelper.
func (x *expansion) NewStructField(name string, value ast.Expr, optional bool) ast.EntryExpr {
	return x.grammar.make.NewStructField(x.next(), name, value, optional)
}

// NewComprehension implements parser.ExprHelper.
func (x *expansion) NewComprehension(over ast.Expr, item, result string, from, condition, step, then ast.Expr) ast.Expr {
	return x.grammar.make.NewComprehension(x.next(), over, item, result, from, condition, step, then)
}

// NewComprehensionTwoVar implements parser.ExprHelper.
func (x *expansion) NewComprehensionTwoVar(over ast.Expr, key, item, result string, from, condition, step, then ast.Expr) ast.Expr {
	return x.grammar.make.NewComprehensionTwoVar(x.next(), over, key, item, result, from, condition, step, then)
}

// NewIdent implements parser.ExprHelper.
func (x *expansion) NewIdent(name string) ast.Expr { return x.grammar.make.NewIdent(x.next(), name) }

// NewAccuIdent implements parser.ExprHelper.
func (x *expansion) NewAccuIdent() ast.Expr { return x.grammar.make.NewAccuIdent(x.next()) }

// AccuIdentName implements parser.ExprHelper.
func (x *expansion) AccuIdentName() string { return x.grammar.make.AccuIdentName() }

// NewCall implements parser.ExprHelper.
func (x *expansion) NewCall(function string, args ...ast.Expr) ast.Expr {
	return x.grammar.make.NewCall(x.next(), function, args...)
}

// NewMemberCall implements parser.ExprHelper.
func (x *expansion) NewMemberCall(function string, target ast.Expr, args ...ast.Expr) ast.Expr {
	return x.grammar.make.NewMemberCall(x.next(), function, target, args...)
}

// NewPresenceTest implements parser.ExprHelper.
func (x *expansion) NewPresenceTest(operand ast.Expr, field string) ast.Expr {
	return x.grammar.make.NewPresenceTest(x.next(), operand, field)
}

// NewSelect implements parser.ExprHelper.
func (x *expansion) NewSelect(operand ast.Expr, field string) ast.Expr {
	return x.grammar.make.NewSelect(x.next(), operand, field)
}

// OffsetLocation implements parser.ExprHelper.
func (x *expansion) OffsetLocation(id int64) common.Location {
	return x.grammar.info.GetStartLocation(id)
}

// NewError implements parser.ExprHelper.
func (x *expansion) NewError(id int64, message string) *common.Error {
	return common.NewError(id, message, x.OffsetLocation(id))
}
