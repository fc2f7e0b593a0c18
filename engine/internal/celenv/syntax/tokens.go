package syntax

import "strings"

// token is a token at text[start:end]; offset is its position in characters.
type token struct {
	kind               kind
	start, end, offset int
}

// kind is the kind of a token: the text of an operator, or one of these.
type kind string

const (
	end        kind = "end"
	identifier kind = "identifier"
	integer    kind = "integer"
	unsigned   kind = "unsigned"
	decimal    kind = "decimal"
	quoted     kind = "quoted"
)

// keywords are identifiers with their own kind of token.
var keywords = map[string]kind{"in": "in", "true": "true", "false": "false", "null": "null"}

// operators are all other operators, the longer ones first.
var operators = []kind{
	"==", "!=", "<=", ">=", "&&", "||",
	"<", ">", "[", "]", "{", "}", "(", ")", ".", ",", "-", "!", "?", ":", "+", "*", "/", "%",
}

// scan splits a text into tokens. ok is false if the text has other tokens, such as bytes or
// escaped identifiers.
func scan(text string) (tokens []token, ok bool) {
	tokens = make([]token, 0, len(text)/3+2)
	offset, last := 0, 0
	for i := skipSpace(text, 0); i < len(text); i = skipSpace(text, i) {
		kind, size := next(text[i:])
		if size == 0 {
			return nil, false
		}
		offset, last = offset+characters(text[last:i]), i
		tokens = append(tokens, token{kind, i, i + size, offset})
		i += size
	}
	return append(tokens, token{kind: end}), true
}

// characters counts the characters of a text.
func characters(text string) int {
	n := 0
	for i := range len(text) {
		if text[i]&0xC0 != 0x80 {
			n++
		}
	}
	return n
}

// skipSpace returns the end of the space and comments at i.
func skipSpace(text string, i int) int {
	for ; i < len(text); i++ {
		switch {
		case strings.IndexByte("\t \r\n\f", text[i]) >= 0:
		case strings.HasPrefix(text[i:], "//"):
			line := strings.IndexByte(text[i:], '\n')
			if line < 0 {
				return len(text)
			}
			i += line
		default:
			return i
		}
	}
	return i
}

// next returns the kind and size of the first token in a text; the size is zero if the text
// starts with no token.
func next(text string) (kind, int) {
	c := text[0]
	switch {
	case isDigit(c) || c == '.' && len(text) > 1 && isDigit(text[1]):
		return number(text)
	case c == '"' || c == '\'':
		return quoted, quotedSize(text, false)
	case (c == 'r' || c == 'R') && len(text) > 1 && (text[1] == '"' || text[1] == '\''):
		size := quotedSize(text[1:], true)
		if size == 0 {
			return quoted, 0
		}
		return quoted, size + 1
	case isLetter(c):
		return word(text)
	}
	for _, operator := range operators {
		if strings.HasPrefix(text, string(operator)) {
			return operator, len(operator)
		}
	}
	return "", 0
}

// word returns an identifier or a keyword. A prefix of bytes is neither.
func word(text string) (kind, int) {
	size := span(text, func(c byte) bool { return isLetter(c) || isDigit(c) })
	if size < len(text) && (text[size] == '"' || text[size] == '\'') {
		return "", 0
	}
	if keyword, ok := keywords[text[:size]]; ok {
		return keyword, size
	}
	return identifier, size
}

func number(text string) (kind, int) {
	if strings.HasPrefix(text, "0x") {
		if size := 2 + span(text[2:], isHex); size > 2 {
			return suffixed(text, size)
		}
		return "", 0
	}
	size := span(text, isDigit)
	isDecimal := false
	if size+1 < len(text) && text[size] == '.' && isDigit(text[size+1]) {
		isDecimal = true
		size += 1 + span(text[size+1:], isDigit)
	}
	if exponent := exponentSize(text[size:]); exponent > 0 {
		isDecimal = true
		size += exponent
	}
	if isDecimal {
		return decimal, size
	}
	return suffixed(text, size)
}

func suffixed(text string, size int) (kind, int) {
	if size < len(text) && (text[size] == 'u' || text[size] == 'U') {
		return unsigned, size + 1
	}
	return integer, size
}

func exponentSize(text string) int {
	if text == "" || text[0] != 'e' && text[0] != 'E' {
		return 0
	}
	sign := 0
	if len(text) > 1 && (text[1] == '+' || text[1] == '-') {
		sign = 1
	}
	if digits := span(text[1+sign:], isDigit); digits > 0 {
		return 1 + sign + digits
	}
	return 0
}

// quotedSize returns the size of the quoted text at the start of text, zero if its end is
// missing.
func quotedSize(text string, raw bool) int {
	quote, multiline := text[:1], false
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(text, triple) {
		quote, multiline = triple, true
	}
	for i := len(quote); i < len(text); i++ {
		switch c := text[i]; {
		case strings.HasPrefix(text[i:], quote):
			return i + len(quote)
		case c == '\\' && !raw:
			i++
		case (c == '\n' || c == '\r') && !multiline:
			return 0
		}
	}
	return 0
}

// span returns the number of leading bytes of a text for which is returns true.
func span(text string, is func(byte) bool) int {
	for i := range len(text) {
		if !is(text[i]) {
			return i
		}
	}
	return len(text)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' }
