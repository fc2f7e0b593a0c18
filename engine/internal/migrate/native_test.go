package migrate

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
)

// TestReread checks which mutations have variables that read what mutations before them may change.
func TestReread(t *testing.T) {
	for _, c := range []struct{ variable, first, second, want string }{
		{"object.metadata.labels", `Object{metadata: Object.metadata{labels: {"a": "b"}}}`, "Object{spec: variables.other}", "[spec.mutations[1]]"},
		{"object.metadata.labels", `Object{metadata: Object.metadata{annotations: {"a": "b"}}}`, "Object{spec: variables.other}", "[]"},
		{"object.metadata.labels", `Object{metadata: Object.metadata{labels: {"a": "b"}}}`, "Object{spec: object.spec}", "[]"},
		{"object.spec.containers[0].image", `[JSONPatch{op: "add", path: "/spec/containers/0/tty", value: true}]`, "[variables.v]", "[spec.mutations[1]]"},
		{"object.spec.volumes.map(v, v.name)", `[JSONPatch{op: "add", path: "/spec/containers/0/tty", value: true}]`, "[variables.v]", "[]"},
		{"object.metadata.labels['a/b']", `[JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("a/b"), value: "c"}]`, "[variables.v]", "[spec.mutations[1]]"},
		{"object.metadata.labels['a/b']", `[JSONPatch{op: "add", path: "/metadata/labels/a~1b", value: "c"}]`, "[variables.v]", "[spec.mutations[1]]"},
		{"object.metadata.labels['a']", `[JSONPatch{op: "add", path: "/metadata/labels/a~1b", value: "c"}]`, "[variables.v]", "[]"},
		{"object.spec.volumes", `[JSONPatch{op: "add", path: variables.path, value: "c"}]`, "[variables.v]", "[spec.mutations[1]]"},
		{"object.spec.volumes", "variables.patch", "[variables.v]", "[spec.mutations[1]]"},
	} {
		t.Run(c.first, func(t *testing.T) {
			text := fmt.Sprintf("{variables: [{name: v, expression: %q}, {name: other, expression: variables.v.size()}], mutations: [{applyConfiguration: {expression: %q}}, {jsonPatch: {expression: %q}}]}",
				c.variable, c.first, c.second)
			var spec any
			if err := yaml.Unmarshal([]byte(text), &spec); err != nil {
				t.Fatal(err)
			}
			got := []string{}
			for _, m := range reread(policy.Node{Value: map[string]any{"spec": spec}}.At("spec")) {
				got = append(got, m.Path.String())
			}
			if fmt.Sprint(got) != c.want {
				t.Errorf("%v, want %s", got, c.want)
			}
		})
	}
}

// TestRecovered checks that a panic becomes an error at the policy, which says whose defect it is.
func TestRecovered(t *testing.T) {
	stream, problems := manifest.Read("policy.yaml", []byte("# A comment.\napiVersion: v1\nkind: Policy\nmetadata: {name: a}\n"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	func() {
		defer recovered(stream.Documents()[0], &problems)
		panic("no such node")
	}()
	const want = "policy.yaml:2:1: error[internal]: Policy a: the conversion of this policy failed: no such node"
	if len(problems) != 1 || !strings.HasPrefix(problems[0].Error(), want) || !strings.Contains(problems[0].Advice, "defect of preadmit") {
		t.Errorf("%v\nwant %s", problems, want)
	}
}
