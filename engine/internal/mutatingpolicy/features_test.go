package mutatingpolicy

import (
	"strings"
	"testing"
)

// excepting returns policy p, which applies to everything and adds what exceptions allow, and
// exceptions from it with the given specs.
func excepting(specs ...string) string {
	text := header + `  variables:
  - {name: v, expression: object.data.k}
  mutations:
  - patchType: JSONPatch
    jsonPatch: {expression: '[JSONPatch{op: "add", path: "/data/x", value: exceptions.allowedImages.join(",") + ";" + exceptions.allowedValues.join(",")}]'}
`
	for i, spec := range specs {
		text += "---\napiVersion: policies.kyverno.io/v1beta1\nkind: PolicyException\nmetadata: {name: x" + string(rune('0'+i)) + "}\nspec:\n  policyRefs: [{name: p, kind: MutatingPolicy}]\n" + spec + "\n"
	}
	return text
}

func TestExceptions(t *testing.T) {
	const matching = "  matchConditions: [{name: m, expression: 'object.data.k == \"v\"'}]"
	const other = "  matchConditions: [{name: m, expression: 'object.data.k == \"w\"'}]"
	const broken = "  matchConditions: [{name: m, expression: 'object.nope == 1'}]"
	for name, tc := range map[string]struct {
		situation
		want string
	}{
		"none":               {situation{policies: excepting()}, `12:5 policy p, mutations[0]: add data.x ";"`},
		"without conditions": {situation{policies: excepting("")}, `17:18 policy p: not applied: PolicyException x0 excepts the object`},
		"that applies":       {situation{policies: excepting(other, matching)}, `24:18 policy p: not applied: PolicyException x1 excepts the object`},
		"that does not":      {situation{policies: excepting(other)}, `12:5 policy p, mutations[0]: add data.x ";"`},
		"in part": {
			situation{policies: excepting("  images: [a, b]\n"+matching, "  allowedValues: [c]\n"+matching, "  images: [d]\n"+other)},
			`12:5 policy p, mutations[0]: add data.x "a,b;c"`,
		},
		"in part and in full": {situation{policies: excepting("  images: [a, b]", "")}, `24:18 policy p: not applied: PolicyException x1 excepts the object`},
		"that is broken": {
			situation{policies: excepting(broken, matching)},
			`20:43 policy p: failed: Resource: default/c, Kind: ConfigMap, Errors: [Policy p: failed to evaluate policy: no such key: nope]`,
		},
		"that is broken after one that applies": {situation{policies: excepting(matching, broken)}, `17:18 policy p: not applied: PolicyException x0 excepts the object`},
		"that ends": {
			situation{policies: excepting("  expiresAt: 2024-01-01T00:00:00Z")},
			`20:14 warning[exception-expires]: the PolicyException x0 is taken not to have expired: it does at 2024-01-01T00:00:00Z
17:18 policy p: not applied: PolicyException x0 excepts the object`,
		},
		"that has ended":     {situation{policies: excepting("  expiresAt: 2024-01-01T00:00:00Z"), values: `globalValues: {"time.now()": "2024-01-01T00:00:01Z"}`}, `12:5 policy p, mutations[0]: add data.x ";"`},
		"that has not ended": {situation{policies: excepting("  expiresAt: 2024-01-01T00:00:00Z"), values: `globalValues: {"time.now()": "2023-01-01T00:00:01Z"}`}, `17:18 policy p: not applied: PolicyException x0 excepts the object`},
		"with variables": {
			situation{policies: excepting("  matchConditions: [{name: m, expression: 'variables.v == \"v\"'}]")},
			`20:43 warning[kyverno-differs]: policy p: Kyverno fails if a condition of an exception reads variables: no such attribute(s): variables
20:43 policy p: failed: Resource: default/c, Kind: ConfigMap, Errors: [Policy p: failed to evaluate policy: no such attribute(s): variables]`,
		},
		"with variables that do not count": {
			situation{policies: excepting("  matchConditions: [{name: m, expression: 'variables.v == \"v\"'}, {name: o, expression: 'false'}]")},
			`12:5 policy p, mutations[0]: add data.x ";"`,
		},
		"of another kind": {situation{policies: strings.Replace(excepting(""), "kind: MutatingPolicy}", "kind: NamespacedMutatingPolicy}", 1)}, `12:5 policy p, mutations[0]: add data.x ";"`},
	} {
		compare(t, name, tc.happens(t), tc.want)
	}
	// Conditions see a controller itself, not as a pod.
	policies := podHeader + `  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration: {expression: 'Object{spec: Object.spec{hostNetwork: true}}'}
---
apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata: {name: x}
spec:
  policyRefs: [{name: p, kind: MutatingPolicy}]
  matchConditions: [{name: m, expression: 'has(object.spec.replicas) && object.metadata.labels.app == "outer"'}]
`
	compare(t, "of a controller", situation{policies: policies, object: deployment}.happens(t), `15:18 policy p: not applied: PolicyException x excepts the object`)
}

