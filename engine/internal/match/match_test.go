package match

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/schema"
)

func parse(t testing.TB, text string) any {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return value
}

func resources(t testing.TB, text string) *Resources {
	t.Helper()
	m, errs := Mutating.Parse(parse(t, text))
	if len(errs) > 0 {
		t.Fatalf("%s: %v", text, errs)
	}
	return m
}

var kinds = schema.Builtin()

func kind(t testing.TB, apiVersion, name string) *schema.Kind {
	t.Helper()
	k := kinds.Lookup(gvk.Parse(apiVersion, name))
	if k == nil {
		t.Fatalf("no kind %s %s", apiVersion, name)
	}
	return k
}

// The objects of the requests in the tests.
func deployment(t testing.TB) Request {
	return Request{
		Kind: kind(t, "apps/v1", "Deployment"), Namespace: "shop", Name: "web", Operation: "CREATE", Schemas: kinds,
		Object:          labelled(map[string]any{"app": "web", "tier": "front"}),
		NamespaceLabels: func(string) (map[string]string, error) { return map[string]string{"team": "a"}, nil },
	}
}

func labelled(labels map[string]any) map[string]any {
	return map[string]any{"metadata": map[string]any{"labels": labels}}
}

func clusterRole(t testing.TB) Request {
	return Request{
		Kind: kind(t, "rbac.authorization.k8s.io/v1", "ClusterRole"), Name: "reader", Operation: "CREATE", Schemas: kinds,
		Object: labelled(nil),
	}
}

func namespace(t testing.TB) Request {
	return Request{
		Kind: kind(t, "v1", "Namespace"), Namespace: "shop", Name: "shop", Operation: "CREATE", Schemas: kinds,
		Object: labelled(map[string]any{"team": "own"}),
		NamespaceLabels: func(string) (map[string]string, error) {
			return map[string]string{"team": "stored"}, nil
		},
	}
}

const everything = `{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}`

