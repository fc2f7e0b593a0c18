// Package syntax parses CEL expressions the way cel-go does, thirty times as fast: the
// parser of cel-go is generated, and takes longer to begin than everything else that a
// short run does with its policies.
//
// It reads what people write. Whatever is wrong, rare or nested deeply it leaves to
// cel-go, whose words an error is told in: Parse returns nil then. What it returns is what
// cel-go would have returned, down to the numbers of the nodes and their places, macros
// expanded; a fuzz test compares the two.
//
// The files in order: syntax.go, tokens.go, expressions.go (the grammar), literals.go,
// macros.go.
package syntax

import (
	"unicode/utf8"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/parser"
)

// maxLength and maxDepth are well within cel-go's limits.
const (
	maxLength = 50_000
	maxDepth  = 100
)

// Parser parses expressions of one environment. It is safe for concurrent use.
type Parser struct {
	macros map[macroKey]parser.Macro
	// optionals says that there are optional fields, indices and entries.
	optionals bool
}

// macroKey is what a macro is called as; anyNumber stands for any number of arguments.
type macroKey struct {
	function string
	args     int
	isMember bool
}

const anyNumber = -1

// New returns a parser with macros, of which the last of a key counts.
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

// variadicKey is the key that cel-go gives a macro that takes any number of arguments.
func variadicKey(m parser.Macro) string {
	if m.IsReceiverStyle() {
		return m.Function() + ":*:true"
	}
	return m.Function() + ":*:false"
}

// Parse parses an expression; nil leaves it to cel-go.
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
		Parser: p, text: text, tokens: tokens, nextID: 1,
		make: ast.NewExprFactoryWithAccumulator(parser.HiddenAccumulatorName), info: ast.NewSourceInfo(source),
	}
	root := g.expression()
	g.require(g.peek() == end)
	return ast.NewAST(root, g.info)
}
