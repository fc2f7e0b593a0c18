package kyverno

import (
	"cmp"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/jmespath"
	"github.com/preadmit/preadmit/engine/internal/wildcard"
	"github.com/preadmit/preadmit/engine/policy"
)

// operators are the operators of conditions.
var operators = map[string]func(key, value any) bool{
	"Equal":     equals,
	"Equals":    equals,
	"NotEqual":  notEquals,
	"NotEquals": notEquals,
	"In":        func(k, v any) bool { in, _, ok := among(k, v); return ok && in },
	"NotIn":     func(k, v any) bool { _, notIn, ok := among(k, v); return ok && notIn },
	"AnyIn":     inList(true, func(in, _ int) bool { return in > 0 }),
	"AllIn":     inList(false, func(_, out int) bool { return out == 0 }),
	"AnyNotIn":  inList(true, func(_, out int) bool { return out > 0 }),
	"AllNotIn":  inList(false, func(in, _ int) bool { return in == 0 }),

	"GreaterThan":         ordered(">"),
	"GreaterThanOrEquals": ordered(">="),
	"LessThan":            ordered("<"),
	"LessThanOrEquals":    ordered("<="),

	"DurationGreaterThan":         ordered(">"),
	"DurationGreaterThanOrEquals": ordered(">="),
	"DurationLessThan":            ordered("<"),
	"DurationLessThanOrEquals":    ordered("<="),
}

const operatorNames = "Equals, NotEquals, AnyIn, AllIn, AnyNotIn, AllNotIn, GreaterThan, GreaterThanOrEquals, LessThan, LessThanOrEquals"

// conditionsIn returns the conditions in preconditions, or the blocks in a match or exclude block: those of
// which any or all must hold, or those of a list.
func conditionsIn(n policy.Node) []policy.Node {
	return slices.Concat(n.Items(), n.At("any").Items(), n.At("all").Items())
}

// conditions checks preconditions.
func (r *reader) conditions(n policy.Node) {
	if _, isList := n.Value.([]any); n.Given() && !isList {
		r.doc.Fields(n, []string{"any", "all"}) // which the CustomResourceDefinition does not describe
	}
	for _, key := range []string{"any", "all"} {
		r.doc.List(n.At(key))
	}
	for _, item := range conditionsIn(n) {
		if !r.doc.Fields(item, []string{"key", "operator", "value", "message"}) {
			continue
		}
		operator := item.At("operator")
		switch {
		case !operator.Given():
			r.doc.Missing(operator, "the operator is not known", "expected "+operatorNames, operatorsFor(item.At("value").Value)...)
		case operators[operator.Text()] == nil:
			r.doc.Unlike(operator, "the operator is not known", "expected "+operatorNames, strings.Split(operatorNames, ", "))
		}
		r.expressions(item.At("key"))
		r.expressions(item.At("value"))
	}
}

// operatorsFor returns the operators that compare with a value.
func operatorsFor(value any) []string {
	switch value.(type) {
	case []any:
		return []string{"AnyIn", "AllIn", "AnyNotIn", "AllNotIn"}
	case int64, float64:
		return []string{"Equals", "NotEquals", "GreaterThan", "GreaterThanOrEquals", "LessThan", "LessThanOrEquals"}
	}
	return []string{"Equals", "NotEquals"}
}

// check evaluates preconditions. The reason is empty if they hold.
func (s *scope) check(r *rule, n policy.Node) (reason string, err error) {
	if !n.Given() {
		return "", nil
	}
	for _, item := range n.At("any").Items() {
		ok, err := s.holds(item)
		if err != nil {
			return "", err
		}
		if reason = ""; ok {
			break
		}
		reason = "none of the conditions in " + below(n.At("any").Path, r) + " holds"
	}
	for _, item := range append(n.Items(), n.At("all").Items()...) { // whose errors count in any case
		ok, err := s.holds(item)
		if err != nil {
			return "", err
		}
		if !ok && reason != "" {
			break
		}
		if !ok {
			return below(item.Path, r) + " (" + item.At("operator").Text() + ") does not hold", nil
		}
	}
	return reason, nil
}

