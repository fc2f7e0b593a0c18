package engine

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/archive"
)

// TestGeneratedKyverno checks which policies, of those in the recordings of Kyverno 1.19.0's command, change
// nothing or always fail, according to check without manifests. They have not changed the recorded objects.
func TestGeneratedKyverno(t *testing.T) {
	found := map[string]bool{}
	for _, dir := range matching(t, filepath.Join(archive.Unpack(t, "testdata/kyverno/recorded", leastRecorded), "*")) {
		set, _ := Compile(readNamed(t, dir, "policy.yaml"), nil, Options{Defaulting: DefaultingOff})
		if set == nil {
			continue
		}
		about := slices.DeleteFunc(set.Check(t.Context(), nil).Diagnostics, func(d source.Diagnostic) bool { return !isAboutGenerated(d) })
		if len(about) == 0 {
			continue
		}
		found[filepath.Base(dir)] = true
		// Its Pods have no field replicas, but Kyverno extends it to Deployments.
		if filepath.Base(dir) != "mpol-autogen-texts.index" && changesAnything(set.Run(t.Context(), readNamed(t, dir, "resource.yaml"), Explain()), about) {
			t.Errorf("%s: a rule changes the recorded object, and check says that it changes nothing", dir)
		}
	}
	want := "conditions.replicas-bool mpol-audit-null.null mpol-autogen-texts.index old-operators.in-pattern-in-list old-operators.list-not-in-maps old-operators.not-in-text preconditions.all-after-any whole-rule.all-second-fails whole.all-in-number-after whole.all-in-number-first whole.any-in-number-after whole.any-in-number-first whole.duration-after whole.duration-first yaml.patch"
	if names := strings.Join(slices.Sorted(maps.Keys(found)), " "); names != want {
		t.Errorf("found in %s\nwant     %s", names, want)
	}
}

// TestGeneratedGatekeeper checks that check, without manifests, says of one mutator in the recordings of Gatekeeper
// 3.23.1 alone that it changes nothing or always fails: it has a field below the text that is a key. No
// mutator that changed a recorded object may be one of these.
func TestGeneratedGatekeeper(t *testing.T) {
	forGatekeeper(t, func(t *testing.T, dir string, c gatekeeperCase) {
		set, _ := c.compile(t, dir, DefaultingOff)
		if set == nil {
			return
		}
		for _, d := range set.Check(t.Context(), nil).Diagnostics {
			if isAboutGenerated(d) && strings.Contains(d.Message, "generated to reach") && filepath.Base(dir) != "key-below-the-key" {
				t.Error(d)
			}
		}
	})
}

func isAboutGenerated(d source.Diagnostic) bool {
	return slices.Contains([]string{"never-applies", "changes-nothing", "always-fails"}, d.Code)
}

// changesAnything reports whether a rule that a finding is about changes an object.
func changesAnything(outcome *Outcome, findings []source.Diagnostic) bool {
	return slices.ContainsFunc(outcome.Manifests, func(m *Manifest) bool {
		return slices.ContainsFunc(m.All(), func(c Change) bool {
			return c.By != (policy.ID{}) && slices.ContainsFunc(findings, func(d source.Diagnostic) bool {
				return strings.HasPrefix(d.Message, c.By.Policy) || strings.Contains(d.Message, c.By.String())
			})
		})
	})
}
