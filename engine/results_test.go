package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/manifest"
)

const (
	countedPolicy = `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: team}
spec:
  rules:
  - name: label
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {team: one}}}}
`
	// countedLookup reads another object, which no manifest is.
	countedLookup = `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: team}
spec:
  rules:
  - name: label
    match: {any: [{resources: {kinds: [ConfigMap], names: ["c-*"]}}]}
    context: [{name: teams, configMap: {name: teams, namespace: shop}}]
    mutate: {patchStrategicMerge: {metadata: {labels: {team: "{{ teams.data.team }}"}}}}
`
	countedDefinition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  names: {kind: Thing, plural: things}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`
	// countedOthers and countedBound match Secrets.
	countedOthers = `---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: others}
spec:
  rules:
  - name: label
    match: {any: [{resources: {kinds: [Secret]}}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {team: one}}}}
`
	countedBound = `---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: bound}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [secrets]}]}
  reinvocationPolicy: Never
  mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: "Object{metadata: Object.metadata{labels: {'team': 'one'}}}"}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: bound, annotations: {note: Deny}}
spec: {policyName: bound}
`
	countedException = `---
apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: team, namespace: kyverno}
spec:
  exceptions: [{policyName: team, ruleNames: [label]}]
  match: {any: [{resources: {kinds: [ConfigMap], names: [other]}}]}
`
	// countedRival has another idea of a field of countedMutator, which it disables, for another kind.
	countedMutator = `apiVersion: mutations.gatekeeper.sh/v1
kind: Assign
metadata: {name: mutator}
spec:
  applyTo: [{groups: [""], versions: [v1], kinds: [ConfigMap, Secret]}]
  location: data.team
  parameters: {assign: {value: one}}
`
	countedRival = `---
apiVersion: mutations.gatekeeper.sh/v1
kind: Assign
metadata: {name: rival}
spec:
  applyTo: [{groups: [""], versions: [v1], kinds: [Secret]}]
  location: data.team.below
  parameters: {assign: {value: one}}
`
	countedPods = `---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: pods, annotations: {pod-policies.kyverno.io/autogen-controllers: none}}
spec:
  rules:
  - name: label
    match: {any: [{resources: {kinds: [Pod]}}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {team: one}}}}
`
	countedDeployment = `---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "web:1"}]}
