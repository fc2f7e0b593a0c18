package krmfn

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
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

// TestLSPEdits edits a policy at random, in every encoding. The server never ends, answers every question,
// and in the end says the same as a new server for the same text.
func TestLSPEdits(t *testing.T) {
	pieces := []string{"", "\n", "\r\n", "  ", "é", "😀", "'", `"`, "{", "}", ":", "- ", "---\n", "variables.team", "object.spec.", "kind: Secret\n", "\t", "|", "\ufeff"}
	for i, encoding := range []string{"utf-8", "utf-16", "utf-32"} {
		t.Run(encoding, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(uint64(i), 35))
			dir := t.TempDir()
			makeFile(t, dir, "p.yaml", fmt.Sprintf(editedPolicy, 1))
			makeFile(t, dir, "m.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a-1}\ndata: {a: b}\n")
			c := startLSP(t, dir, encoding)
			c.open("p.yaml")
			for range 60 {
				text := c.texts["p.yaml"]
				from := atCharacter(text, random.IntN(len(text)+1))
				to := atCharacter(text, min(len(text), from+random.IntN(3)*random.IntN(6)))
				c.replace("p.yaml", from, to, pieces[random.IntN(len(pieces))])
				at := atCharacter(c.texts["p.yaml"], random.IntN(len(c.texts["p.yaml"])+1))
				for _, method := range []string{"completion", "hover", "definition", "prepareRename"} {
					if answer, ok := c.ask("textDocument/"+method, "p.yaml", at, nil).(map[string]any); ok && answer["message"] != nil {
						t.Fatalf("%s: %v\n%s", method, answer, c.texts["p.yaml"])
					}
				}
			}
			c.check()
			got := c.diagnostics["p.yaml"]
			if err := os.WriteFile(filepath.Join(dir, "p.yaml"), []byte(c.texts["p.yaml"]), 0o666); err != nil {
				t.Fatal(err)
			}
			c.stop()
			anew := startLSP(t, dir, encoding)
			anew.open("p.yaml")
			anew.check()
			if want := anew.diagnostics["p.yaml"]; !reflect.DeepEqual(got, want) {
				t.Errorf("after edits\n%v\nfrom the start\n%v\n%s", got, want, anew.texts["p.yaml"])
			}
			anew.stop()
		})
	}
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
