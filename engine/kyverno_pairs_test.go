package engine

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
)

// pairing is a run of Kyverno's command, which is slow to start: every policy runs on every manifest,
// after the policies before it.
type pairing struct {
	policies, manifests int
	policy              func(r random, name string) string
}

// pairings are the runs by kind of policy. The command prints one object for all MutatingPolicies.
var pairings = map[string]pairing{
	"ClusterPolicy":            {20, 50, random.clusterPolicy},
	"Policy":                   {20, 50, random.namespacedPolicy},
	"MutatingPolicy":           {1, 200, random.mutatingPolicy},
	"NamespacedMutatingPolicy": {1, 200, random.namespacedMutatingPolicy},
}

// TestKyvernoPairs compares with Kyverno's command for random rules and manifests, if
// PREADMIT_KYVERNO is its path. PREADMIT_PAIRS is the number of pairs of each kind, PREADMIT_SEED repeats a run.
func TestKyvernoPairs(t *testing.T) {
	command := os.Getenv("PREADMIT_KYVERNO")
	if command == "" {
		t.Skip("PREADMIT_KYVERNO is not set")
	}
	pairs, err := strconv.Atoi(os.Getenv("PREADMIT_PAIRS"))
	if err != nil {
		pairs = 1000
	}
	seed, err := strconv.ParseUint(os.Getenv("PREADMIT_SEED"), 10, 64)
	if err != nil {
		seed = rand.Uint64()
	}
	t.Logf("PREADMIT_SEED=%d", seed)
	for kind, p := range pairings {
		t.Run(kind, func(t *testing.T) {
			var all pairCounts
			for run := 0; run*p.policies*p.manifests < pairs; run++ {
				r := random{rand.New(rand.NewPCG(seed+uint64(len(kind)), uint64(run)))} // other policies for each kind
				t.Run(strconv.Itoa(run), func(t *testing.T) { comparePairs(t, r, p, command, &all) })
			}
			t.Logf("%d pairs compared: a policy ran in %d, changed the object in %d, failed in %d; %d differ by the floats of the command", all.compared, all.ran, all.changed, all.failed, all.floats)
		})
	}
}

// pairCounts says how many pairs were compared, and what Kyverno's command did. Manifests are not
// compared after a policy that fails. floats is the number of differences that only the command has.
type pairCounts struct{ compared, ran, changed, failed, floats int }

// comparePairs runs both implementations on random policies and manifests, and reports the first
// policy after which a manifest differs.
func comparePairs(t *testing.T, r random, p pairing, command string, counts *pairCounts) {
	dir := t.TempDir()
	var policies []string
	for i := range p.policies {
		policies = append(policies, p.policy(r, fmt.Sprintf("p%02d", i)))
	}
	var manifests []string
	for i := range p.manifests {
		manifests = append(manifests, r.manifest(oneOf(r, randomKinds...), fmt.Sprintf("m%02d", i)))
	}
	for name, text := range map[string]string{"policies.yaml": strings.Join(policies, "---\n"), "manifests.yaml": strings.Join(manifests, "---\n")} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.Command(command, "apply", filepath.Join(dir, "policies.yaml"), "--resource", filepath.Join(dir, "manifests.yaml")).CombinedOutput()
	if len(out) == 0 {
		t.Fatal(err)
	}
	if _, skipped, found := strings.Cut(string(out), "Policies Skipped:"); found {
		t.Fatalf("Kyverno refuses policies:%s", skipped)
	}
	theirs := afterPolicies(t, string(out))
	if len(theirs) == 0 {
		t.Error("no policy ran")
	}
	for i, text := range manifests {
		name := fmt.Sprintf("m%02d", i)
		for j, policy := range policies {
			want, ran := theirs[name][fmt.Sprintf("p%02d", j)]
			next, problem := comparePair(t, policy, text, want, ran)
			counts.compared++
			if ran {
				counts.ran++
			}
			if problem != "" && ran && len(want) > 0 && readsFloats(t, policy, text) {
				next, problem = string(manifest.JSON(want)), ""
				counts.floats++
			}
			if problem != "" {
				t.Errorf("%s\npolicy\n%s\nmanifest\n%s", problem, policy, text)
				break
			}
			if len(want) == 0 && ran {
				counts.failed++
				break // after an error, the command has no object
			}
			if ran && !sameValue(t, next, text) {
				counts.changed++
			}
			text = next
		}
	}
}

