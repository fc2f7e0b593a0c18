package engine

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/manifest"
)

// pairsPerCase is how many manifests are compared for the policies of one random case.
const pairsPerCase = 25

// TestEquivalence compares with a real API server, as TestLive does, for random policies and
// manifests. It runs if PREADMIT_PAIRS is the number of pairs of policies and a manifest to
// compare. PREADMIT_SEED repeats a run. With PREADMIT_VALIDATING, each case has a validating policy, too.
// Every second case is a wider one: see [nativePolicy].
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
	t.Logf("if this is interrupted: kubectl delete mutatingadmissionpolicybindings,mutatingadmissionpolicies,validatingadmissionpolicybindings,validatingadmissionpolicies,namespaces,crd -l %s=%s", liveLabel, c.id)
	c.define(t, gadgetDefinition, gadget)
	var counts struct{ pairs, held, changed, denied, refused, updates int }
	for index := 0; counts.pairs < pairs; index += liveBatch {
		var batch []*liveCase
		for i := range liveBatch {
			batch = append(batch, randomCase(t, c, seed, index+i))
		}
		t.Run("batch", func(t *testing.T) { runLiveBatch(t, c, batch) })
		for _, l := range batch {
			for _, m := range l.manifests {
				counts.pairs++
				if m.old != nil {
					counts.updates++
				}
				switch {
				case !m.held:
					continue
				case m.predicted.fails():
					counts.denied++
				case m.predicted.want.code >= 300:
					counts.refused++
				case m.predicted.changes():
					counts.changed++
				}
				counts.held++
			}
		}
	}
	t.Logf("Kubernetes %s: %d pairs, %d of them updates, the same in %d: %d changed, %d denied, %d changed and then refused by validation",
		c.options.KubernetesVersion, counts.pairs, counts.updates, counts.held, counts.changed, counts.denied, counts.refused)
}

// randomCase returns a case with a namespace: policies and manifests. A server runs several policies in random
// order.
func randomCase(t *testing.T, c *liveCluster, seed uint64, index int) *liveCase {
	r := random{rand.New(rand.NewPCG(seed, uint64(index)))}
	l := &liveCase{
		cluster: c, name: fmt.Sprintf("random-%d", index), id: fmt.Sprintf("%s-r%d", c.id, index), orders: make([]renaming, 1),
		namespaces: map[string]string{}, labels: map[string]any{}, annotations: map[string]any{},
	}
	if index%2 == 1 {
		l.widen(t, r)
		return l
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

// widen makes a wider random case.
func (l *liveCase) widen(t *testing.T, r random) {
	p := nativePolicy{random: r, kind: oneOf(r, nativeKinds...), update: r.chance(40)}
	p.params = p.kind.kind != gadget.kind && r.chance(25) // an object that may be its own param is an error, if a selector looks for it
	l.definitions = []*manifest.Stream{readText(t, l.name, gadgetDefinition)}
	l.labels["default"] = map[string]any{"tier": "prod"}
	text := l.accepted(t, func() string { return p.documents("p0") })
	if r.chance(30) {
		text += "---\n" + l.accepted(t, func() string { return p.documents("p1") })
		l.orders = append(l.orders, renaming{"p0", "q0"})
	}
	if os.Getenv("PREADMIT_VALIDATING") != "" {
		text += "---\n" + l.accepted(t, func() string { return r.validatingPolicy(p.kind, "v0") })
	}
	l.policies = readText(t, l.name, text).Documents()
	if p.params {
		settings := r.object(gadget)
		put(settings, map[string]any{"app": "settings"}, "metadata", "labels")
		put(settings, "settings", "metadata", "name")
		if document := readText(t, l.name, string(manifest.YAML(settings))).Documents()[0]; l.isAccepted(document) {
			l.params = append(l.params, document)
		}
	}
	for i := range pairsPerCase {
		k := p.kind
		if r.chance(5) {
			k = oneOf(r, nativeKinds...)
		}
		text := r.nativeManifest(k, fmt.Sprintf("o%d", i))
		l.addManifest(readText(t, l.name, text).Documents()[0], i)
		m := l.manifests[len(l.manifests)-1]
		m.versioned = k.kind == gadget.kind || k.kind == "PodDisruptionBudget" || r.chance(30)
		if p.update && r.chance(80) {
			if r.chance(50) {
				text = r.nativeManifest(k, fmt.Sprintf("o%d", i))
			}
			m.before = readText(t, l.name, strings.ReplaceAll(text, oneOf(r, "app: web", "app: skip", "app: missing"), "app: old")).Documents()[0]
		}
	}
}

// accepted returns the first generated policy that the server accepts. Both sides must accept the same.
func (l *liveCase) accepted(t *testing.T, generate func() string) string {
	for range 50 {
		text := generate()
		document := readText(t, l.name, text).Documents()[0]
		code, body := l.cluster.send(http.MethodPost, l.cluster.path(document.Kind(), "")+"?dryRun=All", document.Object())
		set, diagnostics := Compile([]*manifest.Stream{readText(t, l.name, text)}, l.definitions, l.cluster.options)
		if (code < 300) != (set != nil) {
			t.Errorf("the server accepts a policy or not (%d %s), and we do the opposite: %v\n%s", code, body, diagnostics, text)
		} else if set != nil {
			return text
		}
	}
	t.Fatal("no generated policy is valid")
	return ""
}

// isAccepted reports whether the server would create an object.
func (l *liveCase) isAccepted(d *manifest.Document) bool {
	code, _ := l.cluster.send(http.MethodPost, l.cluster.path(d.Kind(), "default")+"?dryRun=All", d.Object())
	return code < 300
}
