package admission_test

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"
)

// readJSON decodes an object with the number types of the engine: every whole number is an
// int64, also one that is written like 1.0.
func readJSON(t testing.TB, data []byte) map[string]any {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var object map[string]any
	if err := decoder.Decode(&object); err != nil {
		t.Fatal(err)
	}
	return wholeNumbers(object)
}

// wholeNumbers replaces the numbers in an object, in place: whole numbers by int64, others by
// float64.
func wholeNumbers(object map[string]any) map[string]any {
	return numbers(object).(map[string]any)
}

func numbers(value any) any {
	switch value := value.(type) {
	case json.Number:
		if n, err := value.Int64(); err == nil {
			return n
		}
		f, _ := value.Float64()
		return numbers(f)
	case float64:
		if value == math.Trunc(value) && math.Abs(value) < 1<<53 {
			return int64(value)
		}
	case map[string]any:
		for key := range value {
			value[key] = numbers(value[key])
		}
	case []any:
		for i := range value {
			value[i] = numbers(value[i])
		}
	}
	return value
}
