package mapolicy

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/celenv"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/internal/snapshot"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// A situation is a set of policies and one request. The object is not defaulted, not even
// between mutations.
type situation struct {
	// policies are the policies. If empty, there is one policy p with a binding b. Their specs
	// have the given fields, from line 5, and the given mutations.
	policies                   string
	fields, mutations, binding string
	object                     string           // a ConfigMap if empty
	operation                  policy.Operation // CREATE if empty
	// surroundings are CustomResourceDefinitions, Namespaces and params.
	surroundings string
	minor        int // 36 if zero
}

// happens runs the policies once and returns the events, one per line, with their positions:
//
//	PLACE ID: not applied: REASON
//	PLACE ID: failed[, ignored][, at once]: ERROR
//	PLACE ID: CHANGE; CHANGE
//	PLACE warning: TEXT
func (s situation) happens(t *testing.T) string {
	t.Helper()
	s = s.complete()
	programs, diagnostics := New(s.minor, celenv.AllowAll).Compile(documents(t, "p.yaml", s.policies), nil)
	if source.HasErrors(diagnostics) {
		t.Fatal(diagnostics)
	}
	var lines []string
	tell := func(at source.Position, id policy.ID, format string, args ...any) {
		lines = append(lines, fmt.Sprintf("%d:%d %s: ", at.Line, at.Column, id)+fmt.Sprintf(format, args...))
	}
	fail := func(f policy.Failure) {
		tell(f.At, f.ID, "failed%s%s: %v", map[bool]string{true: ", ignored"}[f.Ignored], map[bool]string{true: ", at once"}[f.Abort], f.Err)
	}
	r := s.request(t)
	r.Warn = func(d source.Diagnostic) {
		lines = append(lines, fmt.Sprintf("%d:%d warning: %s", d.At.Line, d.At.Column, d.Message))
	}
	plan := programs[0].Plan(r)
	for _, n := range plan.NotApplied {
		tell(n.At, n.ID, "not applied: %s", n.Reason)
	}
	for _, f := range plan.Failures {
		fail(f)
	}
	for _, invocation := range plan.Invocations {
		notApplied, failure := invocation.Conditions(r)
		switch {
		case notApplied != nil:
			tell(notApplied.At, notApplied.ID, "not applied: %s", notApplied.Reason)
			continue
		case failure != nil:
			fail(*failure)
			continue
		}
		for step := range invocation.Steps(r) {
			switch {
			case step.Failure != nil:
				fail(*step.Failure)
				continue
			case step.NotApplied != nil:
				tell(step.NotApplied.At, step.NotApplied.ID, "not applied: %s", step.NotApplied.Reason)
				continue
			}
			tell(step.At, step.ID, "%s", changes(r.Object, step.Object))
			r.Object = step.Object
		}
	}
	return strings.Join(lines, "\n")
}

// request is the request for the object.
func (s situation) request(t *testing.T) *policy.Request {
	t.Helper()
	schemas := schema.Builtin().Clone()
	shot := &snapshot.Snapshot{}
	for _, d := range documents(t, "surroundings.yaml", s.surroundings) {
		object := d.Object()
		if d.Kind().Kind == "CustomResourceDefinition" {
			if problems := schemas.AddCRD(object); len(problems) > 0 {
				t.Fatal(problems)
			}
			continue
		}
		shot.Put(d.Kind(), d.Namespace(), d.Name(), func(*snapshot.Reader) (map[string]any, error) { return object, nil })
	}
	d := documents(t, "object.yaml", s.object)[0]
	kind := schemas.Lookup(d.Kind())
	if kind == nil {
		kind = schemas.Unknown(d.Kind())
	}
	return &policy.Request{
		Context: t.Context(), Kind: kind, Name: d.Name(), Namespace: d.Namespace(), Operation: s.operation,
		Object: d.Object(), Schemas: schemas, Snapshot: shot.Reader(nil),
	}
}

func documents(t *testing.T, name, text string) []*manifest.Document {
	t.Helper()
	stream, diagnostics := manifest.Read(name, []byte(text))
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics)
	}
	return stream.Documents()
}

func changes(before, after map[string]any) string {
	var texts []string
	for _, c := range change.Diff(before, after, nil) {
		texts = append(texts, fmt.Sprintf("%s %s %s", c.Op, c.Path, manifest.JSON(c.New)))
	}
	return strings.Join(texts, "; ")
}

