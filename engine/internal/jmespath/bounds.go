package jmespath

import (
	jmespath "github.com/kyverno/go-jmespath"

	"github.com/preadmit/preadmit/engine/limit"
)

// Functions that expressions cannot call by name. One counts a step, one the size of a value; both
// return their argument.
const (
	stepFunction  = "a step"
	spendFunction = "a value"
	// valuesFunction returns the values of an object in the order of its keys.
	valuesFunction = "values in order"
)

// counters returns the functions that count against a budget.
func counters(budget *limit.Budget) []jmespath.FunctionEntry {
	return []jmespath.FunctionEntry{
		{Name: stepFunction, Handler: func(args []any) (any, error) {
			budget.Step()
			return args[0], nil
		}},
		{Name: spendFunction, Handler: func(args []any) (any, error) {
			budget.Spend(args[0])
			return args[0], nil
		}},
	}
}

// bounded makes an expression count its work, and take the values of objects in the order of their
// keys: the library's projection of values has the random order of Go's maps. Each evaluation for an item of a list is a step.
// Sizes of values are counted where a value can be repeated in another, which could exceed any
// bound in a few steps, and where values are compared.
func bounded(node jmespath.ASTNode) jmespath.ASTNode {
	children := make([]jmespath.ASTNode, len(node.Children))
	for i, child := range node.Children {
		children[i] = bounded(child)
	}
	node.Children = children
	if node.NodeType == jmespath.ASTValueProjection {
		node.NodeType, children[0] = jmespath.ASTProjection, call(valuesFunction, children[0])
	}
	switch node.NodeType {
	case jmespath.ASTProjection, jmespath.ASTFilterProjection:
		for i := 1; i < len(children); i++ {
			children[i] = stepped(children[i])
		}
	case jmespath.ASTExpRef:
		children[0] = stepped(children[0])
	case jmespath.ASTComparator:
		children[0], children[1] = spent(children[0]), spent(children[1])
	case jmespath.ASTMultiSelectHash, jmespath.ASTMultiSelectList:
		return spent(node)
	case jmespath.ASTFunctionExpression:
		if len(children) > 1 {
			return spent(node)
		}
	}
	return node
}

// stepped adds a counted step to a node. Errors of the node stay the same.
func stepped(node jmespath.ASTNode) jmespath.ASTNode {
	current := jmespath.ASTNode{NodeType: jmespath.ASTCurrentNode}
	return jmespath.ASTNode{NodeType: jmespath.ASTSubexpression, Children: []jmespath.ASTNode{call(stepFunction, current), node}}
}

// spent counts the size of the value of a node. The node must not fail on a missing key.
func spent(node jmespath.ASTNode) jmespath.ASTNode { return call(spendFunction, node) }

// call returns a call of a function. A missing argument is null.
func call(function string, argument jmespath.ASTNode) jmespath.ASTNode {
	return jmespath.ASTNode{NodeType: jmespath.ASTFunctionExpression, Value: function, Children: []jmespath.ASTNode{argument}}
}
