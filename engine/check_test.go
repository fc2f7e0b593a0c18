package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/manifest"
)

// fakePolicy is a MutatingAdmissionPolicy on ConfigMaps with JSON patches.
type fakePolicy struct {
	Name                  string
	FailureIgnored, Again bool
	Condition             string
	Patches               []string
}

func (p fakePolicy) String() string {
	failure, reinvocation, conditions := "Fail", "Never", ""
	if p.FailureIgnored {
		failure = "Ignore"
	}
	if p.Again {
		reinvocation = "IfNeeded"
	}
	if p.Condition != "" {
		conditions = "  matchConditions: [{name: c, expression: '" + p.Condition + "'}]\n"
	}
	text := `---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: ` + p.Name + `}
spec:
  failurePolicy: ` + failure + `
  reinvocationPolicy: ` + reinvocation + `
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]}
` + conditions + "  mutations:\n"
	for _, patch := range p.Patches {
		text += "  - {patchType: JSONPatch, jsonPatch: {expression: '[" + patch + "]'}}\n"
	}
	return text + `---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: ` + p.Name + `}
spec: {policyName: ` + p.Name + `}
`
}

// foundBy returns the findings with a code that Check has about ConfigMaps with the given fields.
func foundBy(t *testing.T, code string, policies []fakePolicy, manifests ...string) []string {
	t.Helper()
	var text strings.Builder
	for _, p := range policies {
		text.WriteString(p.String())
	}
	set, diagnostics := Compile([]*manifest.Stream{readText(t, "p.yaml", text.String())}, nil, Options{})
	if set == nil {
		t.Fatal(diagnostics)
	}
	var streams []*manifest.Stream
	for i, fields := range manifests {
		streams = append(streams, readText(t, fmt.Sprintf("m%d.yaml", i), fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: m%d, labels: {app: a}}%s}", i, fields)))
	}
	var found []string
	for _, d := range set.Check(context.Background(), streams).Diagnostics {
		if d.Code == code {
			found = append(found, d.Printed())
		}
	}
	return found
}

// TestOverwrites shows which changes of two policies are conflicts.
func TestOverwrites(t *testing.T) {
	patch := func(op, path, value string) string {
		if value != "" {
			value = ", value: " + value
		}
		return `JSONPatch{op: "` + op + `", path: "` + path + `"` + value + `}`
	}
	add := func(value string) string { return patch("add", "/metadata/labels/tier", value) }
	for name, tc := range map[string]struct {
		policies []fakePolicy
		want     []string // author, field, overwriter
	}{
		"another value":   {[]fakePolicy{{Name: "a", Patches: []string{add(`"1"`)}}, {Name: "b", Patches: []string{add(`"2"`)}}}, []string{"a metadata.labels.tier b"}},
		"the same value":  {[]fakePolicy{{Name: "a", Patches: []string{add(`"1"`)}}, {Name: "b", Patches: []string{add(`"1"`)}}}, nil},
		"another key":     {[]fakePolicy{{Name: "a", Patches: []string{add(`"1"`)}}, {Name: "b", Patches: []string{patch("add", "/metadata/labels/other", `"2"`)}}}, nil},
		"removed":         {[]fakePolicy{{Name: "a", Patches: []string{add(`"1"`)}}, {Name: "b", Patches: []string{patch("remove", "/metadata/labels/tier", "")}}}, []string{"a metadata.labels.tier b"}},
		"in a new map":    {[]fakePolicy{{Name: "a", Patches: []string{patch("add", "/data", `{"k": "1"}`)}}, {Name: "b", Patches: []string{patch("add", "/data/k", `"2"`)}}}, []string{"a data.k b"}},
		"of the manifest": {[]fakePolicy{{Name: "b", Patches: []string{patch("add", "/metadata/labels/app", `"2"`)}}}, nil},
		"its own":         {[]fakePolicy{{Name: "a", Patches: []string{add(`"1"`), add(`"2"`)}}}, nil},
		"the last of two": {
			[]fakePolicy{{Name: "a", Patches: []string{add(`"1"`)}}, {Name: "b", Patches: []string{add(`"2"`)}}, {Name: "c", Patches: []string{add(`"3"`)}}},
			[]string{"a metadata.labels.tier b", "b metadata.labels.tier c"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var want []string
			for _, w := range tc.want {
				part := strings.Fields(w)
				want = append(want, fmt.Sprintf("policy %[1]s, binding %[1]s, mutations[0] writes into %[2]s, and policy %[3]s, binding %[3]s, mutations[0] overwrites it", part[0], part[1], part[2]))
			}
			found := foundBy(t, "policies-fight", tc.policies, "")
			same := slices.EqualFunc(found, want, strings.HasPrefix)
			if !same {
				t.Errorf("found %q, want %q", found, want)
			}
		})
	}
}

// TestAlwaysFails shows when a policy is said to fail always: on all manifests on which it was
// evaluated, in all passes.
func TestAlwaysFails(t *testing.T) {
	reads := []string{`JSONPatch{op: "add", path: "/metadata/labels/x", value: object.data.k}`}
	late := fakePolicy{Name: "late", Patches: []string{`JSONPatch{op: "add", path: "/data", value: {"z": "1"}}`}}
	for name, tc := range map[string]struct {
		policies  []fakePolicy
		manifests []string
		want      string
	}{
		"the only manifest":     {[]fakePolicy{{Name: "a", FailureIgnored: true, Patches: reads}}, []string{""}, "policy a, mutations[0] fails on the only manifest"},
		"all manifests":         {[]fakePolicy{{Name: "a", FailureIgnored: true, Patches: reads}}, []string{"", ", data: {j: l}"}, "policy a, mutations[0] fails on all 2 manifests"},
		"one of two":            {[]fakePolicy{{Name: "a", FailureIgnored: true, Patches: reads}}, []string{"", ", data: {k: l}"}, ""},
		"only the second pass":  {[]fakePolicy{{Name: "a", FailureIgnored: true, Again: true, Patches: []string{`JSONPatch{op: "add", path: "/metadata/labels/x", value: has(object.data) ? object.data.k : ""}`}}, late}, []string{""}, ""},
		"a failure that denies": {[]fakePolicy{{Name: "a", Patches: reads}}, []string{""}, ""},
		"a condition":           {[]fakePolicy{{Name: "a", FailureIgnored: true, Condition: `object.data.k == "x"`, Patches: reads}}, []string{""}, "policy a fails on the only manifest"},
		"a false condition":     {[]fakePolicy{{Name: "a", FailureIgnored: true, Condition: `has(object.data)`, Patches: reads}}, []string{"", ", data: {j: l}"}, "policy a, mutations[0] fails on the only manifest"},
		"one of two mutations":  {[]fakePolicy{{Name: "a", FailureIgnored: true, Patches: append([]string{`JSONPatch{op: "add", path: "/metadata/labels/y", value: "1"}`}, reads...)}}, []string{""}, "policy a, mutations[1] fails on the only manifest"},
	} {
		t.Run(name, func(t *testing.T) {
			found := foundBy(t, "always-fails", tc.policies, tc.manifests...)
			if tc.want == "" && len(found) > 0 || tc.want != "" && (len(found) != 1 || !strings.HasPrefix(found[0], tc.want)) {
				t.Errorf("found %q, want %q", found, tc.want)
			}
		})
	}
}
