package report

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/preadmit/preadmit/engine/change"
)

func TestCut(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"abcdefghij", 10, "abcdefghij"},
		{"abcdefghij", 9, "abcd…ghij"},
		{"äöüßäöüßäö", 5, "äö…äö"},
		{"", 5, ""},
	} {
		if got := cut(c.text, c.most); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}

// FuzzCutPair checks that what differs is whole after the cut, and that what the texts have in common
// is not too long.
func FuzzCutPair(f *testing.F) {
	long := strings.Repeat("x", 300)
	f.Add("a", "b")
	f.Add(long+"a"+long, long+"b"+long)
	f.Add(long, long+long)
	f.Add(long, "")
	f.Add(long+"a"+long+"c"+long, long+"b"+long+"d"+long)
	f.Fuzz(func(t *testing.T, a, b string) {
		if !utf8.ValidString(a) || !utf8.ValidString(b) {
			return
		}
		x, y := cutPair(a, b, longestLine)
		from, to := []rune(a), []rune(b)
		begin, end := common(from, to)
		for _, c := range []struct {
			text string
			of   []rune
		}{{x, from}, {y, to}} {
			differing := string(c.of[begin : len(c.of)-end])
			if !strings.Contains(c.text, differing) {
				t.Errorf("%q and %q: %q is not whole in %q", a, b, differing, c.text)
			}
			if n := utf8.RuneCountInString(c.text) - utf8.RuneCountInString(differing); n > longestLine {
				t.Errorf("%q and %q: %d common characters", a, b, n)
			}
		}
		if a != b && x == y {
			t.Errorf("%q and %q: both are %q", a, b, x)
		}
	})
}

func TestBlock(t *testing.T) {
	long := strings.Repeat("long ", 20)
	many := func(n int) (items []any) {
		for range n {
			items = append(items, "x")
		}
		return items
	}
	for _, c := range []struct {
		name       string
		op         change.Op
		last       change.Element
		old, value any
		want       string
	}{
		{"short", change.Replace, change.Key("a"), "b", "c", ""},
		{"moved", change.Move, change.Index(1), nil, nil, ""},
		{"a key with dots", change.Add, change.Key("a.b/c"), nil, long + "x", "+a.b/c: " + long + "x\n"},
		{"an item", change.Remove, change.Index(3), long + "x", nil, "-- " + long + "x\n"},
		{"a map", change.Replace, change.Key("a"), map[string]any{"kind": "x", "z": long + "x"}, map[string]any{"kind": "v", "z": long + "x"}, "-kind: x\n+kind: v\n z: " + long + "x\n"},
		{"a map in place of a text", change.Replace, change.Key("a"), "x", map[string]any{"b": long + "x"}, "-a: x\n+b: " + long + "x\n"},
		{"one of many lines", change.Replace, change.Key("a"), many(40), append(many(40), "v"), " a:\n - x\n - x\n.⋯ 35 lines\n - x\n - x\n - x\n+- v\n"},
		{
			"long lines", change.Replace, change.Key("a"), strings.Repeat("x", 400) + "a" + strings.Repeat("y", 400), strings.Repeat("x", 400) + "b" + strings.Repeat("y", 400),
			"-…" + strings.Repeat("x", 39) + "a" + strings.Repeat("y", 39) + "…\n+…" + strings.Repeat("x", 39) + "b" + strings.Repeat("y", 39) + "…\n",
		},
	} {
		var got strings.Builder
		for _, l := range (difference{c.op, "", c.last, c.old, c.value}).block(false) {
			got.WriteString(string(l.op) + strings.TrimSuffix(l.text, "\n") + "\n")
		}
		if got.String() != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got.String(), c.want)
		}
	}
}
