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
	if len(problems) != 1 || problems[0].Code != "policy-converted-almost" {
		t.Fatal(problems)
	}
	proof, problems := Verify(context.Background(), policies, migrated, nil, manifests, Ordered, Options{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	const want = `metadata.labels was {"a":"b"} (policy labels, rule pattern) and is now null (no policy wrote it)`
	if len(proof.Differences) != 1 || !strings.Contains(proof.Differences[0].Message, want) || proof.Differences[0].Subject != "ConfigMap/default/a" {
		t.Errorf("%v\nwant %s", proof.Differences, want)
	}
}

// TestVerifyMoved checks that an item at another place is said to have moved, and that order can be
// ignored.
func TestVerifyMoved(t *testing.T) {
	read := func(text string) []*manifest.Stream {
		stream, problems := manifest.Read("file.yaml", []byte(text))
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		return []*manifest.Stream{stream}
	}
	const policy = `
apiVersion: policies.kyverno.io/v1
kind: MutatingPolicy
metadata: {name: env}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  autogen: {podControllers: {controllers: []}}
  mutations:
  - {patchType: JSONPatch, jsonPatch: {expression: '[JSONPatch{op: "add", path: "/spec/containers/0/env/PLACE", value: {"name": "A", "value": "a"}}]'}}
`
	first, last := read(strings.Replace(policy, "PLACE", "0", 1)), read(strings.Replace(policy, "PLACE", "-", 1))
	manifests := read("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: i, env: [{name: B}, {name: C}]}]}\n")
	for order, want := range map[Order]string{Ordered: "has moved", Unordered: ""} {
		proof, problems := Verify(context.Background(), first, last, nil, manifests, order, Options{})
		if proof == nil {
			t.Fatal(problems)
		}
		got := ""
		for _, d := range proof.Differences {
			if strings.HasPrefix(d.Subject, "Pod/default/p") {
				got = d.Message
			}
		}
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%v: %q, want %q", order, got, want)
		}
	}
}

// TestVerifyInvalid checks that a manifest that is not valid is an error, because nothing was
// compared.
func TestVerifyInvalid(t *testing.T) {
	policies := readStreams(t, "../examples/mutatingpolicy/policy.yaml")
	stream, _ := manifest.Read("file.yaml", []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: y}\n"))
	proof, problems := Verify(context.Background(), policies, policies, nil, []*manifest.Stream{stream}, Ordered, Options{})
	if proof != nil || len(problems) != 1 || problems[0].Code != "manifest-invalid" {
		t.Errorf("%v, %v", proof, problems)
	}
}
