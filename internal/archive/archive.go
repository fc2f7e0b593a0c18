// Package archive unpacks test cases that are stored as text archives, so that all cases of a
// folder can be read in one file. A file begins after a line
//
//	-- case/path --
//
// and ends before the next such line (the format of golang.org/x/tools/txtar). The first element
// of the path is the name of the case.
package archive

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Unpack writes the files of all archives (*.txtar) in dir to a temporary directory, and returns
// that directory. The test fails if there are fewer cases than want, because cases were lost
// then.
func Unpack(t testing.TB, dir string, want int) string {
	t.Helper()
	archives, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	target, cases := t.TempDir(), map[string]bool{}
	for _, name := range archives {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for path, content := range files(string(text)) {
			if !filepath.IsLocal(path) {
				t.Fatalf("%s: %s is not a local path", name, path)
			}
			unpacked := filepath.Join(target, filepath.FromSlash(path))
			if err := os.MkdirAll(filepath.Dir(unpacked), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(unpacked, []byte(content), 0o666); err != nil {
				t.Fatal(err)
			}
			name, _, _ := strings.Cut(path, "/")
			cases[name] = true
		}
	}
	if len(cases) < want {
		t.Fatalf("%s: %d cases in %d archives, want at least %d", dir, len(cases), len(archives), want)
	}
	return target
}

// files returns the files of an archive by their paths.
func files(text string) map[string]string {
	found, path := map[string]string{}, ""
	for line := range strings.Lines(text) {
		name, begins := strings.CutPrefix(line, "-- ")
		name, ends := strings.CutSuffix(name, " --\n")
		if begins && ends {
			path = name
			found[path] = ""
		} else if path != "" {
			found[path] += line
		}
	}
	return found
}
