package mutationtree

import (
	"fmt"
	"math"

	"github.com/preadmit/preadmit/engine/internal/number"
)

// numbers converts the numbers of one expression. JMESPath computes with floats, in which
// integers beyond 2^53 lose digits. Integers that an expression only passes on get their digits
// back.
type numbers struct {
	// large maps floats to the large integers of the input that they represent; nil if a float
	// represents several integers.
	large map[float64]any
	// keep says not to convert large integers, because the expression only passes them on.
	keep bool
}

// exact is the bound up to which a float64 holds every integer.
const exact = 1 << 53

// floats returns a copy of a value with the numbers of JMESPath.
func (n *numbers) floats(value any) any {
	switch v := value.(type) {
	case int64:
		if v < -exact || v > exact {
			if n.keep {
				return v
			}
			n.note(v)
		}
		return float64(v)
	case map[string]any:
		object := make(map[string]any, len(v))
		for key, item := range v {
			object[key] = n.floats(item)
		}
		return object
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = n.floats(item)
		}
		return list
	}
	return value
}

func (n *numbers) note(v int64) {
	if n.large == nil {
		n.large = map[float64]any{}
	}
	f := float64(v)
	if other, ok := n.large[f]; ok && other != v {
		n.large[f] = nil
		return
	}
	n.large[f] = v
}

// plain returns a copy of the result of an expression with the numbers of manifests.
func (n *numbers) plain(value any) (any, error) {
	switch v := value.(type) {
	case nil, bool, string, int64:
		return v, nil
	case int:
		return int64(v), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("the result is %v, which no manifest can hold", v)
		}
		return n.whole(v)
	case map[string]any:
		object := make(map[string]any, len(v))
		for key, item := range v {
			converted, err := n.plain(item)
			if err != nil {
				return nil, err
			}
			object[key] = converted
		}
		return object, nil
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			converted, err := n.plain(item)
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

// whole returns the integer that a float represents.
func (n *numbers) whole(f float64) (any, error) {
	large, ok := n.large[f]
	switch {
	case !ok:
		return number.Whole(f), nil
	case large == nil:
		return nil, fmt.Errorf("the result is one of several integers beyond 2^53, which JMESPath cannot tell apart")
	}
	return large, nil
}
