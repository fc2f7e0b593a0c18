package jmespath

import (
	"encoding/json"
	"errors"
	"maps"
	"math"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/number"
	"github.com/preadmit/preadmit/engine/limit"
)

// Exact is the bound up to which a float64 holds every integer.
const Exact = 1 << 53

// Input converts a value to data for Search. JMESPath has no integers, so they become float64.
// Integers that a float64 cannot hold are kept, and can only be passed on. Lists are copied,
// because functions of JMESPath sort them in place. Maps without lists and other integers are
// not copied.
func Input(value any) any {
	data, _ := input(value, false)
	return data
}

// Whole is Input for data whose integers stay integers. Comparisons and most functions of JMESPath do not
// take them for numbers.
func Whole(value any) any {
	data, _ := input(value, true)
	return data
}

// input is Input or Whole, and reports whether data differs from value.
func input(value any, whole bool) (data any, other bool) {
	switch value := value.(type) {
	case map[string]any:
		copied := value
		for key, member := range value {
			data, changed := input(member, whole)
			if changed && !other {
				copied, other = maps.Clone(value), true
			}
			if changed {
				copied[key] = data
			}
		}
		return copied, other
	case []any:
		copied := make([]any, len(value))
		for i, item := range value {
			copied[i], _ = input(item, whole)
		}
		return copied, true
	case int64:
		if !whole && -Exact <= value && value <= Exact {
			return float64(value), true
		}
	}
	return value, false
}

// maxSize is the maximum size of an expression's result: the bytes of its strings, plus an
// amount for each value. An object in a cluster has at most 1.5 MB.
const maxSize = limit.TextBytes

var errSize = limit.Exceeded(limit.Expression, "select less, or do not repeat it", "the result is larger than %d MiB", maxSize>>20)

// Output converts a result to a value, with integers for whole numbers. A result that is such a value is
// returned as it is.
func Output(result any) (any, error) {
	room := maxSize
	if !change.Reference && isOutput(result, &room) {
		return result, nil
	}
	room = maxSize
	return converted(result, &room, integer)
}

// isOutput reports whether converted would return an equal value.
func isOutput(result any, room *int) bool {
	*room -= 8
	switch result := result.(type) {
	case map[string]any:
		for key, member := range result {
			if *room -= len(key); !isOutput(member, room) {
				return false
			}
		}
	case []any:
		for _, item := range result {
			if !isOutput(item, room) {
				return false
			}
		}
	case string:
		*room -= len(result)
	case nil, bool, int64:
	default:
		return false
	}
	return *room >= 0
}

func converted(result any, room *int, number func(float64) (any, error)) (any, error) {
	if *room -= 8; *room < 0 {
		return nil, errSize
	}
	switch result := result.(type) {
	case map[string]any:
		value := make(map[string]any, len(result))
		for key, member := range result {
			out, err := converted(member, room, number)
			if err != nil {
				return nil, err
			}
			value[key] = out
			*room -= len(key)
		}
		return value, nil
	case []any:
		value := make([]any, len(result))
		for i, item := range result {
			out, err := converted(item, room, number)
			if err != nil {
				return nil, err
			}
			value[i] = out
		}
		return value, nil
	case string:
		if *room -= len(result); *room < 0 {
			return nil, errSize
		}
		return result, nil
	case float64:
		return number(result)
	case nil, bool, int64:
		return result, nil
	}
	return nil, errors.New("the result is an expression, not a value")
}

func finite(f float64) (any, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, errors.New("the result is not a number")
	}
	return f, nil
}

func integer(f float64) (any, error) {
	if _, err := finite(f); err != nil {
		return nil, err
	}
	return number.Whole(f), nil
}

// Text returns a value as text within a string: a string unchanged, other values as JSON.
func Text(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	text, err := json.Marshal(value)
	if err != nil {
		return "" // values are JSON
	}
	return string(text)
}
