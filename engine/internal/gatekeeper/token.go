package gatekeeper

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// tokenKind is the kind of a token, in the words of Gatekeeper's messages.
type tokenKind string

const (
	end          tokenKind = "EOF"
	word         tokenKind = "IDENT"
	integer      tokenKind = "INT"
	openBracket  tokenKind = "LBRACKET"
	closeBracket tokenKind = "RBRACKET"
	separator    tokenKind = "SEPARATOR"
	star         tokenKind = "GLOB"
	colon        tokenKind = "COLON"
	noToken      tokenKind = "ERROR"
)

// marks are the tokens with one character.
var marks = map[rune]tokenKind{'[': openBracket, ']': closeBracket, '.': separator, '*': star, ':': colon}

// token is a token of a location, without the quotes of a word.
type token struct {
	kind   tokenKind
	text   string
	offset int
}

// scanner splits a location into tokens.
type scanner struct {
	text string
	at   int
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isWord(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-'
}

// scan returns the next token.
func (s *scanner) scan() token {
	s.at += len(s.text[s.at:]) - len(strings.TrimLeft(s.text[s.at:], " \t\r\n"))
	t := token{offset: s.at}
	rest := s.text[s.at:]
	if rest == "" {
		t.kind = end
		return t
	}
	r, size := utf8.DecodeRuneInString(rest)
	switch {
	case isDigit(rest[0]):
		t.kind, t.text = integer, rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
		size = len(t.text)
	case isWord(r):
		t.kind, t.text = word, rest[:len(rest)-len(strings.TrimLeftFunc(rest, isWord))]
		size = len(t.text)
	case r == '"' || r == '\'':
		t.kind, t.text, size = unquote(rest)
	case marks[r] != "":
		t.kind, t.text = marks[r], string(r)
	default:
		t.kind, t.text = noToken, string(r)
	}
	s.at += size
	return t
}

// unquote reads a quoted text. size is its length in bytes, with the quotes. The kind is noToken
// if the closing quote is missing.
func unquote(text string) (kind tokenKind, content string, size int) {
	var b strings.Builder
	quote, escaped := text[0], false
	for i, r := range text[1:] {
		switch {
		case escaped:
			b.WriteRune(r)
			escaped = false
		case r == '\\':
			escaped = true
		case r == rune(quote):
			return word, b.String(), i + 2
		default:
			b.WriteRune(r)
		}
	}
	return noToken, b.String(), len(text)
}

// parseInteger reads decimal digits.
func parseInteger(digits string) (int64, bool) {
	value, err := strconv.ParseInt(digits, 10, 64)
	return value, err == nil
}
