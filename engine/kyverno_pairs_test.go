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
	"github.com/preadmit/preadmit/engine/source"
)

// pairing is a run of Kyverno's command, which is slow to start: every policy runs on every manifest,
// after the policies before it.
type pairing struct {
	policies, manifests int
	kinds               []randomKind
	// namespaces are those of manifests that have one. In the command, a NamespacedMutatingPolicy has no namespace.
	namespaces        []string
	policy, exception func(r random, name string, of ingredients) string
}

// namespacedKinds are the kinds that a policy with a namespace may have.
var namespacedKinds = slices.DeleteFunc(slices.Clone(kyvernoKinds), func(k randomKind) bool { return k.kind == clusterKind })

// pairings are the runs by kind of policy. The command prints one object for all MutatingPolicies.
var pairings = map[string]pairing{
	"ClusterPolicy":            {10, 60, kyvernoKinds, []string{"default", "shop"}, random.clusterPolicy, random.ruleException},
	"Policy":                   {10, 60, namespacedKinds, []string{"default", "shop"}, random.namespacedPolicy, random.ruleException},
	"MutatingPolicy":           {1, 200, kyvernoKinds, []string{"default", "shop"}, random.mutatingPolicy, random.policyException},
	"NamespacedMutatingPolicy": {1, 200, namespacedKinds, []string{"default"}, random.namespacedMutatingPolicy, random.policyException},
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
				t.Run(strconv.Itoa(run), func(t *testing.T) {
					w := r.world(p)
					w.command, w.counts = command, &all
					w.compare(t, w.policies, w.manifests)
				})
			}
			t.Logf("%d pairs compared: a policy ran in %d, changed the object in %d, failed in %d; %d differ by the floats of the command, %d by a random order; %d policies are refused", all.compared, all.ran, all.changed, all.failed, all.floats, all.unordered, all.refused)
		})
	}
}

// pairCounts says how many pairs were compared, and what Kyverno's command did. Manifests are not
// compared after a policy that fails. floats is the number of differences that only the command has,
// unordered of those with a warning that the result varies.
type pairCounts struct{ compared, ran, changed, failed, floats, unordered, refused int }

// named is a document with its name.
type named struct{ name, text string }

// world is what one run of the command is about.
type world struct {
	policies, manifests []named
	exceptions          string
	command             string
	counts              *pairCounts
}

// world returns random policies and manifests.
func (r random) world(p pairing) *world {
	w := &world{}
	of := ingredients{kinds: []randomKind{oneOf(r, p.kinds...), oneOf(r, p.kinds...)}}
	for i := range p.policies {
		name := fmt.Sprintf("p%02d", i)
		of.odd = oneOf(r, 0, 20, 60)
		w.policies = append(w.policies, named{name, p.policy(r, name, of)})
		if r.chance(8) {
			w.exceptions += "---\n" + p.exception(r, name, of)
		}
	}
	for i := range p.manifests {
		name := fmt.Sprintf("m%02d", i)
		k := oneOf(r, of.kinds...)
		text := r.manifest(k, name)
		if r.chance(20) && k.kind != clusterKind {
			text = strings.Replace(text, "metadata:\n", "metadata:\n  namespace: "+oneOf(r, p.namespaces...)+"\n", 1)
		}
		w.manifests = append(w.manifests, named{name, text})
	}
	return w
}

