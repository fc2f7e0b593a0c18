package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/limit"
)

// TestTooManyTargets checks that a run ends with an error if many objects trigger policies with many
// targets.
func TestTooManyTargets(t *testing.T) {
	const rule = `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: all}
spec:
  rules:
  - name: r
    match: {any: [{resources: {kinds: [Secret]}}]}
    mutate: {targets: [{apiVersion: v1, kind: ConfigMap, preconditions: {all: [{key: a, operator: Equals, value: b}]}}], patchStrategicMerge: {metadata: {labels: {a: b}}}}
`
	set, diagnostics := Compile(streams(t, rule), nil, Options{})
	if set == nil {
		t.Fatal(diagnostics)
	}
	for n, want := range map[int]string{20: "", 320: limit.TargetCount} {
		var manifests strings.Builder
		for i := range n {
			fmt.Fprintf(&manifests, "---\napiVersion: v1\nkind: Secret\nmetadata: {name: s-%d}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c-%d}\n", i, i)
		}
		outcome := set.Run(context.Background(), streams(t, manifests.String()))
		got := ""
		for _, d := range outcome.Diagnostics {
			got += d.Code
		}
		if got != want || outcome.Failed() != (want != "") {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

// TestCopied checks that the maps and lists that a step copies count, and not those that it shares.
func TestCopied(t *testing.T) {
	shared := map[string]any{"c": "d", "e": "f"}
	before := map[string]any{"shared": shared, "a": map[string]any{"b": "c"}, "list": []any{shared, shared}}
	after := map[string]any{"shared": shared, "a": map[string]any{"b": "d", "e": "f"}, "list": []any{shared, shared, shared}}
	if got := copied(before, before); got != 0 {
		t.Errorf("%d of the same object", got)
	}
	if got, want := copied(before, after), 3+2+3+2; got != want { // the object, a, the list and its new item
		t.Errorf("got %d, want %d", got, want)
	}
}
