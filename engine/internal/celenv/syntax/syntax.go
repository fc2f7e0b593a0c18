// Package syntax parses CEL expressions as cel-go does. The parser of cel-go is generated, and
// learns its grammar in every process: it costs a run with ten policies 4 milliseconds of
// processor time, a quarter of the run (go -C engine/internal/bench run . measures it again).
//
// The parser supports what people usually write. Parse returns nil for expressions that are
// wrong, unusual or deeply nested; cel-go parses these, with its own error texts. A result
// equals the result of cel-go, including the numbers and positions of the nodes, with macros
// expanded. A fuzz test compares the two.
//
// The files in order: syntax.go, tokens.go, expressions.go (the grammar), literals.go,
// macros.go, classes.go (the parts of incomplete expressions, for editors).
package syntax

import (
	"unicode/utf8"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/parser"
)

// maxLength and maxDepth are well below cel-go's limits.
const (
	maxLength = 50_000
	maxDepth  = 100
)

// Parser parses expressions of one environment. It is safe for concurrent use.
type Parser struct {
	macros map[macroKey]parser.Macro
	// optionals says that optional fields, indices and entries are enabled.
	optionals bool
}

// macroKey identifies a macro by its call; anyNumber means any number of arguments.
type macroKey struct {
	function string
	args     int
	isMember bool
}

const anyNumber = -1

// New returns a parser with macros. The last macro of a key wins.
func New(macros []parser.Macro, optionals bool) *Parser {
	p := &Parser{macros: make(map[macroKey]parser.Macro, len(macros)), optionals: optionals}
	for _, m := range macros {
		key := macroKey{m.Function(), m.ArgCount(), m.IsReceiverStyle()}
		if m.MacroKey() == variadicKey(m) {
			key.args = anyNumber
		}
		p.macros[key] = m
	}
	return p
}

// variadicKey returns the key that cel-go uses for a macro with any number of arguments.
func variadicKey(m parser.Macro) string {
	if m.IsReceiverStyle() {
		return m.Function() + ":*:true"
	}
	return m.Function() + ":*:false"
}

// Parse parses an expression; nil means that cel-go must parse it.
func (p *Parser) Parse(source common.Source) (parsed *ast.AST) {
	text := source.Content()
	if len(text) > maxLength || !utf8.ValidString(text) {
		return nil
	}
	tokens, ok := scan(text)
	if !ok {
		return nil
	}
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(giveUp); !ok {
				panic(r)
			}
			parsed = nil
		}
	}()
	g := &grammar{
		parser: p, text: text, tokens: tokens, nextID: 1,
		make: ast.NewExprFactoryWithAccumulator(parser.HiddenAccumulatorName), info: ast.NewSourceInfo(source),
	}
	root := g.expression()
	g.require(g.peek() == end)
	return ast.NewAST(root, g.info)
}
