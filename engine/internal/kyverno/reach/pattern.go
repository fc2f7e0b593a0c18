package reach

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/preadmit/preadmit/engine/internal/jmespath"
	"github.com/preadmit/preadmit/engine/internal/kyverno"
	numbers "github.com/preadmit/preadmit/engine/internal/number"
	"github.com/preadmit/preadmit/engine/internal/wildcard"
	"github.com/preadmit/preadmit/engine/internal/witness"
)

// pattern adds what the pattern of an anchor asks of a field and of what is below it.
func (w *wishes) pattern(value any, path []string) {
	switch value := value.(type) {
	case map[string]any:
		w.need(witness.Exists(path))
		for _, key := range slices.Sorted(maps.Keys(value)) {
			a, bare := kyverno.ParseAnchor(key)
			below := append(slices.Clip(path), witness.TextFor(bare))
			switch {
			case kyverno.HasSubstitutions(key) || a == kyverno.Equality || a == kyverno.Existence || a == kyverno.Negation && wildcard.Has(bare):
				w.unclear = true
			case a == kyverno.Negation || a == kyverno.Add:
				w.need(witness.Lacks(below))
			default:
				w.pattern(value[key], below)
			}
		}
	case []any:
		if len(value) == 0 {
			w.unclear = true
			return
		}
		for _, index := range []string{"0", "1"} { // all items must match, and some objects have two
			w.pattern(value[0], append(slices.Clip(path), index))
		}
	default:
		if kyverno.HasSubstitutions(value) {
			w.unclear = true
			return
		}
		w.need(witness.Need{Path: path, Values: valuesFor(value), Holds: func(given any) bool {
			return given != nil && (kyverno.Matches(given, value) || kyverno.Matches(jmespath.Text(given), value))
		}})
	}
}

// valuesFor returns values among which are some that match a pattern, and some that do not.
func valuesFor(pattern any) (values []any) {
	switch pattern := pattern.(type) {
	case []any:
		for _, item := range pattern {
			values = append(values, valuesFor(item)...)
		}
		return values
	case map[string]any:
		return []any{pattern}
	case int64:
		return []any{pattern, pattern + 1, pattern - 1, strconv.FormatInt(pattern, 10)}
	case string:
		for alternative := range strings.SplitSeq(pattern, "|") {
			for condition := range strings.SplitSeq(alternative, "&") {
				values = append(values, valuesForText(strings.TrimSpace(condition))...)
			}
		}
		return append(values, "example", witness.Present)
	case nil:
		return []any{witness.Absent}
	}
	return []any{pattern}
}

// valuesForText returns values for one condition in a text.
func valuesForText(condition string) []any {
	operator, operand := kyverno.Compares(condition)
	if from, to, isRange := kyverno.Range(condition); isRange {
		return append(numbersFor(from), numbersFor(to)...)
	}
	if operator == "" {
		return append([]any{witness.TextFor(condition)}, numbersFor(condition)...)
	}
	return append(numbersFor(operand), witness.TextFor(operand))
}

// numbersFor returns a number in a text and those around it, with and without their unit.
func numbersFor(text string) (values []any) {
	if value, err := strconv.ParseBool(text); err == nil {
		values = append(values, value)
	}
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ%")
	number, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			values = append(values, numbers.Whole(f))
		}
		return values
	}
	for _, n := range []int64{number, number + 1, number - 1} {
		values = append(values, n, strconv.FormatInt(n, 10)+text[len(digits):])
	}
	return values
}