// ruleWith returns a match block with one rule for every resource, changed by fields.
func ruleWith(t testing.TB, fields string) string {
	rule := parse(t, everything).(map[string]any)
	for name, value := range parse(t, fields).(map[string]any) {
		rule[name] = value
	}
	text, err := json.Marshal(map[string]any{"resourceRules": []any{rule}})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var ruleTests = []struct {
	name    string
	request func(testing.TB) Request
	change  func(*Request)
	rule    string // fields in which the rule is not about everything
	reason  string // empty: it matches
}{
	{name: "everything", request: deployment},
	{name: "operation", request: deployment, rule: `{"operations": ["CREATE"]}`},
	{
		name: "other operation", request: deployment, rule: `{"operations": ["UPDATE", "CONNECT"]}`,
		reason: "resourceRules[0] covers apps/v1 deployments, but only for UPDATE, CONNECT, not CREATE",
	},
	{name: "group and version", request: deployment, rule: `{"apiGroups": ["", "apps"], "apiVersions": ["v1"]}`},
	{name: "core group", request: namespace, rule: `{"apiGroups": [""]}`},
	{name: "other group", request: deployment, rule: `{"apiGroups": [""]}`, reason: "resourceRules: none covers apps/v1 deployments CREATE"},
	{name: "other version", request: deployment, rule: `{"apiVersions": ["v2"]}`, reason: "resourceRules: none covers apps/v1 deployments CREATE"},

	{name: "resource", request: deployment, rule: `{"resources": ["pods", "deployments"]}`},
	{name: "other resource", request: deployment, rule: `{"resources": ["pods"]}`, reason: "resourceRules: none covers apps/v1 deployments CREATE"},
	{name: "all resources", request: deployment, rule: `{"resources": ["*"]}`},
	{
		name: "all resources without subresources", request: deployment, change: scale, rule: `{"resources": ["*"]}`,
		reason: "resourceRules: none covers apps/v1 deployments/scale CREATE",
	},
	{
		name: "resource without subresources", request: deployment, change: scale, rule: `{"resources": ["deployments"]}`,
		reason: "resourceRules: none covers apps/v1 deployments/scale CREATE",
	},
	{name: "all subresources", request: deployment, change: scale, rule: `{"resources": ["deployments/*"]}`},
	{name: "all subresources and none", request: deployment, rule: `{"resources": ["deployments/*"]}`},
	{name: "a subresource", request: deployment, change: scale, rule: `{"resources": ["deployments/scale"]}`},
	{name: "a subresource of all", request: deployment, change: scale, rule: `{"resources": ["*/scale"]}`},
	{
		name: "a subresource, not the object", request: deployment, rule: `{"resources": ["*/scale"]}`,
		reason: "resourceRules: none covers apps/v1 deployments CREATE",
	},
	{name: "all of all", request: deployment, change: scale, rule: `{"resources": ["*/*"]}`},

	{name: "any scope", request: clusterRole, rule: `{"scope": "*"}`},
	{name: "namespaced", request: deployment, rule: `{"scope": "Namespaced"}`},
	{
		name: "not namespaced", request: clusterRole, rule: `{"scope": "Namespaced"}`,
		reason: "resourceRules[0] has scope Namespaced, but the object has no namespace",
	},
	{name: "cluster", request: clusterRole, rule: `{"scope": "Cluster"}`},
	{
		name: "not cluster", request: deployment, rule: `{"scope": "Cluster"}`,
		reason: `resourceRules[0] has scope Cluster, but the object is in namespace "shop"`,
	},
	{name: "a Namespace is cluster-scoped", request: namespace, rule: `{"scope": "Cluster"}`},
	{
		name: "a Namespace is not namespaced", request: namespace, rule: `{"scope": "Namespaced"}`,
		reason: "resourceRules[0] has scope Namespaced, but the object has no namespace",
	},

	{name: "no names", request: deployment, rule: `{"resourceNames": []}`},
	{name: "name", request: deployment, rule: `{"resourceNames": ["db", "web"]}`},
	{name: "other name", request: deployment, rule: `{"resourceNames": ["db"]}`, reason: `resourceRules[0] has resourceNames without "web"`},
	{
		name: "generated name", request: deployment, change: func(r *Request) { r.Name = "" }, rule: `{"resourceNames": ["web"]}`,
		reason: "resourceRules[0] has resourceNames, but the object has no name yet",
	},
}

func TestRules(t *testing.T) {
	for _, test := range ruleTests {
		t.Run(test.name, func(t *testing.T) {
			if test.rule == "" {
				test.rule = "{}"
			}
			r := test.request(t)
			if test.change != nil {
				test.change(&r)
			}
			expect(t, resources(t, ruleWith(t, test.rule)), r, test.reason)
		})
	}
}

func scale(r *Request)  { r.Subresource = "scale" }
func status(r *Request) { r.Subresource = "status" }

// expect checks a decision without an error.
func expect(t *testing.T, m *Resources, r Request, reason string) {
	t.Helper()
	d := m.Matches(r)
	switch {
	case d.Err != nil:
		t.Error(d.Err)
	case d.Matched != (reason == "") || d.Reason.String() != reason:
		t.Errorf("matched: %v, reason %q, want %q", d.Matched, d.Reason, reason)
	case d.Matched && d.Kind != r.Kind:
		t.Errorf("matched as %v", d.Kind.Kind)
	}
}

var selectorTests = []struct {
	name    string
	request func(testing.TB) Request
	change  func(*Request)
	block   string
	reason  string
}{
	{name: "no rules", request: deployment, block: `{}`},
	{name: "empty selectors", request: deployment, block: `{"namespaceSelector": {}, "objectSelector": {}, "resourceRules": []}`},

	{name: "namespace", request: deployment, block: `{"namespaceSelector": {"matchLabels": {"team": "a"}}}`},
	{
		name: "other namespace", request: deployment, block: `{"namespaceSelector": {"matchLabels": {"team": "b"}}}`,
		reason: `namespaceSelector: namespace "shop" has no label team=b`,
	},
	{name: "no namespace", request: clusterRole, block: `{"namespaceSelector": {"matchLabels": {"team": "b"}}}`},
	{name: "name of the namespace", request: deployment, block: `{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "shop"}}}`},
	{name: "a Namespace has its own labels", request: namespace, block: `{"namespaceSelector": {"matchLabels": {"team": "own"}}}`},
	{
		name: "a Namespace to be updated too", request: namespace, change: func(r *Request) { r.Operation = "UPDATE" },
		block: `{"namespaceSelector": {"matchLabels": {"team": "own"}}}`,
	},
	{
		name: "a Namespace's subresource has those stored", request: namespace, change: status,
		block: `{"namespaceSelector": {"matchLabels": {"team": "stored"}}}`,
	},

	{name: "object", request: deployment, block: `{"objectSelector": {"matchLabels": {"app": "web", "tier": "front"}}}`},
	{
		name: "other object", request: deployment, block: `{"objectSelector": {"matchLabels": {"app": "web", "tier": "back"}}}`,
		reason: "objectSelector: the object has no label tier=back",
	},
	{
		name: "old object", request: deployment, change: func(r *Request) { r.OldObject = labelled(map[string]any{"tier": "back"}) },
		block: `{"objectSelector": {"matchLabels": {"tier": "back"}}}`,
	},
	{
		name: "no object", request: deployment, change: func(r *Request) { r.Object = nil },
		block: `{"objectSelector": {"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}}`, reason: "objectSelector: the object has the label a",
	},
	{
		name: "object without labels", request: deployment, change: func(r *Request) { r.Object = map[string]any{} },
		block: `{"objectSelector": {"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}}`,
	},

	{name: "In", request: deployment, block: objectsWith("app", "In", `["db", "web"]`)},
	{name: "not In", request: deployment, block: objectsWith("app", "In", `["db", "cache"]`), reason: "objectSelector: the object has no label app in (cache,db)"},
	{name: "not In without the label", request: deployment, block: objectsWith("x", "In", `[""]`), reason: "objectSelector: the object has no label x in ()"},
	{name: "NotIn", request: deployment, block: objectsWith("app", "NotIn", `["db"]`)},
	{name: "NotIn without the label", request: deployment, block: objectsWith("x", "NotIn", `["db"]`)},
	{name: "not NotIn", request: deployment, block: objectsWith("app", "NotIn", `["db", "web"]`), reason: "objectSelector: the object has a label app in (db,web)"},
	{name: "Exists", request: deployment, block: objectsWith("app", "Exists", `null`)},
	{name: "not Exists", request: deployment, block: objectsWith("x", "Exists", `[]`), reason: "objectSelector: the object has no label x"},
	{name: "DoesNotExist", request: deployment, block: objectsWith("x", "DoesNotExist", `[]`)},
	{name: "not DoesNotExist", request: deployment, block: objectsWith("app", "DoesNotExist", `[]`), reason: "objectSelector: the object has the label app"},

	{
		name: "excluded", request: deployment, block: `{"excludeResourceRules": [{"operations": ["DELETE"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}, ` + everything + `]}`,
		reason: "excludeResourceRules[1] covers apps/v1 deployments CREATE",
	},
	{
		name: "excluded by name", request: deployment,
		block:  `{"excludeResourceRules": [{"operations": ["CREATE"], "apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments"], "scope": "Namespaced", "resourceNames": ["web"]}]}`,
		reason: "excludeResourceRules[0] covers apps/v1 deployments CREATE",
	},
	{
		name: "another name is excluded", request: deployment,
		block: `{"excludeResourceRules": [{"operations": ["CREATE"], "apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments"], "resourceNames": ["db"]}]}`,
	},
	{
		name: "the nearest rule explains", request: deployment, block: `{"resourceRules": [` +
			`{"operations": ["UPDATE"], "apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments"]},` +
			`{"operations": ["CREATE"], "apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments"], "resourceNames": ["db"]},` +
			`{"operations": ["CREATE"], "apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["replicasets"]}]}`,
		reason: `resourceRules[1] has resourceNames without "web"`,
	},
}

func TestSelectors(t *testing.T) {
	for _, test := range selectorTests {
		t.Run(test.name, func(t *testing.T) {
			r := test.request(t)
			if test.change != nil {
				test.change(&r)
			}
			expect(t, resources(t, test.block), r, test.reason)
		})
	}
}

func objectsWith(key, operator, values string) string {
	return `{"objectSelector": {"matchExpressions": [{"key": "` + key + `", "operator": "` + operator + `", "values": ` + values + `}]}}`
}

// TestNamespaceErrors checks that the labels of a namespace are read only if they decide, and
// that an error counts only then.
func TestNamespaceErrors(t *testing.T) {
	const teamA = `"namespaceSelector": {"matchLabels": {"team": "a"}}`
	for _, test := range []struct {
		name, block string
		fails       bool
	}{
		{"it decides", `{` + teamA + `}`, true},
		{"its name decides", `{"namespaceSelector": {"matchLabels": {"team": "a", "kubernetes.io/metadata.name": "other"}}}`, false},
		{"its name is enough", `{"namespaceSelector": {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["x"]}]}}`, false},
		{"rules do not match", `{` + teamA + `, "resourceRules": [{"operations": ["*"], "apiGroups": [""], "apiVersions": ["*"], "resources": ["*"]}]}`, false},
		{"excluded", `{` + teamA + `, "excludeResourceRules": [` + everything + `]}`, false},
		{"objectSelector does not match", `{` + teamA + `, "objectSelector": {"matchLabels": {"x": "y"}}}`, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			asked := errors.New("asked")
			r := deployment(t)
			r.NamespaceLabels = func(string) (map[string]string, error) { return nil, asked }
			d := resources(t, test.block).Matches(r)
			if errors.Is(d.Err, asked) != test.fails || test.fails && d.Matched {
				t.Errorf("matched %v, error %v", d.Matched, d.Err)
			}
		})
	}
}

