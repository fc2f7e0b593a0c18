package celenv

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"

	"github.com/preadmit/preadmit/engine/internal/celenv/syntax"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/lazyregexp"
)

// mistyped are what people write in place of operators: those of other languages, and halves of them.
var mistyped = map[string]string{
	"=": "==", "===": "==", "!==": "!=", "<>": "!=", "&": "&&", "|": "||",
	"and": "&&", "AND": "&&", "or": "||", "OR": "||", "not": "!", "NOT": "!", ";": "",
}

// grammatical returns what was probably meant by an expression whose syntax is wrong: operators of CEL in place of those of
// other languages, and the brackets that are missing at the end, or too many there.
func grammatical(env *cel.Env, text string, issues *cel.Issues) source.Mend {
	operators := operatorChanges(text)
	if len(operators.Changes) > 0 {
		if _, wrong := env.Parse(source.Changed(text, operators.Changes)); wrong.Err() == nil {
			return operators
		}
	}
	for _, brackets := range []source.Mend{bracketBefore(text, issues.Errors()[0]), bracketChanges(text)} { // where one is missing is less certain
		if len(brackets.Changes) > 0 {
			if _, wrong := compileIn(env, source.Changed(text, brackets.Changes)); wrong.Err() == nil {
				return brackets
			}
		}
	}
	return source.Mend{}
}

// operatorChanges returns the change of everything in an expression that is mistyped.
func operatorChanges(text string) (m source.Mend) {
	var titles []string
	end := 0
	for _, p := range operatorsOf(text) {
		word := text[p.Start:p.End]
		operator, is := mistyped[word]
		if !is || p.Start < end {
			continue
		}
		if end = p.End; operator == "!" {
			end = p.End + len(text[p.End:]) - len(strings.TrimLeft(text[p.End:], " ")) // !has(…)
		}
		m.Changes = append(m.Changes, source.Change{From: p.Start, To: end, New: operator})
		title := fmt.Sprintf("replace %s with %s", word, operator)
		if operator == "" {
			title = "remove " + word
		}
		if !slices.Contains(titles, title) {
			titles = append(titles, title)
		}
	}
	if len(titles) > 0 {
		m.Advice = strings.Join(titles, ", and ")
		m.Title = "R" + m.Advice[1:]
	}
	return m
}

// operatorsOf returns the names in an expression, and what is written of signs without blanks, such as =, &, === and <>.
func operatorsOf(text string) (parts []syntax.Part) {
	isSign := func(c byte) bool { return strings.IndexByte("=!<>&|;", c) >= 0 }
	words := slices.DeleteFunc(syntax.Parts(text), func(p syntax.Part) bool { return p.Class == syntax.Operator && isSign(text[p.Start]) })
	for i := 0; i < len(text); {
		switch {
		case len(words) > 0 && words[0].Start == i:
			if words[0].Class == syntax.Variable || words[0].Class == syntax.Function {
				parts = append(parts, words[0])
			}
			i, words = words[0].End, words[1:]
		case strings.HasPrefix(text[i:], "//"):
			i += strings.IndexByte(text[i:]+"\n", '\n')
		case isSign(text[i]):
			end := i
			for end < len(text) && isSign(text[end]) {
				end++
			}
			parts = append(parts, syntax.Part{Class: syntax.Operator, Start: i, End: end})
			i = end
		default:
			i++
		}
	}
	return parts
}

// missingBracket is the message of cel-go about a word in whose place a bracket is expected.
var missingBracket = lazyregexp.New(`(?:missing|expecting) '([)\]}])'`)

// bracketBefore returns the change that closes a bracket before the word that an error is about, if that is not the end.
func bracketBefore(text string, e *common.Error) source.Mend {
	match := missingBracket().FindStringSubmatch(e.Message)
	if match == nil {
		return source.Mend{}
	}
	at := offset(text, e.Location.Line(), e.Location.Column())
	end := 0
	for _, p := range syntax.Parts(text) {
		if p.Start >= at {
			return source.Mend{Advice: "add the " + match[1] + " that is missing", Title: "Add " + match[1], Changes: []source.Change{{From: end, To: end, New: match[1]}}}
		}
		end = p.End
	}
	return source.Mend{}
}

var closing = map[string]string{"(": ")", "[": "]", "{": "}"}

// bracketChanges returns the change that closes the open brackets of an expression at its end, or removes those that are too
// many there.
func bracketChanges(text string) source.Mend {
	var open []string
	parts := syntax.Parts(text)
	for i, p := range parts {
		switch word := text[p.Start:p.End]; {
		case p.Class != syntax.Operator:
		case closing[word] != "":
			open = append(open, closing[word])
		case !isClosing(word):
		case len(open) > 0 && open[len(open)-1] == word:
			open = open[:len(open)-1]
		case len(open) == 0 && i == len(parts)-1:
			return source.Mend{Advice: "remove the last " + word, Title: "Remove the last " + word, Changes: []source.Change{{From: p.Start, To: p.End}}}
		default:
			return source.Mend{}
		}
	}
	if len(open) == 0 {
		return source.Mend{}
	}
	slices.Reverse(open)
	added, end := strings.Join(open, ""), parts[len(parts)-1].End
	return source.Mend{Advice: "add " + added + " at the end", Title: "Add " + added + " at the end", Changes: []source.Change{{From: end, To: end, New: added}}}
}