// holds evaluates one condition.
func (s *scope) holds(item policy.Node) (bool, error) {
	key, err := s.substitute(item.At("key").Value, alone(item.At("key")))
	if err != nil {
		return false, err
	}
	value, err := s.substitute(item.At("value").Value, alone(item.At("value")))
	if err != nil {
		return false, err
	}
	operator := item.At("operator").Text()
	if keys, isList := key.([]any); isList && strings.HasSuffix("NotIn", operator) && slices.ContainsFunc(keys, func(key any) bool { _, isText := key.(string); return !isText }) {
		return false, errKeys
	}
	return s.evaluation.observer().Decide(operators[operator](key, value), key, value), nil
}

// errKeys: operators In and NotIn.
var errKeys = crash("if the key of In or NotIn is a list with an item that is not a text: use AnyIn, AllIn, AnyNotIn or AllNotIn")

// below prints a path relative to its rule.
func below(path change.Path, r *rule) string { return path[min(len(r.root.Path), len(path)):].String() }

func equals(key, value any) bool {
	switch key := key.(type) {
	case bool:
		return key == value
	case int64:
		if text, isText := value.(string); isText {
			b, err := strconv.ParseInt(text, 10, 64)
			return err == nil && key == b
		}
		return equalNumbers(key, value)
	case float64:
		return equalNumbers(key, value)
	case string:
		if a, b, ok := durations(key, value); ok {
			return a == b
		}
		text, ok := value.(string)
		if !ok {
			return false
		}
		if a, ok := jmespath.Quantity(key); ok {
			b, ok := jmespath.Quantity(text)
			return ok && a.Cmp(b) == 0
		}
		return wildcard.Match(text, key)
	case map[string]any, []any:
		return reflect.DeepEqual(key, value) // which tells integers from other numbers: see numbersWhole
	}
	return false
}

func notEquals(key, value any) bool {
	text, isText := key.(string)
	if key == nil {
		return false
	}
	if _, ok := jmespath.Quantity(text); isText && ok && value == "" {
		return true
	}
	return !equals(key, value)
}

// equalNumbers compares a number with a number, or with a number in a string.
func equalNumbers(key, value any) bool {
	a, _ := asFloat(key)
	b, ok := asFloat(value)
	return ok && a == b
}

// asFloat reads a number, or a number in a string.
func asFloat(value any) (float64, bool) {
	switch value := value.(type) {
	case int64:
		return float64(value), true
	case float64:
		return value, true
	case string:
		f, err := strconv.ParseFloat(value, 64)
		return f, err == nil && !math.IsNaN(f)
	}
	return 0, false
}

// durations reads both operands as durations. At least one must be a duration in a string; the
// other may be a number of seconds.
func durations(key, value any) (a, b time.Duration, ok bool) {
	a, aText, aOK := asDuration(key)
	b, bText, bOK := asDuration(value)
	return a, b, aOK && bOK && (aText || bText)
}

func asDuration(value any) (d time.Duration, isText, ok bool) {
	switch value := value.(type) {
	case string:
		d, err := time.ParseDuration(value)
		return d, value != "0", err == nil && value != "0"
	case int64:
		return time.Duration(value) * time.Second, false, math.Abs(float64(value)) < math.MaxInt64/1e9
	case float64:
		return time.Duration(value) * time.Second, false, math.Abs(value) < math.MaxInt64/1e9
	}
	return 0, false, false
}

// ordered returns an operator that compares durations, quantities, numbers or versions.
func ordered(operator string) func(key, value any) bool {
	holds := comparisons[operator]
	return func(key, value any) bool {
		if a, b, ok := durations(key, value); ok {
			return holds(cmp.Compare(float64(a), float64(b)))
		}
		keyText, keyIsText := key.(string)
		valueText, valueIsText := value.(string)
		if keyIsText && valueIsText {
			a, aOK := jmespath.Quantity(keyText)
			b, bOK := jmespath.Quantity(valueText)
			if aOK && bOK {
				return holds(a.Cmp(b))
			}
		}
		a, aOK := asFloat(key)
		b, bOK := asFloat(value)
		if aOK && bOK {
			return holds(cmp.Compare(a, b))
		}
		if keyIsText && valueIsText {
			if c, ok := jmespath.CompareVersions(keyText, valueText); ok {
				return holds(c)
			}
		}
		return false
	}
}

