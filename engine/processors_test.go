package engine

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/manifest"
)

// processorsPolicies look up objects of the run, deny some objects, warn about others, and change
// their own output again.
const processorsPolicies = `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: tier}
spec:
  reinvocationPolicy: IfNeeded
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE]}]
  matchConditions: [{name: not-itself, expression: "!object.metadata.name.startsWith('tier-')"}]
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration: {expression: 'Object{metadata: Object.metadata{labels: {"tier": string(params.data.tier), "of": string(namespaceObject.metadata.name)}}}'}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: tier}
spec: {policyName: tier, paramRef: {name: tier-a, namespace: shop, parameterNotFoundAction: Deny}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: counts}
spec:
  reinvocationPolicy: Never
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [services], operations: [CREATE]}]
  mutations:
  - patchType: JSONPatch
    jsonPatch: {expression: '[JSONPatch{op: "add", path: "/spec/ports/-", value: {"name": dyn("more-" + string(object.spec.ports.size())), "port": dyn(8000 + object.spec.ports.size())}}]'}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: counts}
spec: {policyName: counts}
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: owner}
spec:
  rules:
  - name: label
    match: {any: [{resources: {kinds: [Deployment, Service]}}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {+(owner): "{{request.object.metadata.name}}"}}}}
`

// TestProcessors checks that the bytes and the diagnostics do not depend on the number of
// processors. With the race detector it also tests the state that jobs share.
func TestProcessors(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	manifests := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: tier-a, namespace: shop}\ndata: {tier: front}\n---\n" + string(benchManifests(60))
	set, diagnostics := Compile(streams(t, string(benchPolicies())+"---\n"+processorsPolicies), nil, Options{})
	if set == nil {
		t.Fatal(diagnostics)
	}
	outputs := map[int]string{}
	for _, processors := range []int{1, 2, 8} {
		runtime.GOMAXPROCS(processors)
		for range 3 {
			read := streams(t, manifests)
			outcome := set.Run(t.Context(), read, Explain())
			output := transcript(outcome, read)
			if !strings.Contains(output, "not-idempotent") || !strings.Contains(output, "tier: front") {
				t.Fatalf("the policies do not do what they are for:\n%s", output)
			}
			if outputs[1] == "" {
				outputs[1] = output
			}
			if output != outputs[1] {
				t.Fatalf("with %d processors:\n%s\nwith one:\n%s", processors, output, outputs[1])
			}
		}
	}
}

// transcript returns all results of a run as text.
func transcript(outcome *Outcome, read []*manifest.Stream) string {
	var b strings.Builder
	b.Write(manifest.Join(read))
	for _, d := range outcome.Diagnostics {
		fmt.Fprintln(&b, d)
	}
	for _, m := range outcome.Manifests {
		fmt.Fprintln(&b, m.ID, m.Changes, m.Edits, m.NotApplied)
	}
	return b.String()
}
