package kyverno

import (
	"context"
	"testing"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/jmespath"
	"github.com/preadmit/preadmit/engine/internal/kyverno/given"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/internal/snapshot"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// evaluationOf returns the evaluation of a request for an object in namespace shop, which has
// the label tier: web.
func evaluationOf(t testing.TB, kind string, object map[string]any, user policy.User, info given.UserInfo) *evaluation {
	t.Helper()
	l := New(&given.Values{}, given.UserInfo{}, "", 36)
	p := &program{values: l.values, user: info, minor: l.minor, env: jmespath.NewEnv(l.values.Answer)}
	apiVersion, _ := object["apiVersion"].(string)
	request := &policy.Request{
		Context: context.Background(), Kind: schema.Builtin().Lookup(gvk.Parse(apiVersion, kind)), Namespace: "shop", Operation: policy.Create,
		User: user, Object: object, Snapshot: snapshotOfShop().Reader(nil), Warn: func(source.Diagnostic) {},
	}
	return p.evaluate(request)
}

// snapshotOfShop returns a snapshot with namespace shop.
func snapshotOfShop() *snapshot.Snapshot {
	shot := &snapshot.Snapshot{}
	shot.Put(namespaceKind, "", "shop", func(*snapshot.Reader) (map[string]any, error) {
		return map[string]any{"metadata": map[string]any{"name": "shop", "labels": map[string]any{"tier": "web"}}}, nil
	})
	return shot
}

// TestMatch checks match blocks, and the reasons why they do not match a pod.
func TestMatch(t *testing.T) {
	const pod = `{apiVersion: v1, kind: Pod, metadata: {name: web-1, namespace: shop, labels: {app: web, "example.com/team": a}, annotations: {note: hello}}}`
	jane := policy.User{Name: "jane", Groups: []string{"developers"}}
	for _, c := range []struct {
		block string
		user  policy.User
		want  string
	}{
		{"{resources: {kinds: [Pod]}}", policy.User{}, ""},
		{"{resources: {kinds: [v1/Pod]}}", policy.User{}, ""},
		{"{resources: {kinds: ['*']}}", policy.User{}, ""},
		{"{resources: {kinds: [Pod/status]}}", policy.User{}, "kinds does not select Pod"},
		{"{resources: {kinds: [apps/*/*]}}", policy.User{}, "kinds does not select Pod"},
		{"{resources: {kinds: [Pod], name: 'web-*'}}", policy.User{}, ""},
		{"{resources: {kinds: [Pod], names: [db, 'web-?']}}", policy.User{}, ""},
		{"{resources: {kinds: [Pod], names: [db]}}", policy.User{}, "names does not match"},
		{"{resources: {kinds: [Pod], namespaces: ['sh*']}}", policy.User{}, ""},
		{"{resources: {kinds: [Pod], namespaces: [default]}}", policy.User{}, "namespaces does not match"},
		{"{resources: {annotations: {'n*': 'h?llo'}}}", policy.User{}, ""},
		{"{resources: {annotations: {note: bye}}}", policy.User{}, "annotations do not match"},
		{"{resources: {selector: {matchLabels: {app: 'w*', '*/team': a}}}}", policy.User{}, ""},
		{"{resources: {selector: {matchLabels: {app: db}}}}", policy.User{}, "selector does not match"},
		{"{resources: {selector: {matchExpressions: [{key: app, operator: In, values: [web]}]}}}", policy.User{}, ""},
		{"{resources: {selector: {matchExpressions: [{key: app, operator: DoesNotExist}]}}}", policy.User{}, "selector does not match"},
		{"{resources: {selector: {matchExpressions: [{key: app, operator: Nonsense}]}}}", policy.User{}, "selector does not match"},
		{"{resources: {namespaceSelector: {matchLabels: {tier: web}}}}", policy.User{}, ""},
		{"{resources: {namespaceSelector: {matchLabels: {tier: db}}}}", policy.User{}, "namespaceSelector does not match"},
		{"{resources: {kinds: [Pod], operations: [CREATE]}}", policy.User{}, ""},
		{"{resources: {kinds: [Pod], operations: [UPDATE]}}", policy.User{}, "the operation is CREATE"},
		{"{}", policy.User{}, "the block is empty"},
		{"{subjects: [{kind: User, name: jane}]}", policy.User{}, "the block is empty"},
		{"{resources: {kinds: [Pod]}, subjects: [{kind: User, name: jane}]}", policy.User{}, ""},
		{"{subjects: [{kind: User, name: 'j*'}]}", jane, ""},
		{"{subjects: [{kind: Group, name: developers}]}", jane, ""},
		{"{subjects: [{kind: User, name: joe}]}", jane, "the user is not one of the subjects"},
		{"{subjects: [{kind: ServiceAccount, name: bot, namespace: ci}]}", policy.User{Name: "system:serviceaccount:ci:bot"}, ""},
		{"{clusterRoles: [edit]}", jane, ""},
		{"{clusterRoles: [admin]}", jane, "the user has none of the clusterRoles"},
		{"{roles: [x]}", jane, "the user has none of the roles"},

		{"{any: [{resources: {kinds: [Service]}}, {resources: {kinds: [Pod]}}]}", policy.User{}, ""},
		{"{any: [{resources: {kinds: [Service]}}, {resources: {names: [x]}}]}", policy.User{}, "no block of any matches"},
		{"{all: [{resources: {kinds: [Pod]}}, {resources: {names: ['web*']}}]}", policy.User{}, ""},
		{"{all: [{resources: {kinds: [Pod]}}, {resources: {names: [x]}}]}", policy.User{}, "all[1]: names does not match"},
	} {
		info := given.UserInfo{}
		if c.user.Name == "jane" {
			info.ClusterRoles = []string{"edit"}
		}
		e := evaluationOf(t, "Pod", object(t, pod), c.user, info)
		got := e.matchFilter(readFilter(policy.Node{Value: value(t, c.block)}), e.candidate(e.request.Object), false)
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.block, got, c.want)
		}
	}
}