const pod = `
apiVersion: v1
kind: Pod
metadata: {name: d, namespace: default, labels: {app: inner}}
spec: {containers: [{name: c, image: nginx}]}`

const cronJob = `
apiVersion: batch/v1
kind: CronJob
metadata: {name: d, namespace: default}
spec:
  schedule: "* * * * *"
  jobTemplate:
    spec:
      template:
        spec: {containers: [{name: c, image: nginx}], restartPolicy: Never}`

// TestControllers checks policies for pods on controllers; warnings describe the deviations of
// Kyverno v1.19.0.
func TestControllers(t *testing.T) {
	apply := func(expression string) string {
		return "mutations:\n- patchType: ApplyConfiguration\n  applyConfiguration:\n    expression: |-\n      " + expression
	}
	patch := func(expression string) string {
		return "mutations:\n- patchType: JSONPatch\n  jsonPatch:\n    expression: |-\n      " + expression
	}
	const hostNetwork = `Object{spec: Object.spec{hostNetwork: true}}`
	for name, tc := range map[string]struct {
		situation
		want string
	}{
		"a pod":        {situation{object: pod, spec: apply(hostNetwork)}, `10:5 policy p, mutations[0]: add spec.hostNetwork true`},
		"a deployment": {situation{spec: apply(hostNetwork)}, `10:5 policy p, mutations[0] (autogen defaults): add spec.template.spec.hostNetwork true`},
		"a cron job":   {situation{object: cronJob, spec: apply(hostNetwork)}, `10:5 policy p, mutations[0] (autogen cronjobs): add spec.jobTemplate.spec.template.spec.hostNetwork true`},
		"none wanted": {
			situation{spec: "autogen: {podControllers: {controllers: []}}\n" + apply(hostNetwork)},
			`4:9 policy p: not applied: matchConstraints: resourceRules: none covers apps/v1 deployments CREATE`,
		},
		"some wanted": {
			situation{object: cronJob, spec: "autogen: {podControllers: {controllers: [deployments, unknown]}}\n" + apply(hostNetwork)},
			`4:9 policy p: not applied: matchConstraints: resourceRules: none covers batch/v1 cronjobs CREATE`,
		},
		"a selector": {
			situation{header: podHeader + "    objectSelector: {matchLabels: {app: inner}}\n", spec: apply(hostNetwork)},
			`4:9 policy p: not applied: matchConstraints: resourceRules: none covers apps/v1 deployments CREATE`,
		},
		"of a namespace": {
			situation{header: podHeader + "    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: other}}\n", spec: apply(hostNetwork)},
			`4:9 policy p: not applied: matchConstraints: namespaceSelector: namespace "default" has no label kubernetes.io/metadata.name=other`,
		},
		"a ReplicationController": {
			situation{object: strings.Replace(deployment, "apps/v1\nkind: Deployment", "v1\nkind: ReplicationController", 1), spec: apply(hostNetwork)},
			`4:9 policy p: not applied: matchConstraints: resourceRules: none covers v1 replicationcontrollers CREATE`,
		},
		"conditions and labels": {
			situation{spec: "matchConditions:\n- {name: m, expression: 'object.metadata.labels.app == \"inner\" && has(object.spec.containers)'}\n" + apply(`Object{spec: Object.spec{nodeName: object.metadata.name + object.metadata.namespace + object.kind}}`)},
			`12:5 policy p, mutations[0] (autogen defaults): add spec.template.spec.nodeName "ddefaultDeployment"`,
		},
		"R1: metadata": {
			situation{spec: apply(`Object{metadata: Object.metadata{labels: {"x": "y"}}}`)},
			`10:5 warning[kyverno-differs]: policy p: Kyverno does not rewrite Object.metadata, so that the policy fails for controllers: it fails for a Deployment
10:5 policy p, mutations[0] (autogen defaults): failed: Resource: default/d, Kind: Deployment, Errors: [Policy p: failed to evaluate policy: type mismatch: unexpected type name "Object.metadata", expected "Object.spec.template.metadata", which matches field name path from root Object type]`,
		},
		"R2: no literal": {
			situation{spec: apply(`has(object.spec.hostNetwork) ? Object{} : ` + hostNetwork)},
			`10:5 warning[kyverno-differs]: policy p: Kyverno rewrites only expressions that begin with Object{, so that others fail for controllers: it fails for a Deployment
10:5 policy p, mutations[0] (autogen defaults): failed: Resource: default/d, Kind: Deployment, Errors: [Policy p: failed to evaluate policy: type mismatch: unexpected type name "Object.spec.template.spec", expected "Object.spec", which matches field name path from root Object type]`,
		},
		"R3: a patch": {
			situation{spec: patch(`[JSONPatch{op: "add", path: "/spec/hostNetwork", value: true}, JSONPatch{op: "add", path: "/metadata/labels/x", value: "y"}]`)},
			`10:5 policy p, mutations[0] (autogen defaults): add metadata.labels.x "y"; add spec.hostNetwork true`,
		},
		"R3: a patch that fails": {
			situation{spec: "failurePolicy: Ignore\n" + patch(`object.spec.containers.map(c, JSONPatch{op: "replace", path: "/spec/containers/" + string(object.spec.containers.indexOf(c)) + "/image", value: "r/" + c.image})`)},
			`11:5 policy p, mutations[0] (autogen defaults): failed, ignored: Resource: default/d, Kind: Deployment, Errors: [Policy p: failed to evaluate policy: no such key: containers]`,
		},
		"R4: variables": {
			situation{spec: "variables:\n- {name: size, expression: object.spec.containers.size()}\n" + apply(`Object{spec: Object.spec{priority: variables.size}}`)},
			`12:5 warning[kyverno-differs]: policy p: Kyverno does not rewrite variables, so that they read the controller in place of its pod template: it fails for a Deployment
12:5 policy p, mutations[0] (autogen defaults): failed: Resource: default/d, Kind: Deployment, Errors: [Policy p: failed to evaluate policy: no such key: containers]`,
		},
		"R5: texts": {
			situation{spec: apply(`Object{spec: Object.spec{nodeName: "object.spec"}}`)},
			`10:5 policy p, mutations[0] (autogen defaults): add spec.template.spec.nodeName "object.spec.template.spec"`,
		},
		"R5: braces": {
			situation{spec: apply(`Object{spec: Object.spec{nodeName: "}}"}}`)},
			`4:9 policy p: not applied: the policy does nothing: Kyverno cannot compile its version for controllers, and has no policy then: spec.mutations[0].applyConfiguration.expression: Invalid value: ERROR: <input>:1:107: Syntax error: mismatched input '<EOF>' expecting {'}', ','}`,
		},
		"R5: braces, for a pod": {
			situation{object: pod, spec: apply(`Object{spec: Object.spec{nodeName: "}}"}}`)},
			`4:9 policy p: not applied: the policy does nothing: Kyverno cannot compile its version for controllers, and has no policy then: spec.mutations[0].applyConfiguration.expression: Invalid value: ERROR: <input>:1:107: Syntax error: mismatched input '<EOF>' expecting {'}', ','}`,
		},
		"R5: an index": {
			situation{spec: "matchConditions:\n- {name: m, expression: 'object[\"spec\"].containers.size() == 1'}\n" + apply(hostNetwork)},
			`10:27 warning[kyverno-differs]: policy p: Kyverno replaces texts in expressions for controllers, in literals, too, and misses object["spec"] and object.?spec: it fails for a Deployment
10:27 policy p: failed: Resource: default/d, Kind: Deployment, Errors: [Policy p: failed to evaluate policy: no such key: containers]`,
		},
		"R5: an optional": {
			situation{spec: "matchConditions:\n- {name: m, expression: 'object.?spec.?containers.hasValue()'}\n" + apply(hostNetwork)},
			`10:27 policy p: not applied: matchConditions[0] "m" is false`,
		},
		"a template without metadata": {
			situation{object: cronJob, spec: "matchConditions:\n- {name: m, expression: '!has(object.metadata.labels)'}\n" + patch(`[JSONPatch{op: "add", path: "/metadata/labels", value: {"x": "y"}}]`)},
			`10:27 warning[kyverno-differs]: policy p: Kyverno replaces texts in expressions for controllers, in literals, too, and misses object["spec"] and object.?spec: it fails for a CronJob
10:27 policy p: failed: Resource: default/d, Kind: CronJob, Errors: [Policy p: failed to evaluate policy: no such key: metadata]`,
		},
		"what a template does not have": {
			situation{spec: patch(`[JSONPatch{op: "add", path: "/status", value: {"x": "y"}}]`)},
			`10:5 policy p, mutations[0] (autogen defaults): add status {"x":"y"}`,
		},
		"metadata that only a pod of its own has": {
			situation{spec: patch(`[JSONPatch{op: "add", path: "/metadata/finalizers", value: ["x"]}, JSONPatch{op: "remove", path: "/metadata/labels"}]`)},
			`10:5 policy p, mutations[0] (autogen defaults): add metadata.finalizers ["x"]; remove metadata.labels`,
		},
		"the object before an update": {
			situation{operation: "UPDATE", old: strings.Replace(deployment, "image: nginx", "image: old", 1), header: strings.Replace(podHeader, "CREATE", "UPDATE", 1), spec: apply(`Object{spec: Object.spec{nodeName: oldObject.spec.containers[0].image + request.oldObject.spec.containers[0].image + request.object.spec.containers[0].image}}`)},
			`10:5 policy p, mutations[0] (autogen defaults): add spec.template.spec.nodeName "oldoldnginx"`,
		},
	} {
		if tc.header == "" {
			tc.header = podHeader
		}
		if tc.object == "" {
			tc.object = deployment
		}
		compare(t, name, tc.happens(t), tc.want)
	}
}

