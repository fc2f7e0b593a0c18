package syntax

import (
	"github.com/google/cel-go/common/ast"
	celoperators "github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// grammar parses one expression. Nodes are numbered in the same order as in cel-go: an operator
// after its left operand, a call before its arguments.
type grammar struct {
	parser *Parser
	text   string
	tokens []token // the remaining tokens
	make   ast.ExprFactory
	info   *ast.SourceInfo
	nextID int64
	depth  int
}

// giveUp ends the parsing of an expression that cel-go must parse.
type giveUp struct{}

func (g *grammar) require(ok bool) {
	if !ok {
		panic(giveUp{})
	}
}

func (g *grammar) peek() kind { return g.tokens[0].kind }

func (g *grammar) advance() token {
	t := g.tokens[0]
	g.require(t.kind != end)
	g.tokens = g.tokens[1:]
	return t
}

func (g *grammar) expect(k kind) token {
	g.require(g.peek() == k)
	return g.advance()
}

// accept consumes the next token if it has the kind.
func (g *grammar) accept(k kind) bool {
	if g.peek() != k {
		return false
	}
	g.advance()
	return true
}

func (g *grammar) textOf(t token) string { return g.text[t.start:t.end] }

// newID numbers a node at an offset in characters, with a size in bytes.
func (g *grammar) newID(offset, size int) int64 {
	id := g.nextID
	g.nextID++
	g.place(id, offset, size)
	return id
}

func (g *grammar) place(id int64, offset, size int) {
	g.info.SetOffsetRange(id, ast.OffsetRange{Start: int32(offset), Stop: int32(offset + size)})
}

func (g *grammar) idOf(t token) int64 { return g.newID(t.offset, t.end-t.start) }

// deepen counts the nesting of nodes. The caller restores depth.
func (g *grammar) deepen() {
	g.depth++
	g.require(g.depth <= maxDepth)
}

// expression parses an expression: a condition, optionally with two branches.
func (g *grammar) expression() ast.Expr {
	depth := g.depth
	g.deepen()
	condition := g.disjunction()
	if g.peek() == "?" {
		id := g.idOf(g.advance())
		yes := g.disjunction()
		g.expect(":")
		condition = g.make.NewCall(id, celoperators.Conditional, condition, yes, g.expression())
	}
	g.depth = depth
	return condition
}

func (g *grammar) disjunction() ast.Expr {
	return g.terms("||", celoperators.LogicalOr, func() ast.Expr {
		return g.terms("&&", celoperators.LogicalAnd, g.relation)
	})
}

// terms parses the operands of && or ||. Their order of evaluation does not matter, so cel-go
// makes a balanced tree.
func (g *grammar) terms(operator kind, function string, term func() ast.Expr) ast.Expr {
	terms := []ast.Expr{term()}
	var ids []int64
	for g.peek() == operator {
		at := g.advance()
		terms = append(terms, term())
		ids = append(ids, g.idOf(at))
	}
	return g.balance(function, terms, ids)
}

// balance returns a tree of terms; ids are the operators between them.
func (g *grammar) balance(function string, terms []ast.Expr, ids []int64) ast.Expr {
	if len(ids) == 0 {
		return terms[0]
	}
	middle := len(ids) / 2
	left := g.balance(function, terms[:middle+1], ids[:middle])
	right := g.balance(function, terms[middle+1:], ids[middle+1:])
	return g.make.NewCall(ids[middle], function, left, right)
}

func (g *grammar) relation() ast.Expr {
	return g.binary(g.sum, "==", "!=", "<", "<=", ">", ">=", "in")
}

func (g *grammar) sum() ast.Expr { return g.binary(g.product, "+", "-") }

func (g *grammar) product() ast.Expr { return g.binary(g.unary, "*", "/", "%") }

// binary parses left-associative operators of one precedence.
func (g *grammar) binary(operand func() ast.Expr, operators ...kind) ast.Expr {
	depth := g.depth
	left := operand()
	for isOneOf(g.peek(), operators) {
		g.deepen()
		at := g.advance()
		function, _ := celoperators.Find(string(at.kind))
		id := g.idOf(at)
		left = g.make.NewCall(id, function, left, operand())
	}
	g.depth = depth
	return left
}

func isOneOf(k kind, kinds []kind) bool {
	for _, other := range kinds {
		if k == other {
			return true
		}
	}
	return false
}

// unary parses any number of the same sign; two cancel each other. A single minus belongs to the
// number after it.
func (g *grammar) unary() ast.Expr {
	sign := g.peek()
	if sign != "!" && sign != "-" || sign == "-" && isNumber(g.tokens[1].kind) {
		return g.member()
	}
	first, count := g.tokens[0], 0
	for g.accept(sign) {
		count++
	}
	if count%2 == 0 {
		return g.member()
	}
	function := celoperators.LogicalNot
	if sign == "-" {
		function = celoperators.Negate
	}
	id := g.idOf(first)
	return g.make.NewCall(id, function, g.member())
}

func isNumber(k kind) bool { return k == integer || k == decimal }

// member parses an operand with its fields, indices and calls.
func (g *grammar) member() ast.Expr {
	depth := g.depth
	target := g.primary()
	for g.peek() == "." || g.peek() == "[" {
		g.deepen()
		if g.peek() == "." {
			target = g.selection(target)
		} else {
			target = g.index(target)
		}
	}
	g.depth = depth
	return target
}

func (g *grammar) selection(target ast.Expr) ast.Expr {
	dot := g.advance()
	optional := g.optional()
	field := g.expect(identifier)
	switch {
	case optional:
		name := g.make.NewLiteral(g.idOf(field), types.String(g.textOf(field)))
		return g.make.NewCall(g.idOf(dot), celoperators.OptSelect, target, name)
	case g.peek() == "(":
		id := g.idOf(g.advance())
		return g.call(id, g.textOf(field), target, g.arguments())
	default:
		return g.make.NewSelect(g.idOf(dot), target, g.textOf(field))
	}
}

func (g *grammar) index(target ast.Expr) ast.Expr {
	open := g.advance()
	function := celoperators.Index
	if g.optional() {
		function = celoperators.OptIndex
	}
	id := g.idOf(open)
	index := g.expression()
	g.expect("]")
	return g.make.NewCall(id, function, target, index)
}

// optional parses the mark of optional fields, indices and entries.
func (g *grammar) optional() bool {
	marked := g.accept("?")
	g.require(!marked || g.parser.optionals)
	return marked
}

func (g *grammar) arguments() []ast.Expr {
	args := []ast.Expr{}
	for g.peek() != ")" {
		args = append(args, g.expression())
		if g.peek() != ")" {
			g.expect(",")
			g.require(g.peek() != ")")
		}
	}
	g.advance()
	return args
}

func (g *grammar) primary() ast.Expr {
	switch g.peek() {
	case "(":
		g.advance()
		e := g.expression()
		g.expect(")")
		return e
	case "[":
		return g.list()
	case "{":
		return g.mapping()
	case identifier, ".":
		return g.named()
	default:
		return g.literal()
	}
}

// reserved are identifiers that cannot name a variable or a function.
var reserved = map[string]bool{
	"as": true, "break": true, "const": true, "continue": true, "else": true, "for": true, "function": true, "if": true, "import": true,
	"let": true, "loop": true, "package": true, "namespace": true, "return": true, "var": true, "void": true, "while": true,
}

// named parses a variable, a function or a message.
func (g *grammar) named() ast.Expr {
	prefix := ""
	if g.accept(".") {
		prefix = "."
	}
	if g.isMessage() {
		return g.message(prefix)
	}
	at := g.expect(identifier)
	name := g.textOf(at)
	g.require(!reserved[name])
	if g.peek() == "(" {
		id := g.idOf(g.advance())
		return g.call(id, prefix+name, nil, g.arguments())
	}
	return g.make.NewIdent(g.idOf(at), prefix+name)
}

// isMessage reports whether the name ahead is the name of a message.
func (g *grammar) isMessage() bool {
	for i := 0; g.tokens[i].kind == identifier; i += 2 {
		if g.tokens[i+1].kind != "." {
			return g.tokens[i+1].kind == "{"
		}
	}
	return false
}

func (g *grammar) message(prefix string) ast.Expr {
	name := prefix + g.textOf(g.advance())
	for g.accept(".") {
		name += "." + g.textOf(g.advance())
	}
	id := g.idOf(g.advance())
	var fields []ast.EntryExpr
	g.items("}", func() {
		optional := g.optional()
		field := g.textOf(g.expect(identifier))
		id := g.idOf(g.expect(":"))
		fields = append(fields, g.make.NewStructField(id, field, g.expression(), optional))
	})
	return g.make.NewStruct(id, name, fields)
}

func (g *grammar) mapping() ast.Expr {
	id := g.idOf(g.advance())
	var entries []ast.EntryExpr
	g.items("}", func() {
		optional := g.optional()
		id := g.newID(0, 0) // of the colon, which is numbered before the key
		key := g.expression()
		colon := g.expect(":")
		g.place(id, colon.offset, 1)
		entries = append(entries, g.make.NewMapEntry(id, key, g.expression(), optional))
	})
	return g.make.NewMap(id, entries)
}

func (g *grammar) list() ast.Expr {
	id := g.idOf(g.advance())
	var elements []ast.Expr
	var optionals []int32
	g.items("]", func() {
		if g.optional() {
			optionals = append(optionals, int32(len(elements)))
		}
		elements = append(elements, g.expression())
	})
	return g.make.NewList(id, elements, optionals)
}

// items parses items separated by commas. A trailing comma is allowed, also without items.
func (g *grammar) items(closing kind, item func()) {
	if !g.accept(",") {
		for g.peek() != closing {
			item()
			if !g.accept(",") {
				break
			}
		}
	}
	g.expect(closing)
}
