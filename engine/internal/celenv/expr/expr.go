package expr

import (
	"fmt"
	"slices"
	"sync"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/parser"

	"github.com/preadmit/preadmit/engine/internal/celenv/syntax"
)

// Expr is an expression. The zero value is no expression.
type Expr struct{ node ast.Expr }

// factory makes nodes. Their IDs are not used.
var factory = ast.NewExprFactory()

// IsZero reports that e is no expression.
func (e Expr) IsZero() bool { return e.node == nil }

// Ident returns a variable.
func Ident(name string) Expr { return Expr{factory.NewIdent(0, name)} }

// Literal returns a constant: null, a bool, an int64, a float64 or a string.
func Literal(value any) Expr {
	switch value := value.(type) {
	case nil:
		return Expr{factory.NewLiteral(0, types.NullValue)}
	case int:
		return Expr{factory.NewLiteral(0, types.Int(value))}
	case bool, int64, float64, string:
		return Expr{factory.NewLiteral(0, types.DefaultTypeAdapter.NativeToValue(value))}
	}
	panic(fmt.Sprintf("a literal of type %T", value))
}

// List returns a list.
func List(items ...Expr) Expr { return Expr{factory.NewList(0, nodes(items), nil)} }

// Entry is an entry of a map, or a field of a struct. An Optional entry has an optional value,
// and is left out if this is empty.
type Entry struct {
	Key, Value Expr
	Name       string
	Optional   bool
}

// Map returns a map of entries, which have keys.
func Map(entries ...Entry) Expr {
	var made []ast.EntryExpr
	for _, e := range entries {
		made = append(made, factory.NewMapEntry(0, e.Key.node, e.Value.node, e.Optional))
	}
	return Expr{factory.NewMap(0, made)}
}

// Struct returns a message of entries, which have names.
func Struct(typeName string, entries ...Entry) Expr {
	var made []ast.EntryExpr
	for _, e := range entries {
		made = append(made, factory.NewStructField(0, e.Name, e.Value.node, e.Optional))
	}
	return Expr{factory.NewStruct(0, typeName, made)}
}

// Select returns a field, or the entry of a map if key is no identifier.
func (e Expr) Select(key string) Expr {
	if !IsIdentifier(key) {
		return e.Index(Literal(key))
	}
	return Expr{factory.NewSelect(0, e.node, key)}
}

// OptSelect returns the optional value of a field.
func (e Expr) OptSelect(key string) Expr {
	if !IsIdentifier(key) {
		return e.OptIndex(Literal(key))
	}
	return operation(operators.OptSelect, e, Literal(key))
}

// Index returns an item of a list or an entry of a map.
func (e Expr) Index(index Expr) Expr { return operation(operators.Index, e, index) }

// OptIndex returns the optional value of an item or an entry.
func (e Expr) OptIndex(index Expr) Expr { return operation(operators.OptIndex, e, index) }

// Has returns a test whether a map or message has a key.
func (e Expr) Has(key string) Expr {
	if !IsIdentifier(key) {
		return In(Literal(key), e)
	}
	return Call("has", e.Select(key))
}

// Call returns a call of a function.
func Call(function string, args ...Expr) Expr {
	return Expr{factory.NewCall(0, function, nodes(args)...)}
}

// Call returns a call of a function of e: e.function(args).
func (e Expr) Call(function string, args ...Expr) Expr {
	if e.node.Kind() == ast.LiteralKind || e.isCallOf(operators.LogicalNot, operators.Negate) {
		e = Call("dyn", e) // cel-go prints these without the brackets that they need
	}
	return Expr{factory.NewMemberCall(0, function, e.node, nodes(args)...)}
}

// Over returns a macro over the items of e: e.macro(name, args).
func (e Expr) Over(macro, name string, args ...Expr) Expr {
	return e.Call(macro, append([]Expr{Ident(name)}, args...)...)
}

// OrValue returns the value of the optional e, or another value if e is empty.
func (e Expr) OrValue(other Expr) Expr { return e.Call("orValue", other) }

// Plus returns the sum of all expressions. Lists that are written out, one after the other, become one
// list. The sum of nothing is an empty list.
func Plus(all ...Expr) Expr {
	var parts, items []Expr
	flush := func() {
		if len(items) > 0 {
			parts, items = append(parts, List(items...)), nil
		}
	}
	for _, e := range all {
		if more, isList := e.Items(); isList {
			items = append(items, more...)
			continue
		}
		flush()
		parts = append(parts, e)
	}
	if flush(); len(parts) == 0 {
		return List()
	}
	sum := parts[0]
	for _, e := range parts[1:] {
		sum = operation(operators.Add, sum, e)
	}
	return sum
}

// Minus returns a difference.
func Minus(a, b Expr) Expr { return operation(operators.Subtract, a, b) }

// If returns the conditional expression condition ? yes : no.
func If(condition, yes, no Expr) Expr {
	switch value, known := condition.Constant(); {
	case known && value == true:
		return yes
	case known && value == false:
		return no
	}
	if Equal(yes, True) && Equal(no, False) {
		return condition
	}
	return operation(operators.Conditional, condition, yes, no)
}

func operation(operator string, args ...Expr) Expr { return Call(operator, args...) }

func nodes(all []Expr) []ast.Expr {
	made := make([]ast.Expr, len(all))
	for i, e := range all {
		made[i] = e.node
	}
	return made
}

// IsIdentifier reports whether CEL allows a key after a dot.
func IsIdentifier(key string) bool {
	if key == "" || '0' <= key[0] && key[0] <= '9' || slices.Contains([]string{"in", "true", "false", "null"}, key) {
		return false
	}
	for _, c := range key {
		if c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}

// parsers parse without macros. The second one is cel-go's, which takes a moment to start.
var (
	fastParser = sync.OnceValue(func() *syntax.Parser { return syntax.New(nil, true) })
	fullParser = sync.OnceValues(func() (*parser.Parser, error) {
		return parser.NewParser(parser.EnableOptionalSyntax(true), parser.EnableIdentEscapeSyntax(true), parser.Macros())
	})
)

// Parse parses an expression.
func Parse(text string) (Expr, error) {
	source := common.NewTextSource(text)
	if parsed := fastParser().Parse(source); parsed != nil {
		return Expr{parsed.Expr()}, nil
	}
	full, err := fullParser()
	if err != nil {
		return Expr{}, err
	}
	parsed, problems := full.Parse(source)
	if len(problems.GetErrors()) > 0 {
		return Expr{}, fmt.Errorf("not a CEL expression: %s", problems.GetErrors()[0].Message)
	}
	return Expr{parsed.Expr()}, nil
}
