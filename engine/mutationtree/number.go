package mutationtree

import (
	"encoding/json"
	"fmt"
	"math"
)

// floats copies a value with the numbers of JMESPath, which are all floats: integers
// beyond 2^53 lose digits.
func floats(value any) any {
	switch v := value.(type) {
	case int64:
		return float64(v)
	case map[string]any:
		object := make(map[string]any, len(v))
		for key, item := range v {
			object[key] = floats(item)
		}
		return object
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = floats(item)
		}
		return list
	}
	return value
}

// plain copies the result of an expression with the numbers of manifests: a float
// without fraction becomes an integer.
func plain(value any) (any, error) {
	switch v := value.(type) {
	case nil, bool, string, int64:
		return v, nil
	case int:
		return int64(v), nil
	case float64:
		switch {
		case math.IsNaN(v) || math.IsInf(v, 0):
			return nil, fmt.Errorf("the result is %v, which no manifest can hold", v)
		case v == math.Trunc(v) && math.Abs(v) < 1<<63:
			return int64(v), nil
		}
		return v, nil
	case map[string]any:
		object := make(map[string]any, len(v))
		for key, item := range v {
			converted, err := plain(item)
			if err != nil {
				return nil, err
			}
			object[key] = converted
		}
		return object, nil
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			converted, err := plain(item)
			if err != nil {
				return nil, err
			}
			list[i] = converted
		}
		return list, nil
	case []string:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = item
		}
		return list, nil
	}
	return nil, fmt.Errorf("the result is a %T, which no manifest can hold", value)
}

func decodeJSON(text string) (any, error) {
	var value any
	err := json.Unmarshal([]byte(text), &value)
	return value, err
}
