package jmespath

import (
	"errors"
	"math"
	"strconv"
	"time"

	"gopkg.in/inf.v0"
	"k8s.io/apimachinery/pkg/api/resource"
)

var arithmeticFunctions = []function{
	{"add", "vv>t", "the sum of two numbers, quantities or durations", func(a []any) (any, error) {
		return arithmetic("add", a[0], a[1])
	}},
	{"subtract", "vv>t", "the difference of two numbers, quantities or durations", func(a []any) (any, error) {
		return arithmetic("subtract", a[0], a[1])
	}},
	{"multiply", "vv>t", "the product of two numbers, quantities or durations", func(a []any) (any, error) {
		return arithmetic("multiply", a[0], a[1])
	}},
	{"divide", "vv>t", "the quotient of two numbers, quantities or durations", func(a []any) (any, error) {
		return arithmetic("divide", a[0], a[1])
	}},
	{"modulo", "vv>t", "the remainder of a division", func(a []any) (any, error) {
		return arithmetic("modulo", a[0], a[1])
	}},
	{"sum", "a", "the sum of the items of a list", func(a []any) (any, error) {
		list := a[0].([]any)
		if len(list) == 0 {
			return nil, errors.New("the list is empty")
		}
		total := list[0]
		for _, item := range list[1:] {
			var err error
			if total, err = arithmetic("add", total, item); err != nil {
				return nil, err
			}
		}
		return total, nil
	}},
	{"round", "nn>n", "the number rounded to a number of decimal places", func(a []any) (any, error) {
		places, err := whole(a[1])
		if err != nil || places < 0 {
			return nil, errors.New("argument 2 must be a whole number, zero or more")
		}
		shift := math.Pow(10, float64(places))
		return math.Round(a[0].(float64)*shift) / shift, nil
	}},
}

var (
	errOperands = errors.New("the types of the arguments do not go together")
	errDivision = errors.New("division by zero")
	errFraction = errors.New("modulo needs whole numbers")
)

// operation computes the result for operands of two types. ok is false for operands of other types.
type operation func(a, b any) (result any, ok bool, err error)

// on returns the operation for the types of the arguments of a function.
func on[A, B any](compute func(a A, b B) (any, error)) operation {
	return func(a, b any) (result any, ok bool, err error) {
		x, isA := a.(A)
		y, isB := b.(B)
		if !isA || !isB {
			return nil, false, nil
		}
		result, err = compute(x, y)
		return result, true, err
	}
}

// operators are the operations of each operator.
var operators = map[string][]operation{
	"add": {
		on(func(a, b float64) (any, error) { return a + b, nil }),
		on(func(a, b resource.Quantity) (any, error) { a.Add(b); return a.String(), nil }),
		on(func(a, b time.Duration) (any, error) { return (a + b).String(), nil }),
	},
	"subtract": {
		on(func(a, b float64) (any, error) { return a - b, nil }),
		on(func(a, b resource.Quantity) (any, error) { a.Sub(b); return a.String(), nil }),
		on(func(a, b time.Duration) (any, error) { return (a - b).String(), nil }),
	},
	"multiply": {
		on(func(a, b float64) (any, error) { return a * b, nil }),
		on(multiplied),
		on(func(a float64, b resource.Quantity) (any, error) { return multiplied(b, a) }),
		on(func(a time.Duration, b float64) (any, error) { return seconds(a.Seconds() * b), nil }),
		on(func(a float64, b time.Duration) (any, error) { return seconds(b.Seconds() * a), nil }),
	},
	"divide": {
		on(quotient),
		on(func(a, b resource.Quantity) (any, error) {
			return quotient(a.AsApproximateFloat64(), b.AsApproximateFloat64())
		}),
		on(func(a, b time.Duration) (any, error) { return quotient(a.Seconds(), b.Seconds()) }),
		on(divided),
		on(func(a time.Duration, b float64) (any, error) {
			if b == 0 {
				return nil, errDivision
			}
			return seconds(a.Seconds() / b), nil
		}),
	},
	"modulo": {
		on(func(a, b float64) (any, error) {
			rest, err := remainder(a, b)
			return float64(rest), err
		}),
		on(func(a, b resource.Quantity) (any, error) {
			rest, err := remainder(a.AsApproximateFloat64(), b.AsApproximateFloat64())
			return resource.NewQuantity(rest, a.Format).String(), err
		}),
		on(func(a, b time.Duration) (any, error) {
			if b == 0 {
				return nil, errDivision
			}
			return (a % b).String(), nil
		}),
	},
}

// arithmetic applies an operator to numbers, quantities and durations.
func arithmetic(operator string, first, second any) (any, error) {
	a, b := operand(first), operand(second)
	for _, apply := range operators[operator] {
		if result, ok, err := apply(a, b); ok {
			return result, err
		}
	}
	return nil, errOperands
}

func multiplied(a resource.Quantity, b float64) (any, error) {
	factor, err := asQuantity(b)
	if err != nil {
		return nil, err
	}
	var product inf.Dec
	product.Mul(a.AsDec(), factor.AsDec())
	return resource.NewDecimalQuantity(product, a.Format).String(), nil
}

func divided(a resource.Quantity, b float64) (any, error) {
	divisor, err := asQuantity(b)
	if err != nil {
		return nil, err
	}
	if b == 0 {
		return nil, errDivision
	}
	var result inf.Dec
	result.QuoRound(a.AsDec(), divisor.AsDec(), max(a.AsDec().Scale(), divisor.AsDec().Scale()), inf.RoundDown)
	return resource.NewDecimalQuantity(result, a.Format).String(), nil
}

// operand reads a number, a quantity or a duration; nil for other values.
func operand(arg any) any {
	switch arg := arg.(type) {
	case float64:
		return arg
	case string:
		if q, ok := Quantity(arg); ok {
			return q
		}
		if d, err := time.ParseDuration(arg); err == nil {
			return d
		}
	}
	return nil
}

func asQuantity(f float64) (resource.Quantity, error) {
	q, ok := Quantity(strconv.FormatFloat(f, 'g', -1, 64))
	if !ok {
		return q, errors.New("the number is too large")
	}
	return q, nil
}

func seconds(s float64) string { return time.Duration(s * float64(time.Second)).String() }

func quotient(a, b float64) (any, error) {
	if b == 0 {
		return nil, errDivision
	}
	return a / b, nil
}

func remainder(a, b float64) (int64, error) {
	switch {
	case a != math.Trunc(a) || b != math.Trunc(b) || math.Abs(a) > Exact || math.Abs(b) > Exact:
		return 0, errFraction
	case b == 0:
		return 0, errDivision
	}
	return int64(a) % int64(b), nil
}
