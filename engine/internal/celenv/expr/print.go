package expr

import (
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/parser"
)

// String returns the expression on one line, as cel-go prints it.
func (e Expr) String() string {
	text, err := parser.Unparse(e.node, ast.NewSourceInfo(nil), parser.WrapOnColumn(1<<30))
	if err != nil {
		panic(err) // all nodes come from this package
	}
	return text
}

// width is the maximum width of lines, where possible.
const width = 88

// Pretty returns the expression on several lines, if it does not fit on one.
func (e Expr) Pretty() string {
	p := &printer{}
	p.print(e, "", 0)
	return p.String()
}

// printer breaks expressions into lines. indent is the indentation of all lines of an expression
// but the first; column is where its first line begins.
type printer struct{ strings.Builder }

func (p *printer) print(e Expr, indent string, column int) {
	flat := e.String()
	if column+len(flat) <= width {
		p.WriteString(flat)
		return
	}
	switch e.node.Kind() {
	case ast.ListKind:
		p.list("[", e.node.AsList(), indent)
	case ast.MapKind:
		p.entries("{", e.node.AsMap().Entries(), indent)
	case ast.StructKind:
		p.entries(e.node.AsStruct().TypeName()+"{", e.node.AsStruct().Fields(), indent)
	case ast.CallKind:
		p.call(e, indent, column)
	default:
		p.WriteString(flat)
	}
}

func (p *printer) list(open string, list ast.ListExpr, indent string) {
	p.WriteString(open)
	for i, item := range list.Elements() {
		p.item(i, indent)
		if list.IsOptional(int32(i)) {
			p.WriteString("?")
		}
		p.print(Expr{item}, indent+"  ", len(indent)+2)
	}
	p.WriteString("\n" + indent + "]")
}

// item begins the line of an item.
func (p *printer) item(i int, indent string) {
	if i > 0 {
		p.WriteString(",")
	}
	p.WriteString("\n" + indent + "  ")
}

func (p *printer) entries(open string, entries []ast.EntryExpr, indent string) {
	p.WriteString(open)
	for i, entry := range entries {
		p.item(i, indent)
		name, value, optional := "", Expr{}, false
		if entry.Kind() == ast.MapEntryKind {
			name, value, optional = Expr{entry.AsMapEntry().Key()}.String(), Expr{entry.AsMapEntry().Value()}, entry.AsMapEntry().IsOptional()
		} else {
			name, value, optional = entry.AsStructField().Name(), Expr{entry.AsStructField().Value()}, entry.AsStructField().IsOptional()
		}
		if optional {
			name = "?" + name
		}
		p.WriteString(name + ": ")
		p.print(value, indent+"  ", len(indent)+len(name)+4)
	}
	p.WriteString("\n" + indent + "}")
}

// chained are the operators whose operands can have a line each.
var chained = map[string]string{operators.LogicalAnd: "&& ", operators.LogicalOr: "|| ", operators.Add: "+ "}

func (p *printer) call(e Expr, indent string, column int) {
	function, target, args, _ := e.AsCall()
	sign, isChain := chained[function]
	switch {
	case isChain:
		for i, operand := range e.operands(function) {
			if i > 0 {
				p.WriteString("\n" + indent + sign)
			}
			p.operand(operand, indent+"  ", column)
			column = len(indent) + 2
		}
	case function == operators.Conditional:
		p.operand(args[0], indent, column)
		p.WriteString("\n" + indent + "? ")
		p.operand(args[1], indent+"  ", len(indent)+2)
		p.WriteString("\n" + indent + ": ")
		if args[2].isCallOf(operators.Conditional) { // a chain of conditionals is not indented
			p.print(args[2], indent, len(indent)+2)
			return
		}
		p.print(args[2], indent+"  ", len(indent)+2)
	case strings.ContainsAny(function, "_@-") || len(args) == 0 && target.IsZero():
		p.WriteString(e.String())
	case len(args) == 0 && !target.IsZero():
		p.operand(target, indent, column)
		p.WriteString("." + function + "()")
	default:
		p.arguments(function, target, args, indent)
	}
}

// arguments prints a call of a function. Its last argument gets the lines if the others fit.
func (p *printer) arguments(function string, target Expr, args []Expr, indent string) {
	head := function + "("
	if !target.IsZero() {
		head = Expr{factory.NewMemberCall(0, function, target.node)}.String()
		head = strings.TrimSuffix(head, ")")
	}
	last := len(args) - 1
	for _, arg := range args[:last] {
		head += arg.String() + ", "
	}
	p.WriteString(head)
	p.print(args[last], indent, len(indent)+len(head))
	p.WriteString(")")
}

// operand prints an operand, with brackets if it has an operator itself.
func (p *printer) operand(e Expr, indent string, column int) {
	if !e.isCallOf(operators.Conditional, operators.LogicalAnd, operators.LogicalOr, operators.Add) {
		p.print(e, indent, column)
		return
	}
	p.WriteString("(")
	p.print(e, indent, column+1)
	p.WriteString(")")
}