const (
	configMap  = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop, labels: {app: web}}}"
	everything = `  matchConstraints: {resourceRules: [{apiGroups: ["*"], apiVersions: ["*"], resources: ["*"], operations: ["*"]}]}` + "\n"
	label      = `  - {patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{metadata: Object.metadata{labels: {"a": "b"}}}'}}` + "\n"
)

// complete sets the missing fields of the situation.
func (s situation) complete() situation {
	s.minor = cmp.Or(s.minor, 36)
	s.operation = cmp.Or(s.operation, policy.Create)
	s.object = cmp.Or(s.object, configMap)
	if s.policies == "" {
		s.policies = "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingAdmissionPolicy\nmetadata: {name: p}\nspec:\n" +
			cmp.Or(s.fields, everything) + "  mutations:\n" + cmp.Or(s.mutations, label) + "  reinvocationPolicy: Never\n---\n" +
			"apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingAdmissionPolicyBinding\nmetadata: {name: b}\nspec:\n  policyName: p\n" + s.binding
	}
	return s
}

// TestNotApplied checks, for every part of a policy that can prevent it for an object, the
// position and the text of the reason.
func TestNotApplied(t *testing.T) {
	constraints := func(rule, more string) string {
		return `  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE]` + rule + "}]" + more + "}\n"
	}
	const applied = "7:5 policy p, binding b, mutations[0]: add metadata.labels.a \"b\""
	for _, tc := range []struct {
		name string
		situation
		want string
	}{
		{"applied", situation{}, applied},
		{
			"other kind",
			situation{fields: constraints("", ""), object: "{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: shop}}"},
			"3:18 policy p: not applied: matchConstraints: resourceRules: none covers v1 secrets CREATE",
		},
		{
			"other operation",
			situation{fields: constraints("", ""), operation: policy.Update},
			"3:18 policy p: not applied: matchConstraints: resourceRules[0] covers v1 configmaps, but only for CREATE, not UPDATE",
		},
		{
			"other scope",
			situation{fields: constraints(", scope: Cluster", "")},
			"3:18 policy p: not applied: matchConstraints: resourceRules[0] has scope Cluster, but the object is in namespace \"shop\"",
		},
		{
			"other name",
			situation{fields: constraints(", resourceNames: [d]", "")},
			"3:18 policy p: not applied: matchConstraints: resourceRules[0] has resourceNames without \"c\"",
		},
		{
			"no name yet",
			situation{fields: constraints(", resourceNames: [d]", ""), object: "{apiVersion: v1, kind: ConfigMap, metadata: {generateName: d, namespace: shop}}"},
			"3:18 policy p: not applied: matchConstraints: resourceRules[0] has resourceNames, but the object has no name yet",
		},
		{
			"excluded",
			situation{fields: constraints("", `, excludeResourceRules: [{apiGroups: [""], apiVersions: ["*"], resources: ["*"], operations: [CREATE]}]`)},
			"3:18 policy p: not applied: matchConstraints: excludeResourceRules[0] covers v1 configmaps CREATE",
		},
		{
			"object selector",
			situation{fields: constraints("", ", objectSelector: {matchLabels: {app: shop}}")},
			"3:18 policy p: not applied: matchConstraints: objectSelector: the object has no label app=shop",
		},
		{
			"namespace selector",
			situation{
				fields:       constraints("", ", namespaceSelector: {matchExpressions: [{key: env, operator: NotIn, values: [test]}]}"),
				surroundings: "{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {env: test}}}",
			},
			"3:18 policy p: not applied: matchConstraints: namespaceSelector: namespace \"shop\" has a label env in (test)",
		},
		{
			"unknown namespace",
			situation{fields: constraints("", ", namespaceSelector: {matchLabels: {env: test}}")},
			"3:18 warning: policy p selects namespaces by label, but there is no Namespace \"shop\" in the input; it is assumed to have only the label kubernetes.io/metadata.name\n" +
				"3:18 policy p: not applied: matchConstraints: namespaceSelector: namespace \"shop\" has no label env=test",
		},
		{
			"unknown resource",
			situation{
				fields: "  matchConstraints: {resourceRules: [{apiGroups: [example.com], apiVersions: [v1], resources: [cups], operations: [CREATE]}]}\n",
				object: "{apiVersion: example.com/v1, kind: Cup, metadata: {name: c, namespace: shop}}",
			},
			"3:18 warning: policy p: resourceRules[0] may cover example.com/v1, Kind=Cup, whose resource is not known: give its CustomResourceDefinition\n" +
				"3:18 policy p: not applied: matchConstraints: resourceRules[0] may cover example.com/v1, Kind=Cup, whose resource is not known: give its CustomResourceDefinition",
		},
		{"hidden kind", situation{object: "{apiVersion: authentication.k8s.io/v1, kind: TokenReview, metadata: {name: t}}"}, ""},

		{
			"binding, other name",
			situation{binding: `  matchResources: {resourceRules: [{apiGroups: ["*"], apiVersions: ["*"], resources: ["*"], operations: ["*"], resourceNames: [d]}]}`},
			"14:3 policy p, binding b: not applied: matchResources of the binding: resourceRules[0] has resourceNames without \"c\"",
		},
		{
			"binding, excluded",
			situation{binding: `  matchResources: {excludeResourceRules: [{apiGroups: ["*"], apiVersions: ["*"], resources: ["*"], operations: ["*"]}]}`},
			"14:3 policy p, binding b: not applied: matchResources of the binding: excludeResourceRules[0] covers v1 configmaps CREATE",
		},
		{
			"binding, object selector",
			situation{binding: "  matchResources: {objectSelector: {matchExpressions: [{key: app, operator: DoesNotExist}]}}"},
			"14:3 policy p, binding b: not applied: matchResources of the binding: objectSelector: the object has the label app",
		},
		{"binding, all of it", situation{binding: "  matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: shop}}}"}, applied},

		{
			"condition",
			situation{fields: everything + "  matchConditions:\n  - {name: first, expression: 'true'}\n  - {name: second, expression: 'object.metadata.name == \"d\"'}\n  - {name: third, expression: 'false'}\n"},
			"8:32 policy p, binding b: not applied: matchConditions[1] \"second\" is false",
		},
		{
			"condition, in spite of an error",
			situation{fields: everything + "  matchConditions:\n  - {name: first, expression: 'object.nope == 1'}\n  - {name: second, expression: 'false'}\n"},
			"8:32 policy p, binding b: not applied: matchConditions[1] \"second\" is false",
		},
		{
			"conditions that fail, ignored",
			situation{fields: everything + "  failurePolicy: Ignore\n  matchConditions:\n  - {name: first, expression: 'object.nope == 1'}\n"},
			"8:31 policy p, binding b: failed, ignored: policy 'p' with binding 'b' denied request: expression 'object.nope == 1' resulted in error: no such key: nope",
		},
		{
			"no params",
			situation{fields: everything + "  paramKind: {apiVersion: v1, kind: ConfigMap}\n", binding: "  paramRef: {name: q, parameterNotFoundAction: Allow}"},
			"16:13 warning: policy p, binding b: there is no ConfigMap q in the namespace of the object, so the policy does nothing, as parameterNotFoundAction Allow says\n15:3 policy p, binding b: not applied: there are no params, and parameterNotFoundAction is Allow",
		},
		{
			"a test of a patch",
			situation{mutations: `  - {patchType: JSONPatch, jsonPatch: {expression: '[JSONPatch{op: "test", path: "/metadata/name", value: "d"}, JSONPatch{op: "remove", path: "/metadata/name"}]'}}` + "\n" + label},
			"7:5 policy p, binding b, mutations[0]: not applied: a test operation of the patch failed, so none of it was applied\n8:5 policy p, binding b, mutations[1]: add metadata.labels.a \"b\"",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.happens(t); got != tc.want {
				t.Errorf("got\n%s\nwant\n%s", got, tc.want)
			}
		})
	}
}

