package report

import (
	"fmt"
	"strings"
	"testing"
)

// textPairs are texts to compare.
var textPairs = [][2]string{
	{"", ""},
	{"a\n", ""},
	{"", "a"},
	{"a\nb\n", "a\nb\n"},
	{"a\nb\nc\n", "a\nc\n"},
	{"a\nb", "a\nb\n"},
	{"a\nb\nc\n", "c\nb\na\n"},
	{"x\na\nx\na\n", "a\nx\na\nx\n"},
	{"a\r\nb\r\n", "a\r\nc\r\nb\r\n"},
	{"- a\n+ b\n@@ -1 +1 @@\n", "+ b\n@@ -1 +1 @@\n\\ No newline\n"},
	{"1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n4\n5\n6\n7\n8\n9\n10\n"},
}

func TestCompare(t *testing.T) {
	for _, c := range []struct{ before, after, want string }{
		{"", "", ""},
		{"a\n", "a\n", "1:1 a"},
		{"a\n", "b\n", "1:0 a, 0:1 b"},
		{"a\nb\nc\n", "a\nB\nc\n", "1:1 a, 2:0 b, 0:2 B, 3:3 c"},
		{"a\nc\n", "a\nb\nc\nd\n", "1:1 a, 0:2 b, 2:3 c, 0:4 d"},
		{"a\nb\nc\n", "c", "1:0 a, 2:0 b, 3:0 c, 0:1 c"}, // one has no line break
	} {
		var got []string
		for _, l := range compare(c.before, c.after) {
			got = append(got, fmt.Sprintf("%d:%d %s", l.Before, l.After, strings.TrimSuffix(l.Text, "\n")))
		}
		if got := strings.Join(got, ", "); got != c.want {
			t.Errorf("%q and %q: %s, want %s", c.before, c.after, got, c.want)
		}
	}
}

// FuzzCompare checks that the lines of each text occur in order with their numbers, and that no
// comparison can keep more lines.
func FuzzCompare(f *testing.F) {
	for _, pair := range textPairs {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, before, after string) {
		var a, b strings.Builder
		countA, countB, kept := 0, 0, 0
		for _, l := range compare(before, after) {
			if l.Before != 0 {
				countA++
				a.WriteString(l.Text)
			}
			if l.After != 0 {
				countB++
				b.WriteString(l.Text)
			}
			if l.Before != 0 && l.After != 0 {
				kept++
			}
			if l.Before != 0 && l.Before != countA || l.After != 0 && l.After != countB || l.Before == 0 && l.After == 0 {
				t.Fatalf("%q and %q: a line is numbered %d:%d", before, after, l.Before, l.After)
			}
		}
		if a.String() != before || b.String() != after {
			t.Errorf("%q and %q became %q and %q", before, after, a.String(), b.String())
		}
		if most := longestCommon(splitLines(before), splitLines(after)); kept != most && countA+countB <= maxEdits(countA+countB) {
			t.Errorf("%q and %q: %d lines are kept, could be %d", before, after, kept, most)
		}
	})
}

// longestCommon returns the length of the longest common subsequence.
func longestCommon(a, b []string) int {
	row := make([]int, len(b)+1)
	for _, x := range a {
		diagonal := 0
		for j, y := range b {
			above := row[j+1]
			if x == y {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(above, row[j])
			}
			diagonal = above
		}
	}
	return row[len(b)]
}
