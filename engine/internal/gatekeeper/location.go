package gatekeeper

import (
	"fmt"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
)

// location is a path into an object:
//
//	location = [ field { "." field } ]
//	field    = name [ "[" name ":" ( name | integer | "*" ) "]" ]
//
// A name is a word, or any text in quotes, in which a backslash escapes the next character.
// Spaces, tabs and line breaks may separate the tokens.
type location []node

// node is a step of a location: a field of a map, or items of a list.
type node struct {
	// name is the name of the field; for a list, of the field that is the key of its items.
	name string
	// list says that the node selects items of a list: all items if glob, else the items whose
	// key field has the value key, a string or an int64.
	list, glob bool
	key        any
	// offset is the start of the node in the text, in bytes.
	offset int
}

// same reports whether two nodes select the same, regardless of how they are written.
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

// String prints the location as Gatekeeper does, with quotes where a name needs them. Parsing
// the text gives the same location.
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

// quote puts a name in quotes, unless the parser reads it as a word.
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

// fields returns the path of the field up to the first list.
func (l location) fields() (path change.Path) {
	for _, n := range l {
		if n.list {
			break
		}
		path = path.Key(n.name)
	}
	return path
}

// endsInList reports whether the location selects an item of a list.
func (l location) endsInList() bool { return len(l) > 0 && l[len(l)-1].list }

// inMetadata reports whether the location is in the metadata of the object.
func (l location) inMetadata() bool { return len(l) > 0 && !l[0].list && l[0].name == "metadata" }

// locationError explains why a text is not a location, in Gatekeeper's words.
type locationError struct {
	text   string
	offset int
}

// Error implements error.
func (e *locationError) Error() string { return e.text }

// parseLocation reads a location. The error is a *locationError.
func parseLocation(text string) (l location, err error) {
	p := &parser{scanner: scanner{text: text}}
	p.next, p.peeked = p.scanner.scan(), p.scanner.scan()
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

// parser parses a location with one token of lookahead.
type parser struct {
	scanner      scanner
	next, peeked token
}

func (p *parser) advance() { p.next, p.peeked = p.peeked, p.scanner.scan() }

// take advances to the next token if it is of a kind.
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

// list parses a node after its opening bracket.
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
