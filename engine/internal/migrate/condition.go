package migrate

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/preadmit/preadmit/engine/internal/jmespath"
	"github.com/preadmit/preadmit/engine/internal/kyverno"
	"github.com/preadmit/preadmit/engine/internal/wildcard"
	"github.com/preadmit/preadmit/engine/policy"
)

// condition is a condition of a rule, as a CEL expression.
type condition struct {
	name, text string
}

// preconditions converts preconditions. Those in any become one condition.
func (s *scope) preconditions(n policy.Node) ([]string, error) {
	var all []string
	items := n.At("all").Items()
	if _, isList := n.Value.([]any); isList {
		items = n.Items()
	}
	var any []string
	for _, item := range n.At("any").Items() {
		c, err := s.condition(item)
		if err != nil {
			return nil, err
		}
		any = append(any, c)
	}
	if len(any) > 0 {
		all = append(all, or(any...))
	}
	for _, item := range items {
		c, err := s.condition(item)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// condition converts one condition.
func (s *scope) condition(n policy.Node) (string, error) {
	key, err := s.operand(n.At("key").Value)
	if err != nil {
		return "", err
	}
	value, err := s.operand(n.At("value").Value)
	if err != nil {
		return "", err
	}
	operator := strings.ToLower(n.At("operator").Text())
	switch operator {
	case "equal", "equals":
		return equals(key, value)
	case "notequal", "notequals":
		c, err := equals(key, value)
		return not(c), err
	case "in", "anyin", "allin", "notin", "anynotin", "allnotin":
		return contains(operator, key, value)
	}
	return ordered(operator, key, value)
}

// operand converts one side of a condition.
func (s *scope) operand(value any) (code, error) {
	said, err := s.value(value)
	if err != nil {
		return code{}, err
	}
	if c, ok := said.(code); ok {
		return c, nil
	}
	items, isList := said.([]any)
	for _, item := range items {
		if _, isCode := item.(code); isCode {
			written, _ := write(said)
			return code{text: written, kind: list}, nil
		}
	}
	if !isList {
		if pairs, isMap := said.(keyed); isMap && len(pairs) > 0 {
			written, _ := write(said)
			return code{text: written, kind: object}, nil
		}
	}
	return literal(said), nil
}

// equals returns a test whether two operands are equal as Kyverno compares them.
func equals(key, value code) (string, error) {
	if key.isConstant && !value.isConstant {
		key, value = value, key
	}
	if !value.isConstant {
		return fmt.Sprintf("%s == %s", key.in(sum), value.in(sum)), nil
	}
	pattern, isText := value.constant.(string)
	switch {
	case key.isConstant && isText:
		return fmt.Sprint(wildcard.Match(pattern, fmt.Sprint(key.constant))), nil
	case !isText:
		return fmt.Sprintf("%s == %s", key.in(sum), value.text), nil
	}
	return matchesText(key, pattern), nil
}

// matchesText returns a test whether a text matches a pattern with wildcards, or is the same
// quantity.
func matchesText(key code, pattern string) string {
	if isQuantity(pattern) && key.kind == number {
		return fmt.Sprintf("%s == %s", key.in(sum), pattern)
	}
	if isQuantity(pattern) {
		key := key.asText()
		return fmt.Sprintf("isQuantity(%s) && quantity(%s).compareTo(quantity(%q)) == 0", key.text, key.text, pattern)
	}
	return matchesWildcard(key, pattern)
}

func isQuantity(s string) bool {
	_, ok := jmespath.Quantity(s)
	return ok
}

// matchesWildcard returns a test whether a text matches a pattern with wildcards.
func matchesWildcard(key code, pattern string) string {
	inner := strings.Trim(pattern, "*")
	starts, ends := strings.HasPrefix(pattern, "*"), strings.HasSuffix(pattern, "*")
	operand := key.in(primary)
	switch {
	case !wildcard.Has(pattern):
		return fmt.Sprintf("%s == %s", key.in(sum), quote(pattern))
	case strings.Trim(pattern, "*") == "":
		return "true"
	case pattern == "?*" || pattern == "*?":
		return fmt.Sprintf("%s != \"\"", key.in(sum))
	case wildcard.Has(inner):
		expression := strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(pattern))
		return fmt.Sprintf("%s.matches(%s)", operand, quote("(?s)^"+expression+"$"))
	case starts && ends:
		return fmt.Sprintf("%s.contains(%s)", operand, quote(inner))
	case starts:
		return fmt.Sprintf("%s.endsWith(%s)", operand, quote(inner))
	}
	return fmt.Sprintf("%s.startsWith(%s)", operand, quote(inner))
}

// contains converts the list operators.
func contains(operator string, key, value code) (string, error) {
	some := operator == "anyin" || operator == "anynotin" // of the keys
	negative := strings.HasSuffix(operator, "notin")
	is := func(k code) (string, error) { return isAmong(k, value) }
	if key.kind != list {
		c, err := is(key)
		if negative {
			c = not(c)
		}
		return c, err
	}
	k := code{text: "k", kind: text}
	c, err := is(k)
	if err != nil {
		return "", err
	}
	if operator == "notin" {
		return not(fmt.Sprintf("%s.all(k, %s)", key.in(primary), c)), nil
	}
	if negative {
		c = not(c)
	}
	quantifier := "all"
	if some {
		quantifier = "exists"
	}
	return fmt.Sprintf("%s.%s(k, %s)", key.in(primary), quantifier, c), nil
}

// isAmong returns a test whether a single value is among others.
func isAmong(key, value code) (string, error) {
	items, isList := value.constant.([]any)
	switch {
	case value.isConstant && isList:
		var plain []any
		var patterns []string
		for _, item := range items {
			s, isText := item.(string)
			if isText && wildcard.Has(s) {
				patterns = append(patterns, matchesWildcard(key, s))
			} else {
				plain = append(plain, item)
			}
		}
		switch {
		case len(plain) == 1:
			patterns = append([]string{fmt.Sprintf("%s == %s", key.in(sum), literal(plain[0]).text)}, patterns...)
		case len(plain) > 1 || len(patterns) == 0:
			patterns = append([]string{fmt.Sprintf("%s in %s", key.in(sum), literal(plain).text)}, patterns...)
		}
		return or(patterns...), nil
	case value.isConstant:
		s, isText := value.constant.(string)
		if operator, _ := kyverno.Compares(s); isText && (operator == "-" || operator == "!-") {
			return "", noFormf("compare with two conditions", "the range %q", s)
		}
		return equals(key, value)
	case value.ofKeys != "":
		return fmt.Sprintf("%s in %s", key.in(sum), value.ofKeys), nil
	case value.kind == text:
		return fmt.Sprintf("%s == %s", key.in(sum), value.in(sum)), nil
	}
	return fmt.Sprintf("%s in %s", key.in(sum), value.in(sum)), nil
}

var orders = map[string]string{
	"greaterthan": ">", "greaterthanorequals": ">=", "lessthan": "<", "lessthanorequals": "<=",
	"durationgreaterthan": ">", "durationgreaterthanorequals": ">=", "durationlessthan": "<", "durationlessthanorequals": "<=",
}

// ordered converts a comparison of numbers, quantities or durations.
func ordered(operator string, key, value code) (string, error) {
	sign := orders[operator]
	if strings.HasPrefix(operator, "duration") {
		if key.kind == number || value.kind == number {
			return "", noFormf("write both as texts like 30s", "a duration that is a number")
		}
		return fmt.Sprintf("duration(%s) %s duration(%s)", key.asText().text, sign, value.asText().text), nil
	}
	for _, side := range []*code{&key, &value} {
		if s, isText := side.constant.(string); side.isConstant && isText {
			if !isQuantity(s) {
				return "", noFormf("", "a comparison with %q, which is no quantity", s)
			}
		}
	}
	if key.kind == number && value.kind == number {
		return fmt.Sprintf("%s %s %s", key.in(sum), sign, value.in(sum)), nil
	}
	if key.kind == text || value.kind == text {
		return fmt.Sprintf("quantity(%s).compareTo(quantity(%s)) %s 0", key.asText().text, value.asText().text, sign), nil
	}
	return fmt.Sprintf("%s %s %s", key.in(sum), sign, value.in(sum)), nil
}

// pattern returns a test whether a value matches a pattern, as conditions in a patch have it.
func (s *scope) pattern(value code, pattern any) (string, error) {
	switch pattern := pattern.(type) {
	case map[string]any:
		return s.mapPattern(value, pattern)
	case []any:
		if len(pattern) != 1 || kyverno.HasAnchors(pattern) {
			return "", noFormf("", "a condition about a list with anchors, or several items, in it")
		}
		name := elementName(value, s)
		item, err := s.pattern(ofPath(&path{root: name}, itemTypes(value.types)), pattern[0])
		return and(fmt.Sprintf("%s.all(%s, %s)", value.orEmptyList().in(primary), name, item)), err
	case string:
		if strings.Contains(pattern, "{{") || strings.Contains(pattern, "$(") {
			other, err := s.text(pattern)
			return fmt.Sprintf("%s == %s", value.in(sum), other.in(sum)), err
		}
		if value.kind == list {
			name := elementName(value, s)
			item, err := alternatives(ofPath(&path{root: name}, itemTypes(value.types)), pattern)
			return fmt.Sprintf("%s.all(%s, %s)", value.in(primary), name, item), err
		}
		return alternatives(value, pattern)
	case nil:
		return fmt.Sprintf("%s in [null, \"\", 0, false]", value.in(sum)), nil
	}
	return fmt.Sprintf("%s == %s", value.in(sum), literal(pattern).text), nil
}

func (s *scope) mapPattern(value code, pattern map[string]any) (string, error) {
	var all []string
	for _, key := range sortedKeys(pattern) {
		anchor, bare := kyverno.ParseAnchor(key)
		if wildcard.Has(bare) {
			return "", noFormf("", "a condition about keys with wildcards")
		}
		member := value.field(bare)
		has := ""
		if member.path != nil {
			has = member.path.present()
		}
		below, err := s.pattern(member, pattern[key])
		if err != nil {
			return "", err
		}
		switch anchor {
		case kyverno.Equality, kyverno.Global:
			all = append(all, or(not(orTrue(has)), below))
		case kyverno.Negation:
			all = append(all, not(orTrue(has)))
		case kyverno.NoAnchor, kyverno.Condition:
			all = append(all, has, below)
		default:
			return "", noFormf("", "the anchor %s( ) in a condition", anchor)
		}
	}
	return and(all...), nil
}

func orTrue(condition string) string {
	if condition == "" {
		return "true"
	}
	return condition
}

// alternatives converts patterns like "a | >1 & <5".
func alternatives(value code, pattern string) (string, error) {
	var any []string
	for _, alternative := range strings.Split(pattern, "|") {
		var all []string
		for _, part := range strings.Split(strings.Trim(alternative, " "), "&") {
			c, err := compares(value, strings.Trim(part, " "))
			if err != nil {
				return "", err
			}
			all = append(all, c)
		}
		any = append(any, and(all...))
	}
	return or(any...), nil
}

func compares(value code, pattern string) (string, error) {
	operator, operand := kyverno.Compares(pattern)
	switch operator {
	case "":
		if value.kind == text && !isQuantity(operand) {
			return matchesWildcard(value, operand), nil
		}
		if wildcard.Has(operand) && strings.Trim(operand, "*") == "" {
			return "true", nil
		}
		return matchesText(value.comparable(), operand), nil
	case "!":
		c, err := compares(value, operand)
		return not(c), err
	case "-", "!-":
		return "", noFormf("compare with >= and <=", "the range %q", pattern)
	}
	if value.kind == number {
		return fmt.Sprintf("%s %s %s", value.in(sum), operator, operand), nil
	}
	return fmt.Sprintf("quantity(%s).compareTo(quantity(%q)) %s 0", value.asText().text, operand, operator), nil
}

// comparable returns a value that can be compared with a text.
func (c code) comparable() code {
	if c.kind == anything || c.kind == boolean {
		return c.asText()
	}
	return c
}
