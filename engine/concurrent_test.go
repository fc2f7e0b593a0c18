package engine

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
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
	set, diagnostics := Compile([]*manifest.Stream{readText(t, "policies.yaml", policies)}, []*manifest.Stream{readText(t, "policies.yaml", context)}, Options{})
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

// TestRunInterrupted interrupts a policy while it runs. Its failure is no denial.
func TestRunInterrupted(t *testing.T) {
	set := setOf(t, `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: slow}
spec:
  reinvocationPolicy: Never
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE]}]
  mutations:
  - patchType: JSONPatch
    jsonPatch:
      expression: '[JSONPatch{op: "add", path: "/data/size", value: string(lists.range(900).filter(a, a > 3).size())}]'
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: slow}
spec: {policyName: slow}
`, "")
	stream := readText(t, "a.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {}}")
	outcome := set.Run(&lateContext{Context: t.Context()}, []*manifest.Stream{stream})
	if len(outcome.Diagnostics) != 1 || outcome.Diagnostics[0].Code != "interrupted" || outcome.Denied || !outcome.Failed() {
		t.Errorf("denied %v: %v", outcome.Denied, outcome.Diagnostics)
	}
}

// lateContext is cancelled when somebody first waits for its end.
type lateContext struct {
	context.Context
	cancelled atomic.Bool
}

func (c *lateContext) Done() <-chan struct{} {
	c.cancelled.Store(true)
	done := make(chan struct{})
	close(done)
	return done
}

func (c *lateContext) Err() error {
	if c.cancelled.Load() {
		return context.Canceled
	}
	return nil
}
