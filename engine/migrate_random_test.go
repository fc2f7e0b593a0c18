package engine

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/racing"
)

// TestMigrateRandom converts random rules, and runs both forms on random manifests and on generated
// objects. PREADMIT_CONVERSIONS is the number of policies, PREADMIT_SEED chooses others.
func TestMigrateRandom(t *testing.T) {
	count, err := strconv.Atoi(os.Getenv("PREADMIT_CONVERSIONS"))
	if err != nil {
		count = racing.Least(200)
	}
	seed, _ := strconv.ParseUint(os.Getenv("PREADMIT_SEED"), 10, 64)
	converted := 0
	for i := range count {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			r := random{rand.New(rand.NewPCG(seed, uint64(i)))}
			text := r.clusterPolicy("p", ingredients{kyvernoKinds, oneOf(r, 0, 0, 20)})
			stream, problems := manifest.Read("policy.yaml", []byte(text))
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			policies := []*manifest.Stream{stream}
			migrated, problems := Migrate(MutatingPolicies, policies, nil, Options{})
			if source.HasErrors(problems) {
				return
			}
			converted++
			var worlds [][]*manifest.Stream
			for range 10 {
				object, _ := manifest.Read("manifest.yaml", []byte(r.manifest(oneOf(r, kyvernoKinds...), "m")))
				worlds = append(worlds, []*manifest.Stream{object})
			}
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "userinfo.yaml"), []byte(userInfo), 0o600); err != nil {
				t.Fatal(err)
			}
			proof := prove(t, dir, policies, migrated, worlds)
			for _, d := range notExcused(policies, problems, proof.Differences) {
				t.Errorf("%v\n%s\n%s", d, text, manifest.Join(migrated))
				return
			}
		})
	}
	if converted < count/10 {
		t.Errorf("only %d of %d policies are converted", converted, count)
	}
}
