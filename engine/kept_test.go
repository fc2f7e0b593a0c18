package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/manifest"
)

// keptPolicies are policies of each language. %[1]d is their number.
var keptPolicies = map[string]string{
	"MutatingAdmissionPolicy": narrowPolicy,
	"ClusterPolicy": `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p%[1]d}
spec:
  rules:
  - name: label
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    preconditions: {all: [{key: "{{ request.object.metadata.labels.team || 'none' }}", operator: Equals, value: web}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {k: "{{ request.object.metadata.name }}"}}}}
`,
	"MutatingPolicy": `apiVersion: policies.kyverno.io/v1
kind: MutatingPolicy
metadata: {name: p%[1]d}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]}
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration: {expression: 'Object{metadata: Object.metadata{labels: {"v": object.metadata.name}}}'}
`,
	"Assign": `apiVersion: mutations.gatekeeper.sh/v1
kind: Assign
metadata: {name: p%[1]d}
spec:
  applyTo: [{groups: [""], versions: [v1], kinds: [ConfigMap]}]
  location: data.p%[1]d
  parameters: {assign: {value: a}}
`,
}

// TestKeptPolicies checks that policies are not compiled again for a later run that has the same ones.
func TestKeptPolicies(t *testing.T) {
	for language, text := range keptPolicies {
		var policies []string
		for i := range 40 {
			policies = append(policies, strings.ReplaceAll(text, "%[1]d", fmt.Sprint(i)))
		}
		compile := func(earlier *Results) *Set {
			stream, problems := manifest.Read("policies.yaml", []byte(strings.Join(policies, "\n---\n")))
			set, found := earlier.Compile([]*manifest.Stream{stream}, nil, Options{})
			if len(problems)+len(found) > 0 {
				t.Fatal(language, problems, found)
			}
			return set
		}
		results := &Results{}
		compile(&Results{}).Check(t.Context(), nil, results.Remember())
		anew := testing.AllocsPerRun(3, func() { compile(&Results{}) })
		again := testing.AllocsPerRun(3, func() { compile(results) })
		read := testing.AllocsPerRun(3, func() { _, _ = manifest.Read("policies.yaml", []byte(strings.Join(policies, "\n---\n"))) })
		t.Logf("%s: %.0f allocations, again %.0f, of which %.0f to read", language, anew, again, read)
		if again-read > (anew-read)/3 {
			t.Errorf("%s: compiling the same policies again takes %.0f allocations of %.0f", language, again-read, anew-read)
		}
	}
}
