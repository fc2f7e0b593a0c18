package engine

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// pairsPerCase is how many manifests are compared for the policies of one random case.
const pairsPerCase = 25

// TestEquivalence compares with a real API server, as TestLive does, for random policies and
// manifests. It runs if PREADMIT_PAIRS is the number of pairs of policies and a manifest to
// compare. PREADMIT_SEED repeats a run. With PREADMIT_VALIDATING, each case has a validating policy, too.
// .ci/equivalence runs it.
func TestEquivalence(t *testing.T) {
	pairs, err := strconv.Atoi(os.Getenv("PREADMIT_PAIRS"))
	if err != nil || os.Getenv("KUBECONFIG") == "" || os.Getenv("PREADMIT_LIVE") != "install" {
		t.Skip("it installs policies in a cluster, for the namespaces it makes: set KUBECONFIG, PREADMIT_LIVE=install and PREADMIT_PAIRS")
	}
	seed, err := strconv.ParseUint(os.Getenv("PREADMIT_SEED"), 10, 64)
	if err != nil {
		seed = rand.Uint64()
	}
	t.Logf("PREADMIT_SEED=%d", seed)
	c := connect(t)
	t.Logf("if this is interrupted: kubectl delete mutatingadmissionpolicybindings,mutatingadmissionpolicies,validatingadmissionpolicybindings,validatingadmissionpolicies,namespaces -l %s=%s", liveLabel, c.id)
	var counts struct{ pairs, held, changed, denied, refused int }
	for index := 0; counts.pairs < pairs; index += liveBatch {
		var batch []*liveCase
		for i := range liveBatch {
			batch = append(batch, randomCase(t, c, seed, index+i))
		}
		t.Run("batch", func(t *testing.T) { runLiveBatch(t, c, batch) })
		for _, l := range batch {
			for _, m := range l.manifests {
				counts.pairs++
				switch {
				case !m.held:
					continue
				case m.outcome.Failed():
					counts.denied++
				case m.want.code >= 300:
					counts.refused++
				case len(m.outcome.Manifests[0].Changes) > 0:
					counts.changed++
				}
				counts.held++
			}
		}
	}
	t.Logf("Kubernetes %s: %d pairs, the same in %d: %d changed, %d denied, %d changed and then refused by validation",
		c.options.KubernetesVersion, counts.pairs, counts.held, counts.changed, counts.denied, counts.refused)
}

// randomCase returns a case with a namespace: a policy and manifests. It has only one policy of a kind
// because a server runs several policies in random order.
func randomCase(t *testing.T, c *liveCluster, seed uint64, index int) *liveCase {
	r := random{rand.New(rand.NewPCG(seed, uint64(index)))}
	l := &liveCase{
		cluster: c, name: fmt.Sprintf("random-%d", index), id: fmt.Sprintf("%s-r%d", c.id, index),
		namespaces: map[string]string{}, labels: map[string]any{}, annotations: map[string]any{},
	}
	first := r.IntN(len(randomKinds))
	text := r.policy(randomKinds[first], "p0")
	if os.Getenv("PREADMIT_VALIDATING") != "" {
		text += "---\n" + r.validatingPolicy(randomKinds[first], "v0")
	}
	l.policies = readText(t, l.name, text).Documents()
	for i := range pairsPerCase {
		k := randomKinds[first]
		if r.chance(5) {
			k = oneOf(r, randomKinds...)
		}
		l.addManifest(readText(t, l.name, r.manifest(k, fmt.Sprintf("o%d", i))).Documents()[0], i)
	}
	return l
}
