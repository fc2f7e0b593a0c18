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

// TestConversion converts the policies in testdata/conversion. The comment at the head of each
// says what becomes of it: the same results on the manifests after it and on generated objects;
// the results that Kyverno's documentation promises, with a warning; or a refusal with a text.
func TestConversion(t *testing.T) {
	cases, err := filepath.Glob("testdata/conversion/*.yaml")
	if err != nil || len(cases) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			head, _, _ := strings.Cut(string(data), "\n")
			policies, manifests := splitCase(t, string(data))
			migrated, problems := Migrate(MutatingPolicies, policies, nil, Options{})
			if want, isRefusal := strings.CutPrefix(head, "# Refused: "); isRefusal {
				if !source.HasErrors(problems) || !strings.Contains(source.Join(problems).Error(), want) {
					t.Fatalf("%v\nwant %s\n%s", problems, want, manifest.Join(migrated))
				}
				for _, p := range problems {
					if p.Severity == source.Error && p.At.Line < 2 {
						t.Errorf("no position: %v", p)
					}
				}
				return
			}
			if source.HasErrors(problems) {
				t.Fatal(problems)
			}
			warnings := problems
			proof, problems := Verify(context.Background(), policies, migrated, nil, manifests, Ordered, Options{})
			if proof == nil || source.HasErrors(problems) {
				t.Fatal(problems)
			}
			for _, d := range notExcused(policies, warnings, proof.Differences) {
				t.Error(d)
			}
			if documented := asDocumented(warnings); documented != (head == "# As documented.") {
				t.Errorf("as documented: %v", warnings)
			}
			if proof.Changed == 0 && head == "# Same." {
				t.Error("no manifest was changed")
			}
			if t.Failed() {
				t.Logf("%s", manifest.Join(migrated))
			}
		})
	}
}

// splitCase separates policies from the manifests that follow them.
func splitCase(t *testing.T, text string) (policies, manifests []*manifest.Stream) {
	t.Helper()
	before, after, _ := strings.Cut(text, "\n--- # manifests\n")
	for i, text := range []string{before, after} {
		stream, problems := manifest.Read([]string{"policies.yaml", "manifests.yaml"}[i], []byte(text+"\n"))
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		if i == 0 {
			policies = append(policies, stream)
		} else {
			manifests = append(manifests, stream)
		}
	}
	return policies, manifests
}