// run returns what the command prints.
func (w *world) run(t *testing.T, policies, manifests []named) string {
	dir := t.TempDir()
	text := func(documents []named) (text string) {
		for _, d := range documents {
			text += "---\n" + d.text
		}
		return text
	}
	arguments := []string{"apply", filepath.Join(dir, "policies.yaml")}
	for _, f := range []struct{ option, name, text string }{
		{"", "policies.yaml", text(policies)},
		{"--resource", "manifests.yaml", text(manifests)},
		{"--values-file", "values.yaml", valuesOfRuns},
		{"--userinfo", "user.yaml", userInfo},
		{"--crd-paths", "definitions/widgets.yaml", definitionsOfRuns},
		{"--exception", "exceptions.yaml", w.exceptions},
	} {
		if f.text == "" {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, f.name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, f.name), []byte(f.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if f.option != "" {
			arguments = append(arguments, f.option, filepath.Join(dir, f.name))
		}
	}
	out, err := exec.Command(w.command, arguments...).CombinedOutput()
	if !bytes.Contains(out, []byte("\nApplying ")) {
		t.Fatalf("the command runs no policy: %v\n%.1000s\n%s", err, out, w.exceptions)
	}
	return string(out)
}

// compare runs both implementations, and reports the first policy after which a manifest differs. A
// crash of the command is a policy that fails; to find it, parts of the run are compared.
func (w *world) compare(t *testing.T, policies, manifests []named) {
	out := w.run(t, policies, manifests)
	crashed := strings.Contains(out, "\ngoroutine ")
	switch i, j := len(policies)/2, min(len(manifests), 4)/2; { // each crash takes a run
	case crashed && i > 0:
		w.compare(t, policies[:i], manifests)
		w.compare(t, policies[i:], manifests)
		return
	case crashed && j > 0:
		w.compare(t, policies, manifests[:j])
		w.compare(t, policies, manifests[j:2*j])
		return
	}
	sets := w.compile(t, policies, out)
	theirs := afterPolicies(t, out)
	for _, m := range manifests {
		text := m.text
		for _, p := range policies {
			want, ran := theirs[m.name][p.name]
			if crashed {
				want, ran = map[string]any{}, true
			}
			if sets[p.name] == nil {
				continue
			}
			var goesOn bool
			if text, goesOn = w.comparePair(t, sets[p.name], p.text, text, want, ran); !goesOn {
				break
			}
		}
	}
}

// compile compiles the policies. Those that Kyverno refuses must be refused.
func (w *world) compile(t *testing.T, policies []named, out string) map[string]*Set {
	sets := map[string]*Set{}
	_, skipped, _ := strings.Cut(out, "Policies Skipped:\n")
	for _, p := range policies {
		inputs := []*manifest.Stream{readText(t, p.name, p.text), readText(t, "exceptions", w.exceptions)}
		set, diagnostics := Compile(inputs, []*manifest.Stream{readText(t, "definitions", definitionsOfRuns)}, Options{
			Defaulting: DefaultingOff, NonIdempotent: NonIdempotentSkip, Validation: ValidationOff,
			Values: []*manifest.Stream{readText(t, "values", valuesOfRuns)}, UserInfo: []*manifest.Stream{readText(t, "user", userInfo)},
		})
		refused := strings.Contains(skipped, ". "+p.name+":") || strings.Contains(out, "failed to compile policy "+p.name)
		switch {
		case refused != (set == nil):
			_, reason, _ := strings.Cut(skipped, ". "+p.name+":")
			t.Errorf("Kyverno refuses the policy: %v %.300s\n%v\n%s", refused, reason, diagnostics, p.text)
		case refused:
			w.counts.refused++
		default:
			sets[p.name] = set
		}
	}
	return sets
}

// comparePair runs one policy on one manifest. want is what the command printed if the policy ran:
// an empty object after an error. It returns the next input, and whether there is one.
func (w *world) comparePair(t *testing.T, set *Set, policy, text string, want map[string]any, ran bool) (next string, goesOn bool) {
	w.counts.compared++
	if ran {
		w.counts.ran++
	}
	next, problem := comparePair(t, set, text, want, ran)
	if problem != "" && ran && len(want) > 0 && (readsFloats(t, policy, text) || readsNoNamespace(policy, text)) {
		next, problem = string(manifest.JSON(want)), ""
		w.counts.floats++
	}
	if problem != "" && saysOrder(t, set, text) {
		w.counts.unordered++
		return "", false
	}
	if problem != "" {
		t.Errorf("%s\npolicy\n%s\nmanifest\n%s\nexceptions\n%s", problem, policy, text, w.exceptions)
		return "", false
	}
	if len(want) == 0 && ran {
		w.counts.failed++
		return "", false // after an error, the command has no object
	}
	if ran && !sameValue(t, next, text) {
		w.counts.changed++
	}
	return next, isServed(t, next)
}

// readsNoNamespace reports whether a policy reads the namespace of an object that has none: to the command, that
// is an empty text, and a request of the webhook lacks it.
func readsNoNamespace(policy, text string) bool {
	return strings.Contains(policy, "request.namespace") && strings.Contains(text, "kind: "+clusterKind)
}

// isServed reports whether a server has objects with such metadata; it refuses what a policy has made of others.
func isServed(t *testing.T, text string) bool {
	metadata, _ := readText(t, "next", text).Documents()[0].Object()["metadata"].(map[string]any)
	for _, key := range []string{"labels", "annotations"} {
		values, isMap := metadata[key].(map[string]any)
		if metadata[key] != nil && !isMap {
			return false
		}
		for _, value := range values {
			if _, isText := value.(string); !isText {
				return false
			}
		}
	}
	return true
}

// saysOrder reports whether a check says that the result depends on a random order.
func saysOrder(t *testing.T, set *Set, text string) bool {
	found := set.Check(t.Context(), []*manifest.Stream{readText(t, "manifest", text)}).Diagnostics
	return slices.ContainsFunc(found, func(d source.Diagnostic) bool { return d.Code == source.CodeOrderDependent })
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

// comparePair returns the result of one policy for one manifest, and the difference to what the command printed.
func comparePair(t *testing.T, set *Set, text string, want map[string]any, ran bool) (next, problem string) {
	t.Helper()
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
	dropDefaultNamespace(got)
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
