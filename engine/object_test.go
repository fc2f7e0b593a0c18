package engine

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/racing"
)

// TestAdmitIsRun runs the recorded cases with Admit. The result is the object that Run writes, and
// the given object is not modified.
func TestAdmitIsRun(t *testing.T) {
	admitted := 0
	for _, file := range racing.Sample(recordedManifests(t)) {
		set, _ := Compile(policiesBeside(t, file), nil, recordedRequest)
		if set == nil {
			continue // a case with invalid policies
		}
		stream := readFile(t, file)
		for _, d := range stream.Documents() {
			if d.Stream().ResourceList() != nil {
				continue
			}
			object := d.Object()
			given := change.CloneObject(object)
			single, _ := manifest.FromObjects(file, object)
			want := set.Run(t.Context(), []*manifest.Stream{single}, Explain(), Views())
			got, err := set.Admit(t.Context(), object)
			if (err != nil) != want.Failed() {
				t.Errorf("%s: Admit fails with %v, Run with %v", file, err, want.Diagnostics)
				continue
			}
			if !reflect.DeepEqual(object, given) {
				t.Errorf("%s: Admit has changed the object given", file)
			}
			if err != nil {
				continue
			}
			admitted++
			again, _ := manifest.Read("", single.Bytes())
			if !change.Equal(got.Object, again.Documents()[0].Object()) {
				t.Errorf("%s: Admit and Run differ", file)
			}
			if len(want.Manifests) == 1 && len(got.Changes) != len(want.Manifests[0].All()) {
				t.Errorf("%s: %d changes, Run has %d", file, len(got.Changes), len(want.Manifests[0].All()))
			}
		}
	}
	if admitted < racing.Least(200) {
		t.Errorf("only %d objects were admitted", admitted)
	}
}

func TestAdmitRefuses(t *testing.T) {
	set := new(Set)
	for name, test := range map[string]struct {
		object map[string]any
		want   string
	}{
		"nil":                 {nil, "manifest-invalid"},
		"empty":               {map[string]any{}, "manifest-invalid"},
		"no name of a kind":   {map[string]any{"apiVersion": "v1"}, "manifest-invalid"},
		"a list":              {map[string]any{"apiVersion": "v1", "kind": "List", "items": []any{}}, "manifest-invalid"},
		"what is not a value": {map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": func() {}}, "manifest-invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			answer, err := set.Admit(t.Context(), test.object)
			if !source.HasCode(err, test.want) || answer.Object != nil || answer.Changes != nil {
				t.Errorf("got %v and %v", answer, err)
			}
		})
	}
}

// TestZeroValues checks that nil and zero values are allowed.
func TestZeroValues(t *testing.T) {
	object := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}, "data": map[string]string{"n": "1"}}
	for name, set := range map[string]*Set{"nil": nil, "zero": new(Set)} {
		var warnings []string
		answer, err := set.Admit(t.Context(), object, Observer{}, Warn(func(d source.Diagnostic) { warnings = append(warnings, d.Code) }))
		if err != nil || len(answer.Changes) > 0 || answer.Object["data"].(map[string]any)["n"] != "1" {
			t.Errorf("%s: got %v, %v", name, answer, err)
		}
		if strings.Join(warnings, " ") != source.CodeNoPolicies {
			t.Errorf("%s: the warnings are %v", name, warnings)
		}
		if outcome := set.Run(t.Context(), []*manifest.Stream{nil}); outcome.Failed() {
			t.Errorf("%s: %v", name, outcome.Diagnostics)
		}
	}
	if set, diagnostics := Compile([]*manifest.Stream{nil}, []*manifest.Stream{nil}, Options{}); set == nil {
		t.Error(diagnostics)
	}
}

// TestAdmitUpdate checks that policies see the old object in an update.
func TestAdmitUpdate(t *testing.T) {
	policies := readText(t, "policies.yaml", `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: p}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [UPDATE], resources: [configmaps]}]
  reinvocationPolicy: Never
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration: {expression: 'Object{data: {"was": oldObject.data.n}}'}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: p}
spec: {policyName: p}
`)
	set, diagnostics := Compile([]*manifest.Stream{policies}, nil, Options{})
	if set == nil {
		t.Fatal(diagnostics)
	}
	object := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}, "data": map[string]any{"n": "2"}}
	old := maps.Clone(object)
	old["data"] = map[string]any{"n": "1"}
	answer, err := set.AdmitUpdate(t.Context(), object, old)
	if err != nil || answer.Object["data"].(map[string]any)["was"] != "1" {
		t.Errorf("update: got %v, %v", answer, err)
	}
	if answer, err = set.Admit(t.Context(), object); err != nil || answer.Object["data"].(map[string]any)["was"] != nil {
		t.Errorf("create: got %v, %v", answer, err)
	}
	if _, err := set.AdmitUpdate(t.Context(), object, nil); !source.HasCode(err, source.CodeDenied) {
		t.Errorf("no old object, which the policy reads: got %v", err)
	}
}

// TestAdmitWarnings checks that warnings and audit annotations come with every answer, and that the
// option Validation decides about refusals.
func TestAdmitWarnings(t *testing.T) {
	policies := []byte(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: p}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
  validations: [{expression: "object.data.size == '1'", message: not one}]
  auditAnnotations: [{key: size, valueExpression: string(object.data.size)}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: deny}
spec: {policyName: p, validationActions: [Deny]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: warn}
spec: {policyName: p, validationActions: [Warn]}
`)
	object := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}, "data": map[string]any{"size": "2"}}
	for mode, want := range map[Validation]string{
		"":             "no object [p/size: 2] 1 denied",
		ValidationDeny: "no object [p/size: 2] 1 denied",
		ValidationWarn: "object [p/size: 2] 1 ",
		ValidationOff:  "object [] 0 ",
	} {
		set, err := CompileYAML(Options{Validation: mode}, policies)
		if err != nil {
			t.Fatal(err)
		}
		var warned []string
		answer, err := set.Admit(t.Context(), object, Warn(func(d source.Diagnostic) { warned = append(warned, d.Code) }))
		got, code := "object", ""
		if answer.Object == nil {
			got = "no object"
		}
		if source.HasCode(err, source.CodeDenied) {
			code = "denied"
		}
		var audit []string
		for _, a := range answer.Audit {
			audit = append(audit, a.Key+": "+a.Value)
		}
		if got = fmt.Sprintf("%s %v %d %s", got, audit, len(answer.Warnings), code); got != want {
			t.Errorf("%q: got %s, want %s", mode, got, want)
		}
		if slices.Contains(warned, source.CodeWouldBeDenied) != (mode == ValidationWarn) {
			t.Errorf("%q: the warnings are %v", mode, warned)
		}
	}
}

// TestCompileYAML checks that the error names the mistakes of every text. A warning is not an
// error.
func TestCompileYAML(t *testing.T) {
	set, err := CompileYAML(Options{}, []byte("a: [\n"), []byte("b: {\n"))
	if set != nil || err == nil || !strings.Contains(err.Error(), "text 1:") || !strings.Contains(err.Error(), "text 2:") {
		t.Errorf("got %v, %v", set, err)
	}
	set, err = CompileYAML(Options{Authorizer: "maybe"})
	if set != nil || !source.HasCode(err, source.CodeOptionValue) {
		t.Errorf("got %v, %v", set, err)
	}
	if set, err = CompileYAML(Options{}); set == nil || err != nil {
		t.Errorf("got %v, %v", set, err)
	}
}
