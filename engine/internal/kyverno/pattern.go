package kyverno

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/jmespath"
	"github.com/preadmit/preadmit/engine/internal/wildcard"
	"github.com/preadmit/preadmit/internal/lazyregexp"
)

// mismatch says where an object does not match a pattern. Its text contains no values.
type mismatch struct {
	path change.Path
	text string
	// skipped says that a condition in the pattern does not hold, so that the pattern does not
	// apply to the object.
	skipped bool
}

// String implements fmt.Stringer.
func (m *mismatch) String() string { return m.path.String() + " " + m.text }

// matchPattern compares a value with a pattern of Kyverno's validate rules. Conditions use the
// same patterns. The result is nil if the value matches.
func matchPattern(value, pattern any, path change.Path) *mismatch {
	switch pattern := pattern.(type) {
	case map[string]any:
		object, ok := value.(map[string]any)
		if !ok {
			return &mismatch{path: path, text: "is not a map"}
		}
		return matchMap(object, expandMetadata(pattern, object), path)
	case []any:
		list, ok := value.([]any)
		if !ok {
			return &mismatch{path: path, text: "is not a list"}
		}
		return matchList(list, pattern, path)
	}
	items, isList := value.([]any)
	if !isList {
		items = []any{value}
	}
	for _, item := range items {
		if !matchesScalar(item, pattern) {
			return &mismatch{path: path, text: "does not match"}
		}
	}
	return nil
}

// matchMap compares the keys with anchors first, then plain keys with anchors in their values,
// then the others.
func matchMap(object, pattern map[string]any, path change.Path) *mismatch {
	var anchored, nested, plain []string
	for _, key := range slices.Sorted(maps.Keys(pattern)) {
		switch a, _ := ParseAnchor(key); {
		case a == Condition, a == Existence, a == Equality, a == Negation:
			anchored = append(anchored, key)
		case a == Global || HasAnchors(pattern[key]):
			nested = append(nested, key)
		default:
			plain = append(plain, key)
		}
	}
	// If a condition does not hold, the pattern does not apply to the object. Any other anchor
	// that does not match is a mismatch.
	var skipped *mismatch
	for _, key := range anchored {
		switch m := matchKey(object, key, pattern[key], path); {
		case m == nil:
		case m.skipped && skipped == nil:
			skipped = m
		case !m.skipped && skipped == nil:
			return m
		}
	}
	if skipped != nil {
		return skipped
	}
	for _, key := range append(nested, plain...) {
		if m := matchKey(object, key, pattern[key], path); m != nil {
			return m
		}
	}
	return nil
}

func matchKey(object map[string]any, key string, pattern any, path change.Path) *mismatch {
	anchor, bare := ParseAnchor(key)
	path = path.Key(bare)
	value, present := object[bare]
	switch anchor {
	case Condition, Global:
		if !present && anchor == Global {
			return nil
		}
		if !present {
			return &mismatch{path: path, text: "is missing", skipped: true}
		}
		if m := matchPattern(value, pattern, path); m != nil {
			return &mismatch{path: m.path, text: m.text, skipped: true}
		}
	case Equality:
		if present {
			return matchPattern(value, pattern, path)
		}
	case Negation:
		if present {
			return &mismatch{path: path, text: "must be missing"}
		}
	case Existence:
		if present {
			return matchExistence(value, pattern, path)
		}
	default:
		value := object[key] // +( ) means nothing here
		if pattern == "*" {
			if value == nil {
				return &mismatch{path: path, text: "is missing"}
			}
			return nil
		}
		return matchPattern(value, pattern, path)
	}
	return nil
}

// matchExistence requires an item in a list for each pattern.
func matchExistence(value, pattern any, path change.Path) *mismatch {
	list, ok := value.([]any)
	patterns, isList := pattern.([]any)
	if !ok || !isList {
		return &mismatch{path: path, text: "is not a list"}
	}
	for _, p := range patterns {
		if !slices.ContainsFunc(list, func(item any) bool { return matchPattern(item, p, path) == nil }) {
			return &mismatch{path: path, text: "has no item that matches"}
		}
	}
	return nil
}