func TestEquivalent(t *testing.T) {
	v1, v2 := kind(t, "autoscaling/v1", "HorizontalPodAutoscaler"), kind(t, "autoscaling/v2", "HorizontalPodAutoscaler")
	rule := func(version, more string) string {
		return `{"operations": ["CREATE"], "apiGroups": ["autoscaling"], "apiVersions": ["` + version + `"], "resources": ["horizontalpodautoscalers"]` + more + `}`
	}
	for _, test := range []struct {
		name, block string
		kind        *schema.Kind
		reason      string
	}{
		{"by default", `{"resourceRules": [` + rule("v1", "") + `]}`, v1, ""},
		{
			"Exact", `{"matchPolicy": "Exact", "resourceRules": [` + rule("v1", "") + `]}`, nil,
			"resourceRules: none covers autoscaling/v2 horizontalpodautoscalers CREATE",
		},
		{"its own version first", `{"resourceRules": [` + rule("v1", "") + `, ` + rule("v2", "") + `]}`, v2, ""},
		{
			"by name", `{"resourceRules": [` + rule("v1", `, "resourceNames": ["db"]`) + `]}`, nil,
			"resourceRules: none covers autoscaling/v2 horizontalpodautoscalers CREATE",
		},
		{
			"excluded", `{"excludeResourceRules": [` + rule("v1", "") + `]}`, nil,
			"excludeResourceRules[0] covers autoscaling/v2 horizontalpodautoscalers CREATE",
		},
		{"not excluded", `{"matchPolicy": "Exact", "excludeResourceRules": [` + rule("v1", "") + `]}`, v2, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := resources(t, test.block).Matches(Request{
				Kind: v2, Namespace: "shop", Name: "web", Operation: "CREATE", Object: map[string]any{}, Schemas: kinds,
			})
			if d.Matched != (test.kind != nil) || d.Kind != test.kind || d.Reason.String() != test.reason {
				t.Errorf("matched %v as %v, %s", d.Matched, d.Kind, d.Reason)
			}
		})
	}
}

