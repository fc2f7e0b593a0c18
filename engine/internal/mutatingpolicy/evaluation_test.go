package mutatingpolicy

import (
	"strings"
	"testing"
)

// add returns a spec that adds a value to data.
func add(key, expression string) string {
	return "mutations:\n- patchType: JSONPatch\n  jsonPatch:\n    expression: |-\n      [JSONPatch{op: \"add\", path: \"/data/" + key + "\", value: " + expression + "}]"
}

const podHeader = `apiVersion: policies.kyverno.io/v1
kind: MutatingPolicy
metadata:
  name: p
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]}
`

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: d, namespace: default, labels: {app: outer}}
spec:
  replicas: 2
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: inner}}
    spec: {containers: [{name: c, image: nginx}]}`

func TestEvaluation(t *testing.T) {
	for name, tc := range map[string]struct {
		situation
		want string
	}{
		"request": {
			situation{spec: add("x", `request.operation + request.name + request.namespace + request.userInfo.username + request.kind.kind + request.resource.resource + request.object.data.k + string(request.dryRun) + request.options.kind + string(has(request.subResource))`)},
			`10:5 policy p, mutations[0]: add data.x "CREATEcdefaultsystem:serviceaccount:ns:saConfigMapconfigmapsvfalseCreateOptionsfalse"`,
		},
		"the old object of a creation is an empty map": {
			situation{spec: add("x", `string(oldObject == null) + string(oldObject.size()) + string(request.oldObject.size())`)},
			`10:5 policy p, mutations[0]: add data.x "false00"`,
		},
		"the old object of an update": {
			situation{operation: "UPDATE", old: strings.Replace(configMap, "k: v", "k: old", 1), spec: add("x", `oldObject.data.k + request.oldObject.data.k`)},
			`10:5 policy p, mutations[0]: add data.x "oldold"`,
		},
		"an update of what nobody gave": {
			situation{operation: "UPDATE", spec: add("x", `string(oldObject == null)`)},
			`10:5 policy p, mutations[0]: failed: Resource: default/c, Kind: ConfigMap, Errors: [Policy p: failed to evaluate policy: oldObject was read, but the object before the update is not known; give it with the option old]`,
		},
		"an update by the values": {
			situation{values: "globalValues: {request.operation: UPDATE}", spec: add("x", `request.operation + oldObject.data.k`)},
			`10:5 policy p, mutations[0]: add data.x "UPDATEv"`,
		},
		"variables keep their value": {
			situation{spec: `
variables:
- {name: early, expression: object.data.k}
- {name: late, expression: object.data.k}
matchConditions:
- {name: m, expression: variables.early == "v"}
mutations:
- patchType: JSONPatch
  jsonPatch: {expression: '[JSONPatch{op: "replace", path: "/data/k", value: "new"}]'}
- patchType: JSONPatch
  jsonPatch: {expression: '[JSONPatch{op: "add", path: "/data/x", value: variables.early + variables.late + object.data.k + request.object.data.k}]'}`},
			`15:5 policy p, mutations[0]: replace data.k "new"
17:5 policy p, mutations[1]: add data.x "vnewnewv"`,
		},
		"variables of any type": {
			situation{spec: `
variables:
- {name: a-b, expression: object.data.k}
- {name: o, expression: 'Object{metadata: Object.metadata{labels: {"x": "y"}}}'}
- {name: ops, expression: '[JSONPatch{op: "remove", path: "/data/k"}]'}
- {name: none, expression: 'object.?nope'}
mutations:
- patchType: ApplyConfiguration
  applyConfiguration: {expression: variables.o}
- patchType: JSONPatch
  jsonPatch: {expression: 'variables.none.hasValue() ? [] : variables.ops'}`},
			`15:5 policy p, mutations[0]: add metadata.labels.x "y"
17:5 policy p, mutations[1]: remove data.k`,
		},
		"an error discards all": {
			situation{spec: add("x", `"y"`) + `
