package gatekeeper

import (
	"math"

	"github.com/preadmit/preadmit/engine/internal/number"
	"github.com/preadmit/preadmit/engine/policy"
)

// float is a whole number of an assign.value. Gatekeeper reads all numbers there as
// floating-point numbers, which equal no integer of an object. They become integers again in the
// patch.
type float float64

// floats returns a value with its numbers as Gatekeeper reads them in an assign.value.
func floats(value any) any {
	return number.Convert(value, func(scalar any) any {
		switch n := scalar.(type) {
		case int64:
			return float(n)
		case float64:
			if n == math.Trunc(n) {
				return float(n)
			}
		}
		return scalar
	})
}

// whole returns the number as a server reads it from JSON.
func (f float) whole() any {
	if f >= -1<<63 && f < 1<<63 {
		return int64(f)
	}
	return float64(f)
}

// rounds reports whether an integer changes when it is converted to a float64.
func rounds(n int64) bool { return float(n).whole() != any(n) }

// checkNumbers warns about integers in a value that Gatekeeper rounds when it writes them.
func (r *reader) checkNumbers(n policy.Node) {
	switch value := n.Value.(type) {
	case map[string]any:
		for key := range value {
			r.checkNumbers(n.At(key))
		}
	case []any:
		for _, item := range n.Items() {
			r.checkNumbers(item)
		}
	case int64:
		if rounds(value) {
			r.warnRounded(n, value)
		}
	}
}

func (r *reader) warnRounded(n policy.Node, value int64) {
	r.warn(n, "number-rounded", "write it as a text if the field may hold one, or a number that is not as large",
		"Gatekeeper writes %d as %d: its patches hold floating-point numbers", value, float(value).whole())
}
