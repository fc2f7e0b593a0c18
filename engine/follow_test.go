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
