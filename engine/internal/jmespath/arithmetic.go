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
	{"add", "vv>t", func(a []any) (any, error) { return arithmetic(a, operators["add"]) }},
	{"subtract", "vv>t", func(a []any) (any, error) { return arithmetic(a, operators["subtract"]) }},
	{"multiply", "vv>t", func(a []any) (any, error) { return arithmetic(a, operators["multiply"]) }},
	{"divide", "vv>t", func(a []any) (any, error) { return arithmetic(a, operators["divide"]) }},
	{"modulo", "vv>t", func(a []any) (any, error) { return arithmetic(a, operators["modulo"]) }},
	{"sum", "a", func(a []any) (any, error) {
		list := a[0].([]any)
		if len(list) == 0 {
			return nil, errors.New("the list is empty")
		}
		total := list[0]
		for _, item := range list[1:] {
			var err error
			if total, err = arithmetic([]any{total, item}, operators["add"]); err != nil {
				return nil, err
			}
		}
		return total, nil
	}},
	{"round", "nn>n", func(a []any) (any, error) {
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

// operator implements an operation for each combination of types; nil where types cannot be
// combined. The table says which operations combine a quantity or a duration with a scalar.
type operator struct {
	scalars          func(a, b float64) (any, error)
	quantities       func(a, b resource.Quantity) (any, error)
	durations        func(a, b time.Duration) (any, error)
	quantityScalar   func(a resource.Quantity, b float64) (any, error)
	durationScalar   func(a time.Duration, b float64) (any, error)
	isMultiplication bool
}

var operators = map[string]operator{
	"add": {
		scalars:    func(a, b float64) (any, error) { return a + b, nil },
		quantities: func(a, b resource.Quantity) (any, error) { a.Add(b); return a.String(), nil },
		durations:  func(a, b time.Duration) (any, error) { return (a + b).String(), nil },
	},
	"subtract": {
		scalars:    func(a, b float64) (any, error) { return a - b, nil },
		quantities: func(a, b resource.Quantity) (any, error) { a.Sub(b); return a.String(), nil },
		durations:  func(a, b time.Duration) (any, error) { return (a - b).String(), nil },
	},
	"multiply": {
		scalars: func(a, b float64) (any, error) { return a * b, nil },
		quantityScalar: func(a resource.Quantity, b float64) (any, error) {
			factor, err := asQuantity(b)
			if err != nil {
				return nil, err
			}
			var product inf.Dec
			product.Mul(a.AsDec(), factor.AsDec())
			return resource.NewDecimalQuantity(product, a.Format).String(), nil
		},
		durationScalar:   func(a time.Duration, b float64) (any, error) { return seconds(a.Seconds() * b), nil },
		isMultiplication: true,
	},
	"divide": {
		scalars: func(a, b float64) (any, error) { return quotient(a, b) },
		quantities: func(a, b resource.Quantity) (any, error) {
			return quotient(a.AsApproximateFloat64(), b.AsApproximateFloat64())
		},
		durations: func(a, b time.Duration) (any, error) { return quotient(a.Seconds(), b.Seconds()) },
		quantityScalar: func(a resource.Quantity, b float64) (any, error) {
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
		},
		durationScalar: func(a time.Duration, b float64) (any, error) {
			if b == 0 {
				return nil, errDivision
			}
			return seconds(a.Seconds() / b), nil
		},
	},
	"modulo": {
		scalars: func(a, b float64) (any, error) {
			rest, err := remainder(a, b)
			return float64(rest), err
		},
		quantities: func(a, b resource.Quantity) (any, error) {
			rest, err := remainder(a.AsApproximateFloat64(), b.AsApproximateFloat64())
			return resource.NewQuantity(rest, a.Format).String(), err
		},
		durations: func(a, b time.Duration) (any, error) {
			if b == 0 {
				return nil, errDivision
			}
			return (a % b).String(), nil
		},
	},
}

// arithmetic applies an operator to numbers, quantities and durations.
func arithmetic(args []any, op operator) (any, error) {
	a, b := operand(args[0]), operand(args[1])
	if _, isNumber := a.(float64); isNumber && op.isMultiplication {
		if _, isNumber := b.(float64); !isNumber {
			a, b = b, a
		}
	}
	switch a := a.(type) {
	case float64:
		if b, ok := b.(float64); ok {
			return op.scalars(a, b)
		}
	case resource.Quantity:
		switch b := b.(type) {
		case resource.Quantity:
			if op.quantities != nil {
				return op.quantities(a, b)
			}
		case float64:
			if op.quantityScalar != nil {
				return op.quantityScalar(a, b)
			}
		}
	case time.Duration:
		switch b := b.(type) {
		case time.Duration:
			if op.durations != nil {
				return op.durations(a, b)
			}
		case float64:
			if op.durationScalar != nil {
				return op.durationScalar(a, b)
			}
		}
	}
	return nil, errOperands
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