func matchList(list, pattern []any, path change.Path) *mismatch {
	if len(pattern) == 0 {
		return &mismatch{path: path, text: "cannot match an empty list"}
	}
	switch first := pattern[0].(type) {
	case map[string]any:
		return matchItems(len(list), path, func(i int) *mismatch { return matchPattern(list[i], first, path.Index(i)) })
	case []any:
		if len(list) < len(pattern) {
			return &mismatch{path: path, text: "has too few items"}
		}
		return matchItems(len(pattern), path, func(i int) *mismatch { return matchPattern(list[i], pattern[i], path.Index(i)) })
	default:
		return matchPattern(list, first, path)
	}
}

// matchItems requires all items to match, except for items to which the pattern does not apply.
// If there are items, the pattern must apply to at least one.
func matchItems(n int, path change.Path, match func(i int) *mismatch) *mismatch {
	applied := 0
	var skipped *mismatch
	for i := range n {
		switch m := match(i); {
		case m == nil:
			applied++
		case m.skipped:
			skipped = m
		default:
			return m
		}
	}
	if applied == 0 && skipped != nil {
		return &mismatch{path: path, text: "has no item that fulfils the conditions", skipped: true}
	}
	return nil
}

// expandMetadata replaces keys with wildcards in the labels and annotations of a pattern by the
// matching keys of the object.
func expandMetadata(pattern, object map[string]any) map[string]any {
	for _, key := range slices.Sorted(maps.Keys(pattern)) {
		if _, bare := ParseAnchor(key); bare != "metadata" {
			continue
		}
		metadata, _ := pattern[key].(map[string]any)
		actual, _ := object["metadata"].(map[string]any)
		expanded := maps.Clone(metadata)
		for part, value := range metadata {
			_, bare := ParseAnchor(part)
			if bare == "labels" || bare == "annotations" {
				expanded[part] = expandKeys(value, actual[bare])
			}
		}
		if metadata != nil {
			pattern = maps.Clone(pattern)
			pattern[key] = expanded
		}
	}
	return pattern
}

// expandKeys replaces keys with wildcards: see randomWildcard. Kyverno drops what is no text from the
// pattern.
func expandKeys(pattern, actual any) any {
	keys, ok := pattern.(map[string]any)
	object, isMap := actual.(map[string]any)
	if !ok || !isMap {
		return pattern
	}
	expanded := map[string]any{}
	for _, key := range sortedKeys(keys) {
		value := keys[key]
		if _, isText := value.(string); !isText {
			continue
		}
		anchor, bare := ParseAnchor(key)
		if wildcard.Has(bare) {
			names := slices.Sorted(maps.Keys(object))
			if i := slices.IndexFunc(names, func(name string) bool { return wildcard.Match(bare, name) }); i >= 0 {
				key = anchor.write(names[i])
			}
		}
		expanded[key] = value
	}
	return expanded
}

// matchesScalar compares a value with a scalar of a pattern.
func matchesScalar(value, pattern any) bool {
	switch pattern := pattern.(type) {
	case bool:
		return value == pattern
	case int64, float64:
		return equalNumbers(pattern, value)
	case nil:
		switch value {
		case nil, "", int64(0), float64(0), false:
			return true
		}
		return false
	case string:
		return value == pattern || matchesAlternatives(value, pattern)
	}
	return false
}

// matchesAlternatives compares a value with alternatives (a | b) of conditions (a & b).
func matchesAlternatives(value any, pattern string) bool {
	if change.IsCollection(value) {
		return false
	}
	for alternative := range strings.SplitSeq(pattern, "|") {
		if matchesConditions(value, strings.Trim(alternative, " ")) {
			return true
		}
	}
	return false
}

func matchesConditions(value any, conditions string) bool {
	for condition := range strings.SplitSeq(conditions, "&") {
		if !matchesText(value, strings.Trim(condition, " ")) {
			return false
		}
	}
	return true
}

