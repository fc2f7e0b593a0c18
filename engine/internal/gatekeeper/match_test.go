package gatekeeper

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/internal/snapshot"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
)

// FuzzWild compares patterns of names with equivalent regular expressions.
func FuzzWild(f *testing.F) {
	for _, pattern := range []string{"", "*", "**", "***", "shop", "shop*", "*shop", "*sh*p*", "s*p"} {
		f.Add(pattern, "shop")
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		inner, expression := pattern, "^"
		if strings.HasPrefix(inner, "*") {
			inner, expression = inner[1:], expression+"(?s:.*)"
		}
		end := "$"
		if strings.HasSuffix(inner, "*") {
			inner, end = inner[:len(inner)-1], "(?s:.*)$"
		}
		compiled, err := regexp.Compile(expression + regexp.QuoteMeta(inner) + end)
		if err != nil {
			t.Skip("not UTF-8")
		}
		if got, want := wild(pattern, name), compiled.MatchString(name); got != want {
			t.Errorf("wild(%q, %q) is %v, want %v", pattern, name, got, want)
		}
	})
}

// choice is a criterion of a match block, and whether it holds for the object of
// FuzzMatch.
type choice struct {
	criterion string
	value     any
	holds     bool
}

// choices are the possible forms of each criterion, in the order in which Gatekeeper evaluates
// them. The object is the Deployment checkout in the namespace shop, with the label app:
// checkout; the namespace has the label tier: front.
var choices = [][]choice{
	{
		{"kinds", []any{map[string]any{"apiGroups": []any{"apps"}, "kinds": []any{"Deployment"}}}, true},
		{"kinds", []any{map[string]any{"apiGroups": []any{"*"}}}, true},
		{"kinds", []any{map[string]any{"kinds": []any{"Pod", "*"}}}, true},
		{"kinds", []any{map[string]any{}}, true},
		{"kinds", []any{}, true},
		{"kinds", []any{map[string]any{"kinds": []any{"Pod"}}, map[string]any{"kinds": []any{"Deployment"}}}, true},
		{"kinds", []any{map[string]any{"apiGroups": []any{""}, "kinds": []any{"Deployment"}}}, false},
		{"kinds", []any{map[string]any{"kinds": []any{"Deploy*"}}}, false},
	},
	{
		{"scope", "Namespaced", true},
		{"scope", "*", true},
		{"scope", "cluster", true},
		{"scope", "Cluster", false},
	},
	{
		{"namespaces", []any{"shop"}, true},
		{"namespaces", []any{"bank", "sh*"}, true},
		{"namespaces", []any{"*op"}, true},
		{"namespaces", []any{"*ho*"}, true},
		{"namespaces", []any{}, true},
		{"namespaces", []any{"s*p"}, false},
		{"namespaces", []any{"sho", "bank"}, false},
	},
	{
		{"excludedNamespaces", []any{"bank", "s*p"}, true},
		{"excludedNamespaces", []any{}, true},
		{"excludedNamespaces", []any{"bank", "sh*"}, false},
		{"excludedNamespaces", []any{"*"}, false},
	},
	{
		{"labelSelector", map[string]any{"matchLabels": map[string]any{"app": "checkout"}}, true},
		{"labelSelector", map[string]any{}, true},
		{"labelSelector", map[string]any{"matchExpressions": []any{map[string]any{"key": "other", "operator": "DoesNotExist"}}}, true},
		{"labelSelector", map[string]any{"matchExpressions": []any{map[string]any{"key": "app", "operator": "NotIn", "values": []any{"cart"}}}}, true},
		{"labelSelector", map[string]any{"matchLabels": map[string]any{"app": "cart"}}, false},
		{"labelSelector", map[string]any{"matchExpressions": []any{map[string]any{"key": "app", "operator": "In", "values": []any{"cart"}}}}, false},
	},
	{
		{"namespaceSelector", map[string]any{"matchLabels": map[string]any{"tier": "front"}}, true},
		{"namespaceSelector", map[string]any{"matchExpressions": []any{map[string]any{"key": nameLabel, "operator": "In", "values": []any{"shop", "bank"}}}}, true},
		{"namespaceSelector", map[string]any{"matchLabels": map[string]any{"tier": "back"}}, false},
		{"namespaceSelector", map[string]any{"matchExpressions": []any{map[string]any{"key": "tier", "operator": "DoesNotExist"}}}, false},
	},
	{
		{"name", "checkout", true},
		{"name", "*out", true},
		{"name", "", true},
		{"name", "check*t", false},
		{"name", "cart", false},
	},
	{
		{"source", "Original", true},
		{"source", "All", true},
		{"source", "", true},
		{"source", "Generated", false},
	},
}

// FuzzMatch builds match blocks from criteria with known results. The block must match if all
// criteria hold; otherwise the reason must be the first criterion that does not hold.
func FuzzMatch(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed)
	}
	kind := gvk.Kind{Group: "apps", Version: "v1", Kind: "Deployment"}
	object := map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": "checkout", "namespace": "shop", "labels": map[string]any{"app": "checkout"}},
	}
	stream, diagnostics := manifest.Read("p.yaml", []byte("kind: Assign"))
	if len(diagnostics) > 0 {
		f.Fatal(diagnostics)
	}
	by := &mutator{document: stream.Documents()[0]}
	objects := snapshot.Snapshot{}
	objects.Put(namespaceKind, "", "shop", func(*snapshot.Reader) (map[string]any, error) {
		return map[string]any{
			"apiVersion": "v1", "kind": "Namespace",
			"metadata": map[string]any{"name": "shop", "labels": map[string]any{"tier": "front", nameLabel: "shop"}},
		}, nil
	})
	f.Fuzz(func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 0))
		block, want := map[string]any{}, ""
		for _, forms := range choices {
			if random.IntN(3) == 0 {
				continue
			}
			chosen := forms[random.IntN(len(forms))]
			if block[chosen.criterion] = chosen.value; want == "" && !chosen.holds {
				want = chosen.criterion
			}
		}
		m := readMatcher(policy.Node{Value: block})
		s := subject{
			object: object, kind: kind, by: by,
			request: &policy.Request{Namespace: "shop", Kind: &schema.Kind{Kind: kind, Namespaced: true}, Snapshot: objects.Reader(nil)},
		}
		reason, err := m.check(&s)
		if err != nil {
			t.Fatalf("%v: %v", block, err)
		}
		got := ""
		if reason != nil {
			got = reason.criterion
		}
		if got != want {
			t.Errorf("%v: the criterion that does not hold is %q, want %q", block, got, want)
		}
	})
}