// sprint returns the text of a value that list operators compare.
func sprint(value any) string {
	switch value := value.(type) {
	case string:
		return value
	case bool:
		return strconv.FormatBool(value)
	case int64:
		return strconv.FormatInt(value, 10)
	case float64:
		return strconv.FormatFloat(value, 'g', -1, 64)
	}
	return jmespath.Text(value)
}

// keysOf returns the texts of the left operand of a list operator.
func keysOf(key any) ([]string, bool) {
	switch key := key.(type) {
	case string, bool, int64, float64:
		return []string{sprint(key)}, true
	case []any:
		texts := make([]string, len(key))
		for i, item := range key {
			texts[i] = sprint(item)
		}
		return texts, true
	}
	return nil, false
}

// contained returns a function that finds a text in the right operand of a list operator: a
// list, a range, a list written as JSON, or one text; with scalars, also a number or a boolean.
func contained(value any, scalars bool) (func(text string) bool, bool) {
	var texts []string
	switch value := value.(type) {
	case []any:
		texts, _ = keysOf(value)
	case int64, float64, bool:
		if !scalars {
			return nil, false
		}
		texts = []string{sprint(value)}
	case string:
		if op, _ := Compares(value); op == inRange {
			return func(text string) bool { return matchesScalar(text, value) }, true
		}
		texts = []string{value}
		if json.Valid([]byte(value)) {
			texts = nil
			if json.Unmarshal([]byte(value), &texts) != nil {
				return nil, false
			}
		}
	default:
		return nil, false
	}
	return func(text string) bool {
		return slices.ContainsFunc(texts, func(other string) bool { return wildcard.Match(other, text) || wildcard.Match(text, other) })
	}, true
}

// among compares for In and NotIn, which have rules of their own: a single key may match a pattern, the
// keys of a list are compared as they are, and a single key of a list that is the value is both in it and not.
func among(key, value any) (in, notIn, ok bool) {
	keys, known := keysOf(key)
	text, isText := value.(string)
	is := func(key, other string) bool { return key == other }
	others, isSeveral := value.([]any)
	switch {
	case !known, !isText && !isSeveral:
		return false, false, false
	case isText && !isList(key) && wildcard.Match(text, keys[0]):
		return true, false, true
	case isText && isList(key) && len(keys) == 1 && keys[0] == text:
		return true, true, true
	case isSeveral && !isList(key):
		is = func(key, other string) bool { return wildcard.Match(other, key) || wildcard.Match(key, other) }
	case isSeveral && slices.ContainsFunc(others, func(other any) bool { _, isText := other.(string); return !isText }):
		return false, false, false
	}
	texts, _ := keysOf(others)
	if isText && json.Unmarshal([]byte(text), &texts) != nil {
		return false, false, false
	}
	in = !slices.ContainsFunc(keys, func(key string) bool {
		return !slices.ContainsFunc(texts, func(other string) bool { return is(key, other) })
	})
	return in, !in, true
}

func isList(value any) bool {
	_, ok := value.([]any)
	return ok
}

// inList returns an operator that counts the keys that are in the value, and those that are not. scalars says
// that it compares a list of keys with a number or a boolean, too.
func inList(scalars bool, holds func(in, out int) bool) func(key, value any) bool {
	return func(key, value any) bool {
		keys, ok := keysOf(key)
		is, known := contained(value, scalars && isList(key))
		if !ok || !known {
			return false
		}
		in := 0
		for _, text := range keys {
			if is(text) {
				in++
			}
		}
		return holds(in, len(keys)-in)
	}
}
