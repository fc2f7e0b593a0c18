package report

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func TestDiff(t *testing.T) {
	from := "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl"
	to := "a\nB\nc\nd\ne\nf\ng\nh\ni\nj\nl\nm\n"
	want := `--- written
+++ admitted
@@ -1,5 +1,5 @@
 a
-b
+B
 c
 d
 e
@@ -8,5 +8,5 @@
 h
 i
 j
-k
-l
\ No newline at end of file
+l
+m
`
	if got := Diff("written", "admitted", from, to); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if got := Diff("x", "y", from, from); got != "" {
		t.Errorf("equal texts differ:\n%s", got)
	}
}

// TestDiffFar checks that texts with little in common are compared in bounded time and memory. The
// shortest diff of these two would take gigabytes.
func TestDiffFar(t *testing.T) {
	const n = 30_000
	var from, to strings.Builder
	for i := range n {
		fmt.Fprintf(&from, "%d\n", i)
		fmt.Fprintf(&to, "%d\n", n-i)
	}
	if got := applied(t, from.String(), Diff("a", "b", from.String(), to.String())); got != to.String() {
		t.Error("the diff does not lead to the second text")
	}
}

// FuzzDiff checks that the hunks of a diff turn the first text into the second.
func FuzzDiff(f *testing.F) {
	for _, pair := range textPairs {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, from, to string) {
		if got := applied(t, from, Diff("a", "b", from, to)); got != to {
			t.Errorf("from %q to %q: got %q with\n%s", from, to, got, Diff("a", "b", from, to))
		}
	})
}

var hunkHead = regexp.MustCompile(`^@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@\n$`)

// applied applies a diff to a text. It fails if the diff does not match the text.
func applied(t *testing.T, from, diff string) string {
	t.Helper()
	if diff == "" {
		return from
	}
	lines, at := splitLines(from), 0
	var out strings.Builder
	said := splitLines(diff)[2:]
	for i, text := range said {
		if text[0] == '\\' {
			continue
		}
		if i+1 < len(said) && said[i+1][0] == '\\' { // no newline at end of file
			text = strings.TrimSuffix(text, "\n")
		}
		if head := hunkHead.FindStringSubmatch(text); head != nil {
			begin, _ := strconv.Atoi(head[1])
			if head[2] != "0" {
				begin--
			}
			for ; at < begin; at++ {
				out.WriteString(lines[at])
			}
			continue
		}
		if text[0] != '+' {
			if at >= len(lines) || lines[at] != text[1:] {
				t.Fatalf("line %d is not %q in\n%s", at+1, text[1:], diff)
			}
			at++
		}
		if text[0] != '-' {
			out.WriteString(text[1:])
		}
	}
	for ; at < len(lines); at++ {
		out.WriteString(lines[at])
	}
	return out.String()
}

// TestDiffApplies checks that git, applying a diff, gets the second text.
func TestDiffApplies(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	text := func() string {
		var b strings.Builder
		for range random.IntN(30) {
			b.WriteString(string(rune('a'+random.IntN(4))) + "\n")
		}
		return strings.TrimSuffix(b.String(), strings.Repeat("\n", random.IntN(2)))
	}
	for range 60 {
		from, to := text(), text()
		if from == "" || to == "" || from == to {
			continue // git describes these cases differently
		}
		directory := t.TempDir()
		file := filepath.Join(directory, "file")
		if err := os.WriteFile(file, []byte(from), 0o644); err != nil {
			t.Fatal(err)
		}
		diff := Diff("a/file", "b/file", from, to)
		command := exec.Command("git", "apply", "--unidiff-zero", "-")
		command.Dir, command.Stdin = directory, strings.NewReader(diff)
		command.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(directory))
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s\nfrom:\n%q\nto:\n%q\n%s", err, output, from, to, diff)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != to {
			t.Fatalf("%v: got %q, want %q with\n%s", err, got, to, diff)
		}
	}
}

