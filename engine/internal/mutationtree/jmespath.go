package mutationtree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/jmespath-community/go-jmespath/pkg/functions"
	"github.com/jmespath-community/go-jmespath/pkg/interpreter"
	"github.com/jmespath-community/go-jmespath/pkg/parsing"

	"github.com/preadmit/preadmit/engine/internal/jmespath"
	"github.com/preadmit/preadmit/engine/internal/number"
	"github.com/preadmit/preadmit/engine/internal/wildcard"
	"github.com/preadmit/preadmit/engine/limit"
)

// jmesPath is an expression of JMESPath Community v1.1: with let, bindings, and arithmetic. It
// also has the functions of kyverno-json that need neither the clock nor the network: at,
// concat, json_parse and wildcard. The values of an object are in the order of its keys.
type jmesPath struct{ node parsing.ASTNode }

// maxExpression is the maximum length of an expression in bytes, because the parser is
// recursive.
const maxExpression = 100_000

func compileJMESPath(text string) (e jmesPath, problems []jmespath.Problem) {
	if len(text) > maxExpression {
		return jmesPath{}, []jmespath.Problem{{Text: "the expression is too long"}}
	}
	defer func() {
		if recover() != nil { // the parser panics on some malformed literals
			problems = []jmespath.Problem{{Text: "the expression is malformed"}}
		}
	}()
	node, err := parsing.NewParser().Parse(text)
	var syntax parsing.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return jmesPath{}, []jmespath.Problem{{Text: syntax.Error(), Offset: max(syntax.Offset, 0)}}
	case err != nil:
		return jmesPath{}, []jmespath.Problem{{Text: err.Error()}}
	}
	n := nodeOf(node)
	n.Place(text)
	if problems := signatures().Check(n); problems != nil {
		return jmesPath{}, problems
	}
	return jmesPath{counted(inOrder(node))}, nil
}

// nodeOf returns what matters for the arguments of functions.
func nodeOf(from parsing.ASTNode) jmespath.Node {
	n := jmespath.Node{Op: jmespath.OpOther, Value: from.Value}
	switch from.NodeType {
	case parsing.ASTFunctionExpression:
		n.Op = jmespath.OpCall
		n.Name, _ = from.Value.(string)
	case parsing.ASTField:
		n.Op = jmespath.OpField
		n.Name, _ = from.Value.(string)
	case parsing.ASTKeyValPair:
		n.Op = jmespath.OpPair
		n.Name, _ = from.Value.(string)
	case parsing.ASTLiteral:
		n.Op = jmespath.OpLiteral
	case parsing.ASTExpRef:
		n.Op = jmespath.OpReference
	case parsing.ASTFilterProjection:
		n.Op = jmespath.OpFilter
	case parsing.ASTMultiSelectList:
		n.Op = jmespath.OpList
	case parsing.ASTMultiSelectHash:
		n.Op = jmespath.OpHash
	}
	for _, child := range from.Children {
		n.Children = append(n.Children, nodeOf(child))
	}
	return n
}

// Functions returns the functions that expressions in JMESPath may call.
func Functions() jmespath.Functions { return signatures() }

// signatures are those of the available functions.
var signatures = sync.OnceValue(func() jmespath.Functions {
	all := jmespath.Functions{}
	for _, e := range functionEntries() {
		var required, optional []byte
		more := ""
		for _, argument := range e.Arguments {
			if argument.Optional {
				optional = append(optional, letterOf(argument.Types))
			} else {
				required = append(required, letterOf(argument.Types))
			}
			if argument.Variadic {
				more = "+"
			}
		}
		all[e.Name] = jmespath.Signature(string(required) + "?" + string(optional) + more)
	}
	delete(all, sortedValues)
	return all
})

// letterOf returns the letter of a signature for the types of an argument.
func letterOf(types []functions.JpType) byte {
	letters := map[string]byte{
		"number": 'n', "string": 's', "array": 'a', "object": 'o', "expref": 'e', "array object": 'c', "array string": 'l', "array object string": 'm',
	}
	var names []string
	for _, t := range types {
		name, _, _ := strings.Cut(string(t), "[") // array[number]
		names = append(names, name)
	}
	slices.Sort(names)
	return cmp.Or(letters[strings.Join(slices.Compact(names), " ")], 'v')
}

// inOrder replaces the wildcard of objects by a projection of sortedValues, because the library
// would use the random order of Go's maps.
func inOrder(node parsing.ASTNode) parsing.ASTNode {
	children := make([]parsing.ASTNode, len(node.Children))
	for i, child := range node.Children {
		children[i] = inOrder(child)
	}
	node.Children = children
	if node.NodeType == parsing.ASTValueProjection {
		values := parsing.ASTNode{NodeType: parsing.ASTFunctionExpression, Value: sortedValues, Children: children[:1:1]}
		node.NodeType, node.Children = parsing.ASTProjection, append([]parsing.ASTNode{values}, children[1:]...)
	}
	return node
}

