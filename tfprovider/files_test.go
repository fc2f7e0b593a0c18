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
		c := &config{options: settings.Config{InputLimit: settings.Size(bytes)}}
		c.files[settings.Manifests], c.files[settings.Policies] = []pattern{{text: filepath.Join(dir, "a.yaml")}}, []pattern{{text: filepath.Join(dir, "b.yaml")}}
		if problems := c.readFiles(); len(problems) != want {
			t.Errorf("%d bytes: %v", bytes, problems)
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
