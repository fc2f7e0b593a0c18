package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
)

// TestUpdateOnly names policies that act on UPDATE only where one would have acted.
func TestUpdateOnly(t *testing.T) {
	const text = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: stamp}
spec:
  reinvocationPolicy: Never
  matchConditions: [{name: named, expression: 'object.metadata.name != "other"'}]
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: %s}
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration: {expression: 'Object{metadata: Object.metadata{labels: {"x": "y"}}}'}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: stamp}
spec: {policyName: stamp}
`
	for name, tc := range map[string]struct {
		operations, kind, name, operation string
		want                              bool
	}{
		"UPDATE only":          {"[UPDATE]", "ConfigMap", "a", "CREATE", true},
		"CREATE, too":          {"[CREATE, UPDATE]", "ConfigMap", "a", "CREATE", false},
		"CONNECT only":         {"[CONNECT]", "ConfigMap", "a", "CREATE", false},
		"another kind":         {"[UPDATE]", "Service", "a", "CREATE", false},
		"a condition is false": {"[UPDATE]", "ConfigMap", "other", "CREATE", false},
		"an update":            {"[UPDATE]", "ConfigMap", "a", "UPDATE", false},
	} {
		t.Run(name, func(t *testing.T) {
			policies, _ := manifest.Read("policy.yaml", []byte(fmt.Sprintf(text, tc.operations)))
			set, diagnostics := Compile([]*manifest.Stream{policies}, nil, Options{Operation: policy.Operation(tc.operation)})
			if set == nil {
				t.Fatal(diagnostics)
			}
			manifests, _ := manifest.Read("-", []byte("apiVersion: v1\nkind: "+tc.kind+"\nmetadata: {name: "+tc.name+"}\n"))
			outcome := set.Run(context.Background(), []*manifest.Stream{manifests})
			if got := strings.Contains(fmt.Sprint(outcome.Diagnostics), "policy stamp acts on UPDATE only"); got != tc.want {
				t.Errorf("%v: %v", got, outcome.Diagnostics)
			}
		})
	}
}
