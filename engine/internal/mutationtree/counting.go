package mutationtree

import (
	"github.com/jmespath-community/go-jmespath/pkg/parsing"

	"github.com/preadmit/preadmit/engine/limit"
)

// Functions that return their argument. Expressions cannot call them by name. One counts a step,
// the other the size of a value.
const (
	stepFunction  = "a step"
	spendFunction = "a value"
)

// counting calls the functions of one evaluation, and counts the resources that it uses.
type counting struct{ budget limit.Budget }

// CallFunction implements interpreter.FunctionCaller. Functions that multiply texts are counted
// before they run.
func (c *counting) CallFunction(name string, arguments []any) (any, error) {
	switch name {
	case stepFunction:
		c.budget.Step()
		return arguments[0], nil
	case spendFunction:
		c.budget.Spend(arguments[0])
		return arguments[0], nil
	case "to_string", "join", "replace":
		for _, argument := range arguments {
			c.budget.Spend(argument)
		}
		c.budget.Take(longest(name, arguments))
	}
	result, err := functionTable().CallFunction(name, arguments)
	if len(arguments) > 1 {
		c.budget.Spend(result)
	}
	return result, err
}

// longest returns the maximum size that a text function adds to its arguments.
func longest(name string, arguments []any) int {
	if len(arguments) < 2 {
		return 0
	}
	first, _ := arguments[0].(string)
	if name == "join" {
		list, _ := arguments[1].([]any)
		return len(list) * len(first)
	}
	replacement, _ := arguments[min(2, len(arguments)-1)].(string)
	return (len(first) + 1) * len(replacement)
}

// counted makes an expression count its work. Each evaluation for an item of a list is a step.
// Sizes of values are counted where a value can be repeated in another, which could exceed any
// bound in a few steps, where values are compared, and where a binding copies them.
func counted(node parsing.ASTNode) parsing.ASTNode {
	written, children := node.Children, make([]parsing.ASTNode, len(node.Children))
	for i, child := range written {
		children[i] = counted(child)
	}
	node.Children = children
	switch node.NodeType {
	case parsing.ASTProjection, parsing.ASTValueProjection, parsing.ASTFilterProjection:
		for i := 1; i < len(children); i++ {
			children[i] = call(stepFunction, children[i])
		}
	case parsing.ASTExpRef:
		children[0] = call(stepFunction, children[0])
	case parsing.ASTComparator:
		children[0], children[1] = call(spendFunction, children[0]), call(spendFunction, children[1])
	case parsing.ASTBinding:
		children[0] = written[0] // a definition does not use the value
	case parsing.ASTMultiSelectHash, parsing.ASTMultiSelectList, parsing.ASTVariable:
		return call(spendFunction, node)
	}
	return node
}

func call(function string, node parsing.ASTNode) parsing.ASTNode {
	return parsing.ASTNode{NodeType: parsing.ASTFunctionExpression, Value: function, Children: []parsing.ASTNode{node}}
}
