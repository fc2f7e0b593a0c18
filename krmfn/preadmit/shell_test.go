//go:build unix

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestShell runs the binary in a shell, with redirections that only a shell has.
func TestShell(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip(err)
	}
	binary := filepath.Join(t.TempDir(), "preadmit")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\ndata: {a: b}\n"
	changes := admissionPolicy([]string{"1"}, `[JSONPatch{op: "add", path: "/data/x", value: "z"}]`)
	const changed = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\ndata: {a: b, x: z}\n"
	for _, c := range []struct {
		name, command  string
		stdout, stderr string // stderr is a part of the messages
		status         int
		isLinux        bool
	}{
		{"process substitution", `preadmit render -p <(cat p.yaml) -c <(echo "{apiVersion: v1, kind: Namespace, metadata: {name: b}}") <(cat m/a.yaml)`, changed, "", 0, false},
		{"standard input by its other name", `cat m/a.yaml | preadmit render -p p.yaml /dev/stdin`, changed, "", 0, false},
		{"standard input that is a file", `preadmit render -p p.yaml /dev/stdin < m/a.yaml`, changed, "", 0, false},
		{"a closed output", `preadmit render -p p.yaml m/a.yaml >&-`, "", "standard output is closed", 2, true},
		{"a closed output for a program", `preadmit diff -o json -p p.yaml m/a.yaml >&-`, "", "standard output is closed", 2, true},
		{"a closed output of a function", `preadmit fn >&- <<< '{apiVersion: config.kubernetes.io/v1, kind: ResourceList, items: []}'`, "", "standard output is closed", 2, true},
		{"a closed output of a version", `preadmit version >&-`, "", "", 0, true},
		{"an output that a program ignores", `preadmit help 1<>/dev/null`, "", "", 0, false},
		{"no output wanted", `preadmit render -p p.yaml m/a.yaml > /dev/null`, "", "", 0, false},
		{"nothing to say into a closed output", `preadmit diff -p idle.yaml m/a.yaml >&-`, "", "", 0, true},
		{"a full disk", `preadmit render -p p.yaml m/a.yaml > /dev/full`, "", "no space left", 2, true},
		{"output into the input", `preadmit render -p p.yaml m >> m/a.yaml`, "", "it goes to m/a.yaml, which was read", 2, false},
		{"output among the input", `preadmit render -p p.yaml m > m/b.yaml`, "", "it goes to m/b.yaml, which was read", 2, false},
		{"output into standard input", `preadmit render -p p.yaml - < m/a.yaml >> m/a.yaml`, "", "it goes to standard input, which was read", 2, false},
		{"the report into a pipe", `preadmit render -p idle.yaml --in-place --report >(cat > said) m && wait $! && grep written said`, "preadmit: 0 of 1 file written\n", "0 of 1", 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, "m"), 0o777); err != nil {
				t.Fatal(err)
			}
			for name, text := range map[string]string{"m/a.yaml": object, "p.yaml": changes, "idle.yaml": idle} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			if c.isLinux && runtime.GOOS != "linux" {
				t.Skip("only Linux has it")
			}
			command := exec.Command(bash, "-c", c.command)
			command.Dir = dir
			command.Env = append(os.Environ(), "PATH="+filepath.Dir(binary)+string(os.PathListSeparator)+os.Getenv("PATH"))
			var stdout, stderr bytes.Buffer
			command.Stdout, command.Stderr = &stdout, &stderr
			_ = command.Run() // the status is checked below
			if status := command.ProcessState.ExitCode(); status != c.status || stdout.String() != c.stdout || !strings.Contains(stderr.String(), c.stderr) {
				t.Errorf("status %d, %s\n%s", status, &stdout, &stderr)
			}
			if text, err := os.ReadFile(filepath.Join(dir, "m", "a.yaml")); err != nil || string(text) != object {
				t.Errorf("the manifest has become %q (%v)", text, err)
			}
		})
	}
}
