package examples

import (
	"os"
	"path/filepath"
	"testing"
)

// TestDrafts runs a draft and its converted form, which must give the same results.
func TestDrafts(t *testing.T) {
	converted := output(t, "drafts", "preadmit", "convert", "policy.yaml")
	golden(t, "drafts/converted.yaml", converted)
	want := output(t, "drafts", "preadmit", "render", "-p", "policy.yaml", "pod.yaml")
	golden(t, "drafts/expected.yaml", want)
	file := filepath.Join(t.TempDir(), "converted.yaml")
	if err := os.WriteFile(file, []byte(converted), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := output(t, "drafts", "preadmit", "render", "-p", file, "pod.yaml"); got != want {
		t.Errorf("the converted policy gives:\n%s", got)
	}
}
