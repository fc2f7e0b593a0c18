package krmfn

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// editedPolicy is a policy with its binding, into which edits are made.
const editedPolicy = `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata:
  name: p%[1]d
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}
  variables:
  - name: team
    expression: "'é😀' + object.metadata.name"
  matchConditions:
  - {name: own, expression: object.metadata.name.endsWith("-%[1]d")}
  reinvocationPolicy: Never
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: >-
        Object{metadata: Object.metadata{annotations: {"team-%[1]d": variables.team}}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata:
  name: p%[1]d
spec:
  policyName: p%[1]d
`

// editedFiles are the other files into which edits are made: manifests, and what policies look up for them.
var editedFiles = map[string]string{
	"m.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a-1, namespace: shop}\ndata: {a: b}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b-1\n  namespace: shop\ndata: {a: c}\n",
	"n.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {team: web}}\n---\napiVersion: example.com/v1\nkind: Team\nmetadata: {name: web}\nspec: {name: web}\n",
	"d.yaml": `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: teams.example.com}
spec:
  group: example.com
  names: {kind: Team, plural: teams}
  scope: Cluster
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {name: {type: string}}}}}}}]
`,
	"q.yaml": `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: q}
spec:
  paramKind: {apiVersion: example.com/v1, kind: Team}
  matchConstraints:
    namespaceSelector: {matchLabels: {team: web}}
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}
  reinvocationPolicy: IfNeeded
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration: {expression: 'Object{metadata: Object.metadata{labels: {"team": string(params.spec.name)}}}'}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: q}
spec: {policyName: q, paramRef: {name: web, parameterNotFoundAction: Deny}}
`,
	"k.yaml": `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: k}
spec:
  rules:
  - name: label
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {k: "{{ request.object.metadata.name }}"}}}}
---
apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: k, namespace: shop}
spec:
  exceptions: [{policyName: k, ruleNames: [label]}]
  match: {any: [{resources: {kinds: [ConfigMap], names: [b-1]}}]}
`,
	"v.yaml": `apiVersion: policies.kyverno.io/v1
kind: MutatingPolicy
metadata: {name: v}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]}
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration: {expression: 'Object{metadata: Object.metadata{labels: {"v": object.metadata.name}}}'}
---
apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata: {name: v, namespace: shop}
spec:
  policyRefs: [{kind: MutatingPolicy, name: v}]
  matchConditions: [{name: b, expression: object.metadata.name == "b-1"}]
`,
	"g.yaml": `apiVersion: mutations.gatekeeper.sh/v1
kind: Assign
metadata: {name: g}
spec:
  applyTo: [{groups: [""], versions: [v1], kinds: [ConfigMap]}]
  location: data.g
  parameters: {assign: {value: a}}
---
apiVersion: mutations.gatekeeper.sh/v1
kind: Assign
metadata: {name: h}
spec:
  applyTo: [{groups: [""], versions: [v1], kinds: [ConfigMap]}]
  location: data.g.h
  parameters: {assign: {value: b}}
`,
}

// FuzzLSPEdits edits policies, manifests, params and namespaces at random, in every encoding. The server
// never ends, answers every question, and in the end says the same as a new server for the same texts:
// diagnostics of all files, completions, hovers, definitions, and what policies do.
func FuzzLSPEdits(f *testing.F) {
	encodings := []string{"utf-8", "utf-16", "utf-32"}
	for i := range encodings {
		f.Add(uint64(i))
	}
	f.Add(uint64(115)) // one policy is wrong for a while
	f.Fuzz(func(t *testing.T, seed uint64) {
		t.Parallel()
		encoding := encodings[seed%3]
		dir := t.TempDir()
		makeFile(t, dir, "p.yaml", fmt.Sprintf(editedPolicy, 1))
		names := []string{"p.yaml"}
		for name, text := range editedFiles {
			makeFile(t, dir, name, text)
			names = append(names, name)
		}
		slices.Sort(names)
		c, random := startLSP(t, dir, encoding), rand.New(rand.NewPCG(seed, 35))
		for _, name := range names {
			c.open(name)
		}
		for range 6 {
			c.check()
			c.editAtRandom(names[random.IntN(len(names))], random)
		}
		got := c.knowsAll(names)
		for _, name := range names {
			writeFile(t, filepath.Join(dir, name), c.texts[name])
		}
		c.stop()
		anew := startLSP(t, dir, encoding)
		for _, name := range names {
			anew.open(name)
		}
		for i, want := range anew.knowsAll(names) {
			for n, one := range want {
				if !reflect.DeepEqual(got[i][n], one) {
					t.Errorf("%s: after edits\n%v\nfrom the start\n%v\n%s", names[i], got[i][n], one, anew.texts[names[i]])
				}
			}
		}
		anew.stop()
	})
}

// knowsAll returns for each file what the server knows of it, and what it says that policies do.
func (c *lspClient) knowsAll(names []string) (all [][]any) {
	for _, name := range names {
		all = append(all, append(c.knows(name), c.request("textDocument/codeLens", map[string]any{"textDocument": map[string]any{"uri": c.uri(name)}})))
	}
	return all
}

