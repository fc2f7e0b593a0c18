package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/manifest"
)

// BenchmarkScale runs inputs that once took quadratic time. The time per object must be about the
// same for both sizes.
func BenchmarkScale(b *testing.B) {
	for _, scale := range []struct {
		name  string
		input func(n int) (policies, surroundings, manifests string, options Options)
	}{{"params-by-selector", paramsBySelector}, {"old", withOld}, {"secrets", withSecrets}} {
		for _, n := range []int{1000, 4000, 16000} {
			b.Run(fmt.Sprintf("%s/%d", scale.name, n), func(b *testing.B) {
				policies, surroundings, manifests, options := scale.input(n)
				set, diagnostics := Compile(streams(b, policies), streams(b, surroundings), options)
				if set == nil {
					b.Fatal(diagnostics)
				}
				b.ReportAllocs()
				for b.Loop() {
					read := streams(b, manifests)
					if outcome := set.Run(context.Background(), read, Explain(), Views()); outcome.Failed() {
						b.Fatal(outcome.Diagnostics[0])
					}
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(n), "us/object")
			})
		}
	}
}

func streams(b testing.TB, text string) []*manifest.Stream {
	if text == "" {
		return nil
	}
	stream, diagnostics := manifest.Read("input", []byte(text))
	if len(diagnostics) > 0 {
		b.Fatal(diagnostics)
	}
	return []*manifest.Stream{stream}
}

// labelPolicy labels ConfigMaps. spec and binding are added to the policy and its binding.
func labelPolicy(operation, expression, spec, binding string) string {
	return fmt.Sprintf(`apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: label}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [%s], resources: [configmaps]}]
  reinvocationPolicy: Never
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration: {expression: 'Object{metadata: Object.metadata{labels: {"seen": %s}}}'}
%s---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: label}
spec:
  policyName: label
%s`, operation, expression, spec, binding)
}

func configMaps(n int, data func(i int) string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c-%d, namespace: shop}\ndata: {a: %q}\n", i, data(i))
	}
	return b.String()
}

// paramsBySelector has n ConfigMaps, and a selector that picks a param for each from n.
func paramsBySelector(n int) (policies, surroundings, manifests string, options Options) {
	var params strings.Builder
	for i := range n {
		fmt.Fprintf(&params, "---\napiVersion: v1\nkind: Secret\nmetadata: {name: s-%d, namespace: shop, labels: {pick: \"%v\"}}\nstringData: {a: b}\n", i, i == n/2)
	}
	return labelPolicy("CREATE", "string(params.metadata.name)", "  paramKind: {apiVersion: v1, kind: Secret}\n",
		"  paramRef: {selector: {matchLabels: {pick: \"true\"}}, namespace: shop, parameterNotFoundAction: Deny}\n"), params.String(), configMaps(n, func(int) string { return "x" }), Options{}
}

// withOld updates n ConfigMaps.
func withOld(n int) (policies, surroundings, manifests string, options Options) {
	old, _ := manifest.Read("old", []byte(configMaps(n, func(int) string { return "old" })))
	return labelPolicy("UPDATE", "oldObject.data.a", "", ""), "", configMaps(n, func(int) string { return "new" }),
		Options{Operation: "UPDATE", Old: []*manifest.Stream{old}}
}

// withSecrets has n Secrets, and a warning that may contain a value of any of them.
func withSecrets(n int) (policies, surroundings, manifests string, options Options) {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "---\napiVersion: v1\nkind: Secret\nmetadata: {name: s-%d, namespace: n-%d}\nstringData: {password: \"password-%d\"}\n", i, i, i)
	}
	policy := labelPolicy("CREATE", "namespaceObject.metadata.name", "", "")
	return strings.NewReplacer("configmaps", "secrets", "  matchConstraints:\n", "  matchConstraints:\n    namespaceSelector: {matchExpressions: [{key: none, operator: DoesNotExist}]}\n").Replace(policy), "", b.String(), Options{}
}
