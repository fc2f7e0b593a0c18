package gatekeeper

import (
	"fmt"
	"slices"
	"strings"
)

// location is a path into an object:
//
//	location = [ field { "." field } ]
//	field    = name [ "[" name ":" ( name | integer | "*" ) "]" ]
//
// A name is a word, or any text in quotes in which a backslash makes the next character
// plain. Between the tokens there may be spaces, tabs and line breaks.
type location []node

// node is a step of a location: a field of a map, or items of a list.
type node struct {
	// name is that of the field; for a list, of the field that tells its items apart.
	name string
	// list says that the node selects items of a list: all of them if glob, or else those
	// whose name is the key, a string or an int64.
	list, glob bool
	key        any
	// offset is where the node begins in the text, in bytes.
	offset int
}

// same reports whether two nodes select the same, however they are written.
func (n node) same(other node) bool {
	n.offset = other.offset
	return n == other
}

// String prints the node as Gatekeeper does.
func (n node) String() string {
	switch key := n.key.(type) {
	case string:
		return "[" + quote(n.name) + ": " + quote(key) + "]"
	case int64:
		return fmt.Sprintf("[%s: %d]", quote(n.name), key)
	}
	if n.list {
		return "[" + quote(n.name) + ": *]"
	}
	return quote(n.name)
}

// String prints the location as Gatekeeper does, with quotes wherever a name needs them:
// reading it gives the location back.
func (l location) String() string {
	var b strings.Builder
	for i, n := range l {
		if i > 0 && !n.list {
			b.WriteByte('.')
		}
		b.WriteString(n.String())
	}
	return b.String()
}

// quote puts a name in quotes if it does not read as itself without them.
func quote(name string) string {
	if name != "" && !isDigit(name[0]) && strings.IndexFunc(name, func(r rune) bool { return !isWord(r) }) < 0 {
		return name
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name) + `"`
}

// hasPrefix reports whether a location begins with the nodes of another.
func (l location) hasPrefix(prefix location) bool {
	return len(prefix) <= len(l) && slices.EqualFunc(l[:len(prefix)], prefix, node.same)
}

// endsInList reports whether the location selects an item of a list.
func (l location) endsInList() bool { return len(l) > 0 && l[len(l)-1].list }

// inMetadata reports whether the location is in the metadata of the object.
func (l location) inMetadata() bool { return len(l) > 0 && !l[0].list && l[0].name == "metadata" }

// locationError says why a text is no location, in Gatekeeper's words.
type locationError struct {
	text   string
	offset int
}

// Error implements error.
func (e *locationError) Error() string { return e.text }

// parseLocation reads a location. The error is a *locationError.
func parseLocation(text string) (l location, err error) {
	p := &parser{scanner: scanner{text: text}}
	p.next, p.peeked = p.scan(), p.scan()
	for p.next.kind == word {
		l = append(l, node{name: p.next.text, offset: p.next.offset})
		if p.take(openBracket) {
			item, err := p.list()
			if err != nil {
				return nil, err
			}
			l = append(l, item)
		}
		switch {
		case p.take(separator):
			if p.peeked.kind == end {
				return nil, &locationError{"trailing separators are forbidden", p.next.offset}
			}
			p.advance()
		case p.take(end):
		default:
			return nil, p.unexpected("'.' or eof", p.peeked)
		}
	}
	if p.next.kind != end {
		return nil, p.unexpected("field name or eof", p.next)
	}
	return l, nil
}

// parser looks one token ahead.
type parser struct {
	scanner
	next, peeked token
}

func (p *parser) advance() { p.next, p.peeked = p.peeked, p.scan() }

// take advances to a token of a kind, if it is the one ahead.
func (p *parser) take(kind tokenKind) bool {
	if p.peeked.kind != kind {
		return false
	}
	p.advance()
	return true
}

func (p *parser) unexpected(wanted string, got token) error {
	return &locationError{fmt.Sprintf("unexpected token: expected %s, got: %s: %q", wanted, got.kind, got.text), got.offset}
}

// list reads what follows an opening bracket.
func (p *parser) list() (node, error) {
	n := node{list: true, offset: p.next.offset}
	if !p.take(word) {
		return n, p.unexpected("keyField in listSpec", p.peeked)
	}
	n.name = p.next.text
	if !p.take(colon) {
		return n, p.unexpected("':' following keyField "+n.name, p.peeked)
	}
	switch {
	case p.take(star):
		n.glob = true
	case p.take(word):
		n.key = p.next.text
	case p.take(integer):
		value, ok := parseInteger(p.next.text)
		if !ok {
			return n, &locationError{fmt.Sprintf("invalid integer: overflow in integer string: %s: parsing key value for key: %s", p.next.text, n.name), p.next.offset}
		}
		n.key = value
	default:
		return n, p.unexpected("key value or glob in listSpec", p.peeked)
	}
	if !p.take(closeBracket) {
		return n, p.unexpected("']' following listSpec", p.peeked)
	}
	return n, nil
}