// TestMatchNamespaces checks blocks for a Namespace, which is not in a namespace.
func TestMatchNamespaces(t *testing.T) {
	e := evaluationOf(t, "Namespace", object(t, "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}"), policy.User{}, given.UserInfo{})
	for block, want := range map[string]string{
		"{resources: {kinds: [Namespace], namespaces: [shop]}}":                       "",
		"{resources: {namespaceSelector: {matchLabels: {tier: web}}}}":                "namespaceSelector does not match",
		"{resources: {kinds: [Namespace], namespaces: [other]}}":                      "namespaces does not match",
		"{resources: {kinds: [Namespace], selector: {matchLabels: {'*': anything}}}}": "selector does not match",
	} {
		if got := e.matchFilter(readFilter(policy.Node{Value: value(t, block)}), e.candidate(e.request.Object), false); got != want {
			t.Errorf("%s: %q, want %q", block, got, want)
		}
	}
}

// TestRules checks the match and exclude blocks of whole rules.
func TestRules(t *testing.T) {
	for _, c := range []struct{ rule, namespace, want string }{
		{"{match: {resources: {kinds: [Pod]}}}", "", ""},
		{"{match: {resources: {kinds: [Pod]}}, exclude: {resources: {names: ['web*']}}}", "", "excluded"},
		{"{match: {resources: {kinds: [Pod]}}, exclude: {any: [{resources: {names: [x]}}, {resources: {kinds: [Pod]}}]}}", "", "excluded"},
		{"{match: {resources: {kinds: [Pod]}}, exclude: {all: [{resources: {names: [x]}}, {resources: {kinds: [Pod]}}]}}", "", ""},
		{"{match: {resources: {kinds: [Pod]}}, exclude: {subjects: [{kind: User, name: jane}]}}", "", ""},
		{"{match: {resources: {kinds: [Pod]}}, exclude: {}}", "", ""},
		{"{match: {resources: {kinds: [Pod]}}}", "shop", ""},
		{"{match: {resources: {kinds: [Pod]}}}", "other", `the policy is confined to namespace "other"`},
	} {
		e := evaluationOf(t, "Pod", object(t, "{apiVersion: v1, kind: Pod, metadata: {name: web-1}}"), policy.User{}, given.UserInfo{})
		r := &rule{policy: &definition{namespace: c.namespace}, root: policy.Node{Value: value(t, c.rule)}}
		r.compile()
		if got := e.matchRule(r, e.candidate(e.request.Object)); got != c.want {
			t.Errorf("%s: %q, want %q", c.rule, got, c.want)
		}
	}
}

// TestClusterKinds requires Kyverno's words for kinds without a namespace in a Policy, which its
// webhook refuses and its command, which asks no cluster, accepts: ResourceDescription.Validate in
// api/kyverno/v1/resource_description_types.go.
func TestClusterKinds(t *testing.T) {
	for kinds, refused := range map[string]string{
		"[Pod]": "", "[Namespace]": "Namespace", "[v1/Node]": "v1/Node", "[Pod, ClusterRole]": "ClusterRole", "[apps/v1/Deployment]": "", "['Name*']": "", "[Gadget]": "",
	} {
		stream, problems := manifest.Read("p", []byte(`{apiVersion: kyverno.io/v1, kind: Policy, metadata: {name: p, namespace: a}, spec: {rules: [{name: r,
 match: {any: [{resources: {kinds: `+kinds+`}}]}, mutate: {patchStrategicMerge: {metadata: {labels: {a: b}}}}}]}}`))
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		_, diagnostics := New(&given.Values{}, given.UserInfo{}, "", 36).Compile(stream.Documents(), nil)
		var got string
		for _, d := range diagnostics {
			got += d.Message
		}
		want := ""
		if refused != "" {
			want = "Forbidden: Cluster wide resource '" + refused + "' not allowed in namespaced policy"
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", kinds, got, want)
		}
	}
}
