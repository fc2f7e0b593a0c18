// Package number says what a number is as a value: an int64 where JSON has an integer
// that fits 64 bits, and a float64 otherwise, as it is for API servers
// (sigs.k8s.io/json). It imports nothing of ours.
//
// A value that was read keeps its text in a manifest as long as nobody changes it; these
// are the rules for numbers that are computed, or come without their text.
package number

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
)

// Parse returns the value of a number in JSON. It fails where that is beyond the
// largest float64.
func Parse(text string) (any, error) {
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return i, nil
	}
	return strconv.ParseFloat(text, 64)
}

// Whole returns the value of f once it was written as JSON and read again: an integer if
// its text is one.
func Whole(f float64) any {
	if math.Abs(f) >= 1<<63 || f != math.Trunc(f) {
		return f
	}
	// JSON has the shortest digits that lead back to f, which need not be those of f's
	// integer.
	if i, err := strconv.ParseInt(strconv.FormatFloat(f, 'f', -1, 64), 10, 64); err == nil {
		return i
	}
	return f
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

// parsed replaces the numbers that encoding/json has left as text.
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
