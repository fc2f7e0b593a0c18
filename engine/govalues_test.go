package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/manifest"
)

// TestGoValuesOfUpdates: a server of 1.37 reads the old object once in a pass, and the object
// again after each mutation. What it answers was recorded on kube-apiserver 1.37.1; the other
// recordings are of creations.
func TestGoValuesOfUpdates(t *testing.T) {
	const (
		adds   = `[JSONPatch{op: "add", path: "/data/a", value: "a"}]`
		fails  = `[JSONPatch{op: "add", path: "/data/a", value: object.data.nope}]`
		old    = `[JSONPatch{op: "add", path: "/metadata/annotations", value: oldObject.metadata.labels}]`
		object = `[JSONPatch{op: "add", path: "/metadata/annotations", value: object.metadata.labels}]`
	)
	for _, tc := range []struct {
		name, policies string
		refused        bool // by 1.37
	}{
		{"condition", updatePolicy("b", old, "true"), true},
		{"no condition", updatePolicy("b", old, ""), false},
		{"read as JSON first", updatePolicy("a", adds, "") + updatePolicy("b", old, "true"), false},
		{"read by what fails first", updatePolicy("a", fails, "") + updatePolicy("b", old, "true"), false},
		{"the object is read again", updatePolicy("a", adds, "") + updatePolicy("b", object, "true"), true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			stored := readText(t, "old.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: m, labels: {app: d}}, data: {k: v}}")
			for _, version := range []string{"1.36", "1.37"} {
				set, diagnostics := Compile([]*manifest.Stream{readText(t, "policies.yaml", tc.policies)}, nil, Options{
					KubernetesVersion: version, Operation: "UPDATE", Old: []*manifest.Stream{stored}, NonIdempotent: "skip",
				})
				if set == nil {
					t.Fatal(diagnostics)
				}
				outcome := set.Run(context.Background(), []*manifest.Stream{readText(t, "new.yaml", string(stored.Bytes()))})
				const problem = "type conversion error from 'map(dyn, dyn)' to '*structpb.Value'"
				got := fmt.Sprint(outcome.Diagnostics)
				if want := tc.refused && version == "1.37"; outcome.Failed() != want || want && !strings.Contains(got, problem) {
					t.Errorf("%s: got %s", version, got)
				}
			}
		})
	}
}

// updatePolicy is a policy on updates of ConfigMaps; that of the name a may fail.
func updatePolicy(name, patch, condition string) string {
	failurePolicy, conditions := "Fail", ""
	if name == "a" {
		failurePolicy = "Ignore"
	}
	if condition != "" {
		conditions = "  matchConditions: [{name: c, expression: '" + condition + "'}]\n"
	}
	return `---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: ` + name + `}
spec:
  failurePolicy: ` + failurePolicy + `
  reinvocationPolicy: Never
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [UPDATE], resources: [configmaps]}]}
` + conditions + `  mutations: [{patchType: JSONPatch, jsonPatch: {expression: '` + patch + `'}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: ` + name + `}
spec: {policyName: ` + name + `}
`
}
