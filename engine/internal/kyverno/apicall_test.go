package kyverno

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/kyverno/given"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/internal/snapshot"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// cluster has the objects that answer API calls.
const cluster = `
- {apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop, labels: {tier: front}}, spec: {replicas: 2}}
- {apiVersion: apps/v1, kind: Deployment, metadata: {name: db, namespace: shop, labels: {tier: back}}}
- {apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: other}}
- {apiVersion: v1, kind: Pod, metadata: {name: p, namespace: shop, labels: {tier: front}}}
- {apiVersion: v1, kind: Pod, metadata: {name: q, namespace: shop}}
- {apiVersion: v1, kind: Node, metadata: {name: n1, labels: {foo: bar}}}
- {apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h, namespace: shop}}
- {apiVersion: example.com/v1beta1, kind: Widget, metadata: {name: w, namespace: shop}}
`

const widgets = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.com},
 spec: {group: example.com, scope: Namespaced, names: {plural: widgets, kind: Widget}, versions: [
  {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}, {name: v1beta1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}]}}`

// TestAPICall requests paths while pod p of namespace shop is created. An answer that begins
// with "!" is an error; "~" precedes the warning about an assumption.
func TestAPICall(t *testing.T) {
	for _, c := range []struct{ call, want string }{
		{"urlPath: /version", `{"major":"1","minor":"36"}`},
		{"urlPath: /api/v1/namespaces/shop, jmesPath: metadata.labels", `{"kubernetes.io/metadata.name":"shop","tier":"web"}`},
		{"urlPath: '/api/v1/namespaces/{{ request.namespace }}', jmesPath: metadata.name", `"shop"`},
		{"urlPath: /api/v1/namespaces/nowhere, jmesPath: metadata.labels", `{"kubernetes.io/metadata.name":"nowhere"} ~policy p asks for the namespace, but there is no Namespace "nowhere" in the input; it is assumed to have only the label kubernetes.io/metadata.name`},
		{"urlPath: /api/v1/namespaces, jmesPath: 'items[].metadata.labels.tier'", `["web"]`},
		{"urlPath: /apis/apps/v1/namespaces/shop/deployments/web", `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"labels":{"tier":"front"},"name":"web","namespace":"shop"},"spec":{"replicas":2}}`},
		{"urlPath: /apis/apps/v1/namespaces/shop/deployments//web/, jmesPath: spec.replicas", `2`},
		{"urlPath: /apis/apps/v1/namespaces/shop/deployments, jmesPath: 'items[].metadata.name'", `["db","web"]`},
		{"urlPath: /apis/apps/v1/namespaces/shop/deployments, jmesPath: '[kind, apiVersion, items[0].kind]'", `["DeploymentList","apps/v1",null]`},
		{"urlPath: /apis/apps/v1/deployments, jmesPath: 'items[].metadata.namespace'", `["other","shop","shop"]`},
		{"urlPath: '/apis/apps/v1/deployments?labelSelector=tier%3Dfront', jmesPath: 'items[].metadata.name'", `["web"]`},
		{"urlPath: '/apis/apps/v1/deployments?labelSelector=tier in (front,back),tier!=back', jmesPath: 'items[].metadata.name'", `["web"]`},
		{"urlPath: '/apis/apps/v1/deployments?fieldSelector=metadata.name=web&labelSelector=!tier', jmesPath: 'items[].metadata.namespace'", `["other"]`},
		{"urlPath: /api/v1/nodes/n1, jmesPath: metadata.labels.foo", `"bar"`},
		{"urlPath: /api/v1/namespaces/shop/pods, jmesPath: 'items[].metadata.name'", `["q"]`}, // p does not exist yet
		{"urlPath: /apis/example.com/v1/widgets, jmesPath: 'items[].apiVersion'", `["example.com/v1"]`},
		{"urlPath: /apis/example.com/v1/namespaces/shop/widgets/w, jmesPath: apiVersion", `"example.com/v1"`},

		{"urlPath: /apis/batch/v1/namespaces/shop/jobs, jmesPath: length(items)", `0 ~policy p, rule r, context entry x: there is no Job of namespace shop in the input, so that the list is empty`},
		{"urlPath: /api/v1/namespaces/shop/secrets/s, default: none", `"none" ~policy p, rule r, context entry x: the Secret shop/s is not in the input, so that the default is used`},
		{"urlPath: /api/v1/namespaces/shop/pods/p, default: {a: 1}, jmesPath: spec", `{"a":1} ~policy p, rule r, context entry x: the Pod shop/p is not in the input, so that the default is used`},
		{"urlPath: /api/v1/namespaces/shop/secrets/s", `!the Secret shop/s is not in the input; give it as context, or the value of the entry among the values`},
		{"urlPath: /apis/example.org/v1/things", `!the resource example.org/v1, Resource=things is not known; give its CustomResourceDefinition as context, or the value of the entry among the values`},
		{"urlPath: /api/v1/Pods", `!the resource /v1, Resource=Pods is not known; give its CustomResourceDefinition as context, or the value of the entry among the values`},
		{"urlPath: /api/v1/pods/p", `!a server has nothing at /api/v1/pods/p; correct the path`},
		{"urlPath: /api/v1/namespaces/shop/nodes", `!a server has nothing at /api/v1/namespaces/shop/nodes; correct the path`},
		{"urlPath: /apis/autoscaling/v1/namespaces/shop/horizontalpodautoscalers", `!the input has a HorizontalPodAutoscaler of another version than autoscaling/v1, which only a cluster converts: give the value of the entry among the values`},
		{"urlPath: /apis/autoscaling/v1/namespaces/shop/horizontalpodautoscalers/h", `!the input has a HorizontalPodAutoscaler of another version than autoscaling/v1, which only a cluster converts: give the value of the entry among the values`},
		{"urlPath: '/api/v1/pods?fieldSelector=spec.nodeName=n1'", `!only a cluster selects by other fields than metadata.name and metadata.namespace: give the value of the entry among the values`},
		{"urlPath: '/api/v1/pods?labelSelector=a=,,'", `!the labelSelector of the path is not valid`},
		{"urlPath: '/api/v1/pods?limit=1'", `!a cluster would get it by a call to an API: give its value among the values, under its name`},
		{"urlPath: /apis/apps/v1/namespaces/shop/deployments/web/scale", `!a cluster would get it by a call to an API: give its value among the values, under its name`},
		{"urlPath: /healthz", `!a cluster would get it by a call to an API: give its value among the values, under its name`},
		{"urlPath: api/v1/pods", `!the path is not that of a URL`},
		{"urlPath: /apis/authorization.k8s.io/v1/subjectaccessreviews, method: POST", `!a cluster would get it by a call to an API: give its value among the values, under its name`},
		{"service: {url: 'http://x'}, default: 1", `!a cluster would get it by a call to an API: give its value among the values, under its name`},
	} {
		t.Run(c.call, func(t *testing.T) {
			s, told := scopeOf(t, "ClusterPolicy", c.call)
			value, err := s.query("x")
			got := string(manifest.JSON(value))
			if err != nil {
				got = "!" + strings.TrimPrefix(err.Error(), "context entry x: ")
			}
			if len(*told) > 0 {
				got += " ~" + (*told)[0].Message
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestAPICallOfPolicy checks that a Policy can request only objects of its own namespace.
func TestAPICallOfPolicy(t *testing.T) {
	for path, want := range map[string]string{
		"/api/v1/namespaces/shop/pods":  "",
		"/api/v1/namespaces/other/pods": "the path must lead to namespace shop, to which the policy is confined",
		"/api/v1/nodes/n1":              "the path must lead to namespace shop, to which the policy is confined",
		"/api/v1/namespaces/shop":       "",
		"/api/v1/namespaces":            "the path must lead to namespace shop, to which the policy is confined",
		"/api/v1/namespaces/../pods":    "the path must lead to namespace shop, to which the policy is confined",
	} {
		s, _ := scopeOf(t, "Policy", "urlPath: "+path)
		_, err := s.query("x")
		if got := errorText(err); strings.TrimPrefix(got, "context entry x: ") != want {
			t.Errorf("%s: %s", path, got)
		}
	}
}

// TestConfigMapOfPolicy checks that a Policy can read only ConfigMaps of its own namespace, which an empty namespace means.
func TestConfigMapOfPolicy(t *testing.T) {
	for entry, want := range map[string]string{
		"{name: none, namespace: \"{{ request.object.metadata.labels.x || '' }}\"}": "there is no ConfigMap shop/none in the input; give it as context",
		"{name: none, namespace: other}":                                            "the ConfigMap must be in namespace shop, to which the policy is confined",
	} {
		s, _ := scopeOfEntry(t, "Policy", "configMap: "+entry)
		_, err := s.query("x")
		if got := errorText(err); strings.TrimPrefix(got, "context entry x: ") != want || !errors.As(err, new(*notGiven)) {
			t.Errorf("%s: %s", entry, got)
		}
	}
}

// TestExceptionOperators refuses the operators that Kyverno's definition of exceptions does not have.
func TestExceptionOperators(t *testing.T) {
	for conditions, want := range map[string]int{
		"{all: [{key: a, operator: AnyIn, value: a}]}":                                             0,
		"{all: [{key: a, operator: In, value: a}], any: [{key: a, operator: NotEqual, value: a}]}": 2,
		"[{key: a, operator: AnyIn, value: a}]":                                                    1,
	} {
		stream, _ := manifest.Read("exception", []byte("{apiVersion: kyverno.io/v2, kind: PolicyException, metadata: {name: x}, spec: {match: {any: [{resources: {kinds: [Pod]}}]}, exceptions: [{policyName: p, ruleNames: [r]}], conditions: "+conditions+"}}"))
		r := newReader(stream.Documents()[0])
		if r.exception(); len(r.doc.Problems) != want {
			t.Errorf("%s: %v", conditions, r.doc.Problems)
		}
	}
}

// TestReads checks what a program reads, where its paths name it.
func TestReads(t *testing.T) {
	for path, want := range map[string][]policy.Read{
		"/apis/apps/v1/namespaces/{{ request.namespace }}/deployments/{{ x }}": {{Kind: gvk.Kind{Group: "apps", Version: "v1", Kind: "Deployment"}}},
		"/api/v1/namespaces/shop/configmaps/a":                                 {{Kind: configMapKind, Namespace: "shop", Name: "a"}},
		"/api/v1/namespaces/shop/configmaps/a-{{ x }}":                         {{Kind: configMapKind, Namespace: "shop"}},
		"/api/v1/namespaces/{{ request.namespace }}":                           {{Kind: namespaceKind}},
		"/api/v1/namespaces/shop/{{ request.object.kind }}s":                   {{Kind: policy.AnyKind, Namespace: "shop"}},
		"/apis/example.com/v1/widgets":                                         {{Kind: policy.AnyKind, Resource: gvk.Resource{Group: "example.com", Version: "v1", Resource: "widgets"}}},
		"{{ request.object.path }}":                                            {{Kind: policy.AnyKind}},
		"/version":                                                             nil,
	} {
		s, _ := scopeOf(t, "ClusterPolicy", "urlPath: '"+path+"'")
		got := s.evaluation.program.Reads()
		for i := range got {
			got[i].By, got[i].At = policy.ID{}, source.Position{}
		}
		if got = slices.Compact(got); !slices.Equal(got, want) { // the rules for controllers read the same
			t.Errorf("%s: %v", path, got)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// scopeOf returns the scope of a rule for the creation of pod p, and its warnings. The context
// of the rule has an entry x with an API call.
func scopeOf(t *testing.T, kind, call string) (*scope, *[]source.Diagnostic) {
	t.Helper()
	return scopeOfEntry(t, kind, "apiCall: {"+call+"}")
}

func scopeOfEntry(t *testing.T, kind, entry string) (*scope, *[]source.Diagnostic) {
	t.Helper()
	text := "{apiVersion: kyverno.io/v1, kind: " + kind + ", metadata: {name: p, namespace: shop}, spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, context: [{name: x, " + entry +
		"}], mutate: {patchStrategicMerge: {metadata: {labels: {a: b}}}}}]}}"
	stream, diagnostics := manifest.Read("policy", []byte(text))
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics)
	}
	compiled, diagnostics := New(&given.Values{}, given.UserInfo{}, "default", 36).Compile(stream.Documents(), nil)
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics)
	}
	e := evaluationOf(t, "Pod", object(t, "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: shop}}"), policy.User{}, given.UserInfo{})
	e.program = compiled[0].(*program)
	e.rule = e.program.definitions[0].rules[0]
	if kind == "ClusterPolicy" {
		e.rule.policy.namespace = ""
	}
	var told []source.Diagnostic
	e.request.Name = "p"
	e.request.Warn = func(d source.Diagnostic) { told = append(told, d) }
	e.request.Schemas = schema.Builtin().Clone()
	if problems := e.request.Schemas.AddCRD(object(t, widgets)); len(problems) > 0 {
		t.Fatal(problems)
	}
	list, err := manifest.Value(cluster)
	if err != nil {
		t.Fatal(err)
	}
	shot := snapshotOfShop()
	for _, item := range list.([]any) {
		object := item.(map[string]any)
		apiVersion, _ := object["apiVersion"].(string)
		kind, _ := object["kind"].(string)
		shot.Put(gvk.Parse(apiVersion, kind), namespaceIn(object), nameOf(object), func(*snapshot.Reader) (map[string]any, error) { return object, nil })
	}
	e.request.Snapshot = shot.Reader(nil)
	s := e.newScope(e.rule, e.request.Object)
	s.addContext(e.rule, e.rule.root.At("context"))
	return s, &told
}

func namespaceIn(object map[string]any) string {
	return policy.Node{Value: object}.At("metadata", "namespace").Text()
}

// TestKindAt checks that the kind of a path depends on the cluster's version.
func TestKindAt(t *testing.T) {
	const path = "/apis/storage.k8s.io/v1beta1/volumeattributesclasses/fast"
	beta := gvk.Kind{Group: "storage.k8s.io", Version: "v1beta1", Kind: "VolumeAttributesClass"}
	for minor, want := range map[int]gvk.Kind{34: beta, 37: policy.AnyKind} {
		if got, _ := readAt(path, minor); got.Kind != want {
			t.Errorf("1.%d: got %v, want %v", minor, got, want)
		}
	}
}
