package krmfn

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/internal/output"
)

// kustomized is a tree with all that a kustomization reads besides manifests.
var kustomized = map[string]string{
	"base/kustomization.yaml": `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [stock.yaml, web.yaml]
configurations: [names.yaml]
configMapGenerator:
- name: made
  envs: [.env]
  files: [page.html, .hidden/more.txt]
`,
	"base/.env":                       "A=b\n",
	"base/.hidden/more.txt":           "more",
	"base/page.html":                  "<p>\x00\xff</p>",
	"base/names.yaml":                 "commonLabels: []\n",
	"base/web.yaml":                   "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web} # a comment\ndata: {size: small}\n",
	"base/stock.yaml":                 "-> other/stock.yaml",
	"base/other/stock.yaml":           "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: stock}\n",
	"overlays/prod/kustomization.yml": "namespace: prod\nnamePrefix: prod-\nresources: [../../current]\npatches: [{path: size.yaml}]\n",
	"overlays/prod/size.yaml":         "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {size: large}\n",
	"overlays/Kustomization":          "resources: [prod]\ncommonAnnotations: {a: b}\n",
	"current":                         "-> base",
	"deploy.sh":                       "#!/bin/sh\n",
}

// TestCopyOthersKustomize compares what kustomize makes of a copy, of which only files were admitted, with what
// the policy makes of the objects of the original: each has the label, and all else is the same.
func TestCopyOthersKustomize(t *testing.T) {
	kustomize, err := exec.LookPath("kustomize")
	if err != nil {
		t.Skip(err)
	}
	files := map[string]string{"policy.yaml": teamPolicy}
	for name, text := range kustomized {
		files["in/"+name] = text
	}
	dir := tree(t, files)
	if err := os.Chmod(filepath.Join(dir, "in/deploy.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	build := func(of string) string {
		command := exec.CommandContext(t.Context(), kustomize, "build", filepath.Join(dir, of, "overlays"))
		var stderr bytes.Buffer
		command.Stderr = &stderr
		output, err := command.Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, &stderr)
		}
		return string(output)
	}
	run := func(stdin string, args ...string) string {
		var stdout, stderr bytes.Buffer
		p := &Process{Args: append([]string{"render", "-p", "policy.yaml"}, args...), Dir: dir, Stdin: strings.NewReader(stdin), Stdout: &stdout, Stderr: &stderr}
		if status := Main(context.Background(), p); status != exitDone {
			t.Fatalf("status %d\n%s", status, &stderr)
		}
		return stdout.String()
	}
	run("", "--output-dir", "out", "--copy-others", "in")
	// The ConfigMap that kustomize generates is not a file, so no policy has seen it.
	admitted := run(build("in"), "-o", "json")
	got := run(build("out"), "-o", "json")
	if admitted != got || strings.Count(build("out"), "team: web") != 2 || strings.Count(admitted, "\n") != 3 {
		t.Errorf("kustomize makes of the copy\n%s, of the original\n%s", build("out"), build("in"))
	}
	if info, err := os.Stat(filepath.Join(dir, "out/deploy.sh")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the mode of deploy.sh: %v, %v", info, err)
	}
	for _, name := range []string{"base/stock.yaml", "current"} {
		if target, err := os.Readlink(filepath.Join(dir, "out", name)); err != nil || "-> "+target != kustomized[name] {
			t.Errorf("%s leads to %q: %v", name, target, err)
		}
	}
}

// TestCopyOthersFollows changes the sources from run to run: with --prune, the output directory has exactly
// their files, with their contents and modes. A run without changes writes nothing.
func TestCopyOthersFollows(t *testing.T) {
	dir := tree(t, map[string]string{"policy.yaml": teamPolicy})
	web := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, labels: {team: web}}\n"
	for _, c := range []struct {
		sources map[string]string
		mode    os.FileMode
		said    string
	}{
		{map[string]string{"web.yaml": web, "a.txt": "one", "b/c.sh": "c", "link": "-> b", "d": "-> a.txt"}, 0o600, "5 of 5 files written, 0 files removed"},
		{map[string]string{"web.yaml": web, "a.txt": "one", "b/c.sh": "c", "link": "-> b", "d": "-> a.txt"}, 0o755, "1 of 5 files written, 0 files removed"},
		{map[string]string{"web.yaml": web, "a.txt": "one", "b/c.sh": "c", "link": "-> b", "d": "-> a.txt"}, 0o755, "0 of 5 files written, 0 files removed"},
		{map[string]string{"web.yaml": web, "a.txt": "-> web.yaml", "b/c.sh": "c", "d": "a"}, 0o755, "2 of 4 files written, 1 file removed"},
		{map[string]string{"web.yaml": web}, 0, "0 of 1 file written, 3 files removed"},
	} {
		if err := os.RemoveAll(filepath.Join(dir, "in")); err != nil {
			t.Fatal(err)
		}
		for name, text := range c.sources {
			makeFile(t, filepath.Join(dir, "in"), name, text)
		}
		if c.mode != 0 {
			if err := os.Chmod(filepath.Join(dir, "in/b/c.sh"), c.mode); err != nil {
				t.Fatal(err)
			}
		}
		var stderr bytes.Buffer
		p := &Process{Args: strings.Fields("render --output-dir out --prune --copy-others -p policy.yaml in"), Dir: dir, Stdout: new(bytes.Buffer), Stderr: &stderr}
		if status := Main(context.Background(), p); status != exitDone || stderr.String() != "preadmit: "+c.said+"\n" {
			t.Fatalf("status %d\n%s, expected %s", status, &stderr, c.said)
		}
		in, out := contentsIn(t, filepath.Join(dir, "in")), contentsIn(t, filepath.Join(dir, "out"))
		delete(out, output.SumsName)
		if !maps.Equal(in, out) {
			t.Errorf("the copy has %q, the original %q", out, in)
		}
	}
}

