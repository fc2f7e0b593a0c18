package engine

import (
	"context"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
)

// withTrees runs mutation trees, and policies, on a manifest.
func withTrees(t *testing.T, trees, input string, policies []*manifest.Stream) (*Outcome, string) {
	t.Helper()
	stream, diagnostics := manifest.ReadTrees("tree.yaml", []byte(trees))
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics)
	}
	set, diagnostics := Compile(policies, nil, Options{Trees: []*manifest.Stream{stream}})
	if set == nil {
		t.Fatal(diagnostics)
	}
	read, diagnostics := manifest.Read("m.yaml", []byte(input))
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics)
	}
	outcome := set.Run(context.Background(), []*manifest.Stream{read}, Explain(), Views())
	return outcome, string(read.Bytes())
}

// TestTreesBeforeAdmission checks that trees see the manifest as it is written, without defaults;
// that policies see the result of trees; and that the outcome has the changes of both with their
// authors.
func TestTreesBeforeAdmission(t *testing.T) {
	outcome, got := withTrees(t, "immutable: (@ == null)\ndata: {seen: (to_string(keys($payload)))}\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
		policiesNamed(t, [2]string{"p", `Object{data: {"policy": "saw " + object.data.seen}}`}))
	want := `apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data:
  policy: saw ["apiVersion","kind","metadata"]
  seen: "[\"apiVersion\",\"kind\",\"metadata\"]"
immutable: true
`
	if len(outcome.Diagnostics) == 0 || got != want {
		t.Fatalf("%v\n%s", outcome.Diagnostics, got)
	}
	// The tree would change its own output again, so there is a warning.
	if d := outcome.Diagnostics[0]; d.Code != "not-idempotent" || !strings.Contains(d.Message, "tree.yaml, document 1") {
		t.Error(d)
	}
	m := outcome.Manifests[0]
	var paths []string
	for _, c := range m.Tree {
		if c.By.Policy != "tree.yaml" || c.Pass != 0 || c.At.File != "tree.yaml" {
			t.Errorf("%+v", c)
		}
		paths = append(paths, c.Path.String())
	}
	if strings.Join(paths, " ") != "data immutable" {
		t.Error(paths)
	}
	if _, ok := change.Keys("data", "seen").Get(m.Before); !ok {
		t.Error("the admission view is that of the manifest before the tree")
	}
	if len(m.Changes) != 1 || m.Changes[0].By.Policy != "p" {
		t.Errorf("changes of policies: %v", m.Changes)
	}
}

// TestTreesMove checks that policies match a manifest after a tree has changed its name and
// namespace.
func TestTreesMove(t *testing.T) {
	outcome, got := withTrees(t, "metadata: {namespace: shop, name: b}\n", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {}\n",
		policiesNamed(t, [2]string{"p", `Object{data: {"where": request.namespace + "/" + request.name}}`}))
	if outcome.Failed() || outcome.Manifests[0].ID != "ConfigMap/shop/b" || !strings.Contains(got, "where: shop/b") {
		t.Errorf("%v\n%s", outcome.Diagnostics, got)
	}
	if outcome, got = withTrees(t, "metadata: {name: ~}\n", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", nil); !outcome.Invalid ||
		!strings.Contains(outcome.Diagnostics[0].Message, "no metadata.name") {
		t.Errorf("%v\n%s", outcome.Diagnostics, got)
	}
}
