package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/manifest"
)

// TestSecretsInMessages runs a policy whose errors quote what it reads, on a Secret, and
// on a ConfigMap that has a value of a Secret.
func TestSecretsInMessages(t *testing.T) {
	policies, diagnostics := manifest.Read("policy.yaml", []byte(`
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: quote}
spec:
  reinvocationPolicy: Never
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], resources: [secrets, configmaps], operations: [CREATE]}
  mutations:
  - patchType: JSONPatch
    jsonPatch:
      expression: '[JSONPatch{op: "remove", path: "/metadata/labels/" + object.data.a}]'
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: quote}
spec: {policyName: quote}
`))
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics)
	}
	set, diagnostics := Compile([]*manifest.Stream{policies}, nil, Options{})
	if set == nil {
		t.Fatal(diagnostics)
	}
	for name, tc := range map[string]struct{ manifests, want string }{
		"a Secret": {
			"apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {a: Y2FuYXJ5LXZhbHVl}\n",
			"policy quote, binding quote, mutations[0] denied it; what there is to say is left out, as it would show a value of the Secret",
		},
		"a short value of a Secret": {
			"apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: q8}\n",
			"would show a value of the Secret",
		},
		"a value of a Secret elsewhere": {
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: canary-value}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {a: Y2FuYXJ5LXZhbHVl}\n",
			`missing path: "/metadata/labels/*****"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			stream, diagnostics := manifest.Read("-", []byte(tc.manifests))
			if len(diagnostics) > 0 {
				t.Fatal(diagnostics)
			}
			outcome := set.Run(context.Background(), []*manifest.Stream{stream}, Explain(), Views())
			text := fmt.Sprint(outcome.Diagnostics)
			if !outcome.Denied || !strings.Contains(text, tc.want) {
				t.Errorf("got %s, want %s", text, tc.want)
			}
			for _, value := range []string{"canary", "Y2FuYXJ5", "q8"} {
				if strings.Contains(text, value) {
					t.Errorf("%q is shown: %s", value, text)
				}
			}
		})
	}
}
