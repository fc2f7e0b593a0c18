package report

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
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

// A diff carried out by git gives the second text.
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
			continue // git describes these otherwise
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