`
	countedTeams = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: teams, namespace: shop}\ndata: {team: one}\n"
)

// counted returns ten ConfigMaps, of which one has a value.
func counted(value string) string {
	var b strings.Builder
	for i := range 10 {
		data := "same"
		if i == 5 {
			data = value
		}
		fmt.Fprintf(&b, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c-%d, namespace: shop}\ndata: {value: %s}\n", i, data)
	}
	return b.String()
}

func countedStream(t *testing.T, name, text string) []*manifest.Stream {
	stream, problems := manifest.Read(name, []byte(text))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return []*manifest.Stream{stream}
}

// TestResults counts the evaluations of policies in a run that takes results of an earlier run over.
func TestResults(t *testing.T) {
	type state struct {
		policies, context, manifests string
		options                      engine.Options
	}
	usual := state{policies: countedPolicy, manifests: counted("one")}
	update := engine.Options{Operation: "UPDATE"}
	for name, c := range map[string]struct {
		first, second state
		want          int
	}{
		"same":                  {usual, usual, 0},
		"one object":            {usual, state{policies: countedPolicy, manifests: counted("two")}, 1},
		"only comments":         {usual, state{policies: "# A comment.\n" + countedPolicy, manifests: "# A comment.\n" + counted("one")}, 0},
		"policy":                {usual, state{policies: strings.ReplaceAll(countedPolicy, "one", "two"), manifests: counted("one")}, 10},
		"another policy":        {usual, state{policies: countedPolicy + "---\n" + strings.ReplaceAll(countedPolicy, "name: team", "name: other"), manifests: counted("one")}, 20},
		"policy of other kind":  {state{policies: countedPolicy + countedOthers, manifests: counted("one")}, state{policies: countedPolicy + strings.ReplaceAll(countedOthers, "one", "two"), manifests: counted("one")}, 0},
		"other kind added":      {usual, state{policies: countedPolicy + countedOthers, manifests: counted("one")}, 0},
		"other kind removed":    {state{policies: countedPolicy + countedOthers, manifests: counted("one")}, usual, 0},
		"binding of other kind": {state{policies: countedPolicy + countedBound, manifests: counted("one")}, state{policies: countedPolicy + strings.ReplaceAll(countedBound, "Deny", "Allow"), manifests: counted("one")}, 0},
		"binding of this kind":  {state{policies: countedPolicy + countedBound, manifests: counted("one")}, state{policies: countedPolicy + strings.ReplaceAll(countedBound, "secrets", "configmaps"), manifests: counted("one")}, 20},
		"exception":             {usual, state{policies: countedPolicy + countedException, manifests: counted("one")}, 10},
		"rival of a mutator":    {state{policies: countedMutator, manifests: counted("one")}, state{policies: countedMutator + countedRival, manifests: counted("one")}, 20},
		"policy of its Pods":    {state{policies: countedPolicy + countedPods, manifests: counted("one") + countedDeployment}, state{policies: countedPolicy + strings.ReplaceAll(countedPods, "one", "two"), manifests: counted("one") + countedDeployment}, 2},
		"context":               {usual, state{policies: countedPolicy, context: countedTeams, manifests: counted("one")}, 0},
		"version":               {usual, state{policies: countedPolicy, manifests: counted("one"), options: engine.Options{KubernetesVersion: "1.35"}}, 10},
		"operation":             {usual, state{policies: countedPolicy, manifests: counted("one"), options: update}, 10},
		"definition":            {usual, state{policies: countedPolicy, manifests: counted("one") + "---\n" + countedDefinition}, 11},
		"looked up":             {state{policies: countedLookup, context: countedTeams, manifests: counted("one")}, state{policies: countedLookup, context: countedTeams, manifests: counted("one")}, 0},
		"looked up, changed":    {state{policies: countedLookup, context: countedTeams, manifests: counted("one")}, state{policies: countedLookup, context: strings.ReplaceAll(countedTeams, "one", "two"), manifests: counted("one")}, 10},
		"looked up, missing":    {state{policies: countedLookup, context: countedTeams, manifests: counted("one")}, state{policies: countedLookup, manifests: counted("one")}, 10},
		"looked-up manifest":    {state{policies: countedLookup, manifests: counted("one") + "---\n" + countedTeams}, state{policies: countedLookup, manifests: counted("one") + "---\n" + countedTeams}, 0},
		"its value":             {state{policies: countedLookup, manifests: counted("one") + "---\n" + countedTeams}, state{policies: countedLookup, manifests: counted("one") + "---\n" + strings.ReplaceAll(countedTeams, "one", "two")}, 11},
		"its comment":           {state{policies: countedLookup, manifests: counted("one") + "---\n" + countedTeams}, state{policies: countedLookup, manifests: counted("one") + "---\n" + countedTeams + "# A comment.\n"}, 0},
		"an object twice":       {usual, state{policies: countedPolicy, manifests: counted("one") + counted("one")}, 20},
		"an object twice first": {state{policies: countedPolicy, manifests: counted("one") + counted("one")}, usual, 10},
	} {
		t.Run(name, func(t *testing.T) {
			results := &engine.Results{}
			run := func(s state, observers ...engine.Observer) *engine.Outcome {
				set, problems := engine.Compile(countedStream(t, "policies.yaml", s.policies), countedStream(t, "context.yaml", s.context), s.options)
				if set == nil {
					t.Fatal(problems)
				}
				return set.Run(t.Context(), countedStream(t, "manifests.yaml", s.manifests), observers...)
			}
			run(c.first, results.Keep())
			got := 0
			for _, stat := range run(c.second, results.Reuse(), engine.Count(func() time.Time { return time.Time{} })).Stats {
				if stat.Rule != "" {
					got += stat.Evaluations
				}
			}
			if got != c.want {
				t.Errorf("%d evaluations, want %d", got, c.want)
			}
		})
	}
}
