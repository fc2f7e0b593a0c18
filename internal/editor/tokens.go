package editor

import (
	"cmp"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/source"
)

// Token is a part of an expression in CEL. It is on one line.
type Token struct {
	At source.Position
	// Length is in characters.
	Length int
	// Class is that of engine.Part.
	Class string
}

// Classes are the classes of tokens.
var Classes = []string{"function", "keyword", "number", "operator", "property", "string", "type", "variable"}

// maxExpression is the longest expression that has tokens, in bytes: the place of each token is found from
// the start of its expression.
const maxExpression = 20_000

// expressionFields are the fields of policies that have expressions in CEL.
var expressionFields = []string{"expression", "messageExpression", "valueExpression"}

// celGroups are the groups of policies with expressions in CEL.
var celGroups = []string{"admissionregistration.k8s.io", "policies.kyverno.io"}

// Tokens returns the parts of all expressions in the policies of a text, in its order.
func Tokens(text string) []Token {
	all := strings.Split(text, "\n")
	var tokens []Token
	for _, d := range readable(slices.Clone(all)).Documents() {
		if !slices.Contains(celGroups, d.Kind().Group) {
			continue
		}
		for path, expression := range expressionsIn(nil, d.Object()) {
			for _, part := range engine.Parts(expression) {
				at, end := d.In(path, part.Start), d.In(path, part.End-1)
				if at.Line == end.Line && at.Line <= len(all) && end.Column >= at.Column {
					tokens = append(tokens, Token{at, end.Column + 1 - at.Column, string(part.Class)})
				}
			}
		}
	}
	slices.SortFunc(tokens, func(a, b Token) int { return cmp.Or(a.At.Line-b.At.Line, a.At.Column-b.At.Column) })
	return withoutOverlaps(tokens)
}

// withoutOverlaps leaves tokens out that begin in the one before: places of text with escapes are close, not
// exact.
func withoutOverlaps(tokens []Token) []Token {
	kept := tokens[:0]
	for _, t := range tokens {
		if n := len(kept); n > 0 && kept[n-1].At.Line == t.At.Line && kept[n-1].At.Column+kept[n-1].Length > t.At.Column {
			continue
		}
		kept = append(kept, t)
	}
	return kept
}

// expressionsIn goes over the expressions in a value.
func expressionsIn(path change.Path, value any) func(yield func(change.Path, string) bool) {
	return func(yield func(change.Path, string) bool) {
		switch v := value.(type) {
		case map[string]any:
			for name, field := range v {
				at := path.Key(name)
				if text, ok := field.(string); ok && slices.Contains(expressionFields, name) && len(text) <= maxExpression && !yield(at, text) {
					return
				}
				expressionsIn(at, field)(yield)
			}
		case []any:
			for i, item := range v {
				expressionsIn(path.Index(i), item)(yield)
			}
		}
	}
}
