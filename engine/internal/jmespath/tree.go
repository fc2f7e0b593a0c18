package jmespath

import (
	"fmt"
	"slices"
	"strings"

	jmespath "github.com/kyverno/go-jmespath"

	"github.com/preadmit/preadmit/internal/lazyregexp"
)

// Node is a part of an expression, for conversion to another language.
type Node struct {
	Op Op
	// Name is the name of a field or a function, the operator of a comparison, or @ where it is written.
	Name string
	// Value is the value of a literal, or an index as an int.
	Value any
	// Children are the operands. A filter has three: the list, the selection from its items, and
	// the condition.
	Children []Node
	// Offset is the place in the expression, in bytes, of the name or the sign of the part, or of its
	// first operand.
	Offset int
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
	OpPair       Op = "pair" // a key of a hash, with its value
	OpSlice      Op = "slice"
	OpOther      Op = "other"
)

var ops = map[jmespath.ASTNodeType]Op{
	jmespath.ASTField: OpField, jmespath.ASTSubexpression: OpSelect, jmespath.ASTIndexExpression: OpSelect, jmespath.ASTIndex: OpIndex,
	jmespath.ASTOrExpression: OpOr, jmespath.ASTAndExpression: OpAnd, jmespath.ASTNotExpression: OpNot, jmespath.ASTComparator: OpCompare,
	jmespath.ASTFunctionExpression: OpCall, jmespath.ASTLiteral: OpLiteral, jmespath.ASTCurrentNode: OpCurrent, jmespath.ASTIdentity: OpCurrent,
	jmespath.ASTPipe: OpPipe, jmespath.ASTProjection: OpProjection, jmespath.ASTFilterProjection: OpFilter, jmespath.ASTFlatten: OpFlatten,
	jmespath.ASTMultiSelectList: OpList, jmespath.ASTExpRef: OpReference, jmespath.ASTValueProjection: OpValues,
	jmespath.ASTMultiSelectHash: OpHash, jmespath.ASTKeyValPair: OpPair, jmespath.ASTSlice: OpSlice,
}

var comparisons = map[string]string{"tEQ": "==", "tNE": "!=", "tLT": "<", "tLTE": "<=", "tGT": ">", "tGTE": ">="}

// Parse parses an expression. Its error is a *SyntaxError.
func Parse(expression string) (Node, error) {
	node, err := parse(expression)
	if err != nil {
		return Node{}, err
	}
	n := nodeOf(node)
	n.Place(expression)
	return n, nil
}

// Roots returns the fields that an expression reads of the value that it is evaluated on: in Kyverno, of the variables.
func (n Node) Roots() (fields []Node) {
	children := n.Children
	switch n.Op {
	case OpField:
		return []Node{n}
	case OpSelect, OpProjection, OpFilter, OpFlatten, OpValues, OpPipe:
		children = children[:1]
	case OpReference:
		return nil
	}
	for _, child := range children {
		fields = append(fields, child.Roots()...)
	}
	return fields
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
	case OpField, OpCall, OpPair:
		n.Name, _ = from.Value.(string)
	case OpCurrent:
		if from.NodeType == jmespath.ASTCurrentNode {
			n.Name = "@"
		}
	case OpCompare:
		n.Name = comparisons[fmt.Sprint(from.Value)]
	case OpLiteral, OpIndex:
		n.Value = from.Value
	}
	return n
}

// tokens finds the tokens of an expression, as the library reads them. Its trees have no places.
var tokens = lazyregexp.New("(?s)'(?:\\\\'|[^'])*'|\"(?:[^\"\\\\]|\\\\.)*\"|`(?:[^`\\\\]|\\\\.)*`|[A-Za-z_][A-Za-z0-9_]*|\\[[ \t\r\n]*\\*[ \t\r\n]*\\]|\\[\\]|\\[\\?|&&|!=|[^ \t\r\n]")

// placer gives the parts of an expression their places. It reads the tree in the order of the text.
type placer struct {
	text string
	// tokens are the tokens that no part has yet.
	tokens [][]int
}

// signs are the tokens that make an operation. Those that follow the first operand are in suffixes, too.
var (
	signs = map[Op]string{
		OpHash: "{", OpList: "[", OpIndex: "[", OpSlice: "[", OpReference: "&", OpNot: "!", OpFlatten: "[]", OpFilter: "[?", OpValues: "*",
	}
	suffixes = []Op{OpFlatten, OpFilter, OpValues}
)

// Place finds where the parts of an expression are written.
func (n *Node) Place(expression string) {
	p := placer{expression, tokens().FindAllStringIndex(expression, -1)}
	p.place(n)
}

func (p *placer) place(n *Node) {
	n.Offset = p.start()
	isSuffix := slices.Contains(suffixes, n.Op)
	if !isSuffix {
		p.take(n)
	}
	for i := range n.Children {
		child := i
		if n.Op == OpFilter && i > 0 { // the condition is written first
			child = len(n.Children) - i
		}
		p.place(&n.Children[child])
		if isSuffix && i == 0 {
			p.take(n)
		}
	}
}

// start returns the place of the next token that an operand can begin with.
func (p *placer) start() int {
	isOther := func(token string) bool {
		return strings.Contains(".,:()]}|<>=", token) || token == "&&" || token == "!=" || token[0] == '[' && token[len(token)-1] == ']' && token != "[]"
	}
	for len(p.tokens) > 0 && isOther(p.text[p.tokens[0][0]:p.tokens[0][1]]) {
		p.tokens = p.tokens[1:]
	}
	if len(p.tokens) == 0 {
		return len(p.text)
	}
	return p.tokens[0][0]
}

// take takes the token that makes a part, if one does.
func (p *placer) take(n *Node) {
	isOwn := func(at []int) bool {
		token := p.text[at[0]:at[1]]
		switch n.Op {
		case OpField, OpPair:
			return token == n.Name || token[0] == '"'
		case OpCall, OpCurrent:
			return token == n.Name
		case OpLiteral:
			return token[0] == '\'' || token[0] == '`'
		}
		return token == signs[n.Op]
	}
	if signs[n.Op] == "" && n.Op != OpLiteral && (n.Name == "" || n.Op == OpCompare) {
		return
	}
	if i := slices.IndexFunc(p.tokens, isOwn); i >= 0 {
		n.Offset, p.tokens = p.tokens[i][0], p.tokens[i+1:]
	}
}