// TestWorld checks the answers for functions.
func TestWorld(t *testing.T) {
	const others = `
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
kind: Namespace
metadata: {name: other, labels: {a: b}}
---
apiVersion: example.com/v1
kind: Gadget
metadata: {name: g, namespace: default}
spec: {k: gadget}
---
apiVersion: kyverno.io/v2beta1
kind: GlobalContextEntry
metadata: {name: maps}
spec:
  kubernetesResource: {group: "", version: v1, resource: configmaps}
  projections: [{name: names, jmesPath: '[].metadata.name'}]
---
apiVersion: kyverno.io/v2alpha1
kind: GlobalContextEntry
metadata: {name: called}
spec: {apiCall: {urlPath: /x}}
---
apiVersion: autoscaling/v1
kind: HorizontalPodAutoscaler
metadata: {name: h, namespace: default}
`
	const values = `
globalValues: {"time.now()": "2024-01-02T03:04:05Z", "random()": {"[a-z]": "q", "[0-9a-z]{8}": "abcdefgh"}}
apiCallResponses:
- {url: https://x, response: {body: {a: 1}}}
- {url: https://y, method: POST, response: {statusCode: 201, body: [1, 2]}}
- {urlPath: /api/v1/namespaces/default/pods/web/log, response: {body: {lines: 3}}}
- {urlPath: /apis/authorization.k8s.io/v1/subjectaccessreviews, method: POST, response: {body: {status: {allowed: true}}}}
globalContextEntries:
- {name: given, data: {a: {b: [1, 2]}}, fieldPath: a, projections: [{name: first, path: 'b[0]'}]}
- {name: objects, resources: [{kind: X}]}
`
	const context = `
apiVersion: cli.kyverno.io/v1alpha1
kind: Context
spec:
  resources:
  - {apiVersion: v1, kind: Secret, metadata: {name: s, namespace: default}, data: {k: eA==}}
  images:
  - {image: nginx, registry: index.docker.io, config: {architecture: arm64}}
`
	const fail = "10:5 policy p, mutations[0]: failed: Resource: default/c, Kind: ConfigMap, Errors: [Policy p: failed to evaluate policy: "
	for expression, want := range map[string]string{
		`resource.Get("v1", "configmaps", "default", "one").data.k`:                                                        `"one"`,
		`resource.Get("v1", "secrets", "default", "s").data.k`:                                                             `"eA=="`,
		`dyn(resource.List("v1", "configmaps", "")).items.map(i, string(i.data.k)).join(",")`:                              `"one,two"`,
		`resource.List("v1", "configmaps", "other").items[0].data.k`:                                                       `"two"`,
		`string(dyn(resource.List("v1", "configmaps", "", {"a": "b"})).items.size())`:                                      `"1"`,
		`resource.Get("v1", "namespaces", "", "other").metadata.labels.a`:                                                  `"b"`,
		`resource.Get("example.com/v1", "gadgets", "default", "g").spec.k`:                                                 `"gadget"`,
		`resource.Get(resource.ToGVR("v1", "ConfigMap"), "default", "one").data.k`:                                         `"one"`,
		`string(resource.Get("v1", "pods/log", "default", "web").lines)`:                                                   `"3"`,
		`string(resource.Post("authorization.k8s.io/v1", "subjectaccessreviews", {"spec": {"user": "x"}}).status.allowed)`: `"true"`,
		`resource.Get("v1", "configmaps", "default", "none").data`: `4:9 warning[api-call-assumed]: policy p looks up configmaps default/none, which is not in the input and is taken not to exist
` + fail + `no such key: data]`,
		`string(dyn(resource.List("v1", "pods", "default")).items.size())`: `4:9 warning[api-call-assumed]: policy p lists pods in namespace default, of which there are none in the input
10:5 policy p, mutations[0]: add data.x "0"`,
		`resource.Get("v1", "namespaces", "", "nobody").metadata.name`: `4:9 warning[namespace-assumed]: policy p looks it up, but there is no Namespace "nobody" in the input; it is assumed to have only the label kubernetes.io/metadata.name
10:5 policy p, mutations[0]: add data.x "nobody"`,
		`resource.Get("example.com/v1", "gizmos", "default", "g").spec.k`:                 fail + `failed to get resource: there is no resource gizmos of example.com/v1; if the cluster has it, give its CustomResourceDefinition as context]`,
		`resource.Get("autoscaling/v2", "horizontalpodautoscalers", "default", "h").kind`: fail + `failed to get resource: the input has a HorizontalPodAutoscaler of another version than autoscaling/v2, which only a cluster converts]`,
		`resource.Get("v1", "pods/exec", "default", "web").kind`:                          fail + `failed to get resource: what a cluster has as exec of pods is not known; give it in the values, as apiCallResponses, with the urlPath of the request]`,
		`resource.Get(resource.ToGVR("v1", "Nope"), "default", "one").kind`:               fail + `failed to map kind to resource: no matches for kind "Nope" in version "v1"; if the cluster has it, give its CustomResourceDefinition as context]`,
		`resource.Post("v1", "pods", "ns", {"a": "b"}).kind`:                              fail + `failed to create resource: the answer of a cluster to POST /api/v1/namespaces/ns/pods is not known; give it in the values, as apiCallResponses, with that urlPath]`,
		`string(http.Get("https://x").a) + string(http.Get("https://x").statusCode)`:      `"1200"`,
		`string(http.Post("https://y", {"z": 1}).body[1])`:                                `"2"`,
		`string(http.Get("https://z"))`:                                                   fail + `request failed: no connection is made; what http.Get would be answered by https://z is not known: give it in the values, as apiCallResponses]`,
		`string(http.Get("https://y"))`:                                                   fail + `request failed: no connection is made; what http.Get would be answered by https://y is not known: give it in the values, as apiCallResponses]`,
		`image.GetMetadata("nginx").config.architecture`:                                  `"arm64"`,
		`image.GetMetadata("redis").config.architecture`:                                  fail + `failed to get image data: no registry is asked, and the metadata of image redis are not known: give it in a document of kind Context, as spec.images, with the option context]`,
		`globalContext.Get("maps").map(m, string(m.metadata.name)).join(",")`:             `"one,two"`,
		`globalContext.Get("maps", "names").map(n, string(n)).join(",")`:                  `"one,two"`,
		`globalContext.Get("maps", "nope")`:                                               fail + `failed to get global reference: projection "nope" not found]`,
		`string(globalContext.Get("given").b[1])`:                                         `"2"`,
		`string(globalContext.Get("given", "first"))`:                                     `"1"`,
		`globalContext.Get("objects")[0].kind`:                                            `"X"`,
		`globalContext.Get("called")`:                                                     fail + `failed to get global reference: GlobalContextEntry called is what a call to an API gives, and none is made; give the GlobalContextEntry as context, or its value in the values, as globalContextEntries]`,
		`globalContext.Get("none")`:                                                       fail + `failed to get global reference: there is no GlobalContextEntry none in the input; give the GlobalContextEntry as context, or its value in the values, as globalContextEntries]`,
		`string(time.now())`:                                                              `"2024-01-02T03:04:05Z"`,
		`random() + random("[a-z]")`:                                                      `"abcdefghq"`,
		`random("x")`:                                                                     fail + `random() has another value in every run: give it in the values, as the global value "random()", or below it for the expression "x"]`,
	} {
		if strings.HasPrefix(want, `"`) {
			want = "10:5 policy p, mutations[0]: add data.x " + want
		}
		compare(t, expression, situation{cluster: others, values: values, context: context, spec: add("x", expression)}.happens(t), want)
	}
	compare(t, "no time", situation{spec: add("x", "string(time.now())")}.happens(t), fail+`time.now() has another value in every run: give it in the values, as the global value "time.now()"]`)
	compare(t, "a wrong time", situation{values: `globalValues: {"time.now()": soon}`, spec: add("x", "string(time.now())")}.happens(t), fail+`the global value "time.now()" is not a time like 2006-01-02T15:04:05Z]`)
	compare(t, "in a namespace", situation{header: strings.Replace(header, "kind: M", "kind: NamespacedM", 1), cluster: others, spec: add("x", `resource.Get("v1", "configmaps", "one").data.k + resource.List("v1", "configmaps").items[0].data.k`)}.happens(t),
		`10:5 policy default/p, mutations[0]: add data.x "oneone"`)
}
