package jmespath

import (
	"maps"
	"slices"

	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/lazyregexp"
)

// Problem is a call of a function that always fails, at Offset bytes from the start of the
// expression.
type Problem struct {
	Text   string
	Advice source.Advice
	Offset int
}

// Check reports the calls in an expression that always fail: of unknown functions, with a wrong
// number of arguments, and with arguments of a kind that the function does not take.
func (f Functions) Check(expression string, n Node) []Problem {
	c := &checker{functions: f, calls: callsIn(expression)}
	c.check(n)
	return c.problems
}

type checker struct {
	functions Functions
	// calls are the calls in the text that the tree has not reached yet.
	calls    []textCall
	problems []Problem
}

// textCall is the name of a function in the text of an expression.
type textCall struct {
	name   string
	offset int
}

// callSyntax finds texts in quotes, and names with a bracket.
var callSyntax = lazyregexp.New("'(?:[^'\\\\]|\\\\.)*'|\"(?:[^\"\\\\]|\\\\.)*\"|`(?:[^`\\\\]|\\\\.)*`|([A-Za-z_][A-Za-z0-9_]*)[ \t\r\n]*\\(")

// callsIn returns the calls in a text, because the trees of the libraries have no positions.
func callsIn(expression string) (calls []textCall) {
	for _, m := range callSyntax().FindAllStringSubmatchIndex(expression, -1) {
		if m[2] >= 0 {
			calls = append(calls, textCall{expression[m[2]:m[3]], m[2]})
		}
	}
	return calls
}

// offsetOf returns the offset of the next call of a function. The tree is read in the order of the
// text.
func (c *checker) offsetOf(name string) int {
	i := slices.IndexFunc(c.calls, func(t textCall) bool { return t.name == name })
	if i < 0 {
		return 0
	}
	defer func() { c.calls = c.calls[i+1:] }()
	return c.calls[i].offset
}

// check checks the calls in a part of an expression, and returns the possible kinds of its value.
func (c *checker) check(n Node) kindSet {
	if n.Op == OpCall {
		return c.call(n)
	}
	children := slices.Clone(n.Children)
	if n.Op == OpFilter { // the condition is written first
		children[1], children[2] = children[2], children[1]
	}
	var of kindSet
	for _, child := range children {
		of = c.check(child)
	}
	switch n.Op {
	case OpLiteral:
		return kindOf(n.Value)
	case OpReference:
		return isExpression
	case OpCompare:
		return isBoolean | isNull
	case OpNot:
		return isBoolean
	case OpList:
		return isList | isNull
	case OpHash:
		return isObject | isNull
	case OpPipe:
		return of
	}
	return kinds['v'].of
}

func (c *checker) call(n Node) kindSet {
	offset := c.offsetOf(n.Name)
	report := func(text string, advice source.Advice) {
		c.problems = append(c.problems, Problem{text, advice, offset})
	}
	signature, known := c.functions[n.Name]
	var given []kindSet
	for _, child := range n.Children {
		given = append(given, c.check(child))
	}
	if !known {
		advice := source.Advice{Text: "see the functions of this dialect of JMESPath"}
		if near := source.Nearest(n.Name, slices.Sorted(maps.Keys(c.functions))); near != "" {
			advice = source.Advice{Text: "did you mean " + near + "()?", Old: n.Name, New: near}
		}
		report("there is no function "+n.Name+"()", advice)
		return kinds['v'].of
	}
	if err := signature.Check(len(given)); err != nil {
		report(n.Name+"() "+err.Error(), source.Advice{Text: "give the arguments that the function takes"})
		return signature.result()
	}
	for i, of := range given {
		if want := signature.Kind(i); kinds[want].of&of == 0 {
			report(n.Name+"(): "+wrongKind(i, want, of).Error(), source.Advice{Text: "convert the argument first, or use another function"})
		}
	}
	return signature.result()
}
