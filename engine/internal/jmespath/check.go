package jmespath

import (
	"maps"
	"slices"

	"github.com/preadmit/preadmit/engine/source"
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
func (f Functions) Check(n Node) []Problem {
	c := &checker{functions: f}
	c.check(n)
	return c.problems
}

type checker struct {
	functions Functions
	problems  []Problem
}

// check checks the calls in a part of an expression, and returns the possible kinds of its value.
func (c *checker) check(n Node) kindSet {
	if n.Op == OpCall {
		return c.call(n)
	}
	var of kindSet
	for _, child := range n.Children {
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
	report := func(text string, advice source.Advice) {
		c.problems = append(c.problems, Problem{text, advice, n.Offset})
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
