package examples

import (
	"os"
	"os/exec"
	"testing"
)

// install says how to install a client that .ci/clients does not build.
var install = map[string]string{
	"kpt":      "install it from https://kpt.dev",
	"kubectl":  "install it from https://kubernetes.io/docs/tasks/tools",
	"npm":      "install Node.js",
	"chromium": "install Chromium",
	"nvim":     "install Neovim",
}

// clients checks that the clients of a test are installed. If one is missing, it skips the test; in
// CI, the test fails.
func clients(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err == nil {
			continue
		}
		how := install[name]
		if how == "" {
			how = "'bash .ci/clients' builds it"
		}
		if os.Getenv("CI") == "true" {
			t.Fatalf("there is no %s: %s", name, how)
		}
		t.Skipf("there is no %s: %s", name, how)
	}
}

// copied returns the directory of a copy of an example, for tests that change files.
func copied(t *testing.T, example string) string {
	t.Helper()
	directory := t.TempDir()
	if err := os.CopyFS(directory, os.DirFS(example)); err != nil {
		t.Fatal(err)
	}
	return directory
}

// write writes a file.
func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
