// Package jmespath evaluates JMESPath expressions as Kyverno v1.19.0 does: the language of
// github.com/kyverno/go-jmespath, in which a missing key of a map is an error, with Kyverno's
// functions. No other package imports that library or the parsers of versions and of image
// references.
//
// Where the library depends on the order of Go's maps (projections of the values of a map,
// keys(), values()), the keys are sorted.
//
// Errors contain no values of the input, because these may be secret.
//
// The files in order: jmespath.go (Expression, Env), value.go (input and output values), bounds.go (the resources
// of an expression), signature.go and call.go (arguments), check.go (calls that always fail), strings.go,
// objects.go, arithmetic.go, clock.go, crypto.go and image.go (the functions, with what they do), compare.go
// (quantities and versions for other packages), parts.go (the parts of a text, for editors), tree.go and order.go
// (the parts of an expression and what of its value is random, for other packages).
package jmespath

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	jmespath "github.com/kyverno/go-jmespath"

	"github.com/preadmit/preadmit/engine/limit"
)

// maxExpression is the maximum length of an expression in bytes. It also limits the nesting.
const maxExpression = 16 << 10

// Expression is a compiled expression. It is safe for concurrent use.
type Expression struct {
	path jmespath.ASTNode
	keys []string
}

// SyntaxError reports that a text is not a JMESPath expression.
type SyntaxError struct {
	Text string
	// Offset is the byte offset in the expression.
	Offset int
}

// Error implements error.
func (e *SyntaxError) Error() string { return "not a JMESPath expression: " + e.Text }

// Compile parses an expression. Its error is a *SyntaxError.
func Compile(expression string) (*Expression, error) {
	path, err := parse(expression)
	if err != nil {
		return nil, err
	}
	return &Expression{bounded(path), keysOf(path)}, nil
}

// parse parses an expression with the library. Its error is a *SyntaxError.
func parse(expression string) (jmespath.ASTNode, error) {
	if len(expression) > maxExpression {
		return jmespath.ASTNode{}, &SyntaxError{Text: fmt.Sprintf("it is longer than %d bytes", maxExpression)}
	}
	path, err := jmespath.NewParser().Parse(expression)
	var syntax jmespath.SyntaxError
	switch {
	case errors.As(err, &syntax):
		text := strings.TrimPrefix(syntax.Error(), "SyntaxError: ")
		return path, &SyntaxError{Text: strings.ToLower(text[:1]) + text[1:], Offset: max(0, min(syntax.Offset, len(expression)))}
	case err != nil:
		return path, &SyntaxError{Text: err.Error()}
	}
	return path, nil
}

// keysOf returns the keys in a path of keys, nil for any other expression.
func keysOf(node jmespath.ASTNode) []string {
	switch node.NodeType {
	case jmespath.ASTField:
		name, _ := node.Value.(string)
		return []string{name}
	case jmespath.ASTSubexpression:
		left, right := keysOf(node.Children[0]), keysOf(node.Children[1])
		if left != nil && right != nil {
			return append(left, right...)
		}
	}
	return nil
}

// Keys returns the keys in a path of keys, nil for any other expression.
func (e *Expression) Keys() []string { return e.keys }

// TextBelow returns what Search finds if the expression is a path of keys that begins with a prefix
// and leads to a text in the value at the prefix. It is not ok for everything else. The value need
// not be made by Input.
func (e *Expression) TextBelow(value map[string]any, prefix ...string) (text string, ok bool) {
	if len(e.keys) <= len(prefix) || !slices.Equal(e.keys[:len(prefix)], prefix) {
		return "", false
	}
	found := any(value)
	for _, key := range e.keys[len(prefix):] {
		object, _ := found.(map[string]any)
		found = object[key]
	}
	text, ok = found.(string)
	_, err := Output(text)
	return text, ok && err == nil
}

