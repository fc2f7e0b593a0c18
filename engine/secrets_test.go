package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/manifest"
)

// TestSecretsInMessages runs a policy whose errors quote the object, on a Secret and on a ConfigMap
// that has a value of a Secret.
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
			"policy 'quote' with binding 'quote' denied request: the message is left out because it would show a value of the Secret",
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

// tokenPolicy writes a value computed from a param, and a literal text, into annotations.
const tokenPolicy = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: token}
spec:
  reinvocationPolicy: Never
  paramKind: {apiVersion: v1, kind: %s}
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE]}
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: 'Object{metadata: Object.metadata{annotations: {"token": string(params.data.a.upperAscii()), "from": string(params.metadata.name), "by": "policy-token"}}}'
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: token}
spec: {policyName: token, paramRef: {name: s, namespace: default, parameterNotFoundAction: Deny}}
`

// TestTaint checks that values which policies compute from sensitive objects are hidden, however
// short. Literal texts of a policy and public values are not hidden.
func TestTaint(t *testing.T) {
	read := func(name, text string, sensitive bool) *manifest.Stream {
		stream, diagnostics := manifest.Read(name, []byte(text))
		if len(diagnostics) > 0 {
			t.Fatal(diagnostics)
		}
		if sensitive {
			stream.MarkSensitive()
		}
		return stream
	}
	for name, tc := range map[string]struct {
		kind, param                string
		sensitive, sensitivePolicy bool
		wantSensitive              bool
		hidden, open               string
	}{
		"a Secret":                   {"Secret", "{a: Y2FuYXJ5}", false, false, true, "Y2FUYXJ5", "policy-token"},
		"a short value of a Secret":  {"Secret", "{a: cTg=}", false, false, true, "", ""},
		"a ConfigMap":                {"ConfigMap", "{a: canary-value}", false, false, false, "", "CANARY-VALUE"},
		"a sensitive ConfigMap":      {"ConfigMap", "{a: canary-value}", true, false, true, "CANARY-VALUE", "policy-token"},
		"a policy that is sensitive": {"ConfigMap", "{a: canary-value}", false, true, true, "CANARY-VALUE", ""},
	} {
		t.Run(name, func(t *testing.T) {
			param := read("param.yaml", "apiVersion: v1\nkind: "+tc.kind+"\nmetadata: {name: s, namespace: default}\ndata: "+tc.param+"\n", tc.sensitive)
			set, diagnostics := Compile([]*manifest.Stream{read("policy.yaml", fmt.Sprintf(tokenPolicy, tc.kind), tc.sensitivePolicy)}, []*manifest.Stream{param}, Options{})
			if set == nil {
				t.Fatal(diagnostics)
			}
			manifests := read("-", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n---\napiVersion: v1\nkind: Service\nmetadata: {name: d}\n", false)
			outcome := set.Run(context.Background(), []*manifest.Stream{manifests}, Explain())
			if outcome.Failed() {
				t.Fatal(outcome.Diagnostics)
			}
			m := outcome.Manifests[0]
			if m.Sensitive != tc.wantSensitive || m.Changes[0].Sensitive != tc.wantSensitive || outcome.Manifests[1].Sensitive {
				t.Errorf("sensitive: %v, its change: %v, another: %v", m.Sensitive, m.Changes[0].Sensitive, outcome.Manifests[1].Sensitive)
			}
			if text := tc.hidden; text != "" && outcome.Secrets.Text(text) == text {
				t.Errorf("%s is shown", text)
			}
			if text := tc.open; outcome.Secrets.Text(text) != text {
				t.Errorf("%s is hidden", text)
			}
		})
	}
}
