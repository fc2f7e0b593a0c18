// Package examples runs the commands of the READMEs, the examples, and the cases in testdata/cases,
// with the preadmit binary and with real clients.
//
// The files in order: examples_test.go (the binary), clients_test.go (where clients are), readme_test.go (the
// commands of the READMEs), capture_test.go (the picture of a terminal), quickstart_test.go, kustomize_test.go,
// kpt_test.go, helm_test.go, argocd_test.go, ci_test.go, trees_test.go, drafts_test.go, mutatingpolicy_test.go,
// image_linux_test.go, cmp_test.go, action_test.go, webhooks_test.go, editors_test.go (one per example or way to
// run it), same_test.go (all frontends and clients give the same objects), links_test.go (links between pages),
// large_bench_test.go (what large builds cost), workflows_test.go (the workflows, and which files are generated),
// cases_test.go (the cases, through the command line and as a KRM function).
package examples

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the expected output, also that in README.md")

// TestMain builds preadmit and puts it first in PATH, followed by the clients from .ci/clients.
func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	directory, err := os.MkdirTemp("", "preadmit")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(directory)
	build := exec.Command("go", "build", "-o", directory, "../krmfn/preadmit")
	if output, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v: %v\n%s", build, err, output)
		return 1
	}
	clients, err := filepath.Abs("../.ci/bin")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	// The command helm is Helm 4.
	if err := os.Symlink(filepath.Join(clients, "helm4"), filepath.Join(directory, "helm")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	os.Setenv("PATH", strings.Join([]string{directory, clients, os.Getenv("PATH")}, string(os.PathListSeparator)))
	return m.Run()
}

// result is the output of a command, and its exit status.
type result struct {
	stdout, stderr string
	status         int
}

// command runs a program in a directory.
func command(t *testing.T, directory, stdin, name string, arguments ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	c := exec.Command(name, arguments...)
	c.Dir, c.Stdin, c.Stdout, c.Stderr = directory, bytes.NewBufferString(stdin), &stdout, &stderr
	if err := c.Run(); c.ProcessState == nil {
		t.Fatalf("%v: %v", c, err)
	}
	return result{stdout.String(), stderr.String(), c.ProcessState.ExitCode()}
}

// output runs a program that must succeed.
func output(t *testing.T, directory, name string, arguments ...string) string {
	t.Helper()
	r := command(t, directory, "", name, arguments...)
	if r.status != 0 {
		t.Fatalf("%s %q: exit status %d\n%s", name, arguments, r.status, r.stderr)
	}
	return r.stdout
}

// read returns a file as a string.
func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// golden compares a text with a file, or writes the file.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want := read(t, path); got != want {
		t.Errorf("%s, which -update rewrites, differs\ngot:\n%s\nwant:\n%s", path, got, want)
	}
}

// TestLibraryIsShort shows that embedding the engine takes at most 30 lines.
func TestLibraryIsShort(t *testing.T) {
	if lines := strings.Count(read(t, "library/admit/main.go"), "\n"); lines > 30 {
		t.Errorf("library/admit/main.go has %d lines, want at most 30", lines)
	}
}

// TestLibraryModules shows what a program that uses only the engine requires: no module that only the
// Terraform provider or its tests need.
func TestLibraryModules(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	directory := t.TempDir()
	write(t, filepath.Join(directory, "main.go"), read(t, "library/admit/main.go"))
	version := regexp.MustCompile(`(?m)^go .*$`).FindString(read(t, "../go.mod"))
	write(t, filepath.Join(directory, "go.mod"), "module example.com/program\n\n"+version+"\n\nrequire github.com/preadmit/preadmit v0.0.0\n\nreplace github.com/preadmit/preadmit => "+root+"\n")
	write(t, filepath.Join(directory, "go.sum"), read(t, "../go.sum")) // so that no sum has to be looked up
	output(t, directory, "env", "GOFLAGS=-mod=mod", "GOSUMDB=off", "go", "mod", "tidy")
	const terraform = "github.com/hashicorp/"
	for _, name := range []string{"go.mod", "go.sum"} {
		if text := read(t, filepath.Join(directory, name)); strings.Contains(text, terraform) || !strings.Contains(text, "github.com/google/cel-go") {
			t.Errorf("%s of a program with the engine:\n%s", name, text)
		}
	}
	edges := 0
	for edge := range strings.Lines(output(t, directory, "go", "mod", "graph")) {
		from, to, _ := strings.Cut(edge, " ")
		if strings.HasPrefix(from, terraform) {
			t.Errorf("what Terraform's libraries need is not pruned: %s", edge)
		}
		if strings.HasPrefix(to, terraform+"terraform-plugin-testing@") {
			edges++
		}
	}
	if edges != 1 {
		t.Errorf("%d edges to terraform-plugin-testing, want the one of preadmit", edges)
	}
}
