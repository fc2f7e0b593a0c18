package expr

import (
	"slices"

	"github.com/google/cel-go/common/operators"
)

// True and False are the constants.
var True, False = Literal(true), Literal(false)

// And returns a condition that holds if all conditions hold. It leaves out those that always
// hold or that appear twice. No expression is a condition that always holds.
func And(all ...Expr) Expr { return connected(operators.LogicalAnd, True, False, all) }

// Or returns a condition that holds if one of the conditions holds.
func Or(all ...Expr) Expr { return connected(operators.LogicalOr, False, True, all) }

// connected joins conditions. A neutral condition is left out; a decisive one replaces them all.
func connected(operator string, neutral, decisive Expr, all []Expr) Expr {
	var kept []Expr
	for _, e := range all {
		for _, part := range e.operands(operator) {
			switch {
			case part.IsZero() || Equal(part, neutral) || slices.ContainsFunc(kept, func(other Expr) bool { return Equal(part, other) }):
			case Equal(part, decisive):
				return decisive
			default:
				kept = append(kept, part)
			}
		}
	}
	if len(kept) == 0 {
		return neutral
	}
	joined := kept[0]
	for _, e := range kept[1:] {
		joined = operation(operator, joined, e)
	}
	return joined
}

// operands returns the operands of a chain of one operator, from left to right.
func (e Expr) operands(operator string) []Expr {
	if e.IsZero() || !e.isCallOf(operator) {
		return []Expr{e}
	}
	args := e.args()
	return append(args[0].operands(operator), args[1].operands(operator)...)
}

// Conjuncts returns the conditions that must all hold for e to hold.
func (e Expr) Conjuncts() []Expr { return e.operands(operators.LogicalAnd) }

// opposites are operators that give the opposite results, also for values that have no order.
var opposites = map[string]string{operators.Equals: operators.NotEquals, operators.NotEquals: operators.Equals}

// Not returns the opposite of a condition.
func Not(e Expr) Expr {
	switch {
	case Equal(e, True):
		return False
	case Equal(e, False):
		return True
	case e.isCallOf(operators.LogicalNot):
		return e.args()[0]
	case e.isCallOf(operators.Equals, operators.NotEquals):
		return operation(opposites[e.node.AsCall().FunctionName()], e.args()...)
	}
	return operation(operators.LogicalNot, e)
}

// comparisons are the operators of Compare.
var comparisons = map[string]string{
	"==": operators.Equals, "!=": operators.NotEquals, "<": operators.Less, "<=": operators.LessEquals, ">": operators.Greater, ">=": operators.GreaterEquals,
}

// Compare returns a comparison with an operator as CEL writes it.
func Compare(a Expr, operator string, b Expr) Expr { return operation(comparisons[operator], a, b) }

// Is returns a test whether two values are equal.
func Is(a, b Expr) Expr { return Compare(a, "==", b) }

// In returns a test whether a list has an item, or a map a key.
func In(item, list Expr) Expr { return operation(operators.In, item, list) }
