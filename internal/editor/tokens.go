package editor

import (
	"cmp"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/source"
)

// Token is a part of an expression. It is on one line.
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

// languagesIn return the parts of the expressions in the value of a field, by the groups of policies.
var languagesIn = map[string]func(field, value string) []engine.Part{
	"admissionregistration.k8s.io": celIn,
	"policies.kyverno.io":          celIn,
	"kyverno.io":                   queriesIn,
	treeGroup:                      markedIn,
}

// celIn returns the parts of a field that is an expression in CEL.
func celIn(field, value string) []engine.Part {
	if !slices.Contains([]string{"expression", "messageExpression", "valueExpression"}, field) {
		return nil
	}
	return engine.Parts(value)
}

// queriesIn returns the parts of the expressions in JMESPath of a field of Kyverno: in braces, or all of it.
func queriesIn(field, value string) (all []engine.Part) {
	if !strings.Contains(value, "{{") && slices.Contains([]string{"list", "jmesPath"}, field) {
		return engine.QueryParts(value)
	}
	end := 0
	for {
		open := strings.Index(value[end:], "{{")
		if open < 0 {
			return all
		}
		from := end + open + len("{{")
		if end = strings.Index(value[from:], "}}"); end < 0 {
			return all
		}
		end += from
		all = append(all, shifted(engine.QueryParts(value[from:end]), from)...)
	}
}

// markedIn returns the parts of a value of a mutation tree that is an expression.
func markedIn(_, value string) []engine.Part {
	for mark, parts := range map[string]func(string) []engine.Part{"(jp;": engine.QueryParts, "(cel;": engine.Parts} {
		if strings.HasPrefix(value, mark) && strings.HasSuffix(value, ")") {
			return shifted(parts(value[len(mark):len(value)-1]), len(mark))
		}
	}
	return nil
}

// shifted returns parts that begin later in a text.
func shifted(parts []engine.Part, by int) []engine.Part {
	for i := range parts {
		parts[i].Start += by
		parts[i].End += by
	}
	return parts
}

// Tokens returns the parts of all expressions in the policies of a text, in its order.
func Tokens(text string) []Token {
	all := strings.Split(text, "\n")
	var tokens []Token
	for _, d := range readable(slices.Clone(all)).Documents() {
		in := languagesIn[d.Kind().Group]
		if in == nil {
			continue
		}
		for path, value := range textsBelow(nil, d.Object()) {
			for _, part := range in(fieldOf(path), value) {
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

// fieldOf returns the last key of a path.
func fieldOf(path change.Path) string {
	for _, step := range slices.Backward(path) {
		if !step.IsIndex() {
			return step.Key
		}
	}
	return ""
}

// textsBelow goes over the texts in a value that are not too long.
func textsBelow(path change.Path, value any) func(yield func(change.Path, string) bool) {
	return func(yield func(change.Path, string) bool) {
		switch v := value.(type) {
		case map[string]any:
			for name, field := range v {
				textsBelow(path.Key(name), field)(yield)
			}
		case []any:
			for i, item := range v {
				textsBelow(path.Index(i), item)(yield)
			}
		case string:
			if len(v) <= maxExpression {
				yield(path, v)
			}
		}
	}
}
