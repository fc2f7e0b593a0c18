package jmespath

import (
	"strings"

	"github.com/preadmit/preadmit/engine/internal/celenv/syntax"
	"github.com/preadmit/preadmit/internal/lazyregexp"
)

// part matches a token: a text or a literal in quotes, which may be open, a number, a name, or an operator.
var part = lazyregexp.New("'(?:[^'\\\\]|\\\\.)*'?|`(?:[^`\\\\]|\\\\.)*`?|\"(?:[^\"\\\\]|\\\\.)*\"?|-?[0-9]+|[A-Za-z_][0-9A-Za-z_]*|&&|\\|\\||[=!<>]=|\\[\\?|[^\\s]")

// Parts returns the names, literals and operators of an expression, which may be wrong or incomplete.
func Parts(text string) []syntax.Part {
	var parts []syntax.Part
	before := ""
	for _, at := range part().FindAllStringIndex(text, -1) {
		token, after := text[at[0]:at[1]], strings.TrimLeft(text[at[1]:], " \t\r\n")
		p := syntax.Part{Class: syntax.Operator, Start: at[0], End: at[1]}
		switch first := token[0]; {
		case first == '\'' || first == '`':
			p.Class = syntax.String
		case strings.Trim(token, "-0123456789") == "" && token != "-":
			p.Class = syntax.Number
		case token == "@" || token == "$":
			p.Class = syntax.Variable
		case first != '"' && first != '_' && (first|0x20 < 'a' || first|0x20 > 'z'):
		case strings.HasPrefix(after, "(") && first != '"':
			p.Class = syntax.Function
		case before == ".", first == '"', strings.HasPrefix(after, ":") && (before == "{" || before == ","):
			p.Class = syntax.Property
		default:
			p.Class = syntax.Variable
		}
		parts, before = append(parts, p), token
	}
	return parts
}
