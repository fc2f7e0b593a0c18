package krmfn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// tree creates files, or symbolic links for texts that start with "-> ".
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		makeFile(t, dir, name, text)
	}
	return dir
}

// makeFile creates a file or a symbolic link in a directory.
func makeFile(t *testing.T, dir, name, text string) {
	t.Helper()
	target, isLink := strings.CutPrefix(text, "-> ")
	if !isLink {
		writeFile(t, filepath.Join(dir, name), text)
		return
	}
	link := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(link), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(strings.ReplaceAll(strings.TrimSpace(target), "$DIR", dir), link); err != nil {
		t.Skip("no symbolic links here:", err)
	}
}

// readNames reads paths and returns the names of the files and the errors.
func readNames(dir string, paths ...path) (names, problems []string) {
	f := &files{process: &Process{Dir: dir, ledger: newLedger()}}
	set := f.set()
	set.addAll(paths)
	for _, file := range set.found {
		names = append(names, file.name)
	}
	for _, d := range f.diagnostics {
		problems = append(problems, d.Code+": "+strings.ReplaceAll(d.Message, dir, "$DIR"))
	}
	return names, problems
}

func TestSymbolicLinks(t *testing.T) {
	dir := tree(t, map[string]string{
		// The layout of a volume with a ConfigMap.
		"volume/..2026_01_01/policy.yaml": "a: b\n",
		"volume/..data":                   "-> ..2026_01_01",
		"volume/policy.yaml":              "-> ..data/policy.yaml",
		"again/policy.yaml":               "-> ../volume/policy.yaml",
		"loop/a.yaml":                     "a: b\n",
		"loop/deep/back":                  "-> ../../loop",
		"linked":                          "-> loop",
		"dangling/x.yaml":                 "-> nowhere.yaml",
		"folder.yaml/b.yml":               "a: b\n",
		"tree/a.yaml":                     "a: b\n",
		"tree/up":                         "-> ..",
		"tree/root":                       "-> /",
		"tree/absolute":                   "-> $DIR/loop",
		"tree/within":                     "-> deep",
		"tree/deep/b.yaml":                "a: b\n",
		"tree/file.yaml":                  "-> ../loop/a.yaml",
	})
	for _, c := range []struct {
		name                   string
		paths                  []string
		wantNames, wantProblem []string
	}{
		{"a volume", []string{"volume"}, []string{"volume/policy.yaml"}, nil},
		{"the same file twice", []string{"volume", "again"}, []string{"volume/policy.yaml"}, nil},
		{"a directory above itself", []string{"loop"}, []string{"loop/a.yaml"}, nil},
		{"a link to a directory", []string{"linked"}, []string{"linked/a.yaml"}, nil},
		{"links out of a directory", []string{"tree"}, []string{"tree/a.yaml", "tree/deep/b.yaml", "tree/file.yaml"}, []string{
			"link-outside: tree/absolute: the link leads to a directory outside of tree, which is not read",
			"link-outside: tree/root: the link leads to a directory outside of tree, which is not read",
			"link-outside: tree/up: the link leads to a directory outside of tree, which is not read",
		}},
		{"a link to nothing", []string{"dangling"}, nil, []string{"path-unreadable: dangling/x.yaml: the link leads to a file that does not exist"}},
		{"a directory named like a file", []string{"."}, []string{"again/policy.yaml", "folder.yaml/b.yml", "linked/a.yaml", "tree/a.yaml", "tree/deep/b.yaml"}, []string{
			"path-unreadable: dangling/x.yaml: the link leads to a file that does not exist",
			"link-outside: tree/root: the link leads to a directory outside of ., which is not read",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var paths []path
			for _, name := range c.paths {
				paths = append(paths, path{name: name})
			}
			names, problems := readNames(dir, paths...)
			if !slices.Equal(names, c.wantNames) || !slices.Equal(problems, c.wantProblem) {
				t.Errorf("got %q, %q; want %q, %q", names, problems, c.wantNames, c.wantProblem)
			}
		})
	}
}

// TestManyLinks shows that directories with links to each other are read only once, not once for
// every path.
func TestManyLinks(t *testing.T) {
	files := map[string]string{}
	for i := range 30 {
		files[fmt.Sprintf("d%02d/file.yaml", i)] = "a: b\n"
		for j := range 30 {
			files[fmt.Sprintf("d%02d/to%02d", i, j)] = fmt.Sprintf("-> ../d%02d", j)
		}
	}
	names, problems := readNames(tree(t, files), path{name: "."})
	if len(names) != 30 || len(problems) > 0 {
		t.Errorf("%d files, %q", len(names), problems)
	}
}

