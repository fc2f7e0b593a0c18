package examples

import (
	"os"
	"path/filepath"
	"testing"
)

// TestMutatingPolicy runs a ClusterPolicy and its converted MutatingPolicies, which must give the
// same results.
func TestMutatingPolicy(t *testing.T) {
	converted := output(t, "mutatingpolicy", "preadmit", "convert", "--to", "MutatingPolicy", "--verify", "manifests.yaml", "policy.yaml")
	golden(t, "mutatingpolicy/converted.yaml", converted)
	want := output(t, "mutatingpolicy", "preadmit", "render", "-p", "policy.yaml", "manifests.yaml")
	golden(t, "mutatingpolicy/expected.yaml", want)
	file := filepath.Join(t.TempDir(), "converted.yaml")
	if err := os.WriteFile(file, []byte(converted), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := output(t, "mutatingpolicy", "preadmit", "render", "-p", file, "manifests.yaml"); got != want {
		t.Errorf("the converted policies give:\n%s", got)
	}
}