- patchType: JSONPatch
  jsonPatch: {expression: '[JSONPatch{op: "remove", path: "/nope/k"}]'}`},
			`14:5 policy p, mutations[1]: failed: Resource: default/c, Kind: ConfigMap, Errors: [Policy p: failed to evaluate policy: JSON Patch: remove operation does not apply: doc is missing path: "/nope/k": missing value]`,
		},
		"an error that is ignored": {
			situation{spec: "failurePolicy: Ignore\n" + add("x", `object.nope`)},
			`11:5 policy p, mutations[0]: failed, ignored: Resource: default/c, Kind: ConfigMap, Errors: [Policy p: failed to evaluate policy: no such key: nope]`,
		},
		"an error of a variable": {
			situation{spec: "variables:\n- {name: v, expression: object.nope}\n" + add("x", `variables.v`)},
			`12:5 policy p, mutations[0]: failed: Resource: default/c, Kind: ConfigMap, Errors: [Policy p: failed to evaluate policy: no such key: nope]`,
		},
		"too expensive": {
			situation{spec: "matchConditions:\n- {name: m, expression: '" + strings.Repeat("[1,2,3,4,5,6,7,8,9,10].all(x, ", 7) + "true" + strings.Repeat(")", 7) + "'}\n" + add("x", `"y"`)},
			`10:27 policy p: failed: Resource: default/c, Kind: ConfigMap, Errors: [Policy p: failed to evaluate policy: operation cancelled: actual cost limit exceeded]`,
		},
		"false beats an error": {
			situation{spec: "matchConditions:\n- {name: a, expression: object.nope == 1}\n- {name: b, expression: 'false'}\n- {name: c, expression: object.nopes == 1}\n" + add("x", `"y"`)},
			`11:27 policy p: not applied: matchConditions[1] "b" is false`,
		},
		"errors of conditions": {
			situation{spec: "matchConditions:\n- {name: a, expression: object.nope == 1}\n- {name: b, expression: 'true'}\n- {name: ' ', expression: object.nopes == 1}\n" + add("x", `"y"`)},
			`10:27 policy p: failed: Resource: default/c, Kind: ConfigMap, Errors: [Policy p: failed to evaluate policy: no such key: nope; no such key: nopes]`,
		},
		"policies see what those before left": {
			situation{policies: strings.Replace(header, "name: p", "name: b", 1) + "    objectSelector: {matchLabels: {x: 'y'}}\n  " + strings.ReplaceAll(add("b", `object.data.a + string(has(request.object.metadata.labels.x))`), "\n", "\n  ") +
				"\n---\n" + strings.Replace(header, "name: p", "name: a", 1) + `  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration: {expression: 'Object{metadata: Object.metadata{labels: {"x": "y"}}}'}
  - patchType: JSONPatch
    jsonPatch: {expression: '[JSONPatch{op: "add", path: "/data/a", value: "1"}]'}
`},
			`25:5 policy a, mutations[0]: add metadata.labels.x "y"
27:5 policy a, mutations[1]: add data.a "1"
11:5 policy b, mutations[0]: add data.b "1false"`,
		},
		"on creation, the API server alone compares a negative selector, before all policies of the webhook": {
			situation{policies: strings.Replace(header, "name: p", "name: a", 1) + `    objectSelector: {matchExpressions: [{key: x, operator: DoesNotExist}]}
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration: {expression: 'Object{metadata: Object.metadata{labels: {"x": "y"}}}'}
---
` + strings.Replace(header, "name: p", "name: b", 1) + "    objectSelector: {matchExpressions: [{key: x, operator: DoesNotExist}]}\n  " + strings.ReplaceAll(add("b", `"1"`), "\n", "\n  ") + `
---
` + strings.Replace(header, "name: p", "name: c", 1) + "    objectSelector: {matchExpressions: [{key: x, operator: NotIn, values: ['y']}]}\n  " + strings.ReplaceAll(add("c", `"1"`), "\n", "\n  ")},
			`11:5 policy a, mutations[0]: add metadata.labels.x "y"
