package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
)

// TestUpdateOnly checks the warning about policies that act only on UPDATE.
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
			if got := strings.Contains(fmt.Sprint(outcome.Diagnostics), "policy stamp acts only on UPDATE"); got != tc.want {
				t.Errorf("%v: %v", got, outcome.Diagnostics)
			}
		})
	}
}

// TestUpdateOnlyInOtherLanguages checks the warning in every language, wherever the policy tests
// the operation.
func TestUpdateOnlyInOtherLanguages(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"a rule of Kyverno": {kyvernoPolicy("{any: [{resources: {kinds: [ConfigMap], operations: [UPDATE]}}]}", "{}"), "policy stamp, rule stamp, acts only on UPDATE"},
		"for both":          {kyvernoPolicy("{any: [{resources: {kinds: [ConfigMap], operations: [CREATE, UPDATE]}}]}", "{}"), ""},
		"for deletion":      {kyvernoPolicy("{any: [{resources: {kinds: [ConfigMap], operations: [DELETE]}}]}", "{}"), ""},
		"another kind":      {kyvernoPolicy("{any: [{resources: {kinds: [Secret], operations: [UPDATE]}}]}", "{}"), ""},
		"a precondition":    {kyvernoPolicy("{any: [{resources: {kinds: [ConfigMap]}}]}", `{all: [{key: "{{request.operation}}", operator: Equals, value: UPDATE}]}`), "rule stamp, acts only on UPDATE"},
		"another one":       {kyvernoPolicy("{any: [{resources: {kinds: [ConfigMap], operations: [UPDATE]}}]}", `{all: [{key: "{{request.object.metadata.name}}", operator: Equals, value: other}]}`), ""},
		"a MutatingPolicy": {`
apiVersion: policies.kyverno.io/v1
kind: MutatingPolicy
metadata: {name: stamp}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [UPDATE]}]}
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration: {expression: 'Object{metadata: Object.metadata{labels: {"x": "y"}}}'}
`, "policy stamp acts only on UPDATE"},
		"a condition": {`
apiVersion: policies.kyverno.io/v1
kind: MutatingPolicy
metadata: {name: stamp}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE, UPDATE]}]}
  matchConditions: [{name: update, expression: request.operation == "UPDATE"}]
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration: {expression: 'Object{metadata: Object.metadata{labels: {"x": "y"}}}'}
`, "policy stamp acts only on UPDATE"},
		"a mutator of Gatekeeper": {`
apiVersion: mutations.gatekeeper.sh/v1
kind: Assign
metadata: {name: stamp}
spec:
  applyTo: [{groups: [""], versions: [v1], kinds: [ConfigMap], operations: [UPDATE]}]
  location: immutable
  parameters: {assign: {value: true}}
`, "acts only on UPDATE"},
	} {
		t.Run(name, func(t *testing.T) {
			policies, _ := manifest.Read("policy.yaml", []byte(tc.text))
			set, diagnostics := Compile([]*manifest.Stream{policies}, nil, Options{})
			if set == nil {
				t.Fatal(diagnostics)
			}
			manifests, _ := manifest.Read("-", []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"))
			outcome := set.Run(context.Background(), []*manifest.Stream{manifests})
			got := fmt.Sprint(outcome.Diagnostics)
			if outcome.Failed() || strings.Contains(got, "only on UPDATE") != (tc.want != "") || !strings.Contains(got, tc.want) {
				t.Errorf("want %q: %v", tc.want, got)
			}
		})
	}
}

func kyvernoPolicy(match, preconditions string) string {
	return fmt.Sprintf(`
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: stamp}
spec:
  rules:
  - name: stamp
    match: %s
    preconditions: %s
    mutate: {patchStrategicMerge: {metadata: {labels: {x: "y"}}}}
`, match, preconditions)
}

// TestHeldMetadata checks that expressions see the metadata that a server has set in the object before an update,
// in params and in namespaces, but not in an object that it creates. TestEquivalence asks servers.
func TestHeldMetadata(t *testing.T) {
	const (
		policies = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: note}
spec:
  reinvocationPolicy: Never
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [services], operations: ["*"]}]
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: >-
        Object{metadata: Object.metadata{annotations: {"seen": [object, oldObject, params, dyn(namespaceObject)].map(o,
        o == null ? "null" : o.metadata.?uid.orValue("none") + (has(o.metadata.creationTimestamp) ? " dated" : "")).join(", ")}}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: note}
spec: {policyName: note, paramRef: {name: settings, parameterNotFoundAction: Deny}}
`
		stored  = `{name: %s, uid: %s, creationTimestamp: "2026-11-28T10:00:00Z"}`
		service = "apiVersion: v1\nkind: Service\nmetadata: " + stored + "\nspec: {ports: [{port: 80}]}\n"
	)
	context := readText(t, "context.yaml", fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: "+stored+"\n---\napiVersion: v1\nkind: Namespace\nmetadata: "+stored+"\n", "settings", "params", "default", "namespace"))
	for operation, want := range map[policy.Operation]string{
		policy.Create: "none, null, params dated, namespace dated",
		policy.Update: "none, old dated, params dated, namespace dated",
	} {
		options, object := Options{Operation: operation}, fmt.Sprintf(service, "s", "dropped")
		if operation == policy.Update {
			object = "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {ports: [{port: 80}]}\n"
			options.Old = []*manifest.Stream{readText(t, "old.yaml", fmt.Sprintf(service, "s", "old"))}
		}
		set, diagnostics := Compile([]*manifest.Stream{readText(t, "policy.yaml", policies)}, []*manifest.Stream{context}, options)
		if set == nil {
			t.Fatal(diagnostics)
		}
		stream := readText(t, "-", object)
		if outcome := set.Run(t.Context(), []*manifest.Stream{stream}); outcome.Failed() {
			t.Fatal(outcome.Diagnostics)
		}
		if got := string(stream.Bytes()); !strings.Contains(got, `seen: "`+want+`"`) {
			t.Errorf("%s: got %s, want %q", operation, got, want)
		}
	}
}
