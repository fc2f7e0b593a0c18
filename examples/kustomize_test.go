package examples

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// kustomize builds the client and returns the path of its binary, which is in Go's
// build cache. Where the modules cannot be had, the test is skipped, but not in CI.
func kustomize(t *testing.T) string {
	t.Helper()
	r := command(t, "../testdata/clients/kustomize", "", "go", "tool", "-n", "kustomize")
	switch {
	case r.status == 0:
	case os.Getenv("CI") == "true":
		t.Fatalf("kustomize cannot be built:\n%s", r.stderr)
	default:
		t.Skipf("kustomize cannot be built:\n%s", r.stderr)
	}
	return strings.TrimSpace(r.stdout)
}

const overlay = "overlays/production"

func TestKustomize(t *testing.T) {
	client := kustomize(t)
	got := output(t, "kustomize", client, "build", "--enable-alpha-plugins", "--enable-exec", overlay)
	golden(t, "kustomize/expected.yaml", got)

	// Without --enable-exec kustomize leaves the function out and says nothing.
	without := output(t, "kustomize", client, "build", "--enable-alpha-plugins", overlay)
	if without == got {
		t.Error("the function changed nothing")
	}
	for _, name := range []string{"name: catalog-", "internal.config.kubernetes.io", "kustomize.config.k8s.io"} {
		if a, b := strings.Count(got, name), strings.Count(without, name); a != b {
			t.Errorf("%q occurs %d times with the function, %d times without", name, a, b)
		}
	}
}

// TestKustomizeDenied takes away a param that a policy insists on.
func TestKustomizeDenied(t *testing.T) {
	client, directory := kustomize(t), t.TempDir()
	if err := os.CopyFS(directory, os.DirFS("kustomize")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(directory, overlay, "policies/cost-center-param.yaml")); err != nil {
		t.Fatal(err)
	}
	r := command(t, directory, "", client, "build", "--enable-alpha-plugins", "--enable-exec", overlay)
	if r.status == 0 || r.stdout != "" || !strings.Contains(r.stderr, "no params found for policy binding with `Deny`") {
		t.Errorf("exit status %d, output:\n%s\nmessages:\n%s", r.status, r.stdout, r.stderr)
	}
}
