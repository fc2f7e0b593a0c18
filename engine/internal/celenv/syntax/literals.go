package syntax

import (
	"strconv"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// literal parses a literal. A number includes its sign.
func (g *grammar) literal() ast.Expr {
	first := g.advance()
	last, text := first, g.textOf(first)
	if first.kind == "-" {
		last = g.advance()
		g.require(last.kind == integer || last.kind == decimal)
		text += g.textOf(last)
	}
	value, ok := valueOf(last.kind, text)
	g.require(ok)
	return g.make.NewLiteral(g.newID(first.offset, len(text)), value)
}

func valueOf(of kind, text string) (value ref.Val, ok bool) {
	switch of {
	case "true", "false":
		return types.Bool(of == "true"), true
	case "null":
		return types.NullValue, true
	case quoted:
		s, ok := unquote(text)
		return types.String(s), ok
	case decimal:
		f, err := strconv.ParseFloat(text, 64)
		return types.Double(f), err == nil
	case integer:
		digits, base := baseOf(text)
		n, err := strconv.ParseInt(digits, base, 64)
		return types.Int(n), err == nil
	case unsigned:
		digits, base := baseOf(text[:len(text)-1])
		n, err := strconv.ParseUint(digits, base, 64)
		return types.Uint(n), err == nil
	}
	return nil, false
}

// baseOf returns the digits of an integer, with its sign, and their base.
func baseOf(text string) (digits string, base int) {
	if sign, hex, ok := strings.Cut(text, "0x"); ok {
		return sign + hex, 16
	}
	return text, 10
}

// unquote returns the text within quotes.
func unquote(text string) (string, bool) {
	raw := text[0] == 'r' || text[0] == 'R'
	if raw {
		text = text[1:]
	}
	quotes := 1
	if strings.HasPrefix(text, `"""`) || strings.HasPrefix(text, "'''") {
		quotes = 3
	}
	text = text[quotes : len(text)-quotes]
	switch {
	case strings.Contains(text, "\r"): // cel-go reads it as another line break
		return "", false
	case raw || !strings.Contains(text, `\`):
		return text, true
	}
	return unescape(text)
}

// escapes are the characters after a backslash and what they mean. Escapes with digits are rare,
// and left to cel-go.
var escapes = map[byte]byte{
	'a': '\a', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v', '\\': '\\', '\'': '\'', '"': '"', '`': '`', '?': '?',
}

func unescape(text string) (string, bool) {
	var out strings.Builder
	for {
		before, after, ok := strings.Cut(text, `\`)
		out.WriteString(before)
		if !ok {
			return out.String(), true
		}
		escaped, ok := escapes[after[0]]
		if !ok {
			return "", false
		}
		out.WriteByte(escaped)
		text = after[1:]
	}
}