// copied runs render --prune --copy-others, and returns its status, its messages and the copy without sums.
func copied(t *testing.T, dir string, args ...string) (status int, said string, files map[string]string) {
	t.Helper()
	var stderr bytes.Buffer
	p := &Process{Args: append(strings.Fields("render --output-dir out --prune --copy-others -p policy.yaml"), append(args, "in")...), Dir: dir, Stdout: new(bytes.Buffer), Stderr: &stderr}
	status = Main(context.Background(), p)
	if isFile(filepath.Join(dir, "out")) {
		files = contentsIn(t, filepath.Join(dir, "out"))
		delete(files, output.SumsName)
	}
	return status, stderr.String(), files
}

const teamWeb = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, labels: {team: web}}\n"

// TestCopyOthersKinds makes files, directories and links of each other from run to run, in a path and in one
// below it.
func TestCopyOthersKinds(t *testing.T) {
	forms := []map[string]string{
		{"x": "file"},
		{"x/y": "file", "x/z/w.yaml": teamWeb, "x/deep/er/est": "file"},
		{"x": "-> other", "other/y": "through a link"},
		{"x": "-> web.yaml"},
		{"x/y/y.yaml": teamWeb, "x/z": "file"},
		{"x.yaml": teamWeb},
		{"x.yaml/a.txt": "file"},
	}
	for i, from := range forms {
		for j, to := range forms {
			dir := tree(t, map[string]string{"policy.yaml": teamPolicy})
			for _, form := range []map[string]string{from, to} {
				if err := os.RemoveAll(filepath.Join(dir, "in")); err != nil {
					t.Fatal(err)
				}
				makeFile(t, filepath.Join(dir, "in"), "web.yaml", teamWeb)
				for name, text := range form {
					makeFile(t, filepath.Join(dir, "in"), name, text)
				}
				status, said, out := copied(t, dir)
				if in := contentsIn(t, filepath.Join(dir, "in")); status != exitDone || strings.Contains(said, "warning") || !maps.Equal(in, out) {
					t.Fatalf("from %d to %d: status %d\n%s\nthe copy has %q, the original %q", i, j, status, said, out, in)
				}
			}
			if left, err := os.ReadDir(filepath.Join(dir, "out")); err != nil || len(left) > 4 {
				t.Errorf("from %d to %d: %v %v", i, j, left, err)
			}
		}
	}
}

// TestCopyOthersInWay has a file of the user where a directory or a file is to be: it is named, and nothing is
// written or removed, not even an empty directory.
func TestCopyOthersInWay(t *testing.T) {
	for name, c := range map[string]struct {
		in, user, want string
		args           []string
	}{
		"changed":    {in: "x/y", user: "x", want: "out/x is in the way: it has changed since a run wrote it"},
		"unknown":    {in: "new/y", user: "new", want: "out/new is in the way: no earlier run wrote it"},
		"directory":  {in: "x2", user: "x2/users/own", want: "out/x2/users/own is in the way: no earlier run wrote it"},
		"not pruned": {in: "x/y", user: "x", want: "a file or a symbolic link in the output directory has the path of a directory", args: []string{"--prune=false"}},
	} {
		dir := tree(t, map[string]string{"policy.yaml": teamPolicy, "in/web.yaml": teamWeb, "in/x": "x", "in/gone": "gone"})
		if status, said, _ := copied(t, dir); status != exitDone {
			t.Fatal(said)
		}
		for _, old := range []string{"in/x", "in/gone"} {
			if err := os.Remove(filepath.Join(dir, old)); err != nil {
				t.Fatal(err)
			}
		}
		writeFile(t, filepath.Join(dir, "out", c.user), "of the user")
		writeFile(t, filepath.Join(dir, "in", c.in), "new")
		writeFile(t, filepath.Join(dir, "in/other/new"), "new")
		before := contentsIn(t, filepath.Join(dir, "out"))
		status, said, _ := copied(t, dir, c.args...)
		if after := contentsIn(t, filepath.Join(dir, "out")); status != exitInvalid || !strings.Contains(said, c.want) || !maps.Equal(before, after) {
			t.Errorf("%s: status %d\n%s\nbefore %q, after %q", name, status, said, before, after)
		}
		if isFile(filepath.Join(dir, "out/other")) {
			t.Errorf("%s: a directory is left", name)
		}
	}
}

