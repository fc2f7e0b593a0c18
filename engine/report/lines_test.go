package report

import (
	"strings"
	"testing"
)

// FuzzCompare holds that the aligned lines give both texts back, and are numbered.
func FuzzCompare(f *testing.F) {
	f.Add("a\nb\nc\n", "a\nc\nd")
	f.Add("", "x\n")
	f.Add("a\na\nb\n", "b\na\na\n")
	f.Fuzz(func(t *testing.T, before, after string) {
		var a, b strings.Builder
		nextBefore, nextAfter := 1, 1
		for _, l := range compare(before, after) {
			if l.before > 0 {
				a.WriteString(l.text)
				if l.before != nextBefore {
					t.Fatalf("line %d comes after %d", l.before, nextBefore-1)
				}
				nextBefore++
			}
			if l.after > 0 {
				b.WriteString(l.text)
				if l.after != nextAfter {
					t.Fatalf("line %d comes after %d", l.after, nextAfter-1)
				}
				nextAfter++
			}
		}
		if a.String() != before || b.String() != after {
			t.Errorf("%q and %q from %q and %q", a.String(), b.String(), before, after)
		}
	})
}