// readsFloats reports whether a result of Kyverno's command may be its own: for the first rule of a
// policy, it reads all numbers as floating point numbers (makePolicyContext in
// cmd/cli/kubectl-kyverno/processor/policy_processor.go), which a patch makes whole numbers again. So a
// foreach that changes nothing in the end counts for applyRules: One if the object has a number. The
// webhook reads whole numbers (ConvertResource in pkg/utils/admission/resource.go).
func readsFloats(t *testing.T, policy, text string) bool {
	return strings.Contains(policy, "applyRules: One") && strings.Contains(policy, "foreach:") && hasNumber(readText(t, "manifest", text).Documents()[0].Object())
}

func hasNumber(value any) bool {
	switch value := value.(type) {
	case int64, float64:
		return true
	case []any:
		return slices.ContainsFunc(value, hasNumber)
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(value)), hasNumber)
	}
	return false
}

// sameValue reports whether two documents have the same value.
func sameValue(t *testing.T, a, b string) bool {
	t.Helper()
	return change.Equal(readText(t, "next", a).Documents()[0].Object(), readText(t, "text", b).Documents()[0].Object())
}

// comparePair runs one policy on one manifest. want is what the command printed if the policy ran:
// an empty object after an error.
func comparePair(t *testing.T, policy, text string, want map[string]any, ran bool) (next, problem string) {
	t.Helper()
	set, diagnostics := Compile([]*manifest.Stream{readText(t, "policy", policy)}, nil, Options{Defaulting: DefaultingOff, NonIdempotent: NonIdempotentSkip})
	if set == nil {
		t.Fatalf("%v\n%s", diagnostics, policy)
	}
	input := readText(t, "manifest", text)
	outcome := set.Run(context.Background(), []*manifest.Stream{input}, Explain(), Views())
	switch {
	case outcome.Failed() && ran && len(want) == 0:
		return "", ""
	case outcome.Failed():
		return "", fmt.Sprintf("failed: %v", outcome.Diagnostics)
	case ran && len(want) == 0:
		return "", "the command failed"
	}
	again, problems := manifest.Read("output", input.Bytes())
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	got := again.Documents()[0].Object()
	if !ran && !bytes.Equal(input.Bytes(), []byte(text)) {
		return "", "the command changes nothing; got\n" + string(input.Bytes())
	}
	if !ran {
		return text, ""
	}
	dropDefaultNamespace(want)
	var lines []string
	for _, c := range change.Diff(want, got, nil) {
		lines = append(lines, c.String())
	}
	return string(manifest.JSON(want)), strings.Join(lines, "\n")
}

// afterPolicies returns the objects that the command printed, by the name of the manifest and of the
// policy.
func afterPolicies(t *testing.T, text string) map[string]map[string]map[string]any {
	t.Helper()
	found := map[string]map[string]map[string]any{}
	for _, part := range strings.Split(text, "\npolicy ")[1:] {
		head, document, _ := strings.Cut(part, ":\n")
		policy, id, _ := strings.Cut(head, " applied to ")
		document, _, _ = strings.Cut(document, "\n---\n")
		value, err := manifest.Value(document)
		if err != nil {
			t.Fatal(err)
		}
		name := id[strings.LastIndexByte(id, '/')+1:]
		if strings.Contains(text, fmt.Sprintf("policy %s -> resource %s ", policy, id)) {
			value = map[string]any{} // an error; the command may print the object all the same
		}
		if found[name] == nil {
			found[name] = map[string]map[string]any{}
		}
		found[name][policy], _ = value.(map[string]any)
	}
	return found
}