24:5 policy b, mutations[0]: add data.b "1"
32:9 policy c: not applied: matchConstraints: objectSelector: the object has a label x in (y)`,
		},
		"namespaceObject": {
			situation{cluster: "apiVersion: v1\nkind: Namespace\nmetadata: {name: default, labels: {team: blue}}", spec: "variables:\n- {name: v, expression: namespaceObject.metadata.labels.team}\nmatchConditions:\n- {name: m, expression: variables.v == 'blue'}\n" + add("x", `namespaceObject.metadata.name + namespaceObject.metadata.labels['kubernetes.io/metadata.name']`)},
			`14:5 policy p, mutations[0]: add data.x "defaultdefault"`,
		},
		"a namespace that nobody gave": {
			situation{spec: add("x", `namespaceObject.metadata.name`)},
			`4:9 warning[namespace-assumed]: policy p reads namespaceObject, but there is no Namespace "default" in the input; it is assumed to have only the label kubernetes.io/metadata.name
10:5 policy p, mutations[0]: add data.x "default"`,
		},
		"a namespace of the values": {
			situation{values: "namespaceSelector: [{name: default, labels: {team: red}}]", header: header + "    namespaceSelector: {matchLabels: {team: red}}\n", spec: add("x", `namespaceObject.metadata.labels.team`)},
			`11:5 policy p, mutations[0]: add data.x "red"`,
		},
		"no namespace": {
			situation{object: "apiVersion: v1\nkind: Namespace\nmetadata: {name: nn}\ndata: {}", spec: add("x", `string(namespaceObject == null) + request.namespace`)},
			`10:5 policy p, mutations[0]: add data.x "truenn"`,
		},
		"generateName": {
			situation{header: strings.Replace(header, `operations: ["*"]`, `operations: ["*"], resourceNames: [web-]`, 1), object: strings.Replace(configMap, "name: c", "generateName: web-app-", 1), spec: add("x", `object.metadata.generateName`)},
			`10:5 policy p, mutations[0]: add data.x "web-app-"`,
		},
		"another name": {
			situation{header: strings.Replace(header, `operations: ["*"]`, `operations: ["*"], resourceNames: [web-]`, 1), spec: add("x", `""`)},
			`4:9 policy p: not applied: matchConstraints: resourceRules[0] has resourceNames without "c"`,
		},
		"DELETE only": {
			situation{header: strings.Replace(header, `operations: ["*"]`, `operations: [DELETE]`, 1), spec: add("x", `""`)},
			`4:9 policy p: not applied: matchConstraints: resourceRules[0] covers v1 configmaps, but only for DELETE, not CREATE`,
		},
		"a policy of a namespace": {
			situation{header: strings.Replace(strings.Replace(header, "kind: M", "kind: NamespacedM", 1), "name: p", "name: p\n  namespace: default", 1), spec: add("x", `object.metadata.namespace`)},
			`11:5 policy default/p, mutations[0]: add data.x "default"`,
		},
		"a policy of another namespace": {
			situation{header: strings.Replace(strings.Replace(header, "kind: M", "kind: NamespacedM", 1), "name: p", "name: p\n  namespace: other", 1), spec: add("x", `""`)},
			`4:9 policy other/p: not applied: the policy is confined to namespace "other"`,
		},
		"a policy of a namespace and what has none": {
			situation{object: "apiVersion: v1\nkind: Namespace\nmetadata: {name: default}", header: strings.Replace(strings.Replace(header, "kind: M", "kind: NamespacedM", 1), "name: p", "name: p\n  namespace: default", 1), spec: add("x", `""`)},
			`4:9 policy default/p: not applied: the policy is confined to namespace "default"`,
		},
		"the namespace of a policy for all does not count": {
			situation{header: strings.Replace(header, "name: p", "name: p\n  namespace: other", 1), spec: add("x", `resource.Get("v1", "configmaps", "default", "nope") != dyn(null) ? "" : "n"`)},
			`4:9 warning[api-call-assumed]: policy p looks up configmaps default/nope, which is not in the input and is taken not to exist