// TestConfinement shows that a functionConfig cannot read files outside of its bounds, even through
// symbolic links.
func TestConfinement(t *testing.T) {
	dir := tree(t, map[string]string{
		"outside/secret.yaml":   "a: b\n",
		"work/policies/ok.yaml": "a: b\n",
		"work/inside.yaml":      "-> policies/ok.yaml",
		"work/file.yaml":        "-> ../outside/secret.yaml",
		"work/absolute.yaml":    "-> $DIR/outside/secret.yaml",
		"work/directory":        "-> ../outside",
		"work/nested/file.yaml": "-> ../../outside/secret.yaml",
		"work/nested/deep":      "-> ../../outside",
		"entry":                 "-> work",
	})
	const refused = "the path leads out of the working directory and of the package"
	for name, want := range map[string]string{
		"policies":                   "",
		"inside.yaml":                "",
		"./policies/../inside.yaml":  "",
		"file.yaml":                  "file.yaml: " + refused,
		"absolute.yaml":              "absolute.yaml: " + refused,
		"directory":                  "directory: " + refused,
		"directory/secret.yaml":      "directory/secret.yaml: " + refused,
		"nested":                     "nested: " + refused,
		"../outside":                 "../outside: " + refused,
		"../workx":                   "../workx: " + refused,
		dir + "/outside/secret.yaml": "$DIR/outside/secret.yaml: " + refused,
		"directory/none.yaml":        "directory/none.yaml: no such file or directory",
	} {
		for _, work := range []string{"work", "entry"} { // the working directory may be a link itself
			work := filepath.Join(dir, work)
			f := &files{process: &Process{Dir: work, ledger: newLedger()}}
			set := f.set()
			set.addAll([]path{{name: name, base: work, within: &bounds{dirs: []string{work}, names: "the working directory and of the package"}}})
			var got string
			for _, d := range f.diagnostics {
				got = strings.ReplaceAll(d.Message, dir, "$DIR")
			}
			if got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
			for _, file := range set.found {
				if strings.Contains(file.name, "secret") {
					t.Errorf("%s: read %s", name, file.name)
				}
			}
		}
	}
}

// TestReadAndWrite shows that errors of reading and writing are failures.
func TestReadAndWrite(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		name   string
		args   []string
		stdin  io.Reader
		stdout io.Writer
		want   string
	}{
		{"render", []string{"render", "-"}, iotest.ErrReader(broken), io.Discard, "standard input cannot be read: broken"},
		{"function", []string{"fn"}, iotest.ErrReader(broken), io.Discard, "standard input cannot be read: broken"},
		{"output", []string{"render", "-"}, strings.NewReader("{apiVersion: v1, kind: Service, metadata: {name: a}}"), brokenWriter{broken}, "the output could not be written: broken"},
		{"help", []string{"--help"}, nil, brokenWriter{broken}, "the output could not be written: broken"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var stderr bytes.Buffer
			status := Main(context.Background(), &Process{Args: c.args, Dir: t.TempDir(), Stdin: c.stdin, Stdout: c.stdout, Stderr: &stderr})
			if status != exitInvalid || !strings.Contains(stderr.String(), c.want) {
				t.Errorf("status %d, %s", status, &stderr)
			}
		})
	}
}

type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }

// TestInterrupted shows that an interrupted run has no output.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var stdout, stderr bytes.Buffer
	status := Main(ctx, &Process{
		Args: []string{"render", "-"}, Dir: t.TempDir(), Stdout: &stdout, Stderr: &stderr,
		Stdin: strings.NewReader("{apiVersion: v1, kind: Service, metadata: {name: a}}"),
	})
	if status != exitInvalid || stdout.Len() > 0 || !strings.Contains(stderr.String(), "context canceled") {
		t.Errorf("status %d, %q, %s", status, &stdout, &stderr)
	}
}

func TestProgress(t *testing.T) {
	var b bytes.Buffer
	now := time.Time{}
	p := newProgress(&b, func() time.Time { return now })
	for i := range 5 {
		p.observe(i+1, 30)
		now = now.Add(400 * time.Millisecond)
	}
	p.observe(6, 30)
	p.observe(7, 30) // too soon
	p.end()
	if got, want := b.String(), "\r4/30 manifests\r5/30 manifests\r6/30 manifests\r\x1b[K"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	b.Reset()
	quick := newProgress(&b, func() time.Time { return now })
	quick.observe(1, 1)
	quick.end()
	if b.Len() > 0 {
		t.Errorf("%q for a run that was quick", &b)
	}
}

// TestInputLimit reads input above the limit, and the same input with a higher limit.
func TestInputLimit(t *testing.T) {
	dir := tree(t, map[string]string{
		"large.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: large}\n" + strings.Repeat("# filling filling filling filling\n", 40_000),
	})
	for size, want := range map[string]int{"1Mi": exitInvalid, "2Mi": exitDone} {
		var stderr bytes.Buffer
		p := &Process{Args: []string{"render", "--input-limit=" + size, "large.yaml"}, Dir: dir, Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: &stderr}
		if got := Main(t.Context(), p); got != want || strings.Contains(stderr.String(), "the input is larger than 1 MiB") != (want == exitInvalid) {
			t.Errorf("%s: status %d\n%s", size, got, stderr.String())
		}
	}
}