// TestFailures checks what fails, at which position, whether the failurePolicy applies, and that
// the rest of the policy continues.
func TestFailures(t *testing.T) {
	const (
		denied = "policy 'p' with binding 'b' denied request: "
		bad    = "  - {patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{metadata: Object.metadata{name: string(object.nope)}}'}}\n"
		noKey  = "expression 'Object{metadata: Object.metadata{name: string(object.nope)}}' resulted in error: no such key: nope"
		ignore = everything + "  failurePolicy: Ignore\n"
		cup    = "{apiVersion: example.com/v1, kind: Cup, metadata: {name: c, namespace: shop}}"
	)
	patch := func(operation string) string {
		return "  - {patchType: JSONPatch, jsonPatch: {expression: '[JSONPatch{" + operation + "}]'}}\n"
	}
	for _, tc := range []struct {
		name string
		situation
		want string
	}{
		{
			"the rest goes on",
			situation{mutations: bad + label},
			"7:5 policy p, binding b, mutations[0]: failed: " + denied + noKey + "\n8:5 policy p, binding b, mutations[1]: add metadata.labels.a \"b\"",
		},
		{
			"ignored",
			situation{fields: ignore, mutations: label + bad},
			"8:5 policy p, binding b, mutations[0]: add metadata.labels.a \"b\"\n9:5 policy p, binding b, mutations[1]: failed, ignored: " + denied + noKey,
		},
		{
			"conditions",
			situation{fields: everything + "  matchConditions:\n  - {name: a, expression: 'object.nope == 1'}\n  - {name: b, expression: 'object.neither == 1'}\n"},
			"7:27 policy p, binding b: failed: " + denied + "[expression 'object.nope == 1' resulted in error: no such key: nope, expression 'object.neither == 1' resulted in error: no such key: neither]",
		},
		{
			"a variable",
			situation{fields: everything + "  variables: [{name: v, expression: 'object.nope'}]\n", mutations: "  - {patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{metadata: Object.metadata{name: variables.v}}'}}\n"},
			"8:5 policy p, binding b, mutations[0]: failed: " + denied + `expression 'Object{metadata: Object.metadata{name: variables.v}}' resulted in error: composited variable "v" fails to evaluate: no such key: nope`,
		},
		{
			"an atomic list",
			situation{mutations: `  - {patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{metadata: Object.metadata{ownerReferences: [Object.metadata.ownerReferences{uid: "1"}]}}'}}` + "\n"},
			"7:5 policy p, binding b, mutations[0]: failed: " + denied + "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .metadata.ownerReferences[0]",
		},
		{
			"a patch of nothing",
			situation{mutations: patch(`op: "remove", path: "/nope"`)},
			"7:5 policy p, binding b, mutations[0]: failed: " + denied + "JSON Patch: error in remove for path: '/nope': Unable to remove nonexistent key: nope: missing value",
		},
		{
			"a result that cannot be read",
			situation{fields: ignore, mutations: patch(`op: "add", path: "/data", value: 1`)},
			"8:5 policy p, binding b, mutations[0]: failed, at once: Internal error occurred: json: cannot unmarshal number into Go struct field ConfigMap.data of type map[string]string",
		},
		{
			"a kind without a schema",
			situation{fields: ignore, object: cup, mutations: "  - {patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{spec: Object.spec{a: 1}}'}}\n"},
			"8:5 policy p, binding b, mutations[0]: failed, at once: error applying patch: there is no schema of example.com/v1, Kind=Cup; without it only metadata can be merged, but the patch has .spec",
		},
		{
			"paramKind",
			situation{fields: everything + "  paramKind: {apiVersion: example.com/v1, kind: Cup}\n"},
			`3:18 policy p: failed: policy "p" denied request: failed to configure policy: failed to find resource referenced by paramKind: 'example.com/v1, Kind=Cup'`,
		},
		{
			"paramKind, ignored",
			situation{fields: ignore + "  paramKind: {apiVersion: example.com/v1, kind: Cup}\n"},
			`3:18 policy p: failed, ignored: policy "p" denied request: failed to configure policy: failed to find resource referenced by paramKind: 'example.com/v1, Kind=Cup'`,
		},
		{
			"params",
			situation{fields: everything + "  paramKind: {apiVersion: v1, kind: Secret}\n", binding: "  paramRef: {selector: {}, parameterNotFoundAction: Deny}"},
			"3:18 policy p, binding b: failed: " + denied + "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction",
		},
		{
			"params of a cluster-scoped object",
			situation{
				fields: everything + "  paramKind: {apiVersion: v1, kind: Secret}\n", binding: "  paramRef: {name: s, parameterNotFoundAction: Allow}",
				object: "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: c}}",
			},
			"3:18 policy p, binding b: failed: " + denied + "failed to configure binding: cannot use namespaced paramRef in policy binding that matches cluster-scoped resources",
		},
		{
			"cluster-scoped params in a namespace",
			situation{fields: everything + "  paramKind: {apiVersion: v1, kind: Namespace}\n", binding: "  paramRef: {name: s, namespace: shop, parameterNotFoundAction: Allow}"},
			"3:18 policy p, binding b: failed: " + denied + "failed to configure binding: paramRef.namespace must not be provided for a cluster-scoped `paramKind`",
		},
		{
			"a version that servers do not convert",
			situation{
				fields: strings.Replace(everything, `apiVersions: ["*"]`, "apiVersions: [v1]", 1),
				object: "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h, namespace: shop}}",
			},
			"7:5 policy p, binding b, mutations[0]: failed: " + denied + "converting (v1.HorizontalPodAutoscaler) to (v2.HorizontalPodAutoscaler): unknown conversion",
		},
		{
			"an update of what is not known",
			situation{operation: policy.Update, fields: everything + "  matchConditions: [{name: a, expression: 'oldObject != null'}]\n"},
			"6:43 policy p, binding b: failed: " + denied + "expression 'oldObject != null' resulted in error: oldObject was read, but the object before the update is not known; give it with the option old",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.happens(t); got != tc.want {
				t.Errorf("got\n%s\nwant\n%s", got, tc.want)
			}
		})
	}
}

