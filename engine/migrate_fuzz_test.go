package engine

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

// FuzzMigrate checks that policies are converted or refused. A converted policy compiles, is the
// same every time, and has nothing left to convert.
func FuzzMigrate(f *testing.F) {
	files, err := filepath.Glob("testdata/kyverno/*/*/policy.yaml")
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, file := range append(files, "../examples/mutatingpolicy/policy.yaml") {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data))
	}
	f.Fuzz(func(t *testing.T, text string) {
		convert := func(text string) (string, bool) {
			stream, problems := manifest.Read("policy.yaml", []byte(text))
			if len(problems) > 0 {
				return "", false
			}
			migrated, problems := Migrate(MutatingPolicies, []*manifest.Stream{stream}, nil, Options{})
			if source.HasErrors(problems) {
				return "", false
			}
			return string(manifest.Join(migrated)), true
		}
		first, ok := convert(text)
		if !ok {
			return
		}
		if again, _ := convert(text); again != first {
			t.Errorf("another result the second time:\n%s\n%s", first, again)
		}
		if twice, ok := convert(first); !ok || twice != first {
			t.Errorf("what was converted converts again:\n%s\n%s", first, twice)
		}
		stream, _ := manifest.Read("new.yaml", []byte(first))
		if set, problems := Compile([]*manifest.Stream{stream}, nil, Options{}); set != nil {
			set.Run(context.Background(), nil)
		} else {
			t.Errorf("%v\n%s", problems, first)
		}
	})
}
