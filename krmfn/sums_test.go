package krmfn

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/preadmit/preadmit/internal/output"
)

// pruned runs render --prune, and returns its messages and the files in the output directory with the files
// that are no sums.
func pruned(t *testing.T, dir string, sources map[string]string) (said string, files map[string]string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(dir, "in")); err != nil {
		t.Fatal(err)
	}
	for name, text := range sources {
		writeFile(t, filepath.Join(dir, "in", name), text)
	}
	var stdout, stderr bytes.Buffer
	p := &Process{Args: strings.Fields("render --output-dir out --prune -p policy.yaml in"), Dir: dir, Stdout: &stdout, Stderr: &stderr}
	if status := Main(context.Background(), p); status != exitDone {
		t.Fatalf("status %d\n%s", status, &stderr)
	}
	files = filesIn(t, filepath.Join(dir, "out"))
	delete(files, output.SumsName)
	return stderr.String(), files
}

// sumLine returns the line of the sums for a file.
func sumLine(name, text string) string {
	return fmt.Sprintf("%x  %s\n", sha256.Sum256([]byte(text)), name)
}

func pruneSource(name string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\n"
}

// TestPrune changes the sources from run to run: the output directory always has exactly their files.
func TestPrune(t *testing.T) {
	dir := tree(t, map[string]string{"policy.yaml": teamPolicy})
	for _, names := range [][]string{{"a.yaml", "b/c.yaml", "b/d\\e.yaml"}, {"b/c.yaml"}, {"b/c.yaml", "b.yaml"}, {"A.yaml"}} {
		sources := map[string]string{}
		for _, name := range names {
			sources[name] = pruneSource("x")
		}
		_, files := pruned(t, dir, sources)
		slices.Sort(names)
		if got := slices.Sorted(maps.Keys(files)); !slices.Equal(got, names) {
			t.Errorf("the files are %q, expected %q", got, names)
		}
	}
	if entries, err := os.ReadDir(filepath.Join(dir, "out")); err != nil || len(entries) != 2 {
		t.Errorf("there are %v (%v), expected the file and the sums", entries, err)
	}
}

// TestPruneInterrupted leaves the sums as a run does that is killed while it replaces files: the next run
// removes what the earlier runs wrote, whichever of them did.
func TestPruneInterrupted(t *testing.T) {
	for _, text := range []string{"old", "new", "other"} {
		dir := tree(t, map[string]string{"policy.yaml": teamPolicy, "out/b.yaml": text})
		writeFile(t, filepath.Join(dir, "out", output.SumsName), sumLine("b.yaml", "old")+sumLine("b.yaml", "new"))
		said, files := pruned(t, dir, map[string]string{"a.yaml": pruneSource("a")})
		_, isThere := files["b.yaml"]
		if want := text == "other"; isThere != want || strings.Contains(said, "file-kept") != want {
			t.Errorf("%s: the file is there: %v; %s", text, isThere, said)
		}
	}
}

// TestPruneLinks shows that no file is removed through a link.
func TestPruneLinks(t *testing.T) {
	dir := tree(t, map[string]string{"policy.yaml": teamPolicy, "out/real/b.yaml": "old", "elsewhere/b.yaml": "old"})
	for name, to := range map[string]string{"inside": "real", "outside": "../elsewhere"} {
		if err := os.Symlink(to, filepath.Join(dir, "out", name)); err != nil {
			t.Skip(err)
		}
	}
	writeFile(t, filepath.Join(dir, "out", output.SumsName), sumLine("inside/b.yaml", "old")+sumLine("outside/b.yaml", "old"))
	said, _ := pruned(t, dir, map[string]string{"a.yaml": pruneSource("a")})
	for _, name := range []string{"out/real/b.yaml", "elsewhere/b.yaml"} {
		if !isFile(filepath.Join(dir, name)) {
			t.Errorf("%s is removed", name)
		}
	}
	if strings.Count(said, "file-kept") != 2 {
		t.Errorf("the links are not named:\n%s", said)
	}
}

// TestPruneTwice starts runs at the same time that write other files to the same directory: the result is
// that of one of them, and its sums are right.
func TestPruneTwice(t *testing.T) {
	dir := tree(t, map[string]string{"policy.yaml": teamPolicy})
	var wait sync.WaitGroup
	for i := range 6 {
		writeFile(t, filepath.Join(dir, fmt.Sprint("in", i), fmt.Sprint(i, ".yaml")), pruneSource("own"))
		writeFile(t, filepath.Join(dir, fmt.Sprint("in", i), "all.yaml"), pruneSource(fmt.Sprint("of-", i)))
		wait.Go(func() {
			var stdout, stderr bytes.Buffer
			p := &Process{Args: strings.Fields(fmt.Sprint("render --output-dir out --prune -p policy.yaml in", i)), Dir: dir, Stdout: &stdout, Stderr: &stderr}
			if status := Main(context.Background(), p); status != exitDone {
				t.Errorf("run %d: status %d\n%s", i, status, &stderr)
			}
		})
	}
	wait.Wait()
	files := filesIn(t, filepath.Join(dir, "out"))
	text := files[output.SumsName]
	delete(files, output.SumsName)
	want := ""
	for _, name := range slices.Sorted(maps.Keys(files)) {
		want += sumLine(name, files[name])
	}
	if len(files) != 2 || text != want {
		t.Errorf("the sums are\n%s, expected\n%s", text, want)
	}
}
