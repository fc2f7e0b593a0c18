package manifest

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/internal/lazyregexp"
)

// A text may end in a block scalar without a line break, whose last line then has no line break
// either: the value of "k: |\n  x" is "x". If text follows, the header has to say so: |-.

// ending returns the splice that keeps the value of the block scalar at the end of a text if
// another line follows. header is the position of the scalar. ok is false if the value would not
// change.
func ending(text string, header int, value string) (sp splice, ok bool) {
	size, chomp, _ := blockHeader(text[header:])
	switch {
	case strings.HasSuffix(text, "\n") || size == 0 || chomp == '-' || value == "" && chomp == 0:
		return splice{}, false
	case chomp == '+' && (value == "" || strings.HasSuffix(value, "\n")): // the last line is blank
		return splice{start: len(strings.TrimRight(text, " ")), end: len(text)}, true
	case strings.HasSuffix(value, "\n"):
		return splice{}, false
	case chomp == '+':
		at := header + strings.IndexByte(text[header:], '+')
		return splice{start: at, end: at + 1, text: "-"}, true
	}
	return splice{start: header + size, end: header + size, text: "-"}, true
}

// end adds what ending returns to the splices of a text, if the block scalar at the end is not
// edited, and text follows it or will follow.
func (t *tape) end(splices []splice, follows bool) []splice {
	last := len(t.nodes) - 1
	n := &t.nodes[last]
	if n.kind != literal && n.kind != folded || int(n.end) != len(t.text) {
		return splices
	}
	for _, sp := range splices {
		if sp.end > int(n.start) && sp.start < len(t.text) {
			return splices
		}
		follows = follows || sp.start == len(t.text) && sp.text != ""
	}
	sp, ok := ending(t.text, int(n.start), t.string(n))
	if !ok || !follows {
		return splices
	}
	return append(splices[:len(splices):len(splices)], sp)
}

// withLineBreak returns a text with a final line break. It keeps the value of a block scalar at the
// end.
func withLineBreak(text, lineBreak string) string {
	if strings.HasSuffix(text, "\n") {
		return text
	}
	start := strings.LastIndex(text, "\n---") + 1
	if strings.HasPrefix(text[start:], "---") {
		start = min(lineEnd(text, start)+1, len(text))
	}
	if header, value := lastBlock(text[start:]); header >= 0 {
		if sp, ok := ending(text, start+header, value); ok {
			text = applySplices(text, 0, len(text), []splice{sp}, lineBreak)
		}
	}
	if strings.HasSuffix(text, "\n") {
		return text
	}
	return text + lineBreak
}

// lastBlock returns the position and the value of the block scalar that ends a document, or -1.
func lastBlock(text string) (header int, value string) {
	s := scanner{text: text}
	if root, ok := s.document(0, len(text)); !ok {
		return lastBlockNode(text)
	} else if root >= 0 {
		if n := &s.nodes[len(s.nodes)-1]; n.kind == literal || n.kind == folded {
			return int(n.start), s.tape().string(n)
		}
	}
	return -1, ""
}

// lastBlockNode is lastBlock for a document that the scanner cannot read.
func lastBlockNode(text string) (header int, value string) {
	if len(text) > limit.YAMLBytes {
		return -1, ""
	}
	n, err := parseNodes(text)
	if err != nil || n == nil {
		return -1, ""
	}
	for len(n.Content) > 0 {
		n = n.Content[len(n.Content)-1]
	}
	if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 {
		return -1, ""
	}
	// A tag or an anchor may be on a line before the header.
	for _, start := range libraryLines(text, 0, len(text))[n.Line-1:] {
		if m := blockHeaderLine().FindStringSubmatchIndex(text[start:lineEnd(text, start)]); m != nil {
			return start + m[2], n.Value
		}
	}
	return -1, ""
}

// blockHeaderLine finds the header of a block scalar at the end of a line.
var blockHeaderLine = lazyregexp.New(`(?:^|[ \t])([|>][-+1-9]{0,2})(?:[ \t]*|[ \t]+#.*)\r?$`)
