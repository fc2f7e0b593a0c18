package limit

import (
	"errors"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/change"
)

func TestSize(t *testing.T) {
	for _, c := range []struct {
		value any
		want  int
	}{
		{nil, Unit},
		{"abc", Unit + 3},
		{[]any{int64(1), "a"}, 3*Unit + 1},
		{map[string]any{"key": []any{}}, 2*Unit + 3},
		{[]string{"a", "b"}, 3*Unit + 2},
	} {
		if size, fits := Size(c.value, c.want); size != c.want || !fits {
			t.Errorf("%v: %d, %v; want %d", c.value, size, fits, c.want)
		}
		if _, fits := Size(c.value, c.want-1); fits {
			t.Errorf("%v fits into %d", c.value, c.want-1)
		}
	}
}

// TestSizeRemembered checks that a Memo does not change the size of a value.
func TestSizeRemembered(t *testing.T) {
	part := map[string]any{"a": "bcd", "list": []any{int64(1), "text", map[string]any{"x": nil, "y": "z"}}}
	memo := new(change.Memo)
	for _, value := range []any{
		part,
		map[string]any{"once": part},
		map[string]any{"once": part, "twice": []any{part, part["list"]}},
		map[string]any{"once": map[string]any{"a": "changed", "list": part["list"]}},
	} {
		want, _ := Size(value, ObjectBytes)
		for range 2 {
			if size, fits := sizeOf(memo, value, want); size != want || !fits {
				t.Errorf("%v: %d, %v; want %d", value, size, fits, want)
			}
			if _, fits := sizeOf(memo, value, want-1); fits {
				t.Errorf("%v fits into %d", value, want-1)
			}
		}
	}
}

// TestObject checks that the limit on growth does not depend on the size of the object.
func TestObject(t *testing.T) {
	text := func(n int) map[string]any { return map[string]any{"a": strings.Repeat("a", n)} }
	for _, c := range []struct {
		written, object int
		fits            bool
	}{
		{1, ObjectBytes / 2, true},
		{1, 2 * ObjectBytes, false},
		{ObjectBytes, 2*ObjectBytes - 1, true},
		{ObjectBytes, 3 * ObjectBytes, false},
	} {
		err := Object(nil, text(c.written), text(c.object))
		if tooLarge := errors.As(err, new(*Error)); tooLarge == c.fits {
			t.Errorf("%d bytes of %d: %v", c.object, c.written, err)
		}
	}
}

func TestInput(t *testing.T) {
	var input Input
	if data, err := input.Read(strings.NewReader("abc")); string(data) != "abc" || err != nil {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := input.Read(strings.NewReader(strings.Repeat("a", InputBytes-2))); !errors.As(err, new(*Error)) {
		t.Errorf("%v", err)
	}
}

func TestBudget(t *testing.T) {
	spend := func(value any) (err error) {
		defer func() { err = Recovered(recover()) }()
		var b Budget
		b.Start()
		b.Spend(value)
		return nil
	}
	if err := spend("a"); err != nil {
		t.Error(err)
	}
	if err := spend(strings.Repeat("a", Work)); err == nil {
		t.Error("there is no bound")
	}
}
