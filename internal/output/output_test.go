package output

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tree returns a directory with files.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o777), os.WriteFile(file, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// texts returns the files in a directory and below.
func texts(t *testing.T, dir string) map[string]string {
	t.Helper()
	of := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		of[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return of
}

// TestReplaceAll shows that files are replaced only if all can be, and that a failed attempt leaves
// no files.
func TestReplaceAll(t *testing.T) {
	dir := tree(t, map[string]string{
		"a.yaml":      "old",
		"file":        "no directory",
		"dir/x":       "in the way",
		".preadmit-0": "not ours",
	})
	at := func(name string) *File {
		return &File{Name: name, Real: filepath.Join(dir, name), Data: []byte("new")}
	}
	for _, c := range []struct {
		name        string
		files       []*File
		wantWritten int
		want        string
	}{
		{"a directory that cannot be made", []*File{at("a.yaml"), at("new.yaml"), at("file/b.yaml")}, 0, "file/b.yaml: error[path-unwritable]: not a directory"},
		{"all", []*File{at("a.yaml"), at("new.yaml")}, 2, ""},
		{"a directory in the way", []*File{at("dir"), at("a.yaml")}, 0, "dir: error[path-unwritable]: it is not a regular file"},
	} {
		before := texts(t, dir)
		written, problems := Write(t.Context(), c.files, nil, nil, io.Discard)
		var messages []string
		for _, d := range problems {
			messages = append(messages, d.String())
		}
		if got := strings.Join(messages, "\n"); written != c.wantWritten || got != c.want {
			t.Errorf("%s: %d written, %q; want %d, %q", c.name, written, got, c.wantWritten, c.want)
		}
		for name, text := range texts(t, dir) {
			isTarget := slices.ContainsFunc(c.files, func(f *File) bool { return f.Name == name })
			if want := before[name]; text != want && (c.wantWritten == 0 || !isTarget || text != "new") {
				t.Errorf("%s: %s has %q", c.name, name, text)
			}
		}
	}
}

// opened opens and locks the directory of a file, and reads the file to replace.
func opened(t *testing.T, file, data string) *File {
	t.Helper()
	f := &File{Name: filepath.Base(file), Real: file, Data: []byte(data)}
	ps := places{}
	t.Cleanup(ps.close)
	if problems := ps.open(t.Context(), []*File{f}, io.Discard); len(problems) > 0 {
		t.Fatal(problems)
	}
	if err := f.look(); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestReplaceMeanwhile shows that changes by others right before the replacement are kept.
func TestReplaceMeanwhile(t *testing.T) {
	for name, change := range map[string]func(file string) error{
		"written":  func(file string) error { return os.WriteFile(file, []byte("new"), 0o666) }, // of the same length
		"replaced": func(file string) error { return errors.Join(os.Remove(file), os.WriteFile(file, []byte("new"), 0o666)) },
		"removed":  os.Remove,
	} {
		dir := tree(t, map[string]string{"a.yaml": "old"})
		file := filepath.Join(dir, "a.yaml")
		f := opened(t, file, "ours")
		if err := f.stage(); err != nil {
			t.Fatal(err)
		}
		if err := change(file); err != nil {
			t.Fatal(err)
		}
		before := texts(t, dir)["a.yaml"]
		if err := f.replace(); !errors.Is(err, errChanged) {
			t.Errorf("%s: %v", name, err)
		}
		f.discard()
		if after := texts(t, dir); after["a.yaml"] != before || name == "removed" && len(after) > 0 {
			t.Errorf("%s: %q", name, after)
		}
	}
}

// TestStagedModes shows that a temporary file has no wider permissions than the file that it
// replaces, and that files in --output-dir have no wider permissions than their sources.
func TestStagedModes(t *testing.T) {
	dir := tree(t, map[string]string{"a.yaml": "old", "out/other": ""})
	if err := os.Chmod(filepath.Join(dir, "a.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, f := range []*File{opened(t, filepath.Join(dir, "a.yaml"), "new"), opened(t, filepath.Join(dir, "out", "b.yaml"), "new")} {
		if f.info == nil {
			f.Mode = 0o400
		}
		if err := f.stage(); err != nil {
			t.Fatal(err)
		}
		if info, err := f.place.Root.Stat(f.staged); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: %v %v", f.Name, info.Mode(), err)
		}
	}
}

// TestReplaceInterrupted shows that a run that is stopped before the first replacement replaces no
// files and leaves no temporary files.
func TestReplaceInterrupted(t *testing.T) {
	dir := tree(t, map[string]string{"a.yaml": "old"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f := &File{Name: "a.yaml", Real: filepath.Join(dir, "a.yaml"), Data: []byte("new")}
	written, problems := Write(ctx, []*File{f}, nil, nil, io.Discard)
	if written != 0 || len(problems) != 1 || problems[0].String() != "a.yaml: error[path-unwritable]: context canceled" {
		t.Errorf("%d written, %v", written, problems)
	}
	if got := texts(t, dir); got["a.yaml"] != "old" || len(got) != 1 {
		t.Errorf("%q", got)
	}
}

// FuzzSums checks that sums that are written are read as they were, for any names.
func FuzzSums(f *testing.F) {
	for _, name := range []string{"a.yaml", "b/\\c.yaml", "line\nbreak", "\\n", " space ", "\f"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		of := map[string][]string{name: {sumOf([]byte(name))}}
		got, problems := readSums("sums", string(sumsText(of)))
		if name == "" || name != filepath.ToSlash(filepath.Clean(name)) || !filepath.IsLocal(name) {
			if len(problems) == 0 {
				t.Errorf("%q is read as a path", name)
			}
			return
		}
		if len(problems) > 0 || !slices.Equal(got[name], of[name]) {
			t.Errorf("%q becomes %v %v", name, got, problems)
		}
	})
}
