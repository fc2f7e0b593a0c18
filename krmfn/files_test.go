package krmfn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf16"

	"github.com/preadmit/preadmit/internal/output"
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
	f := (&Process{Dir: dir, ledger: output.NewLedger()}).files(&config{})
	set := f.set()
	set.addAll(paths)
	for _, file := range set.set.Files {
		names = append(names, file.Name)
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
		"nested":                     "nested/file.yaml: the link leads out of the working directory and of the package",
		"../outside":                 "../outside: " + refused,
		"../workx":                   "../workx: " + refused,
		dir + "/outside/secret.yaml": "$DIR/outside/secret.yaml: " + refused,
		"directory/none.yaml":        "directory/none.yaml: no such file or directory",
	} {
		for _, work := range []string{"work", "entry"} { // the working directory may be a link itself
			work := filepath.Join(dir, work)
			f := (&Process{Dir: work, ledger: output.NewLedger()}).files(&config{})
			set := f.set()
			set.addAll([]path{{name: name, base: work, within: &bounds{dirs: []string{work}, names: "the working directory and of the package"}}})
			var got string
			for _, d := range f.diagnostics {
				got = strings.ReplaceAll(d.Message, dir, "$DIR")
			}
			if got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
			for _, file := range set.set.Files {
				if strings.Contains(file.Name, "secret") {
					t.Errorf("%s: read %s", name, file.Name)
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

// unreadable are texts of manifests that cannot be read, or only by their encoding.
var unreadable = map[string]string{
	"an open brace":                 "{apiVersion: v1, kind: Secret, metadata: {name: x}",
	"a duplicate key in braces":     "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {a: b, a: c}}\n",
	"an unknown alias":              "{apiVersion: v1, kind: ConfigMap, metadata: {name: *x}}\n",
	"a control character":           "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {a: \"\x01\"}}\n",
	"Latin-1":                       "{apiVersion: v1, kind: ConfigMap, metadata: {name: gr\xfcn}}\n",
	"quoted keys":                   "\"apiVersion\": v1\n\"kind\": ConfigMap\n\"metadata\": {name: x\n",
	"keys in single quotes":         "'apiVersion': v1\n'kind': ConfigMap\n'metadata': {name: x\n",
	"spaces before the colon":       "apiVersion : v1\nkind : ConfigMap\nmetadata : {name: x\n",
	"only a kind":                   "kind : ConfigMap\nmetadata : {name: x\n",
	"only an apiVersion":            "apiVersion : v1\nmetadata : {name: x\n",
	"a kind without a colon":        "apiVersion v1\nkind ConfigMap\nmetadata: {name: x\n",
	"explicit keys":                 "? kind\n: ConfigMap\n? metadata\n: {name: x\n",
	"escaped keys":                  "\"api\\u0056ersion\": v1\n\"k\\x69nd\": ConfigMap\nmetadata: {name: x\n",
	"other letters":                 "APIVersion: v1\nKind: ConfigMap\nmetadata: {name: x\n",
	"indentation":                   "  apiVersion: v1\n  kind: ConfigMap\n metadata: {name: x}\n",
	"tabs":                          "\tapiVersion: v1\n\tkind: ConfigMap\n",
	"broken JSON":                   `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}`,
	"broken JSON after a document":  "a: b\n---\n{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"x\"}\n",
	"a broken document after JSON":  "{\"a\": 1}\n---\nkind : ConfigMap\nmetadata : {name: x\n",
	"an array":                      `[{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}]`,
	"a list":                        "- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: x}\n",
	"a list of a list":              "- - kind: ConfigMap\n",
	"a byte order mark":             "\ufeff{apiVersion: v1, kind: ConfigMap, metadata: {name: x}",
	"UTF-16 without a mark":         utf16Text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n")[2:],
	"UTF-16 that is broken":         utf16Text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x\n"),
	"UTF-32":                        "\xff\xfe\x00\x00k\x00\x00\x00i\x00\x00\x00n\x00\x00\x00d\x00\x00\x00:\x00\x00\x00",
	"a directive":                   "%YAML 1.2\n---\nkind: ConfigMap\n",
	"text after the document":       "a: b\n...\nkind: ConfigMap\n",
	"content after the separator":   "--- kind: ConfigMap\n",
	"a template":                    "{{ if true }}\nkind: ConfigMap\n{{ end }}\n",
	"too many aliases of something": "kind: &a [*a]\n",
}

var namesBad = regexp.MustCompile(`(?m)^(\S+/)?bad\.ya?ml:\d+:\d+: error\[`)

// utf16Text encodes a text as PowerShell does.
func utf16Text(text string) string {
	encoded := "\xff\xfe"
	for _, c := range utf16.Encode([]rune(text)) {
		encoded += string([]byte{byte(c), byte(c >> 8)})
	}
	return encoded
}

// TestUnreadable puts a file that cannot be read into a directory with others: no command takes it
// for something else than a manifest, and none succeeds.
func TestUnreadable(t *testing.T) {
	const good = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: good}\n"
	for name, text := range unreadable {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := tree(t, map[string]string{
				"policies/team.yaml": teamPolicy, "policies/sub/bad.yaml": text,
				"manifests/good.yaml": good, "manifests/sub/bad.yaml": text,
				"argocd/good.yaml": good, "argocd/bad.yml": text,
				"good/good.yaml": good, "good/team.yaml": teamPolicy,
			})
			for _, args := range []string{
				"render manifests", "diff manifests", "explain manifests", "check manifests", "view manifests", "pods manifests",
				"render --strict manifests", "diff --strict manifests", "render --in-place manifests", "render --per-directory manifests",
				"render -p policies good", "diff -p policies good", "explain -p policies good", "check -p policies", "diff --against policies -p good good",
				"render -c policies good", "render --old policies good", "render --values policies good", "render --tree policies good", "convert --to MutatingPolicy policies",
				"cmp generate",
			} {
				var stdout, stderr bytes.Buffer
				p := &Process{Args: strings.Fields(args), Dir: dir, Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr}
				if args == "cmp generate" {
					p.Dir = filepath.Join(dir, "argocd")
				}
				status := Main(t.Context(), p)
				if text := stdout.String() + stderr.String(); status == exitDone || !namesBad.MatchString(text) {
					t.Errorf("%s: status %d\n%s", args, status, text)
				}
			}
		})
	}
}

// TestUTF16 reads manifests and policies that PowerShell has written, from files and from standard
// input, and writes a file in its own encoding.
func TestUTF16(t *testing.T) {
	const object = "apiVersion: v1\r\nkind: ConfigMap\r\nmetadata:\r\n  name: a\r\ndata: {name: gr\u00fcn}\r\n"
	const want = "apiVersion: v1\r\nkind: ConfigMap\r\nmetadata:\r\n  name: a\r\n  labels:\r\n    team: web\r\ndata: {name: gr\u00fcn}\r\n"
	dir := tree(t, map[string]string{
		"policies/team.yaml": utf16Text(teamPolicy), "manifests/a.yaml": utf16Text(object),
		"manifests/untouched.yaml":           utf16Text("apiVersion: v1\nkind: Service\nmetadata: {name: a} # ") + "\x3d\xd8",
		"manifests/parts/kustomization.yaml": utf16Text("patches: [{path: patch.yaml}]\n"), "manifests/parts/patch.yaml": "kind: [",
	})
	run := func(stdin string, args ...string) string {
		var stdout, stderr bytes.Buffer
		p := &Process{Args: args, Dir: dir, Stdin: strings.NewReader(stdin), Stdout: &stdout, Stderr: &stderr}
		if status := Main(t.Context(), p); status != exitDone {
			t.Errorf("%q: status %d\n%s", args, status, &stderr)
		}
		return stdout.String()
	}
	if got := run("", "render", "-p", "policies", "manifests/a.yaml"); got != want {
		t.Errorf("%q", got)
	}
	if got := run(utf16Text(object), "render", "-p", "policies", "-"); got != want {
		t.Errorf("%q", got)
	}
	before := filesIn(t, dir)
	run("", "render", "--output-dir", "out", "-p", "policies", "manifests")
	run("", "render", "--in-place", "-p", "policies", "manifests")
	after := filesIn(t, dir)
	for _, name := range []string{"manifests/a.yaml", "out/a.yaml"} {
		if after[name] != utf16Text(want) {
			t.Errorf("%s: %q", name, after[name])
		}
	}
	for _, name := range []string{"manifests/untouched.yaml", "out/untouched.yaml"} {
		if after[name] != before["manifests/untouched.yaml"] {
			t.Errorf("%s: %q", name, after[name])
		}
	}
}

// TestInputLimitOfTests has a file of tests above the limit: the error names it, and the other
// tests run.
func TestInputLimitOfTests(t *testing.T) {
	const own = "apiVersion: preadmit.dev/v1alpha1\nkind: PreadmitTest\nmetadata: {name: own}\nspec: {policyPaths: [team.yaml], manifests: [a.yaml], denied: no}\n"
	dir := tree(t, map[string]string{
		"team.yaml": teamPolicy, "a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
		"a/preadmit-test.yaml": own + strings.Repeat("# filling filling filling filling\n", 40_000), "preadmit-test.yaml": own,
	})
	var stdout, stderr bytes.Buffer
	p := &Process{Args: []string{"test", "--input-limit=1Mi"}, Dir: dir, Stdout: &stdout, Stderr: &stderr}
	if got := Main(t.Context(), p); got != exitInvalid || !strings.Contains(stderr.String(), "a/preadmit-test.yaml: the input is larger than 1 MiB") {
		t.Errorf("status %d\n%s", got, &stderr)
	}
	if !strings.Contains(stdout.String(), "0 passed, 1 failed") {
		t.Errorf("%s", &stdout)
	}
}

// TestLinkLoop names the links that lead to each other.
func TestLinkLoop(t *testing.T) {
	dir := tree(t, map[string]string{"m/a.yaml": "-> b.yaml", "m/b.yaml": "-> a.yaml", "m/c.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"})
	var stderr bytes.Buffer
	status := Main(t.Context(), &Process{Args: []string{"render", "m"}, Dir: dir, Stdout: &bytes.Buffer{}, Stderr: &stderr})
	for _, want := range []string{"m/a.yaml: too many levels of symbolic links", "m/b.yaml: too many levels of symbolic links"} {
		if status != exitInvalid || !strings.Contains(stderr.String(), want) {
			t.Errorf("status %d, expected %s:\n%s", status, want, &stderr)
		}
	}
}
