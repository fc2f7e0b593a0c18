package engine_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/manifest"
)

// TestGeneratedRecorded checks that check, without manifests, says of no recorded policy that it always
// fails, but of the one that did so on a server.
func TestGeneratedRecorded(t *testing.T) {
	files, err := filepath.Glob("testdata/recorded/*/policies/*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	found := map[string]bool{}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		stream, problems := manifest.Read(name, data)
		if len(problems) > 0 {
			continue // recordings of policies that servers refuse
		}
		set, _ := engine.CompileSound([]*manifest.Stream{stream}, nil, engine.Options{})
		for _, d := range set.Check(t.Context(), nil).Diagnostics {
			if d.Code == "always-fails" {
				found[filepath.Base(filepath.Dir(filepath.Dir(name)))] = true
			}
		}
	}
	if len(found) != 1 || !found["conditions-cost"] {
		t.Errorf("always-fails: %v, want conditions-cost alone", found)
	}
}
