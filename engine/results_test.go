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
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
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
		"context":               {usual, state{policies: countedPolicy, context: countedTeams, manifests: counted("one")}, 10},
		"version":               {usual, state{policies: countedPolicy, manifests: counted("one"), options: engine.Options{KubernetesVersion: "1.35"}}, 10},
		"operation":             {usual, state{policies: countedPolicy, manifests: counted("one"), options: update}, 10},
		"definition":            {usual, state{policies: countedPolicy, manifests: counted("one") + "---\n" + countedDefinition}, 11},
		"looked up":             {state{policies: countedLookup, context: countedTeams, manifests: counted("one")}, state{policies: countedLookup, context: countedTeams, manifests: counted("one")}, 10},
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