const (
	inRange    = "-"
	notInRange = "!-"
)

// rangePattern finds a range, with one of its operators.
var rangePattern = lazyregexp.New(`^([-+|]?\d+(?:\.\d+)?[A-Za-z]*)(!?-)([-+|]?\d+(?:\.\d+)?[A-Za-z]*)$`)

// Compares splits the operator off a pattern of a scalar: >=, <=, >, <, ! , - and !- for
// ranges; empty for equality.
func Compares(pattern string) (operator, operand string) {
	if len(pattern) < 2 {
		return "", pattern
	}
	for _, operator := range []string{">=", "<=", ">", "<", "!"} {
		if rest, ok := strings.CutPrefix(pattern, operator); ok {
			return operator, strings.TrimSpace(rest)
		}
	}
	if found := rangePattern().FindStringSubmatch(pattern); found != nil {
		return found[2], pattern
	}
	return "", pattern
}

// Range splits a pattern of a range into its ends, which belong to it (or not, for !-).
func Range(pattern string) (from, to string, ok bool) {
	if found := rangePattern().FindStringSubmatch(pattern); found != nil {
		return found[1], found[3], true
	}
	return "", "", false
}

// matchesText compares a value with one operator and its operand.
func matchesText(value any, pattern string) bool {
	operator, operand := Compares(pattern)
	if operator != inRange && operator != notInRange {
		return matchesOperand(value, operator, operand)
	}
	from, to, _ := Range(pattern)
	if operator == inRange {
		return matchesOperand(value, ">=", from) && matchesOperand(value, "<=", to)
	}
	return matchesOperand(value, "<", from) || matchesOperand(value, ">", to)
}

// matchesOperand compares durations, then quantities, then texts.
func matchesOperand(value any, operator, operand string) bool {
	if text, err := numberText(value); err == nil && beginsNumber(text) && beginsNumber(operand) {
		a, errA := time.ParseDuration(text)
		b, errB := time.ParseDuration(operand)
		if errA == nil && errB == nil {
			return comparisons[operator](cmp.Compare(float64(a), float64(b)))
		}
		x, okX := jmespath.Quantity(text)
		y, okY := jmespath.Quantity(operand)
		if okX && okY {
			return comparisons[operator](x.Cmp(y))
		}
	}
	text, ok := wildcardText(value)
	switch {
	case !ok:
		return false
	case operator == "":
		return wildcard.Match(operand, text)
	case operator == "!":
		return !wildcard.Match(operand, text)
	}
	return false
}

// beginsNumber reports whether a text may be a duration or a quantity.
func beginsNumber(text string) bool {
	return text != "" && strings.IndexByte("0123456789+-.", text[0]) >= 0
}

// comparisons are the operators on two values that are compared: negative if the first one is smaller.
var comparisons = map[string]func(comparison int) bool{
	"":   func(c int) bool { return c == 0 },
	"!":  func(c int) bool { return c != 0 },
	">":  func(c int) bool { return c > 0 },
	">=": func(c int) bool { return c >= 0 },
	"<":  func(c int) bool { return c < 0 },
	"<=": func(c int) bool { return c <= 0 },
}

// numberText returns the text of a value that is compared as a number; null counts as zero.
func numberText(value any) (string, error) {
	switch value := value.(type) {
	case nil:
		return "0", nil
	case string:
		return value, nil
	case int64:
		return strconv.FormatInt(value, 10), nil
	case float64:
		return fmt.Sprintf("%f", value), nil
	}
	return "", errors.New("not a number")
}

// wildcardText returns the text of a value that wildcards match.
func wildcardText(value any) (string, bool) {
	switch value := value.(type) {
	case string:
		return value, true
	case bool:
		return strconv.FormatBool(value), true
	case int64:
		return strconv.FormatInt(value, 10), true
	case float64:
		if value == math.Trunc(value) {
			return strconv.FormatFloat(value, 'f', -1, 64), true
		}
		return strconv.FormatFloat(value, 'E', -1, 64), true
	}
	return "", false
}
