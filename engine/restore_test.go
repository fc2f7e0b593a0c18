package engine

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/preadmit/preadmit/engine/manifest"
)

// restorer checks states one after the other, each with the results of the one before.
type restorer struct {
	t       *testing.T
	results *Results
	// among says that the policies are among the manifests.
	among bool
}

// check checks a state, and returns how many manifests were admitted.
func (c *restorer) check(policies, manifests []string) int {
	c.t.Helper()
	got, admitted := c.restore(policies, manifests)
	if want := c.outcome(policies, manifests); got != want {
		c.t.Errorf("with earlier results\n%s\nfrom the start\n%s\npolicies\n%s\nmanifests\n%s", got, want, strings.Join(policies, "\n---\n"), strings.Join(manifests, "\n---\n"))
	}
	return admitted
}

// restore checks a state with the results of the one before.
func (c *restorer) restore(policies, manifests []string) (outcome string, admitted int) {
	var count atomic.Int64
	counter := Observer{conclude: func(*run, *written) { count.Add(1) }}
	next := &Results{}
	outcome = c.outcome(policies, manifests, counter, c.results.Restore(), next.Remember())
	c.results = next
	return outcome, int(count.Load())
}

// outcome returns what a check knows about a state, without why policies do not match.
func (c *restorer) outcome(policies, manifests []string, observers ...Observer) string {
	given, _ := manifest.Read("policies.yaml", []byte(strings.Join(policies, "\n---\n")))
	var set *Set
	if !c.among {
		var earlier *Results // the first time, and from the start
		if len(observers) > 0 {
			earlier = c.results
		}
		set, _ = earlier.CompileSound([]*manifest.Stream{given}, nil, Options{})
	}
	read, _ := manifest.Read("manifests.yaml", []byte(strings.Join(manifests, "\n---\n")))
	input := []*manifest.Stream{read}
	if c.among {
		input = append(input, given)
	}
	o := set.Check(c.t.Context(), input, append(observers, Explain(), Objections(), Views(), Judge(), Partial())...)
	var b strings.Builder
	say := func(values ...any) {
		text, err := json.MarshalIndent(values, "", " ")
		if err != nil {
			c.t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s\n", text)
	}
	say(o.Diagnostics, o.Denied, o.Invalid)
	for _, a := range o.Policies {
		say(a.ID, a.At, a.Selects, a.Unknown, len(a.Near))
	}
	for _, m := range o.Manifests {
		say(m.ID, m.Namespace, m.DependsOnOthers, m.Sensitive, m.Before, m.After, m.Changes, m.Edits, m.Verdicts, m.Reason, m.Warnings, m.Audit, m.Objections, m.Document.At(nil))
	}
	return b.String()
}

// TestRestoreRandom edits the policies and manifests of the cases at random. A check with the results of
// the state before finds the same as one from the start.
func TestRestoreRandom(t *testing.T) {
	cases, err := filepath.Glob("../testdata/cases/*/policies")
	if err != nil || len(cases) == 0 {
		t.Fatal(err)
	}
	pool := documentsIn(t, "../testdata/cases/*/manifests/*.yaml")
	admitted, all := 0, 0
	for i, dir := range cases {
		random := rand.New(rand.NewPCG(uint64(len(dir)), 35))
		policies := documentsIn(t, dir+"/*.yaml")
		manifests := documentsIn(t, filepath.Dir(dir)+"/manifests/*.yaml")
		for range 6 {
			manifests = append(manifests, pool[random.IntN(len(pool))])
		}
		c := &restorer{t: t, among: i%2 == 0}
		c.check(policies, manifests)
		for range 6 {
			if random.IntN(2) == 0 {
				policies = editedAt(random, policies, pool)
			} else {
				manifests = editedAt(random, manifests, pool)
			}
			admitted += c.check(policies, manifests)
			all += len(manifests)
		}
		if t.Failed() {
			t.Fatal(dir)
		}
	}
	t.Logf("%d of %d manifests were admitted again", admitted, all)
	if admitted > all/2 {
		t.Error("too few results are restored")
	}
}

// editedAt returns documents of which one is edited, added or removed.
func editedAt(random *rand.Rand, documents, pool []string) []string {
	if len(documents) == 0 {
		return pool[:1]
	}
	i := random.IntN(len(documents))
	d := &documents[i]
	documents = slices.Clone(documents)
	lines := strings.Split(*d, "\n")
	at := random.IntN(len(lines))
	d = &documents[i]
	switch random.IntN(6) {
	case 0:
		*d = "# A comment.\n\n" + *d
	case 1:
		*d = strings.Join(slices.Insert(lines, at, "# Another comment."), "\n")
	case 2:
		return slices.Delete(documents, i, i+1)
	case 3:
		return slices.Insert(documents, i, pool[random.IntN(len(pool))])
	case 4:
		*d = strings.Join(slices.Delete(lines, at, at+1), "\n")
	case 5:
		*d = strings.ReplaceAll(*d, "name: a", "name: b")
	}
	return documents
}

// documentsIn returns the documents of files.
func documentsIn(t *testing.T, pattern string) (documents []string) {
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, strings.Split(string(data), "\n---\n")...)
	}
	return documents
}

// narrowPolicy is a policy with its binding for five ConfigMaps.
const narrowPolicy = `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: p%[1]d}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps], resourceNames: [c-%[1]d-0, c-%[1]d-1, c-%[1]d-2, c-%[1]d-3, c-%[1]d-4]}
  reinvocationPolicy: Never
  mutations:
  - {patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{metadata: Object.metadata{labels: {"team": "%[2]s"}}}'}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: p%[1]d}
spec: {policyName: p%[1]d}`

// TestRestoreCounts counts the manifests that are admitted again after edits, in a workspace of 200 policies
// and 1,000 manifests.
func TestRestoreCounts(t *testing.T) {
	var policies, manifests []string
	for i := range 200 {
		policies = append(policies, fmt.Sprintf(narrowPolicy, i, "one"))
		for n := range 5 {
			manifests = append(manifests, fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c-%d-%d, namespace: shop}\ndata: {a: b}\n", i, n))
		}
	}
	c := &restorer{t: t}
	for _, step := range []struct {
		name string
		edit func()
		want int
	}{
		{"start", func() {}, 1000},
		{"nothing", func() {}, 0},
		{"policy", func() { policies[7] = fmt.Sprintf(narrowPolicy, 7, "two") }, 5},
		{"lines of a policy", func() { policies[0] = "# A comment.\n" + policies[0] }, 0},
		{"manifest", func() { manifests[500] = strings.Replace(manifests[500], "a: b", "a: c", 1) }, 1},
		{"lines of a manifest", func() { manifests[0] = "# A comment.\n" + manifests[0] }, 0},
		{"mistake in a policy", func() { policies[7] = strings.Replace(policies[7], "Object{", "Objec{", 1) }, 5},
		{"policy removed", func() { policies = slices.Delete(policies, 100, 101) }, 5},
		{"manifest added", func() { manifests = append(manifests, strings.Replace(manifests[3], "c-0-3", "other", 1)) }, 1},
	} {
		step.edit()
		if _, got := c.restore(policies, manifests); got != step.want {
			t.Errorf("%s: %d manifests were admitted, want %d", step.name, got, step.want)
		}
	}
}
