//go:build unix

package krmfn

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestPipes shows that policies, context and manifests can come from pipes and FIFOs, as shells use
// for <(command), and from all names of standard input.
func TestPipes(t *testing.T) {
	const object = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"
	const labelled = object + "  labels:\n    team: web\n"
	dir := tree(t, map[string]string{"policy.txt": teamPolicy, "a.yaml": object})
	// substituted is the path that replaces <(command).
	substituted := func(text string) string {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close() })
		go func() {
			w.WriteString(text)
			w.Close()
		}()
		return fmt.Sprintf("/dev/fd/%d", r.Fd())
	}
	if _, err := os.Stat(substituted("")); err != nil {
		t.Skip("this system has no /dev/fd:", err)
	}
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	twice := substituted(teamPolicy)
	for _, c := range []struct {
		name, stdin string
		args        []string
		want        string
	}{
		{"policies", "", []string{"-p", substituted(teamPolicy), "a.yaml"}, labelled},
		{"context", "", []string{"-p", "policy.txt", "-c", substituted("apiVersion: v1\nkind: Namespace\nmetadata: {name: default}\n"), "a.yaml"}, labelled},
		{"manifests", "", []string{"-p", "policy.txt", substituted(object)}, labelled},
		{"the same pipe for two things", "", []string{"-p", twice, "-c", twice, "a.yaml"}, labelled},
		{"a FIFO", "", []string{"-p", "fifo", "a.yaml"}, labelled},
		{"/dev/stdin", object, []string{"-p", "policy.txt", "/dev/stdin"}, labelled},
		{"/dev/stdin twice", teamPolicy, []string{"-p", "/dev/stdin", "-p", "-", "-c", "/dev/fd/0", "a.yaml"}, labelled},
	} {
		if c.name == "a FIFO" {
			go os.WriteFile(fifo, []byte(teamPolicy), 0o600)
		}
		var stdout, stderr bytes.Buffer
		status := Main(context.Background(), &Process{Args: append([]string{"render"}, c.args...), Dir: dir, Stdin: strings.NewReader(c.stdin), Stdout: &stdout, Stderr: &stderr})
		if status != exitDone || stdout.String() != c.want {
			t.Errorf("%s: status %d, %q\n%s", c.name, status, &stdout, &stderr)
		}
	}
}

// TestPipesInDirectories shows that a run does not wait for a FIFO in a directory.
func TestPipesInDirectories(t *testing.T) {
	dir := tree(t, map[string]string{"m/a.yaml": "a: b\n", "m/zero.yaml": "-> /dev/zero"})
	if err := syscall.Mkfifo(filepath.Join(dir, "m", "fifo.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	names, problems := readNames(dir, path{name: "m"})
	want := "path-unreadable: m/fifo.yaml: it is not a regular file\npath-unreadable: m/zero.yaml: it is not a regular file"
	if got := strings.Join(problems, "\n"); len(names) != 1 || got != want {
		t.Errorf("%q, %s", names, got)
	}
}

// TestPipesAreNoPlaces shows that manifests from a pipe cannot be written to files.
func TestPipesAreNoPlaces(t *testing.T) {
	dir := tree(t, map[string]string{"policy.txt": teamPolicy})
	for _, destination := range []string{"--in-place", "--output-dir=out"} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		w.WriteString("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
		w.Close()
		var stderr bytes.Buffer
		status := Main(context.Background(), &Process{Args: []string{"render", destination, "-p", "policy.txt", fmt.Sprintf("/dev/fd/%d", r.Fd())}, Dir: dir, Stderr: &stderr})
		if status != exitInvalid || !strings.Contains(stderr.String(), "it is not a regular file") {
			t.Errorf("%s: status %d, %s", destination, status, &stderr)
		}
		r.Close()
	}
}