// Env is an environment for evaluating expressions. It is safe for concurrent use.
type Env struct {
	answer func(call, argument string) (any, bool)
	// compiled are the first expressions, by their texts. The texts of others are computed.
	compiled sync.Map
	count    atomic.Int32
	// callers has *caller values. Each is used by one expression at a time.
	callers sync.Pool
}

// A caller calls functions, and counts the resources that an expression uses.
type caller struct {
	*jmespath.FunctionCaller
	budget limit.Budget
}

// NewEnv returns an environment. answer returns the results of functions that differ in every
// run: "time_now()", "time_now_utc()", "random()" and "is_external_url()", for an argument.
// Without an answer these functions fail.
func NewEnv(answer func(call, argument string) (any, bool)) *Env {
	e := &Env{answer: answer}
	e.callers.New = func() any { return e.newCaller() }
	return e
}

// maxCompiled is how many expressions an environment remembers.
const maxCompiled = 1 << 10

// Compile parses an expression, like the function Compile. It remembers the first expressions.
func (e *Env) Compile(text string) (*Expression, error) {
	if known, ok := e.compiled.Load(text); ok {
		return known.(*Expression), nil
	}
	expression, err := Compile(text)
	if err == nil && e.count.Add(1) <= maxCompiled {
		e.compiled.Store(text, expression)
	}
	return expression, err
}

func (e *Env) newCaller() *caller {
	c := &caller{FunctionCaller: jmespath.NewFunctionCaller()}
	for _, f := range e.functions() {
		c.Register(jmespath.FunctionEntry{Name: f.name, Handler: f.call})
	}
	for _, f := range counters(&c.budget) {
		c.Register(f)
	}
	return c
}

// functions returns the functions that Kyverno adds.
func (e *Env) functions() []function {
	return slices.Concat(stringFunctions, objectFunctions, arithmeticFunctions, clockFunctions, cryptoFunctions, imageFunctions, e.given())
}

// NotFoundError reports that a key is missing.
type NotFoundError struct{ text string }

// Error implements error.
func (e NotFoundError) Error() string { return e.text }

// Search evaluates an expression on data made by Input or Whole. The result is such data, too: Output
// makes a value of it. The error is a NotFoundError if a key is missing.
func (e *Env) Search(expression *Expression, data any) (result any, err error) {
	c := e.callers.Get().(*caller)
	defer e.callers.Put(c)
	c.budget.Start()
	// The library's functions panic on some arguments of a wrong type.
	defer func() {
		if problem := recover(); problem != nil {
			if result, err = nil, limit.Recovered(problem); err == nil {
				err = errArguments
			}
		}
	}()
	found, err := c.execute(expression.path, data)
	if err != nil {
		return nil, explain(err)
	}
	room := maxSize
	return converted(found, &room, finite)
}

func (c *caller) execute(node jmespath.ASTNode, data any) (any, error) {
	return jmespath.NewInterpreter().Execute(node, data, jmespath.WithFunctionCaller(c.FunctionCaller))
}

var errArguments = errors.New("a function is called with an argument of the wrong type, or cannot compare the items of its list")

// explain returns an error without the values that the library puts into some errors.
func explain(err error) error {
	var missing jmespath.NotFoundError
	var ours *callError
	switch {
	case errors.As(err, &missing):
		key := strings.TrimSuffix(strings.TrimPrefix(missing.Error(), `Unknown key "`), `" in path`)
		return NotFoundError{fmt.Sprintf("there is no %q", key)}
	case errors.As(err, &ours):
		return ours
	case strings.HasPrefix(err.Error(), "unknown function: "):
		return errors.New("there is no function " + strings.TrimPrefix(err.Error(), "unknown function: ") + "()")
	case strings.HasPrefix(err.Error(), "incorrect number of args"), strings.HasPrefix(err.Error(), "Invalid arity"):
		return errors.New("a function is called with a wrong number of arguments")
	}
	return errArguments
}