// TestOrder checks that policies, bindings and params are ordered by name, not by position.
func TestOrder(t *testing.T) {
	const one = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE]}]}
  mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{metadata: Object.metadata{labels: {"last": "%[1]s." + string(params.data.x)}}}'}}]
  reinvocationPolicy: %[2]s
---`
	const binding = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: %s}
spec: {policyName: %s, paramRef: {%s, parameterNotFoundAction: Deny}}
---`
	text := fmt.Sprintf(binding, "second", "b", "name: two") + fmt.Sprintf(one, "b", "Never") + fmt.Sprintf(binding, "first", "b", "selector: {}") +
		fmt.Sprintf(one, "a", "IfNeeded") + fmt.Sprintf(binding, "third", "a", "name: one, namespace: shop")
	s := situation{policies: text, object: configMap, surroundings: `
{apiVersion: v1, kind: ConfigMap, metadata: {name: two, namespace: shop}, data: {x: "2"}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: shop}, data: {x: "1"}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: zero, namespace: elsewhere}, data: {x: "0"}}
`}
	want := `27:15 policy a, binding third, param shop/one, mutations[0]: add metadata.labels.last "a.1"
13:15 policy b, binding first, param shop/one, mutations[0]: replace metadata.labels.last "b.1"
13:15 policy b, binding first, param shop/two, mutations[0]: replace metadata.labels.last "b.2"
13:15 policy b, binding second, param shop/two, mutations[0]: `
	if got := s.happens(t); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}

	programs, _ := New(36, 0).Compile(documents(t, "p.yaml", text), nil)
	if reads := programs[0].Reads(); len(reads) == 0 || reads[0].Kind.Kind != "ConfigMap" {
		t.Error("params", reads)
	}
	reinvocable := map[string]bool{}
	for _, invocation := range programs[0].Plan(s.complete().request(t)).Invocations {
		if invocation.Reinvocable() {
			reinvocable[invocation.ID().Policy] = true
		}
	}
	if got := slices.Collect(maps.Keys(reinvocable)); !slices.Equal(got, []string{"a"}) {
		t.Error("reinvocable are", got)
	}
}

