package tfprovider

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/limit"
)

// TestReadTooMuch reads a file, most of it a hole, that is larger than all input may be.
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
	texts, problems := readFiles([]pattern{{text: name}})
	if len(texts) > 0 || len(problems) != 1 || !strings.HasPrefix(problems[0].text(), "Input Too Large [limit-input-size]: ") {
		t.Errorf("%d files, %v", len(texts), problems)
	}
}
