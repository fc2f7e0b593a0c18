package engine

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/archive"
)

// idlePolicies change nothing: one matches no existing kind, and the others read everything but
// have a reason not to apply.
const idlePolicies = `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: nothing}
spec:
  reinvocationPolicy: IfNeeded
  matchConstraints: {resourceRules: [{apiGroups: [nothing.example.com], apiVersions: [v1], operations: ["*"], resources: ["*"]}]}
  mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{}'}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: never}
spec:
  reinvocationPolicy: IfNeeded
  matchConstraints: {resourceRules: [{apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["*"]}]}
  matchConditions: [{name: never, expression: 'object == null'}]
  mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{}'}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: nothing}
spec: {policyName: nothing}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: never}
spec: {policyName: never}
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: never}
spec:
  background: false
  rules:
  - name: never
    match: {any: [{resources: {kinds: ["*"]}}]}
    preconditions: {all: [{key: "{{ request.object.kind }}", operator: Equals, value: never}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {never: "true"}}}}
---
apiVersion: json.preadmit.dev/v1alpha1
kind: MutatingPolicy
metadata: {name: never}
spec:
  rules:
  - name: never
    match: {all: [{kind: never}]}
    mutate: {never: true}
`

// FuzzIdentity checks the law that manifests which no policy changes keep their bytes.
func FuzzIdentity(f *testing.F) {
	behaviour := archive.Unpack(f, "testdata/behaviour", 133)
	for _, pattern := range []string{"../testdata/cases/*/manifests/*", "testdata/recorded/*/manifests/*.yaml", behaviour + "/*/manifests/*.yaml", "testdata/kyverno/*/*/resource*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatalf("%s: no files (%v)", pattern, err)
		}
		for _, file := range files {
			if text, err := os.ReadFile(file); err == nil {
				f.Add(text)
			}
		}
	}
	policies, diagnostics := manifest.Read("policies.yaml", []byte(idlePolicies))
	if len(diagnostics) > 0 {
		f.Fatal(diagnostics)
	}
	set, diagnostics := Compile([]*manifest.Stream{policies}, nil, Options{})
	if set == nil {
		f.Fatal(diagnostics)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		stream, diagnostics := manifest.Read("manifests.yaml", text)
		if source.HasErrors(diagnostics) || holdsPolicies(stream) {
			return
		}
		outcome := set.Run(context.Background(), []*manifest.Stream{stream}, Explain(), Views())
		if outcome.Failed() {
			return
		}
		if got := stream.Bytes(); !bytes.Equal(got, text) {
			t.Errorf("the output is\n%s", got)
		}
		for _, m := range outcome.Manifests {
			if len(m.All())+len(m.Edits) > 0 {
				t.Errorf("%s: %v", m.ID, m.All())
			}
		}
	})
}

func holdsPolicies(stream *manifest.Stream) bool {
	for _, d := range stream.Documents() {
		if IsPolicy(d.Kind()) {
			return true
		}
	}
	return false
}

// FuzzPolicies runs random policies of all languages on a random manifest, and checks that the laws
// of the package hold and that no run exceeds the limits.
func FuzzPolicies(f *testing.F) {
	for i := range 64 {
		seed := make([]byte, 64)
		for j := range seed {
			seed[j] = byte(i*131 + j*j*37)
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, choices []byte) {
		g := grammar{choices: choices}
		policies, text := g.policies(), g.manifest()
		stream, diagnostics := manifest.Read("policies.yaml", []byte(policies))
		if len(diagnostics) > 0 {
			t.Fatalf("%v\n%s", diagnostics, policies)
		}
		set, _ := Compile([]*manifest.Stream{stream}, nil, Options{})
		if set == nil {
			return // a server must refuse them as well
		}
		input, diagnostics := manifest.Read("manifest.yaml", []byte(text))
		if len(diagnostics) > 0 {
			t.Fatalf("%v\n%s", diagnostics, text)
		}
		outcome := set.Run(context.Background(), []*manifest.Stream{input}, Explain(), Views())
		for _, d := range outcome.Diagnostics {
			if d.Code == "internal" {
				t.Errorf("%v", d)
			}
		}
		if outcome.Failed() {
			if !bytes.Equal(input.Bytes(), []byte(text)) {
				t.Error("it failed, and changed the manifest")
			}
		} else if after := outcome.Manifests[0].After; after == nil || textAt(after, "metadata", "name") != "" { // otherwise validation refuses it
			for _, problem := range []string{closesLoop(set, outcome.Manifests[0]), explained(input, outcome), staysTheSame(set, input, outcome)} {
				if problem != "" {
					t.Error(problem)
				}
			}
		}
		if t.Failed() {
			t.Logf("policies\n%s\nmanifest\n%s\noutput\n%s", policies, text, input.Bytes())
		}
	})
}
