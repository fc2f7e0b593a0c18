package engine

import (
	"path/filepath"
	"testing"

	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/racing"
)

// TestMigrateNative converts the policies of the corpus to MutatingAdmissionPolicies, if possible,
// and runs both forms on their manifests and on generated objects.
func TestMigrateNative(t *testing.T) {
	converted := map[string]int{}
	for _, suite := range []string{"kyverno/policies-v1", "kyverno/cli-v1", "kyverno/unit-engine", "kyverno-mpol/policies-mpol", "kyverno-mpol/chainsaw-mpol", "kyverno-mpol/cli-mpol"} {
		cases, err := filepath.Glob("../../shared/corpus/" + suite + "/*/policy.yaml")
		if err != nil || len(cases) == 0 {
			t.Skip("the corpus is not there")
		}
		for _, file := range racing.Sample(cases) {
			dir := filepath.Dir(file)
			t.Run(suite+"/"+filepath.Base(dir), func(t *testing.T) {
				policies := readNamed(t, dir, "earlier.yaml", "policy.yaml", "exceptions.yaml")
				migrated, diagnostics := Migrate(MutatingAdmissionPolicies, policies, cluster(t, dir), Options{})
				if source.HasErrors(diagnostics) {
					t.Logf("not converted: %v", diagnostics)
					return
				}
				converted[suite]++
				proof := prove(t, dir, policies, migrated, [][]*manifest.Stream{readNamed(t, dir, "resource.yaml", "targets.yaml")})
				for _, d := range notExcused(policies, diagnostics, proof.Differences) {
					t.Errorf("%v", d)
				}
			})
		}
	}
	for suite, least := range map[string]int{"kyverno/policies-v1": 40, "kyverno/cli-v1": 18, "kyverno-mpol/policies-mpol": 20} {
		if n, ran := converted[suite]; ran && n < racing.Least(least) {
			t.Errorf("%d policies of %s converted, not %d", n, suite, least)
		}
	}
}
