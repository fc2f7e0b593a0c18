package admission_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/preadmit/preadmit/engine/change"
)

const corpus = "../../../../shared/corpus/defaulting"

type corpusCase struct {
	Case       string
	APIVersion string
	Kind       string
	Namespaced bool
}

func readCorpus(t testing.TB) []corpusCase {
	data, err := os.ReadFile(filepath.Join(corpus, "index.json"))
	if err != nil {
		t.Skip("the corpus is not here: ", err)
	}
	var cases []corpusCase
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	return cases
}

func (c corpusCase) read(t testing.TB, name string) map[string]any {
	data, err := os.ReadFile(filepath.Join(corpus, c.Case, name))
	if err != nil {
		t.Fatal(err)
	}
	return readYAML(t, data)
}

// TestCorpus compares views with those that a kube-apiserver 1.36.3 has shown to
// admission. They are recorded outside of this module.
func TestCorpus(t *testing.T) {
	for _, c := range readCorpus(t) {
		t.Run(c.Case, func(t *testing.T) {
			object, want := c.read(t, "manifest.yaml"), c.read(t, "admission-view.json")
			var definitions []map[string]any
			if _, err := os.Stat(filepath.Join(corpus, c.Case, "crd.yaml")); err == nil {
				definitions = append(definitions, c.read(t, "crd.yaml"))
			}
			kind := kindOf(t, object, definitions...)
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
