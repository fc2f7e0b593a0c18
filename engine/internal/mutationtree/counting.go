package mutationtree

import (
	"github.com/jmespath-community/go-jmespath/pkg/parsing"

	"github.com/preadmit/preadmit/engine/limit"
)

// Functions that expressions cannot write, and that return their argument. One counts a
// step, the other the size of a value.
const (
	stepFunction  = "a step"
	spendFunction = "a value"
)

// counting calls the functions of one evaluation, and counts what it uses up.
type counting struct{ limit.Budget }

// CallFunction implements interpreter.FunctionCaller. Texts are counted before they are
// made where arguments multiply in them.
func (c *counting) CallFunction(name string, arguments []any) (any, error) {
	switch name {
	case stepFunction:
		c.Step()
		return arguments[0], nil
	case spendFunction:
		c.Spend(arguments[0])
		return arguments[0], nil
	case "to_string", "join", "replace":
		for _, argument := range arguments {
			c.Spend(argument)
		}
		c.Take(longest(name, arguments))
	}
	result, err := functionTable().CallFunction(name, arguments)
	if len(arguments) > 1 {
		c.Spend(result)
	}
	return result, err
}

// longest is what the result of a function of texts has at most besides its arguments.
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

// counted makes an expression count. What it does for every item of a list is a step;
// and values are counted where one can come to be in another twice, which makes them
// grow beyond any bound in a few steps, where they are compared, and where a binding
// copies them.
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
		children[0] = written[0] // which is no use of it
	case parsing.ASTMultiSelectHash, parsing.ASTMultiSelectList, parsing.ASTVariable:
		return call(spendFunction, node)
	}
	return node
}

func call(function string, node parsing.ASTNode) parsing.ASTNode {
	return parsing.ASTNode{NodeType: parsing.ASTFunctionExpression, Value: function, Children: []parsing.ASTNode{node}}
}
