package syntax

import "strings"

// Class is what a part of an expression is, in the words of the Language Server Protocol.
type Class string

// The classes.
const (
	Keyword  Class = "keyword"
	Number   Class = "number"
	String   Class = "string"
	Operator Class = "operator"
	Variable Class = "variable"
	Property Class = "property"
	Function Class = "function"
	Type     Class = "type"
)

// Part is text[Start:End] of an expression.
type Part struct {
	Class      Class
	Start, End int
}

// typeNames are the names that begin a type of a literal.
var typeNames = map[string]bool{"Object": true, "JSONPatch": true}

// Parts returns the words, literals and operators of an expression, which may be wrong or incomplete. It
// skips what CEL does not have.
func Parts(text string) []Part {
	var parts []Part
	inType := false // Object.spec.template is one type
	for i := skipSpace(text, 0); i < len(text); i = skipSpace(text, i) {
		kind, size := next(text[i:])
		if size == 0 {
			i++
			continue
		}
		p := Part{classes[kind], i, i + size}
		isField := len(parts) > 0 && text[parts[len(parts)-1].Start] == '.'
		if kind == identifier {
			inType = typeNames[text[i:p.End]] && !isField || isField && inType
			p.Class = classOf(text, p, isField, inType)
		} else if kind != "." {
			inType = false
		}
		if p.Class == "" {
			p.Class = Operator
		}
		parts = append(parts, p)
		i = p.End
	}
	return parts
}

// classes are the classes of tokens; all others are operators.
var classes = map[kind]Class{
	integer: Number, unsigned: Number, decimal: Number, quoted: String,
	"true": Keyword, "false": Keyword, "null": Keyword, "in": Keyword,
}

// classOf returns the class of an identifier.
func classOf(text string, p Part, isField, inType bool) Class {
	after := skipSpace(text, p.End)
	switch {
	case inType:
		return Type
	case after < len(text) && text[after] == '(':
		return Function
	case isField, after < len(text) && text[after] == ':' && beginsEntry(text[:p.Start]):
		return Property
	}
	return Variable
}

// beginsEntry reports whether a text ends where a field of a literal can begin.
func beginsEntry(before string) bool {
	before = strings.TrimRight(before, "\t \r\n\f")
	return strings.HasSuffix(before, "{") || strings.HasSuffix(before, ",")
}
