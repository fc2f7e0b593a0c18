package engine

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

// FuzzMigrate checks that policies are converted or refused. A converted policy compiles, is the
// same every time, and has nothing left to convert. It has the same results for generated objects,
// unless a warning says that some are different.
func FuzzMigrate(f *testing.F) {
	for _, pattern := range []string{"testdata/kyverno/*/*/policy.yaml", "testdata/conversion/*.yaml", "../examples/mutatingpolicy/policy.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatal("no seeds", err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			policies, _, _ := strings.Cut(string(data), "\n--- # manifests\n")
			f.Add(policies)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		policies, problems := manifest.Read("policy.yaml", []byte(text))
		if len(problems) > 0 {
			return
		}
		migrated, warnings := Migrate(MutatingPolicies, []*manifest.Stream{policies}, nil, Options{})
		for _, p := range warnings {
			if p.Code == source.CodeInternal {
				t.Error(p)
			}
		}
		if source.HasErrors(warnings) {
			return
		}
		first := string(manifest.Join(migrated))
		if again, _ := Migrate(MutatingPolicies, []*manifest.Stream{policies}, nil, Options{}); string(manifest.Join(again)) != first {
			t.Errorf("another result the second time:\n%s\n%s", first, manifest.Join(again))
		}
		if twice, problems := Migrate(MutatingPolicies, migrated, nil, Options{}); source.HasErrors(problems) || string(manifest.Join(twice)) != first {
			t.Errorf("what was converted converts again:\n%s\n%s", first, manifest.Join(twice))
		}
		proof, problems := Verify(context.Background(), []*manifest.Stream{policies}, migrated, nil, nil, Ordered, Options{})
		if proof == nil {
			t.Fatalf("%v\n%s", problems, first)
		}
		for _, d := range notExcused([]*manifest.Stream{policies}, warnings, proof.Differences) {
			t.Errorf("%v\n%s\n%s", d, text, first)
		}
	})
}