// TestUnknownKind checks that a kind without a known resource is undecided only if the resource
// matters.
func TestUnknownKind(t *testing.T) {
	const reason = "may cover example.com/v1, Kind=Widget, whose resource is not known: give its CustomResourceDefinition"
	rule := func(group, version, resource, operation string) string {
		return `{"operations": ["` + operation + `"], "apiGroups": ["` + group + `"], "apiVersions": ["` + version + `"], "resources": ["` + resource + `"]}`
	}
	for _, test := range []struct{ name, block, reason string }{
		{"all resources", `{"resourceRules": [` + rule("example.com", "v1", "*", "CREATE") + `]}`, ""},
		{"a resource", `{"resourceRules": [` + rule("example.com", "v1", "widgets", "CREATE") + `]}`, "resourceRules[0] " + reason},
		{"another version", `{"resourceRules": [` + rule("example.com", "v2", "*", "CREATE") + `]}`, "resourceRules[0] " + reason},
		{
			"another version, Exact", `{"matchPolicy": "Exact", "resourceRules": [` + rule("example.com", "v2", "*", "CREATE") + `]}`,
			"resourceRules: none covers example.com/v1, Kind=Widget CREATE",
		},
		{
			"another group", `{"resourceRules": [` + rule("apps", "v1", "widgets", "CREATE") + `]}`,
			"resourceRules: none covers example.com/v1, Kind=Widget CREATE",
		},
		{
			"another operation", `{"resourceRules": [` + rule("example.com", "v1", "*", "UPDATE") + `]}`,
			"resourceRules[0] covers example.com/v1, Kind=Widget, but only for UPDATE, not CREATE",
		},
		{"a resource is excluded", `{"excludeResourceRules": [` + rule("*", "*", "widgets", "*") + `]}`, "excludeResourceRules[0] " + reason},
		{
			"all are excluded", `{"excludeResourceRules": [` + rule("*", "*", "*", "*") + `]}`,
			"excludeResourceRules[0] covers example.com/v1, Kind=Widget CREATE",
		},
		{
			"the object decides", `{"objectSelector": {"matchLabels": {"x": "y"}}, "resourceRules": [` + rule("*", "*", "widgets", "*") + `]}`,
			"objectSelector: the object has no label x=y",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			expect(t, resources(t, test.block), Request{
				Kind:      kinds.Unknown(gvk.Kind{Group: "example.com", Version: "v1", Kind: "Widget"}),
				Namespace: "shop", Name: "w", Operation: "CREATE", Object: map[string]any{}, Schemas: kinds,
			}, test.reason)
		})
	}
}

