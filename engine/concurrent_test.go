package engine

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/preadmit/preadmit/engine/manifest"
)

// TestRunConcurrently runs one Set on several streams at once. Some streams have policies,
// definitions and context. The test is meant for the race detector.
func TestRunConcurrently(t *testing.T) {
	shop := `apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {team: web}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: defaults, namespace: shop}
data: {tier: front}
`
	policy := `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: tier}
spec:
  reinvocationPolicy: IfNeeded
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints:
    namespaceSelector: {matchLabels: {team: web}}
    resourceRules:
    - {apiGroups: ["*"], apiVersions: ["*"], resources: ["*"], operations: [CREATE]}
  mutations:
  - patchType: JSONPatch
    jsonPatch:
      expression: >-
        [JSONPatch{op: "add", path: "/metadata/annotations", value: {"is": params.data.tier, "of": dyn(namespaceObject.metadata.labels.team)}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: tier}
spec: {policyName: tier, paramRef: {name: defaults, namespace: shop, parameterNotFoundAction: Deny}}
`
	clusterPolicy := `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: owner}
spec:
  rules:
  - name: label
    match: {any: [{resources: {kinds: [Deployment, Service]}}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {+(owner): "{{request.object.metadata.name}}"}}}}
`
	policies := string(benchPolicies()) + "---\n" + policy + "---\n" + clusterPolicy
	streams := make([]string, 8)
	for i := range streams {
		streams[i] = strings.ReplaceAll(string(benchManifests(5)), "web-", fmt.Sprintf("web-%d-", i))
		if i%2 == 0 {
			streams[i] += "---\n" + strings.ReplaceAll(policy, ": tier", fmt.Sprintf(": tier-%d", i))
		}
	}
	shared := setOf(t, policies, shop)
	got := make([]string, len(streams))
	var wait sync.WaitGroup
	for i := range streams {
		wait.Go(func() { got[i] = rendered(t, shared, streams[i]) })
	}
	wait.Wait()
	alone := setOf(t, policies, shop)
	for i := range streams {
		if want := rendered(t, alone, streams[i]); got[i] != want {
			t.Errorf("stream %d: got\n%s\nwant\n%s", i, got[i], want)
		}
	}
}

// setOf compiles policies with context.
func setOf(t *testing.T, policies, context string) *Set {
	t.Helper()
	var streams []*manifest.Stream
	for _, text := range []string{policies, context} {
		stream, diagnostics := manifest.Read("policies.yaml", []byte(text))
		if len(diagnostics) > 0 {
			t.Fatal(diagnostics)
		}
		streams = append(streams, stream)
	}
	set, diagnostics := Compile(streams[:1], streams[1:], Options{})
	if set == nil {
		t.Fatal(diagnostics)
	}
	return set
}

// rendered returns the output of a set for manifests, with its diagnostics.
func rendered(t *testing.T, set *Set, manifests string) string {
	stream, diagnostics := manifest.Read("manifests.yaml", []byte(manifests))
	if len(diagnostics) > 0 {
		t.Error(diagnostics)
		return ""
	}
	outcome := set.Run(context.Background(), []*manifest.Stream{stream}, Explain(), Views())
	if outcome.Failed() {
		t.Error(outcome.Diagnostics)
	}
	return string(stream.Bytes()) + fmt.Sprint(outcome.Diagnostics)
}
