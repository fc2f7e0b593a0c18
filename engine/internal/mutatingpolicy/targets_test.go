package mutatingpolicy

import (
	"strings"
	"testing"
)

const maps2 = `
apiVersion: v1
kind: ConfigMap
metadata: {name: one, namespace: default, labels: {a: b}}
data: {k: one}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: two, namespace: other}
data: {k: two}
---
apiVersion: v1
kind: Secret
metadata: {name: one, namespace: default, labels: {a: b}}
`

const secretHeader = `apiVersion: policies.kyverno.io/v1
kind: MutatingPolicy
metadata:
  name: p
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], resources: [secrets], operations: [CREATE]}
`

const secretObject = `
apiVersion: v1
kind: Secret
metadata: {name: s, namespace: default}
data: {k: eA==}`

func TestTargets(t *testing.T) {
	const on = "evaluation: {mutateExisting: {enabled: true}}\n"
	const rules = "targetMatchConstraints:\n  resourceRules: [{apiGroups: [''], apiVersions: [v1], resources: [configmaps]}]\n"
	for name, tc := range map[string]struct {
		situation
		want string
	}{
		"by rules": {situation{spec: on + rules + add("x", `request.object.data.k + request.name + request.operation + object.data.k + string(oldObject == null) + string(namespaceObject == null)`)}, `
4:9 policy p: not applied: the policy changes its targets, not what triggers it
target one
13:5 policy p, mutations[0], triggered by Secret s: add data.x "eA==sCREATEonetruetrue"
target two
13:5 policy p, mutations[0], triggered by Secret s: add data.x "eA==sCREATEtwotruetrue"`},
		"by labels": {situation{spec: on + rules + "  objectSelector: {matchLabels: {a: b}}\n" + add("x", `"y"`)}, `
4:9 policy p: not applied: the policy changes its targets, not what triggers it
target one
14:5 policy p, mutations[0], triggered by Secret s: add data.x "y"`},
		"by namespace": {situation{values: "namespaceSelector: [{name: default, labels: {team: a}}, {name: other, labels: {team: b}}]", spec: on + rules + "  namespaceSelector: {matchLabels: {team: b}}\n" + add("x", `"y"`)}, `
4:9 policy p: not applied: the policy changes its targets, not what triggers it
target two
14:5 policy p, mutations[0], triggered by Secret s: add data.x "y"`},
		"by name, whatever the operations, scope and exclusions": {situation{spec: on + "targetMatchConstraints:\n  resourceRules: [{apiGroups: [''], apiVersions: [v1], resources: [configmaps], operations: [DELETE], scope: Cluster, resourceNames: [two]}]\n  excludeResourceRules: [{apiGroups: ['*'], apiVersions: ['*'], resources: ['*'], operations: ['*']}]\n" + add("x", `"y"`)}, `
4:9 policy p: not applied: the policy changes its targets, not what triggers it
target two
14:5 policy p, mutations[0], triggered by Secret s: add data.x "y"`},
		"by an expression": {situation{spec: on + "variables:\n- {name: k, expression: object.metadata.name}\ntargetMatchConstraints: {expression: 'resource.Get(\"v1\", \"configmaps\", \"other\", variables.k == \"s\" ? \"two\" : \"one\")'}\n" + add("x", `variables.k`)}, `
4:9 policy p: not applied: the policy changes its targets, not what triggers it
target two
14:5 policy p, mutations[0], triggered by Secret s: add data.x "two"`},
		"by an expression of many": {situation{spec: on + "targetMatchConstraints: {expression: 'resource.List(\"v1\", \"configmaps\", \"\")'}\n" + add("x", `"y"`)}, `
4:9 policy p: not applied: the policy changes its targets, not what triggers it
target one
12:5 policy p, mutations[0], triggered by Secret s: add data.x "y"
target two
12:5 policy p, mutations[0], triggered by Secret s: add data.x "y"`},
		"by an expression of none": {situation{spec: on + "targetMatchConstraints: {expression: 'resource.Get(\"v1\", \"configmaps\", \"other\", \"none\")'}\n" + add("x", `"y"`)}, `
4:9 policy p: not applied: the policy changes its targets, not what triggers it
4:9 warning[api-call-assumed]: policy p looks up configmaps other/none, which is not in the input and is taken not to exist
10:40 policy p: not applied: no target is among the manifests`},
		"by an expression that fails": {situation{spec: on + "targetMatchConstraints: {expression: 'resource.Get(\"v1\", \"configmaps\", \"other\", object.nope)'}\n" + add("x", `"y"`)}, `
4:9 policy p: not applied: the policy changes its targets, not what triggers it
10:40 policy p: failed: Resource: default/s, Kind: Secret, Errors: [Policy p: failed to evaluate policy: no such key: nope]`},
		"with conditions for the trigger": {situation{spec: on + rules + "matchConditions: [{name: m, expression: 'object.kind == \"ConfigMap\"'}]\n" + add("x", `"y"`)}, `
4:9 policy p: not applied: the policy changes its targets, not what triggers it
12:43 policy p: not applied: matchConditions[0] "m" is false`},
		"with conditions for targets": {situation{spec: on + rules + "targetMatchConditions: [{name: m, expression: 'object.metadata.name == \"two\"'}]\n" + add("x", `"y"`)}, `
4:9 policy p: not applied: the policy changes its targets, not what triggers it
target one
12:49 policy p: not applied: targetMatchConditions[0] "m" is false
target two
14:5 policy p, mutations[0], triggered by Secret s: add data.x "y"`},
		"a failing target": {situation{spec: on + rules + add("x", `object.metadata.labels.a`)}, `
4:9 policy p: not applied: the policy changes its targets, not what triggers it
target one
13:5 policy p, mutations[0], triggered by Secret s: add data.x "b"
target two
13:5 policy p, mutations[0]: failed: Resource: other/two, Kind: ConfigMap, Errors: [Policy p: failed to evaluate policy: no such key: labels]`},
		"nothing to change": {situation{spec: on + rules + add("k", `object.data.k`)}, `
4:9 policy p: not applied: the policy changes its targets, not what triggers it
target one
13:5 policy p: not applied: the patch changes nothing
target two
13:5 policy p: not applied: the patch changes nothing`},
		"another trigger": {situation{object: configMap, spec: on + rules + add("x", `"y"`)}, `
4:9 policy p: not applied: matchConstraints: resourceRules: none covers v1 configmaps CREATE`},
		"not enabled": {situation{spec: rules + add("x", `"y"`)}, `
4:9 policy p: not applied: the policy does nothing: it has targetMatchConstraints, but evaluation.mutateExisting is not enabled`},
		"of its own namespace": {situation{header: strings.Replace(secretHeader, "kind: M", "kind: NamespacedM", 1), spec: on + rules + add("x", `"y"`)}, `
4:9 policy default/p: not applied: the policy changes its targets, not what triggers it
target one
13:5 policy default/p, mutations[0], triggered by Secret s: add data.x "y"`},
		"what it matches, and the trigger": {situation{spec: on + add("x", `"y"`)}, `
11:5 policy p, mutations[0]: add data.x "y"
target s
11:5 policy p: not applied: the patch changes nothing
target one
11:5 policy p, mutations[0]: failed: Resource: default/one, Kind: Secret, Errors: [Policy p: failed to evaluate policy: JSON Patch: add operation does not apply: doc is missing path: "/data/x": missing value]`},
		"R6: what it matches, with conditions": {situation{spec: on + "matchConditions: [{name: m, expression: '!has(object.metadata.labels)'}]\nmutations:\n- patchType: ApplyConfiguration\n  applyConfiguration: {expression: 'Object{metadata: Object.metadata{labels: {\"c\": \"d\"}}}'}"}, `
12:5 policy p, mutations[0]: add metadata.labels {"c":"d"}
10:43 policy p: not applied: matchConditions[0] "m" is false`},
		"R6: what it matches, with conditions that hold": {situation{spec: on + "matchConditions: [{name: m, expression: 'object.metadata.name != \"one\"'}]\nmutations:\n- patchType: ApplyConfiguration\n  applyConfiguration: {expression: 'Object{metadata: Object.metadata{labels: {\"c\": \"d\"}}}'}"}, `
12:5 policy p, mutations[0]: add metadata.labels {"c":"d"}
target s
12:5 policy p: not applied: the patch changes nothing
target one
12:5 policy p, mutations[0], triggered by Secret s: add metadata.labels.c "d"`},
		"an exception": {situation{policies: secretHeader + "  evaluation: {mutateExisting: {enabled: true}}\n  targetMatchConstraints:\n    resourceRules: [{apiGroups: [''], apiVersions: [v1], resources: [configmaps]}]\n  " + strings.ReplaceAll(add("x", `"y"`), "\n", "\n  ") + "\n---\napiVersion: policies.kyverno.io/v1\nkind: PolicyException\nmetadata: {name: x}\nspec:\n  policyRefs: [{name: p, kind: MutatingPolicy}]\n  matchConditions: [{name: m, expression: 'object.metadata.name == \"one\"'}]"}, `
4:9 policy p: not applied: the policy changes its targets, not what triggers it
target one
20:18 policy p: not applied: PolicyException x excepts the object
target two
13:5 policy p, mutations[0], triggered by Secret s: add data.x "y"`},
	} {
		if tc.header == "" {
			tc.header = secretHeader
		}
		if tc.object == "" {
			tc.object = secretObject
		}
		tc.others = maps2
		compare(t, name, tc.happens(t), tc.want)
	}
}