// TestUnifiedApplies applies the output of Unified with git and with patch, for all kinds of line
// breaks and file names.
func TestUnifiedApplies(t *testing.T) {
	for _, program := range [][]string{{"git", "apply", "-"}, {"patch", "-p1", "--batch", "--fuzz=0"}} {
		if _, err := exec.LookPath(program[0]); err != nil {
			t.Log(err)
			continue
		}
		for name, texts := range map[string][2]string{
			"deep/unix.yaml":     {"a: b\nc: d\n", "a: b\nc: e\nf: g\n"},
			"deep/windows.yaml":  {"a: b\r\nc: d\r\n", "a: b\r\nc: e\r\nf: g\r\n"},
			"mixed.yaml":         {"a: b\r\nc: d\nx: \u0085\n", "a: b\r\nc: e\nx: \u0085\n"},
			"open end.yaml":      {"a: b\r\nc: d", "a: b\r\nc: d\r\ne: f"},
			"tab\tand \"\\.yaml": {"a: b\n", "a: c\n"},
			"ünicode.yaml":       {"a: b\n", "a: c\n"},
		} {
			directory := t.TempDir()
			file := filepath.Join(directory, name)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(texts[0]), 0o644); err != nil {
				t.Fatal(err)
			}
			var diff strings.Builder
			Unified(&diff, &Report{Files: []File{{Name: name, Before: texts[0], After: texts[1]}}}, Style{})
			command := exec.Command(program[0], program[1:]...)
			command.Dir, command.Stdin = directory, strings.NewReader(diff.String())
			command.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(directory))
			if output, err := command.CombinedOutput(); err != nil {
				t.Errorf("%v: %v: %s\n%s", program, err, output, diff.String())
			}
			if got, err := os.ReadFile(file); err != nil || string(got) != texts[1] {
				t.Errorf("%v: %v: got %q, want %q with\n%s", program, err, got, texts[1], diff.String())
			}
		}
	}
}

// TestUnifiedOnTerminal checks that a terminal sees no control characters, not even the ones of
// line breaks such as \r.
func TestUnifiedOnTerminal(t *testing.T) {
	r := &Report{Files: []File{{Name: "a\x1b[2J.yaml", Before: "a: b\r\nc: \x1b[2J\r\n", After: "a: b\r\nc: d\x07\r\n"}}}
	for _, c := range []struct {
		style Style
		want  string
	}{
		{Style{Terminal: true}, "--- \"a/a\\033[2J.yaml\"\twritten\n+++ \"b/a\\033[2J.yaml\"\tadmitted\n@@ -1,2 +1,2 @@\n a: b\n-c: \\x1b[2J\n+c: d\\x07\n"},
		{Style{Terminal: true, Colored: true}, "\x1b[1m--- \"a/a\\033[2J.yaml\"\twritten\x1b[0m\n\x1b[1m+++ \"b/a\\033[2J.yaml\"\tadmitted\x1b[0m\n\x1b[36m@@ -1,2 +1,2 @@\x1b[0m\n a: b\n\x1b[31m-c: \\x1b[2J\x1b[0m\n\x1b[32m+c: d\\x07\x1b[0m\n"},
	} {
		var got strings.Builder
		Unified(&got, r, c.style)
		if got.String() != c.want {
			t.Errorf("got:\n%q\nwant:\n%q", got.String(), c.want)
		}
	}
}

// TestDiffMany checks that many changes, each in a separate document, are found separately.
func TestDiffMany(t *testing.T) {
	const documents = 3000
	before := strings.Repeat("a: 1\nb: 2\nc: 3\n---\n", documents)
	after := strings.Repeat("a: 1\nb: 3\nc: 3\n---\n", documents)
	diff := Diff("from", "to", before, after)
	if removed := strings.Count(diff, "\n-b: 2\n"); removed != documents || strings.Contains(diff, "\n-a: 1\n") {
		t.Errorf("%d of %d changes are found by themselves", removed, documents)
	}
}

// TestDiffOfCommands shows that no line of a diff is a command for a CI system, and that the counts of
// the hunk hold.
func TestDiffOfCommands(t *testing.T) {
	got := Diff("a", "b", "x: 1\n  ::error::x\n##[group]x\n", "x: 2\n  ::error::x\n##[group]x\n")
	want := "--- a\n+++ b\n@@ -1,3 +1,3 @@\n-x: 1\n+x: 2\n-  ::error::x\n+  ::error::x\n-##[group]x\n+##[group]x\n"
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
