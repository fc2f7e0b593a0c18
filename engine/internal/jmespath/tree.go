package jmespath

import (
	"errors"
	"fmt"
	"strings"

	jmespath "github.com/kyverno/go-jmespath"
)

// Node is a part of an expression, for conversion to another language.
type Node struct {
	Op Op
	// Name is the name of a field or a function, or the operator of a comparison.
	Name string
	// Value is the value of a literal, or an index as an int.
	Value any
	// Children are the operands. A filter has three: the list, the selection from its items, and
	// the condition.
	Children []Node
}

// Op is the operation of a Node.
type Op string

// The operations of a Node.
const (
	OpField      Op = "field"
	OpSelect     Op = "select" // the second child, evaluated on the first
	OpIndex      Op = "index"
	OpOr         Op = "or"
	OpAnd        Op = "and"
	OpNot        Op = "not"
	OpCompare    Op = "compare"
	OpCall       Op = "call"
	OpLiteral    Op = "literal"
	OpCurrent    Op = "current"
	OpPipe       Op = "pipe"
	OpProjection Op = "projection" // the second child, evaluated on each item of the first
	OpFilter     Op = "filter"
	OpFlatten    Op = "flatten"
	OpList       Op = "list"
	OpReference  Op = "reference"
	OpValues     Op = "values" // OpProjection for the values of a map
	OpHash       Op = "hash"
	OpSlice      Op = "slice"
	OpOther      Op = "other"
)

var ops = map[jmespath.ASTNodeType]Op{
	jmespath.ASTField: OpField, jmespath.ASTSubexpression: OpSelect, jmespath.ASTIndexExpression: OpSelect, jmespath.ASTIndex: OpIndex,
	jmespath.ASTOrExpression: OpOr, jmespath.ASTAndExpression: OpAnd, jmespath.ASTNotExpression: OpNot, jmespath.ASTComparator: OpCompare,
	jmespath.ASTFunctionExpression: OpCall, jmespath.ASTLiteral: OpLiteral, jmespath.ASTCurrentNode: OpCurrent, jmespath.ASTIdentity: OpCurrent,
	jmespath.ASTPipe: OpPipe, jmespath.ASTProjection: OpProjection, jmespath.ASTFilterProjection: OpFilter, jmespath.ASTFlatten: OpFlatten,
	jmespath.ASTMultiSelectList: OpList, jmespath.ASTExpRef: OpReference, jmespath.ASTValueProjection: OpValues,
	jmespath.ASTMultiSelectHash: OpHash, jmespath.ASTSlice: OpSlice,
}

var comparisons = map[string]string{"tEQ": "==", "tNE": "!=", "tLT": "<", "tLTE": "<=", "tGT": ">", "tGTE": ">="}

// Parse parses an expression. Its error is a *SyntaxError.
func Parse(expression string) (Node, error) {
	if _, err := Compile(expression); err != nil {
		return Node{}, err
	}
	node, err := jmespath.NewParser().Parse(expression)
	var syntax jmespath.SyntaxError
	if errors.As(err, &syntax) {
		return Node{}, &SyntaxError{Text: strings.TrimPrefix(syntax.Error(), "SyntaxError: "), Offset: syntax.Offset}
	}
	return nodeOf(node), err
}

func nodeOf(from jmespath.ASTNode) Node {
	n := Node{Op: ops[from.NodeType]}
	if n.Op == "" {
		n.Op = OpOther
	}
	for _, child := range from.Children {
		n.Children = append(n.Children, nodeOf(child))
	}
	switch n.Op {
	case OpField, OpCall:
		n.Name, _ = from.Value.(string)
	case OpCompare:
		n.Name = comparisons[fmt.Sprint(from.Value)]
	case OpLiteral, OpIndex:
		n.Value = from.Value
	}
	return n
}
