package krmfn

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
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

// FuzzLSPEdits edits a policy at random, in every encoding. The server never ends, answers every question,
// and in the end says the same as a new server for the same text: diagnostics, completions, hovers,
// definitions.
func FuzzLSPEdits(f *testing.F) {
	encodings := []string{"utf-8", "utf-16", "utf-32"}
	for i := range encodings {
		f.Add(uint64(i))
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		t.Parallel()
		encoding := encodings[seed%3]
		dir := t.TempDir()
		makeFile(t, dir, "p.yaml", fmt.Sprintf(editedPolicy, 1))
		makeFile(t, dir, "m.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a-1}\ndata: {a: b}\n")
		c := startLSP(t, dir, encoding)
		c.open("p.yaml")
		c.editAtRandom("p.yaml", rand.New(rand.NewPCG(seed, 35)))
		got := c.knows("p.yaml")
		writeFile(t, filepath.Join(dir, "p.yaml"), c.texts["p.yaml"])
		c.stop()
		anew := startLSP(t, dir, encoding)
		anew.open("p.yaml")
		if want := anew.knows("p.yaml"); !reflect.DeepEqual(got, want) {
			t.Errorf("after edits\n%v\nfrom the start\n%v\n%s", got, want, anew.texts["p.yaml"])
		}
		anew.stop()
	})
}

// editAtRandom edits a file, and asks about places in it.
func (c *lspClient) editAtRandom(name string, random *rand.Rand) {
	pieces := []string{"", "\n", "\r\n", "  ", "é", "😀", "'", `"`, "{", "}", ":", "- ", "---\n", "variables.team", "object.spec.", "kind: Secret\n", "\t", "|", "\ufeff"}
	for range 60 {
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

// BenchmarkKeystroke checks a policy that changes, in a workspace of 200 policies and 1,000 manifests.
func BenchmarkKeystroke(b *testing.B) {
	dir := b.TempDir()
	for i := range 200 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("p%d.yaml", i)), fmt.Appendf(nil, editedPolicy, i), 0o666); err != nil {
			b.Fatal(err)
		}
	}
	var manifests strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&manifests, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a-%d}\ndata: {a: b}\n", i)
	}
	if err := os.WriteFile(filepath.Join(dir, "m.yaml"), []byte(manifests.String()), 0o666); err != nil {
		b.Fatal(err)
	}
	w := (&Process{Dir: dir}).workspace(dir, nil)
	if w.Check(b.Context(), nil) == nil {
		b.Fatal("no result")
	}
	texts := [2]string{fmt.Sprintf(editedPolicy, 7), strings.Replace(fmt.Sprintf(editedPolicy, 7), "endsWith", "endsWit", 1)}
	n := 0
	for b.Loop() {
		n++
		if found, ok := w.CheckFile(b.Context(), filepath.Join(dir, "p7.yaml"), texts[n%2]); !ok || len(found) != n%2 {
			b.Fatal(found, ok)
		}
	}
}