// TestLinks checks the messages about policies and bindings without each other, and about
// duplicates.
func TestLinks(t *testing.T) {
	policyNamed := func(name, action string) string {
		return "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingAdmissionPolicy\nmetadata:\n  name: " + name + "\nspec:\n  failurePolicy: " + action + "\n" + everything +
			"  mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{}'}}]\n  reinvocationPolicy: Never\n---\n"
	}
	bindingNamed := func(name, of string) string {
		return "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingAdmissionPolicyBinding\nmetadata:\n  name: " + name + "\nspec:\n  policyName: " + of + "\n---\n"
	}
	for _, tc := range []struct{ name, text, want string }{
		{"nothing wrong", policyNamed("a", "Fail") + bindingNamed("a", "a") + bindingNamed("b", "a"), ""},
		{"no binding", policyNamed("a", "Fail"), "p.yaml:4:9: warning[policy-without-binding]: MutatingAdmissionPolicy a has no binding, so it does nothing\n    give a MutatingAdmissionPolicyBinding with spec.policyName: a"},
		{"no policy", bindingNamed("b", "a"), "p.yaml:6:15: warning[binding-without-policy]: MutatingAdmissionPolicyBinding b: there is no policy \"a\", so the binding does nothing\n    give the policy as well, or correct spec.policyName"},
		{"policy twice, the same", policyNamed("a", "Fail") + policyNamed("a", "Fail") + bindingNamed("b", "a"), ""},
		{"policy twice", policyNamed("a", "Fail") + policyNamed("a", "Ignore") + bindingNamed("b", "a"), "p.yaml:14:9: error[policy-defined-twice]: MutatingAdmissionPolicy a: it is defined twice, differently; the other one is at p.yaml:4:9\n    a cluster keeps one of them: remove the other"},
		{"binding twice, the same", policyNamed("a", "Fail") + bindingNamed("b", "a") + bindingNamed("b", "a"), ""},
		{
			"binding twice", policyNamed("a", "Fail") + policyNamed("c", "Fail") + bindingNamed("b", "a") + bindingNamed("b", "c"),
			"p.yaml:31:9: error[policy-defined-twice]: MutatingAdmissionPolicyBinding b: it is defined twice, differently; the other one is at p.yaml:24:9\n    a cluster keeps one of them: remove the other\n" +
				"p.yaml:14:9: warning[policy-without-binding]: MutatingAdmissionPolicy c has no binding, so it does nothing\n    give a MutatingAdmissionPolicyBinding with spec.policyName: c",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var lines []string
			_, diagnostics := New(36, 0).Compile(documents(t, "p.yaml", tc.text), nil)
			for _, d := range diagnostics {
				lines = append(lines, d.String())
			}
			if got := strings.Join(lines, "\n"); got != tc.want {
				t.Errorf("got\n%s\nwant\n%s", got, tc.want)
			}
		})
	}
}