// TestCopyOthersModes shows that nobody can read a copy who cannot read the original, also not if an older copy
// or the directory of the copy would allow it.
func TestCopyOthersModes(t *testing.T) {
	dir := tree(t, map[string]string{
		"policy.yaml": teamPolicy, "in/web.yaml": teamWeb, "in/secret.yaml": teamWeb, "in/key": "key", "in/private/web.yaml": teamWeb, "in/private/key": "key",
		"out/secret.yaml": teamWeb, "out/private/key": "old",
	})
	for name, mode := range map[string]os.FileMode{"secret.yaml": 0o600, "key": 0o400, "private": 0o700} {
		if err := os.Chmod(filepath.Join(dir, "in", name), mode); err != nil {
			t.Fatal(err)
		}
	}
	if status, said, _ := copied(t, dir); status != exitDone {
		t.Fatal(said)
	}
	for name, want := range map[string]os.FileMode{"web.yaml": 0o644, "secret.yaml": 0o600, "key": 0o400, "private/web.yaml": 0o600, "private/key": 0o600} {
		original, err := os.Stat(filepath.Join(dir, "in", name))
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(filepath.Join(dir, "out", name)); err != nil || info.Mode().Perm() != want&original.Mode() {
			t.Errorf("%s: %v %v, expected %v", name, info.Mode(), err, want)
		}
	}
}

// TestCopyOthersKilled kills runs while they write. Whatever is there then is complete, and the next run, with
// other sources, leaves only their files.
func TestCopyOthersKilled(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, after := range []int{1, 100, 500, 1000} {
		dir := tree(t, map[string]string{"policy.yaml": teamPolicy, "in/web.yaml": teamWeb, "in/old/a.txt": "old"})
		if status, said, _ := copied(t, dir); status != exitDone {
			t.Fatal(said)
		}
		for i := range 600 {
			writeFile(t, filepath.Join(dir, "in", fmt.Sprint(i%9), fmt.Sprint(i)), strings.Repeat("text", 1000))
		}
		writeFile(t, filepath.Join(dir, "in/old/b.txt"), "new")
		run := exec.CommandContext(t.Context(), self, strings.Fields("render --output-dir out --prune --copy-others -p policy.yaml in")...)
		run.Dir, run.Env = dir, append(os.Environ(), asProgram+"=1")
		if err := run.Start(); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- run.Wait() }()
		for count := 0; count < after && len(done) == 0; {
			found, _ := filepath.Glob(filepath.Join(dir, "out", "*", "*")) // the pattern is valid
			staged, _ := filepath.Glob(filepath.Join(dir, "out", ".preadmit-staged-*"))
			count = len(found) + len(staged)
		}
		_ = run.Process.Kill() // it may have ended
		<-done
		for name, text := range filesIn(t, filepath.Join(dir, "out")) {
			if !strings.HasPrefix(filepath.Base(name), ".preadmit") && filesIn(t, filepath.Join(dir, "in"))[name] != text {
				t.Fatalf("%s is not complete", name)
			}
		}
		if err := os.RemoveAll(filepath.Join(dir, "in/old")); err != nil {
			t.Fatal(err)
		}
		for i := range 9 {
			if err := os.RemoveAll(filepath.Join(dir, "in", fmt.Sprint(i))); err != nil {
				t.Fatal(err)
			}
		}
		status, said, out := copied(t, dir)
		if in := contentsIn(t, filepath.Join(dir, "in")); status != exitDone || !maps.Equal(in, out) {
			t.Fatalf("after %d files: status %d\n%s%q", after, status, said, out)
		}
		if left, err := os.ReadDir(filepath.Join(dir, "out")); err != nil || len(left) != 2 {
			t.Errorf("after %d files: %v %v", after, left, err)
		}
	}
}

// TestCopyOthersLimit names the file that is too large.
func TestCopyOthersLimit(t *testing.T) {
	dir := tree(t, map[string]string{"policy.yaml": teamPolicy, "in/web.yaml": teamWeb, "in/data/blob.bin": strings.Repeat("x", 1<<20+1)})
	const want = "error[limit-input-size]: in/data/blob.bin: the input is larger than 1 MiB, of all files together\n    exclude it with --ignore, or "
	if status, said, _ := copied(t, dir, "--input-limit", "1Mi"); status != exitInvalid || !strings.Contains(said, want) {
		t.Errorf("status %d\n%s", status, said)
	}
	if status, said, _ := copied(t, dir, "--input-limit", "1Mi", "--ignore", "*.bin"); status != exitDone {
		t.Errorf("status %d\n%s", status, said)
	}
}

// contentsIn returns the contents and modes of the files in a directory, and the paths of links.
func contentsIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, _ := filepath.Rel(dir, path) // it was found there
		info, err := e.Info()
		if err != nil {
			return err
		}
		if info.Mode()&os.ModeSymlink != 0 {
			found[name], err = os.Readlink(path)
			return err
		}
		text, err := os.ReadFile(path)
		found[name] = info.Mode().String() + " " + string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
