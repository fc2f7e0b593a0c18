package engine

import (
	"context"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/manifest"
)

// TestVerifyDiffers checks that a difference is found. The pattern comes from an object, and a
// policy in CEL does not see wildcards in it.
func TestVerifyDiffers(t *testing.T) {
	read := func(name, text string) []*manifest.Stream {
		stream, problems := manifest.Read(name, []byte(text))
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		return []*manifest.Stream{stream}
	}
	policies := read("policies.yaml", `
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: labels}
spec:
  rules:
  - name: pattern
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    preconditions:
      all:
      - {key: "{{ request.object.data.team || '' }}", operator: Equals, value: "{{ request.object.data.pattern || '' }}"}
    mutate:
      patchStrategicMerge: {metadata: {labels: {a: b}}}
`)
	manifests := read("manifests.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {team: shop, pattern: 's*'}\n")
	migrated, problems := Migrate(MutatingPolicies, policies, nil, Options{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	proof, problems := Verify(context.Background(), policies, migrated, nil, manifests, Options{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	const want = `metadata.labels was {"a":"b"} (policy labels, rule pattern) and is now null (no policy wrote it)`
	if len(proof.Differences) != 1 || !strings.Contains(proof.Differences[0].Message, want) || proof.Differences[0].Subject != "ConfigMap/default/a" {
		t.Errorf("%v\nwant %s", proof.Differences, want)
	}
}
