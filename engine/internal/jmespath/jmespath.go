// Package jmespath evaluates JMESPath expressions as Kyverno v1.19.0 does: the language
// of github.com/kyverno/go-jmespath, in which a missing key of a map is an error, with
// Kyverno's functions. This is the only package that imports that library, the
// parsers of versions and of image references.
//
// Where the library depends on the order of Go's maps (projections of the values of a
// map, keys(), values()), the keys are taken in sorted order.
//
// No error holds a value of the input: it may be secret.
//
// The files in order: jmespath.go (Expression, Env), value.go (values in and out),
// bounds.go (what an expression may use), call.go (arguments), strings.go, objects.go,
// arithmetic.go, clock.go, crypto.go and image.go (the functions), compare.go (quantities and
// versions for others), tree.go (the parts of an expression, for others).
package jmespath

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	jmespath "github.com/kyverno/go-jmespath"

	"github.com/preadmit/preadmit/engine/limit"
)

// maxExpression bounds the length of an expression in bytes, and with it how deep one
// can nest.
const maxExpression = 16 << 10

// Expression is a compiled expression. It is safe for concurrent use.
type Expression struct {
	path jmespath.ASTNode
	// written is the expression without the order that orderProjections gives it; nil
	// if that is none.
	written *jmespath.ASTNode
}

// SyntaxError says where an expression is not JMESPath.
type SyntaxError struct {
	Text string
	// Offset is the byte in the expression.
	Offset int
}

// Error implements error.
func (e *SyntaxError) Error() string { return "not a JMESPath expression: " + e.Text }

// Compile parses an expression. Its error is a *SyntaxError.
func Compile(expression string) (*Expression, error) {
	if len(expression) > maxExpression {
		return nil, &SyntaxError{Text: fmt.Sprintf("it is longer than %d bytes", maxExpression)}
	}
	ordered, offsets := orderProjections(expression)
	path, err := parse(ordered)
	if err == nil {
		compiled := &Expression{path: path}
		if ordered != expression {
			var written jmespath.ASTNode
			written, err = parse(expression)
			compiled.written = &written
		}
		return compiled, err
	}
	var syntax jmespath.SyntaxError
	if errors.As(err, &syntax) {
		text := strings.TrimPrefix(syntax.Error(), "SyntaxError: ")
		return nil, &SyntaxError{Text: strings.ToLower(text[:1]) + text[1:], Offset: offsets(syntax.Offset)}
	}
	return nil, &SyntaxError{Text: err.Error()}
}

// parse parses an expression, which is bounded then.
func parse(expression string) (jmespath.ASTNode, error) {
	node, err := jmespath.NewParser().Parse(expression)
	if err != nil {
		return node, err
	}
	return bounded(node), nil
}

// valuesFunction is the function that stands for the projection of a map's values.
const valuesFunction = "values_in_order"

// orderProjections writes the projections of the values of a map (`labels.*`) so that
// the order of the values is known: as a projection of the list that a function makes
// of them. offsets leads from the result back to the expression.
func orderProjections(expression string) (ordered string, offsets func(int) int) {
	const replacement = valuesFunction + "(@)[*]"
	var out strings.Builder
	var places []int // where replacements begin in the result
	for i := 0; i < len(expression); i++ {
		c := expression[i]
		switch c {
		case '\'', '"', '`':
			end := closing(expression, i)
			out.WriteString(expression[i:end])
			i = end - 1
			continue
		case '*':
			if !isListWildcard(expression, i) {
				places = append(places, out.Len())
				out.WriteString(replacement)
				continue
			}
		}
		out.WriteByte(c)
	}
	return out.String(), func(at int) int {
		shift := 0
		for _, place := range places {
			if at > place {
				shift += min(len(replacement)-1, at-place)
			}
		}
		return max(0, min(at-shift, len(expression)))
	}
}

// closing returns the offset after the quoted text that starts at i.
func closing(expression string, i int) int {
	quote := expression[i]
	for i++; i < len(expression); i++ {
		switch expression[i] {
		case '\\':
			i++
		case quote:
			return i + 1
		}
	}
	return len(expression)
}

// isListWildcard reports whether the star at i is that of `[*]`, which selects the
// items of a list.
func isListWildcard(expression string, i int) bool {
	before := strings.TrimRight(expression[:i], " \t\n\r")
	after := strings.TrimLeft(expression[i+1:], " \t\n\r")
	if !strings.HasSuffix(before, "[") || !strings.HasPrefix(after, "]") {
		return false
	}
	before = strings.TrimRight(before[:len(before)-1], " \t\n\r")
	return !strings.HasSuffix(before, ".") // `.[*]` makes a list of what follows
}

// Env is what expressions are evaluated in. It is safe for concurrent use.
type Env struct {
	answer func(call, argument string) (any, bool)
	// callers are *caller, each used by one expression at a time.
	callers sync.Pool
}

// A caller calls functions, and counts what an expression uses up.
type caller struct {
	*jmespath.FunctionCaller
	budget limit.Budget
}

// NewEnv returns an environment. answer gives the values of functions that no two runs
// agree on: of "time_now()", "time_now_utc()", "random()" and "is_external_url()", for
// an argument. Without an answer they fail.
func NewEnv(answer func(call, argument string) (any, bool)) *Env {
	e := &Env{answer: answer}
	e.callers.New = func() any { return e.newCaller() }
	return e
}

func (e *Env) newCaller() *caller {
	c := &caller{FunctionCaller: jmespath.NewFunctionCaller()}
	for _, table := range [][]function{stringFunctions, objectFunctions, arithmeticFunctions, clockFunctions, cryptoFunctions, imageFunctions, e.given()} {
		for _, f := range table {
			c.Register(jmespath.FunctionEntry{Name: f.name, Handler: f.call})
		}
	}
	for _, f := range counters(&c.budget) {
		c.Register(f)
	}
	return c
}

// NotFoundError says that a key is missing.
type NotFoundError struct{ text string }

// Error implements error.
func (e NotFoundError) Error() string { return e.text }

// Search evaluates an expression on data made by Input. The result consists of
// the values that objects consist of. It fails with a NotFoundError if a key is
// missing.
func (e *Env) Search(expression *Expression, data any) (result any, err error) {
	c := e.callers.Get().(*caller)
	defer e.callers.Put(c)
	c.budget.Start()
	// The library's own functions panic on some arguments of a wrong type.
	defer func() {
		if problem := recover(); problem != nil {
			if result, err = nil, limit.Recovered(problem); err == nil {
				err = errArguments
			}
		}
	}()
	found, err := c.execute(expression.path, data)
	var missing jmespath.NotFoundError
	if errors.As(err, &missing) && expression.written != nil {
		// The values of what is missing are null, which is for the library to say.
		found, err = c.execute(*expression.written, data)
	}
	if err != nil {
		return nil, explain(err)
	}
	return Output(found)
}

func (c *caller) execute(node jmespath.ASTNode, data any) (any, error) {
	return jmespath.NewInterpreter().Execute(node, data, jmespath.WithFunctionCaller(c.FunctionCaller))
}

var errArguments = errors.New("a function is called with an argument of the wrong type, or cannot compare the items of its list")

// explain words an error without the values that the library puts into some.
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