// TestDiffers checks the deviations of Kyverno v1.19.0, except for those with controllers (see
// TestControllers).
func TestDiffers(t *testing.T) {
	for name, tc := range map[string]struct {
		situation
		want string
	}{
		"R14: an annotation that is null": {situation{spec: "auditAnnotations: [{key: a, valueExpression: 'null'}]\n" + add("x", `"y"`)}, `
9:48 warning[kyverno-differs]: policy p: Kyverno fails if an audit annotation is null: failed to convert auditAnnotation "a" expression: unsupported type conversion to 'string'
9:48 policy p: failed: Resource: default/c, Kind: ConfigMap, Errors: [Policy p: failed to evaluate policy: failed to convert auditAnnotation "a" expression: unsupported type conversion to 'string']`},
		"R16: an argument that is not needed": {situation{spec: "failurePolicy: Ignore\n" + add("x", `object.?data.?k.orValue(object.nope)`)}, `
11:5 policy p, mutations[0]: failed, ignored: Resource: default/c, Kind: ConfigMap, Errors: [Policy p: failed to evaluate policy: no such key: nope]`},
		"R17: two failurePolicies": {situation{policies: header + "  " + strings.ReplaceAll(add("x", `"y"`), "\n", "\n  ") + "\n---\n" + strings.Replace(header, "name: p", "name: q", 1) + "  failurePolicy: Ignore\n  " + strings.ReplaceAll(add("k", `object.data.k + "v"`), "\n", "\n  ")}, `
10:5 policy p, mutations[0]: add data.x "y"
25:5 policy q, mutations[0]: replace data.k "vv"
10:5 policy p, mutations[0]: no change
25:5 policy q, mutations[0]: replace data.k "vvv"`},
		"R17: two webhooks": {situation{policies: header + "  " + strings.ReplaceAll(add("x", `"y"`), "\n", "\n  ") + "\n---\n" + strings.Replace(header, "name: p", "name: q", 1) + "  failurePolicy: Ignore\n  webhookConfiguration: {timeoutSeconds: 3}\n  " + strings.ReplaceAll(add("k", `object.data.k + "v"`), "\n", "\n  ")}, `
10:5 policy p, mutations[0]: add data.x "y"
26:5 policy q, mutations[0]: replace data.k "vv"`},
		"R18: conditions that an API server evaluates": {situation{cluster: "apiVersion: v1\nkind: Namespace\nmetadata: {name: default, labels: {a: b}}", spec: "matchConditions: [{name: m, expression: 'namespaceObject.metadata.name == \"default\"'}]\n" + add("x", `"y"`)}, `
9:43 warning[kyverno-differs]: policy p: Kyverno has the API server evaluate matchConditions, where namespaceObject is null: expression 'namespaceObject.metadata.name == "default"' resulted in error: no such key: metadata
9:43 policy p: failed: Resource: default/c, Kind: ConfigMap, Errors: [Policy p: failed to evaluate policy: expression 'namespaceObject.metadata.name == "default"' resulted in error: no such key: metadata]`},
		"R18: conditions that an API server does not understand": {situation{cluster: "apiVersion: v1\nkind: Namespace\nmetadata: {name: default, labels: {a: b}}", spec: "variables: [{name: v, expression: 'true'}]\nmatchConditions: [{name: m, expression: 'variables.v && namespaceObject.metadata.name == \"default\"'}]\n" + add("x", `"y"`)}, `
12:5 policy p, mutations[0]: add data.x "y"`},
		"R18: a name that an API server does not accept": {situation{cluster: "apiVersion: v1\nkind: Namespace\nmetadata: {name: default, labels: {a: b}}", spec: "matchConditions: [{name: is it, expression: 'namespaceObject.metadata.name == \"default\"'}]\n" + add("x", `"y"`)}, `
11:5 policy p, mutations[0]: add data.x "y"`},
		"R19: matchPolicy Exact": {situation{cluster: widgets, object: "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w, namespace: default}\ndata: {}", header: strings.Replace(header, `apiGroups: ["*"], apiVersions: ["*"]`, `apiGroups: [example.com], apiVersions: [v2]`, 1) + "    matchPolicy: Exact\n", spec: add("x", `""`)}, `
11:5 policy p, mutations[0]: add data.x ""`},
	} {
		compare(t, name, tc.happens(t), tc.want)
	}
}