11:5 policy p, mutations[0]: add data.x "n"`,
		},
		"not enabled": {
			situation{spec: "evaluation: {admission: {enabled: false}, mutateExisting: {enabled: true}}\n" + add("x", `""`)},
			`4:9 policy p: not applied: the policy does nothing: evaluation.admission is not enabled`,
		},
		"generated": {
			situation{policies: strings.Replace(header, "spec:", "status: {generated: true}\nspec:", 1) + "  " + strings.ReplaceAll(add("x", `""`), "\n", "\n  ")},
			`4:9 policy p: not applied: the policy does nothing: its status says that a MutatingAdmissionPolicy has taken its place`,
		},
		"a version that is converted": {
			situation{object: "apiVersion: autoscaling/v1\nkind: HorizontalPodAutoscaler\nmetadata: {name: h, namespace: default}\nspec: {maxReplicas: 2}", header: strings.Replace(header, `apiGroups: ["*"], apiVersions: ["*"]`, `apiGroups: [autoscaling], apiVersions: [v2]`, 1), spec: add("x", `""`)},
			`4:9 policy p: failed, at once: Resource: default/h, Kind: HorizontalPodAutoscaler, Errors: [Policy p: failed to evaluate policy: the API server converts the object from autoscaling/v1 to autoscaling/v2 for the policy, which is not known how to do here: write the manifest as autoscaling/v2, or let a rule cover autoscaling/v1]`,
		},
		"a custom resource in another version": {
			situation{cluster: widgets, object: "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w, namespace: default}\ndata: {}", header: strings.Replace(header, `apiGroups: ["*"], apiVersions: ["*"]`, `apiGroups: [example.com], apiVersions: [v2]`, 1), spec: add("x", `object.apiVersion + request.kind.version + request.requestKind.version + request.object.apiVersion`)},
			`10:5 policy p, mutations[0]: add data.x "example.com/v2v2v1example.com/v2"`,
		},
		"annotations": {
			situation{spec: "auditAnnotations:\n- {key: a, valueExpression: 'string(object.data.x)'}\n- {key: b, valueExpression: 'string(object.nope)'}\n" + add("x", `"y"`)},
			`11:31 policy p: failed: Resource: default/c, Kind: ConfigMap, Errors: [Policy p: failed to evaluate policy: failed to evaluate auditAnnotation "b": no such key: nope]`,
		},
	} {
		compare(t, name, tc.happens(t), tc.want)
	}
}

const widgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
  - name: v2
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}`

