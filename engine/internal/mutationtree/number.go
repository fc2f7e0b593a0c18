package mutationtree

import (
	"cmp"
	"fmt"
	"math"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/jmespath"
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

// floats returns a copy of a value with the numbers of JMESPath.
func (n *numbers) floats(value any) any {
	return number.Convert(value, func(scalar any) any {
		i, ok := scalar.(int64)
		switch {
		case !ok:
			return scalar
		case -jmespath.Exact <= i && i <= jmespath.Exact:
		case n.keep:
			return i
		default:
			n.note(i)
		}
		return float64(i)
	})
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
	var failed error
	plain := number.Convert(value, func(scalar any) any {
		converted, err := n.scalar(scalar)
		failed = cmp.Or(failed, err)
		return converted
	})
	return plain, failed
}

func (n *numbers) scalar(value any) (any, error) {
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
	case []string:
		return change.List(v), nil
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