func TestCovers(t *testing.T) {
	unknown := func(testing.TB) Request {
		return Request{Kind: kinds.Unknown(gvk.Kind{Group: "example.com", Version: "v1", Kind: "Widget"}), Operation: "CREATE", Schemas: kinds}
	}
	const pods = `{"objectSelector": {"matchLabels": {"x": "y"}}, "resourceRules": [{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["pods"]}]}`
	for _, test := range []struct {
		name    string
		request func(testing.TB) Request
		block   string
		want    bool
	}{
		{"no rules", deployment, `{}`, true},
		{"selectors do not count", deployment, `{"objectSelector": {"matchLabels": {"x": "y"}}}`, true},
		{"another resource", deployment, pods, false},
		{"perhaps", unknown, pods, true},
		{"excluded", deployment, `{"excludeResourceRules": [` + everything + `]}`, false},
	} {
		if got := resources(t, test.block).Covers(test.request(t)); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}

func BenchmarkMatches(b *testing.B) {
	r := deployment(b)
	m := resources(b, `{"objectSelector": {"matchLabels": {"app": "web"}}, "resourceRules": [`+
		`{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]},`+
		`{"operations": ["CREATE", "UPDATE"], "apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments", "replicasets"]}]}`)
	b.ReportAllocs()
	for b.Loop() {
		if d := m.Matches(r); !d.Matched {
			b.Fatal(d.Reason)
		}
	}
}