// evaluate implements expression. The library panics on unexpected arguments of some functions.
func (e jmesPath) evaluate(_ context.Context, value any, b *bindings) (result any, err error) {
	defer func() {
		if problem := recover(); problem != nil {
			if result, err = nil, limit.Recovered(problem); err == nil {
				err = errors.New("a function was given an argument that it cannot take")
			}
		}
	}()
	n := &numbers{}
	value = n.floats(value)
	c := &counting{}
	c.budget.Start()
	result, err = interpreter.NewInterpreter(value, c, named{b, n}).Execute(e.node, value)
	switch {
	case err == nil:
		c.budget.Spend(result)
		return n.plain(result)
	case strings.HasPrefix(err.Error(), "invalid type for: "): // the value may be a secret
		return nil, errors.New("a function was given an argument of another type than it takes")
	default:
		return nil, err
	}
}

// sortedValues is the name of a function that expressions cannot call.
const sortedValues = "sorted values"

// functionEntries are the available functions; functionTable calls them.
var (
	functionEntries = sync.OnceValue(func() []functions.FunctionEntry {
		return append(bounded(functions.GetDefaultFunctions()), ownFunctions...)
	})
	functionTable = sync.OnceValue(func() interpreter.FunctionCaller {
		return interpreter.NewFunctionCaller(functionEntries()...)
	})
)

// maxPad is the maximum width to which functions pad a text.
const maxPad = 1 << 16

// bounded limits the memory that functions use.
func bounded(entries []functions.FunctionEntry) []functions.FunctionEntry {
	for i, e := range entries {
		if e.Name != "pad_left" && e.Name != "pad_right" {
			continue
		}
		entries[i].Handler = func(arguments []any) (any, error) {
			if width, ok := arguments[1].(float64); ok && width > maxPad {
				return nil, fmt.Errorf("%s: a text must not be made wider than %d", e.Name, maxPad)
			}
			return e.Handler(arguments)
		}
	}
	return entries
}

var (
	anything = functions.ArgSpec{Types: []functions.JpType{functions.JpAny}}
	aString  = functions.ArgSpec{Types: []functions.JpType{functions.JpString}}
	anObject = functions.ArgSpec{Types: []functions.JpType{functions.JpObject}}
)

// ownFunctions are added to the functions of the library, or replace them: here keys, values and
// items return their results in the order of the keys.
var ownFunctions = []functions.FunctionEntry{
	{Name: sortedValues, Arguments: []functions.ArgSpec{anything}, Handler: jmespath.Values},
	{Name: "values", Arguments: []functions.ArgSpec{anObject}, Handler: jmespath.Values},
	{Name: "keys", Arguments: []functions.ArgSpec{anObject}, Handler: jmespath.Keys},
	{Name: "items", Arguments: []functions.ArgSpec{anObject}, Handler: func(arguments []any) (any, error) {
		object, pairs := arguments[0].(map[string]any), []any{}
		for _, key := range slices.Sorted(maps.Keys(object)) {
			pairs = append(pairs, []any{key, object[key]})
		}
		return pairs, nil
	}},
	{Name: "at", Arguments: []functions.ArgSpec{{Types: []functions.JpType{functions.JpArray}}, {Types: []functions.JpType{functions.JpNumber}}}, Handler: at},
	{Name: "concat", Arguments: []functions.ArgSpec{aString, aString}, Handler: func(arguments []any) (any, error) {
		return arguments[0].(string) + arguments[1].(string), nil
	}},
	{Name: "json_parse", Arguments: []functions.ArgSpec{aString}, Handler: parseJSON},
	{Name: "wildcard", Arguments: []functions.ArgSpec{aString, aString}, Handler: func(arguments []any) (any, error) {
		return wildcard.Match(arguments[0].(string), arguments[1].(string)), nil
	}},
}

func at(arguments []any) (any, error) {
	list, ok := arguments[0].([]any)
	index := arguments[1].(float64)
	if !ok || index != math.Trunc(index) || index < 0 || index >= float64(len(list)) {
		return nil, fmt.Errorf("at: there is no item %v", index)
	}
	return list[int(index)], nil
}

func parseJSON(arguments []any) (any, error) {
	value, err := number.Decode(arguments[0].(string))
	if err != nil {
		return nil, errors.New("json_parse: the text is not JSON")
	}
	return (&numbers{keep: true}).floats(value), nil
}
