package jmespath

import (
	"fmt"
	"math"
	"strconv"
)

// function is a function that Kyverno adds.
type function struct {
	name      string
	signature Signature
	// doc says what the function does; "" for one that expressions cannot call by name.
	doc     string
	handler func(args []any) (any, error)
}

// callError is the error of a function.
type callError struct {
	name string
	err  error
}

// Error implements error.
func (e *callError) Error() string { return e.name + "(): " + e.err.Error() }

// Unwrap returns the cause.
func (e *callError) Unwrap() error { return e.err }

// call checks the arguments and calls the function.
func (f function) call(args []any) (any, error) {
	if err := f.signature.Check(len(args)); err != nil {
		return nil, &callError{f.name, err}
	}
	for i, arg := range args {
		if want := f.signature.Kind(i); kinds[want].of&kindOf(arg) == 0 {
			return nil, &callError{f.name, wrongKind(i, want, kindOf(arg))}
		}
	}
	result, err := f.handler(args)
	if err != nil {
		return nil, &callError{f.name, err}
	}
	if text, ok := result.(string); ok && len(text) > maxSize {
		return nil, &callError{f.name, errSize}
	}
	return result, nil
}

// wrongKind reports an argument of a kind that the function does not take.
func wrongKind(i int, want byte, given kindSet) error {
	name := map[kindSet]string{isNull: "null (or missing)", isLarge: "an integer, which functions do not take"}[given]
	for letter, kind := range kinds {
		if kind.of == given&^isNull {
			name = KindName(letter)
		}
	}
	return fmt.Errorf("argument %d must be %s, not %s", i+1, KindName(want), name)
}

// textOf returns the text of an argument that is a string or a number.
func textOf(arg any) string {
	if f, ok := arg.(float64); ok {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	text, _ := arg.(string)
	return text
}

// whole returns an argument that must be a whole number.
func whole(arg any) (int, error) {
	f := arg.(float64)
	if f != math.Trunc(f) || math.Abs(f) > math.MaxInt32 {
		return 0, fmt.Errorf("a whole number is expected")
	}
	return int(f), nil
}