// editAtRandom edits a file, and asks about places in it.
func (c *lspClient) editAtRandom(name string, random *rand.Rand) {
	pieces := []string{"", "\n", "\r\n", "  ", "é", "😀", "'", `"`, "{", "}", ":", "- ", "---\n", "variables.team", "object.spec.", "kind: Secret\n", "\t", "|", "\ufeff"}
	for range 1 + random.IntN(10) {
		text := c.texts[name]
		from := atCharacter(text, random.IntN(len(text)+1))
		to := atCharacter(text, min(len(text), from+random.IntN(3)*random.IntN(6)))
		c.replace(name, from, to, pieces[random.IntN(len(pieces))])
		at := atCharacter(c.texts[name], random.IntN(len(c.texts[name])+1))
		for _, method := range []string{"completion", "hover", "definition", "prepareRename"} {
			if answer, ok := c.ask("textDocument/"+method, name, at, nil).(map[string]any); ok && answer["message"] != nil {
				c.t.Fatalf("%s: %v\n%s", method, answer, c.texts[name])
			}
		}
	}
}

// knows returns the diagnostics of a file, and what the server answers about places in it.
func (c *lspClient) knows(name string) (all []any) {
	c.check()
	all = append(all, slices.Concat([]any{}, c.diagnostics[name])) // a file of which nothing was told has none
	for at := 0; at < len(c.texts[name]); at = atCharacter(c.texts[name], at+29) {
		for _, method := range []string{"completion", "hover", "definition"} {
			all = append(all, c.ask("textDocument/"+method, name, at, nil))
		}
	}
	return all
}

// atCharacter returns the next offset at which a character begins, and not within "\r\n".
func atCharacter(text string, at int) int {
	for at < len(text) && (!utf8.RuneStart(text[at]) || text[at] == '\n' && at > 0 && text[at-1] == '\r') {
		at++
	}
	return at
}

// narrowPolicy is the edited policy for five of the manifests of largeWorkspace.
func narrowPolicy(i int) string {
	names := fmt.Sprintf("resources: [configmaps], resourceNames: [a-%d, b-%[1]d, c-%[1]d, d-%[1]d, e-%[1]d]", i)
	return strings.Replace(fmt.Sprintf(editedPolicy, i), "resources: [configmaps]", names, 1)
}

// largeWorkspace returns a workspace of 200 policies and 1,000 manifests that has been checked.
func largeWorkspace(b *testing.B) *workspace {
	dir := b.TempDir()
	var manifests strings.Builder
	for i := range 200 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("p%d.yaml", i)), []byte(narrowPolicy(i)), 0o666); err != nil {
			b.Fatal(err)
		}
		for _, name := range "abcde" {
			fmt.Fprintf(&manifests, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %c-%d}\ndata: {a: b}\n", name, i)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "m.yaml"), []byte(manifests.String()), 0o666); err != nil {
		b.Fatal(err)
	}
	w := (&Process{Dir: dir}).workspace(dir, nil)
	if w.Check(b.Context(), nil) == nil {
		b.Fatal("no result")
	}
	return w
}

// BenchmarkKeystroke checks a policy that changes, in a workspace of 200 policies and 1,000 manifests: the
// file by itself, and everything.
func BenchmarkKeystroke(b *testing.B) {
	w := largeWorkspace(b)
	path := filepath.Join(w.process.Dir, "p7.yaml")
	texts := [2]string{narrowPolicy(7), strings.Replace(narrowPolicy(7), "endsWith", "endsWit", 1)}
	b.Run("file", func(b *testing.B) {
		for n := 0; b.Loop(); n++ {
			if found, ok := w.CheckFile(b.Context(), path, texts[n%2]); !ok || len(found) != n%2 {
				b.Fatal(found, ok)
			}
		}
	})
	b.Run("everywhere", func(b *testing.B) {
		for n := 0; b.Loop(); n++ {
			if a := w.Check(b.Context(), map[string]string{path: texts[n%2]}); len(a.Findings) != n%2 {
				b.Fatal(a.Findings)
			}
		}
	})
}

// TestEditsKeepMemory edits a policy many times, in a file of several. What is kept for the next check does not grow
// with the number of edits.
func TestEditsKeepMemory(t *testing.T) {
	dir := t.TempDir()
	for name, text := range editedFiles {
		makeFile(t, dir, name, text)
	}
	w := (&Process{Dir: dir}).workspace(dir, nil)
	path := filepath.Join(dir, "p.yaml")
	heap := func(from, to int) uint64 {
		for n := from; n < to; n++ {
			text := fmt.Sprintf(editedPolicy, n) + "---\n" + fmt.Sprintf(editedPolicy, 0)
			w.CheckFile(t.Context(), path, text)
			if w.Check(t.Context(), map[string]string{path: text}) == nil {
				t.Fatal("no result")
			}
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap(1, 30)
	after := heap(30, 300)
	t.Logf("%d kB after 30 edits, %d kB after 300", before>>10, after>>10)
	if after > before+1<<20 {
		t.Errorf("the heap has %d bytes after 30 edits, and %d after 300", before, after)
	}
}
