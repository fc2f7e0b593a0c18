package examples

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const overlay = "overlays/production"

func TestKustomize(t *testing.T) {
	clients(t, "kustomize")
	got := output(t, "kustomize", "kustomize", "build", "--enable-alpha-plugins", "--enable-exec", overlay)
	golden(t, "kustomize/expected.yaml", got)

	// Without --enable-exec kustomize leaves the function out and says nothing.
	without := output(t, "kustomize", "kustomize", "build", "--enable-alpha-plugins", overlay)
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
	clients(t, "kustomize")
	directory := copied(t, "kustomize")
	if err := os.Remove(filepath.Join(directory, overlay, "policies/cost-center-param.yaml")); err != nil {
		t.Fatal(err)
	}
	r := command(t, directory, "", "kustomize", "build", "--enable-alpha-plugins", "--enable-exec", overlay)
	if r.status == 0 || r.stdout != "" || !strings.Contains(r.stderr, "no params found for policy binding with `Deny`") {
		t.Errorf("exit status %d, output:\n%s\nmessages:\n%s", r.status, r.stdout, r.stderr)
	}
}
