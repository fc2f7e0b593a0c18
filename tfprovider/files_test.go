package tfprovider

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/internal/input"
	"github.com/preadmit/preadmit/internal/settings"
)

// inputReader returns a reader of files with a limit; 0 is the default.
func inputReader(t *testing.T, bytes int) *input.Reader {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return &input.Reader{Dir: dir, Limit: limit.Input{Bytes: bytes}}
}

// TestReadTogether shows that the limit applies to all files together, and that it can be raised.
func TestReadTogether(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.yaml", "b.yaml"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("# six\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for bytes, want := range map[int]int{12: 0, 11: 1} {
		c := &config{options: settings.Config{InputLimit: settings.Size(bytes), AllowNoPolicies: true}}
		c.files[settings.Manifests], c.files[settings.Policies] = []pattern{{text: filepath.Join(dir, "a.yaml")}}, []pattern{{text: filepath.Join(dir, "b.yaml")}}
		if problems := c.readFiles(); len(problems) != want {
			t.Errorf("%d bytes: %v", bytes, problems)
		}
	}
}

// TestVacant reads policies from paths that hold none: they may have moved.
func TestVacant(t *testing.T) {
	t.Chdir(t.TempDir())
	policy := "apiVersion: policies.kyverno.io/v1\nkind: MutatingPolicy\nmetadata: {name: a}\n"
	writeFiles(t, map[string]string{"policies/a.yaml": policy, "policies/notes.yaml": "a: b\n", "moved/values.yaml": "a: b\n", "moved/pod.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n"})
	for _, allowed := range []bool{false, true} {
		c := &config{options: settings.Config{AllowNoPolicies: allowed}}
		c.files[settings.Policies] = []pattern{{text: "policies"}, {text: "moved"}, {text: "policies/*.yaml"}, {text: "moved/v*.yaml"}}
		c.files[settings.Context] = []pattern{{text: "moved"}}
		var found []string
		for _, problem := range c.readFiles() {
			found = append(found, problem.text())
		}
		want := "No Policies [path-without-policy]: : moved: there is no policy\n\ncheck the path; if there may be no policy, set the option allow_no_policies"
		if got := strings.Join(found, "; "); got != want && !allowed || got != "" && allowed {
			t.Errorf("allowed %t: %q, want %q", allowed, got, want)
		}
	}
}

// TestReadTooMuch reads a sparse file that is larger than the limit.
func TestReadTooMuch(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.yaml")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := file.Truncate(limit.InputBytes + 1); err != nil {
		t.Fatal(err)
	}
	texts, problems := readFiles([]pattern{{text: name}}, settings.Manifests, inputReader(t, 0))
	if len(texts) > 0 || len(problems) != 1 || !strings.HasPrefix(problems[0].text(), "Input Too Large [limit-input-size]: ") {
		t.Errorf("%d files, %v", len(texts), problems)
	}
}
