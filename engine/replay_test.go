package engine

import (
	"context"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/manifest"
)

// policiesNamed returns a policy for ConfigMaps with its binding for each pair of a name and an
// expression of an ApplyConfiguration.
func policiesNamed(t *testing.T, pairs ...[2]string) []*manifest.Stream {
	t.Helper()
	var b strings.Builder
	for _, pair := range pairs {
		b.WriteString(strings.NewReplacer("NAME", pair[0], "EXPRESSION", pair[1]).Replace(`
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: NAME}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
  reinvocationPolicy: Never
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: |
        EXPRESSION
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: NAME}
spec: {policyName: NAME}
---`))
	}
	stream, diagnostics := manifest.Read("policies.yaml", []byte(b.String()))
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics)
	}
	return []*manifest.Stream{stream}
}

// TestReplayNames checks that the replay names every policy that keeps changing its own output,
// with the field, and no policy whose change is undone by others.
func TestReplayNames(t *testing.T) {
	count := func(key string) string {
		return `Object{data: {"` + key + `": string(int(object.data.` + key + `) + 1)}}`
	}
	for _, c := range []struct {
		name     string
		policies [][2]string
		want     []string
	}{
		{
			"two that count",
			[][2]string{{"a", count("x")}, {"b", count("q")}, {"c", `Object{data: {"z": "1"}}`}},
			[]string{"data.x: policy a, binding a, mutations[0]", "data.q: policy b, binding b, mutations[0]"},
		},
		{"one undoes the other", [][2]string{{"a", `Object{data: {"x": "7"}}`}, {"b", `Object{data: {"x": "8"}}`}}, nil},
		{
			"one undoes the other, another counts",
			[][2]string{{"a", `Object{data: {"x": "7"}}`}, {"b", `Object{data: {"x": "8"}}`}, {"c", count("q")}},
			[]string{"data.q: policy c, binding c, mutations[0]"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			set, diagnostics := Compile(policiesNamed(t, c.policies...), nil, Options{})
			if set == nil {
				t.Fatal(diagnostics)
			}
			stream, _ := manifest.Read("m.yaml", []byte(`{apiVersion: v1, kind: ConfigMap, metadata: {name: m}, data: {x: "1", q: "1"}}`))
			outcome := set.Run(context.Background(), []*manifest.Stream{stream}, Explain(), Views())
			var got []string
			for _, d := range outcome.Diagnostics {
				got = append(got, d.Field+": "+strings.TrimSuffix(d.Message, " would change its own output again"))
			}
			if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}
