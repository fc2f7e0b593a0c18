// Package number defines the Go values of numbers: an int64 for a JSON integer that fits into 64
// bits, and a float64 otherwise, as in API servers (sigs.k8s.io/json). It imports none of our
// packages.
//
// A number that was read from a manifest keeps its text there until it changes. These rules are
// for numbers that are computed, or that come without their text.
package number

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Parse returns the value of a JSON number. It fails if the number is beyond the largest
// float64.
func Parse(text string) (any, error) {
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return i, nil
	}
	return strconv.ParseFloat(text, 64)
}

// Encodable returns the error of Go's JSON encoder if a value has a number that JSON does not: NaN
// or an infinity.
func Encodable(value any) error {
	switch value := value.(type) {
	case float64:
		if math.IsNaN(value) || math.IsInf(value, 0) {
			return &json.UnsupportedValueError{Str: strconv.FormatFloat(value, 'g', -1, 64)}
		}
	case []any:
		for _, item := range value {
			if err := Encodable(item); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if err := Encodable(value[name]); err != nil {
				return err
			}
		}
	}
	return nil
}

// Whole returns the value of f after it was written as JSON and read again: an int64 if the text
// is an integer.
func Whole(f float64) any {
	if math.Abs(f) >= 1<<63 || f != math.Trunc(f) {
		return f
	}
	// JSON has the shortest digits that parse as f. They may differ from the digits of f as an
	// integer.
	if i, err := strconv.ParseInt(strconv.FormatFloat(f, 'f', -1, 64), 10, 64); err == nil {
		return i
	}
	return f
}

// Convert returns a copy of a value, with the results of scalar in place of everything that is
// neither a map nor a list.
func Convert(value any, scalar func(any) any) any {
	switch value := value.(type) {
	case map[string]any:
		object := make(map[string]any, len(value))
		for key, member := range value {
			object[key] = Convert(member, scalar)
		}
		return object
	case []any:
		list := make([]any, len(value))
		for i, item := range value {
			list[i] = Convert(item, scalar)
		}
		return list
	}
	return scalar(value)
}

// Wholes returns a copy of a value as if it had been written to JSON and read again: 3.0 becomes the
// integer 3.
func Wholes(value any) any {
	return Convert(value, func(scalar any) any {
		if f, ok := scalar.(float64); ok {
			return Whole(f)
		}
		return scalar
	})
}

// Floats returns a copy of a value whose integers are floats, as reading JSON without a type gives
// them.
func Floats(value any) any {
	return Convert(value, func(scalar any) any {
		if i, ok := scalar.(int64); ok {
			return float64(i)
		}
		return scalar
	})
}

// Decode returns the value of a JSON text.
func Decode(text string) (any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("there is text after the end of the JSON")
	}
	return parsed(value)
}

// parsed replaces the numbers that encoding/json has kept as text.
func parsed(value any) (any, error) {
	var err error
	switch v := value.(type) {
	case json.Number:
		return Parse(v.String())
	case map[string]any:
		for key := range v {
			if v[key], err = parsed(v[key]); err != nil {
				return nil, err
			}
		}
	case []any:
		for i := range v {
			if v[i], err = parsed(v[i]); err != nil {
				return nil, err
			}
		}
	}
	return value, nil
}