// TestMutations checks the effects of patches.
func TestMutations(t *testing.T) {
	apply := func(expression string) string {
		return "mutations:\n- patchType: ApplyConfiguration\n  applyConfiguration:\n    expression: |-\n      " + expression
	}
	patch := func(expression string) string {
		return "mutations:\n- patchType: JSONPatch\n  jsonPatch:\n    expression: |-\n      " + expression
	}
	const prefix = "10:5 policy p, mutations[0]: failed: Resource: default/d, Kind: Deployment, Errors: [Policy p: failed to evaluate policy: "
	for name, tc := range map[string]struct{ spec, want string }{
		"merge by key": {
			apply(`Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: [Object.spec.template.spec.containers{name: "c", image: "x"}, Object.spec.template.spec.containers{name: "d"}]}}}}`),
			`10:5 policy p, mutations[0]: add spec.template.spec.containers[1] {"name":"d"}; replace spec.template.spec.containers[0].image "x"`,
		},
		"unknown field": {apply(`Object{spec: Object.spec{x: 1}}`), prefix + `error applying patch: failed to convert patch object to typed object: .spec.x: field not declared in schema]`},
		"type names":    {apply(`Object{spec: Object.wrong{}}`), prefix + `type mismatch: unexpected type name "Object.wrong", expected "Object.spec", which matches field name path from root Object type]`},
		"atomic":        {apply(`Object{spec: Object.spec{selector: Object.spec.selector{matchLabels: {"x": "y"}}}}`), prefix + `error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.selector]`},
		"atomic, replaced": {
			"evaluation: {useServerSideApply: true}\n" + apply(`Object{spec: Object.spec{selector: Object.spec.selector{matchLabels: {"x": "y"}}}}`),
			`11:5 policy p, mutations[0]: remove spec.selector.matchLabels.app; add spec.selector.matchLabels.x "y"`,
		},
		"a list of atomics, replaced": {
			"evaluation: {useServerSideApply: true}\n" + apply(`Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{tolerations: [Object.spec.template.spec.tolerations{key: "k"}]}}}}`),
			`11:5 policy p, mutations[0]: add spec.template.spec.tolerations [{"key":"k"}]`,
		},
		"literals within literals": {
			apply(`Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: [{"name": "d"}]}}}}`),
			prefix + `error applying patch: failed to convert patch object to typed object: .spec.template.spec.containers: element 0: associative list with keys may not have non-map elements]`,
		},
		"nothing":        {apply(`Object{}`), `10:5 policy p, mutations[0]: no change`},
		"a failed test":  {patch(`[JSONPatch{op: "test", path: "/spec/replicas", value: 3}, JSONPatch{op: "remove", path: "/spec"}]`), `10:5 policy p, mutations[0]: not applied: a test operation of the patch failed, so none of it was applied`},
		"negative index": {patch(`[JSONPatch{op: "replace", path: "/spec/template/spec/containers/-1/image", value: "x"}]`), `10:5 policy p, mutations[0]: replace spec.template.spec.containers[0].image "x"`},
		"null":           {patch(`[JSONPatch{op: "add", path: "/spec/paused", value: null}]`), `10:5 policy p, mutations[0]: add spec.paused null`},
		"filtered nulls": {patch(`object.spec.template.spec.containers.map(c, c.name == "c" ? JSONPatch{op: "remove", path: "/spec/replicas"} : null).filter(p, p != null)`), `10:5 policy p, mutations[0]: remove spec.replicas`},
		"values":         {patch(`[JSONPatch{op: "add", path: "/spec/a", value: Object.spec{b: 1}}, JSONPatch{op: "add", path: "/spec/c", value: {"d": dyn(2)}}, JSONPatch{op: "add", path: "/spec/e", value: object.spec.replicas}]`), `10:5 policy p, mutations[0]: add spec.a {"b":1}; add spec.c {"d":2}; add spec.e 2`},
		"an Object in a list": {
			patch(`[JSONPatch{op: "add", path: "/spec/a", value: [Object{b: 1}]}]`),
			prefix + `the value of JSONPatch "/spec/a" is a list or map that contains an Object literal: Kyverno 1.19.0 crashes on it; write one operation for each item, or maps in place of Object, with dyn() around their values if these are of several types]`,
		},
		"kind": {patch(`[JSONPatch{op: "replace", path: "/kind", value: "Pod"}]`), prefix + `a patch must not change the kind of the object]`},
		"name": {patch(`[JSONPatch{op: "replace", path: "/metadata/name", value: "x"}]`), `10:5 policy p, mutations[0]: replace metadata.name "x"`},
	} {
		compare(t, name, situation{object: deployment, spec: tc.spec}.happens(t), tc.want)
	}
	compare(t, "no schema", situation{object: "apiVersion: example.com/v1\nkind: Gadget\nmetadata: {name: g, namespace: default}", header: strings.Replace(header, `resources: ["*"]`, `resources: ["*"]`, 1), spec: apply(`Object{spec: Object.spec{x: 1}}`)}.happens(t),
		`10:5 policy p, mutations[0]: failed, at once: Resource: default/g, Kind: Gadget, Errors: [Policy p: failed to evaluate policy: error applying patch: there is no schema of example.com/v1, Kind=Gadget; without it only metadata can be merged, but the patch has .spec]`)
}
