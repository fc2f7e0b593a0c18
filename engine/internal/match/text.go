package match

import (
	"errors"
	"strings"

	"github.com/preadmit/preadmit/internal/lazyregexp"
)

// The terms of a selector in the labelSelector of a URL. The numeric comparisons gt and lt are
// not supported.
var (
	comparisonTerm = lazyregexp.New(`^([^\s,()=!]+)[ \t\r\n]*(=|==|!=)[ \t\r\n]*([^\s,()=!<>]*)$`)
	setTerm        = lazyregexp.New(`^([^\s,()=!]+)[ \t\r\n]+(in|notin)[ \t\r\n]*\(([^()=!<>]*)\)$`)
	existenceTerm  = lazyregexp.New(`^(!?)[ \t\r\n]*([^\s,()=!<>]+)$`)
)

// ParseSelectorText parses a label selector in kubectl's syntax: "app=web,tier in (a,b)".
func ParseSelectorText(text string) (Selector, error) {
	var expressions []any
	for _, term := range terms(text) {
		expression, ok := parseTerm(trim(term))
		if !ok {
			return Selector{}, errors.New("not a label selector")
		}
		expressions = append(expressions, expression)
	}
	selector, problems := ParseSelector(map[string]any{"matchExpressions": expressions})
	if len(problems) > 0 {
		return Selector{}, errors.New("not a label selector")
	}
	return selector, nil
}

func trim(text string) string { return strings.Trim(text, " \t\r\n") }

// terms splits a selector at the commas that are not between brackets.
func terms(text string) []string {
	var terms []string
	depth, start := 0, 0
	for i := range len(text) {
		switch c := text[i]; {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth == 0:
			terms, start = append(terms, text[start:i]), i+1
		}
	}
	if trim(text) == "" {
		return nil
	}
	return append(terms, text[start:])
}

// parseTerm converts a term to a match expression.
func parseTerm(term string) (map[string]any, bool) {
	if m := comparisonTerm().FindStringSubmatch(term); m != nil {
		operator := "In"
		if m[2] == "!=" {
			operator = "NotIn"
		}
		return map[string]any{"key": m[1], "operator": operator, "values": []any{m[3]}}, true
	}
	if m := setTerm().FindStringSubmatch(term); m != nil {
		values := []any{}
		for _, value := range strings.Split(m[3], ",") {
			values = append(values, trim(value))
		}
		return map[string]any{"key": m[1], "operator": map[string]string{"in": "In", "notin": "NotIn"}[m[2]], "values": values}, true
	}
	if m := existenceTerm().FindStringSubmatch(term); m != nil {
		return map[string]any{"key": m[2], "operator": map[string]string{"": "Exists", "!": "DoesNotExist"}[m[1]]}, true
	}
	return nil, false
}
