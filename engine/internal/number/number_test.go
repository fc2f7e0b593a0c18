package number_test

import (
	"math"
	"testing"

	"github.com/preadmit/preadmit/engine/internal/number"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]any{
		"0": int64(0), "-0": int64(0), "9007199254740993": int64(9007199254740993),
		"9223372036854775807": int64(math.MaxInt64), "-9223372036854775808": int64(math.MinInt64),
		"9223372036854775808": 9223372036854775808.0, "18446744073709551615": 18446744073709551615.0,
		"1.0": 1.0, "1e3": 1e3, "0.10": 0.1,
	} {
		if got, err := number.Parse(text); got != want || err != nil {
			t.Errorf("%s is %#v, %v", text, got, err)
		}
	}
	if _, err := number.Parse("1e400"); err == nil {
		t.Error("1e400 is a number")
	}
}

// TestWhole compares Whole with writing a float as JSON and reading it again.
func TestWhole(t *testing.T) {
	for f, want := range map[float64]any{
		0: int64(0), 2: int64(2), -3: int64(-3), 1.5: 1.5, 1e18: int64(1e18),
		1 << 53: int64(1 << 53), 1 << 62: int64(4611686018427388000), 1 << 63: 9223372036854775808.0, -1 << 63: -9223372036854775808.0,
		1e300: 1e300, math.Inf(1): math.Inf(1),
	} {
		if got := number.Whole(f); got != want {
			t.Errorf("%v is %#v, not %#v", f, got, want)
		}
	}
}

func TestDecode(t *testing.T) {
	value, err := number.Decode(` {"a": [9007199254740993, 1.0, {"b": 1e2}], "c": null} `)
	if err != nil {
		t.Fatal(err)
	}
	list := value.(map[string]any)["a"].([]any)
	if list[0] != int64(9007199254740993) || list[1] != 1.0 || list[2].(map[string]any)["b"] != 100.0 {
		t.Errorf("got %#v", value)
	}
	for _, text := range []string{"", "{", "1 2", "[1e400]", `{"a":{"b":-1e400}}`} {
		if value, err := number.Decode(text); err == nil {
			t.Errorf("%q is %#v", text, value)
		}
	}
}
