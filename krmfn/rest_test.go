package krmfn

import (
	"bytes"
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
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
		delete(out, sumsName)
		if !maps.Equal(in, out) {
			t.Errorf("the copy has %q, the original %q", out, in)
		}
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
