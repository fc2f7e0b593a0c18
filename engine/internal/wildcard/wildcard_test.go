package wildcard

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"", "", true},
		{"", "a", false},
		{"*", "", true},
		{"*", "a/b", true},
		{"?", "", false},
		{"?", "ä", true},
		{"?*", "a", true},
		{"a*", "ba", false},
		{"*a", "ba", true},
		{"a*b*c", "a--b--c", true},
		{"a*b*c", "a--c--b", false},
		{"*:latest", "nginx:latest", true},
		{"*:latest", "nginx:latest2", false},
		{"team-?", "team-1", true},
		{"team-?", "team-10", false},
		{"a.c", "abc", false},
		{"[ab]", "a", false},
		{"**", "x", true},
	} {
		if got := Match(c.pattern, c.text); got != c.want {
			t.Errorf("Match(%q, %q) = %v", c.pattern, c.text, got)
		}
	}
}

// TestMatchEnds runs a pattern that would take very long with naive backtracking.
func TestMatchEnds(t *testing.T) {
	if Match(strings.Repeat("*a", 30)+"b", strings.Repeat("a", 5000)) {
		t.Error("matches")
	}
}

// FuzzMatch compares Match with a direct definition of patterns.
func FuzzMatch(f *testing.F) {
	f.Add("a*?b", "axxb")
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(pattern) > 12 || len(text) > 12 || !utf8.ValidString(pattern+" "+text) {
			return // the definition is slow, and all text is UTF-8
		}
		if got, want := Match(pattern, text), defined([]rune(pattern), []rune(text)); got != want {
			t.Errorf("Match(%q, %q) = %v", pattern, text, got)
		}
	})
}

func defined(pattern, text []rune) bool {
	switch {
	case len(pattern) == 0:
		return len(text) == 0
	case pattern[0] == '*':
		return defined(pattern[1:], text) || len(text) > 0 && defined(pattern, text[1:])
	case len(text) == 0:
		return false
	}
	return (pattern[0] == '?' || pattern[0] == text[0]) && defined(pattern[1:], text[1:])
}