// TestEquivalentVersions checks that a policy on one version of a custom resource sees objects
// of other versions in its version, unless its matchPolicy is Exact.
func TestEquivalentVersions(t *testing.T) {
	const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: cups.example.com}
spec:
  group: example.com
  names: {kind: Cup, plural: cups}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: false, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {seen: {type: string}}}}}}}
  - {name: v2, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {seen: {type: string}}}}}}}
  - {name: v3, served: false, storage: false, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {seen: {type: string}}}}}}}
`
	const seen = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: seen}
spec:
  matchConstraints: {%s: [{apiGroups: [example.com], apiVersions: [v1], resources: [cups], operations: [CREATE]}]%s}
  matchConditions: [{name: kinds, expression: 'request.kind.version == "v1" && request.resource.version == request.requestResource.version'}]
  mutations: [{patchType: %s}]
  reinvocationPolicy: Never
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: bound}
spec: {policyName: seen}
`
	const (
		versions = `object.apiVersion + " " + request.kind.version + " " + request.requestKind.version + " " + request.resource.version + " " + request.requestResource.version`
		merge    = `ApplyConfiguration, applyConfiguration: {expression: 'Object{spec: Object.spec{seen: ` + versions + `}}'}`
		patch    = `JSONPatch, jsonPatch: {expression: '[JSONPatch{op: "add", path: "/spec", value: {"seen": ` + versions + `}}]'}`
		result   = `8:15 policy seen, binding bound, mutations[0]: add spec {"seen":"example.com/v1 v1 %[1]s v1 %[1]s"}`
	)
	for _, tc := range []struct{ name, policies, version, want string }{
		{"its own", fmt.Sprintf(seen, "resourceRules", "", merge), "v1", fmt.Sprintf(result, "v1")},
		{"another", fmt.Sprintf(seen, "resourceRules", "", merge), "v2", fmt.Sprintf(result, "v2")},
		{"another, by a patch", fmt.Sprintf(seen, "resourceRules", "", patch), "v2", fmt.Sprintf(result, "v2")},
		{
			"another, exactly", fmt.Sprintf(seen, "resourceRules", ", matchPolicy: Exact", merge), "v2",
			"4:18 policy seen: not applied: matchConstraints: resourceRules: none covers example.com/v2 cups CREATE",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := situation{policies: tc.policies, surroundings: definition, object: "{apiVersion: example.com/" + tc.version + ", kind: Cup, metadata: {name: c, namespace: shop}}"}
			if got := s.happens(t); got != tc.want {
				t.Errorf("got\n%s\nwant\n%s", got, tc.want)
			}
		})
	}
}
