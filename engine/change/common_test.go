package change

import (
	"math/rand/v2"
	"testing"
)

// TestCommon compares long lists with the table of longestCommon: a permutation has a longest common
// subsequence, and any other list one that is in order.
func TestCommon(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		from, to := random.Perm(100), random.Perm(100)
		if got, want := paired(t, from, to, Common(from, to)), paired(t, from, to, longestCommon(from, to)); got != want {
			t.Errorf("%v and %v: %d items are paired, want %d", from, to, got, want)
		}
		for i := range from {
			from[i], to[i] = from[i]%30, to[i]%30
		}
		if paired(t, from, to, Common(from, to)) == 0 {
			t.Errorf("%v and %v: no items are paired", from, to)
		}
	}
}

// paired returns the number of paired items, which must be equal and in order.
func paired(t *testing.T, from, to, pairs []int) int {
	n, last := 0, -1
	for j, i := range pairs {
		if i < 0 {
			continue
		}
		if i <= last || from[i] != to[j] {
			t.Errorf("item %d is paired with %d after %d", j, i, last)
		}
		n, last = n+1, i
	}
	return n
}

func TestSet(t *testing.T) {
	values := []any{int64(1), 1.5, "a", nil, true, []any{int64(1), "a"}, map[string]any{"a": "b", "c": []any{}}}
	s := NewSet(values)
	for _, value := range values {
		if !s.Has(Clone(value)) {
			t.Errorf("%v is missing", value)
		}
	}
	for _, value := range []any{1.0, "b", false, []any{"a", int64(1)}, map[string]any{"a": "b", "c": nil}, map[string]any{"a": "b"}} {
		if s.Has(value) {
			t.Errorf("has %v", value)
		}
	}
}
