package mapolicy

import (
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/manifest"
)

// compileOne compiles a policy with a spec and returns its diagnostics.
func compileOne(t *testing.T, version, spec string) string {
	t.Helper()
	text := "apiVersion: admissionregistration.k8s.io/" + version + `
kind: MutatingAdmissionPolicy
metadata: {name: p}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
` + spec
	stream, diagnostics := manifest.Read("p.yaml", []byte(text))
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics)
	}
	_, diagnostics = New(36, 0).Compile(stream.Documents(), nil)
	var lines []string
	for _, d := range diagnostics {
		if d.Code != "policy-without-binding" {
			lines = append(lines, d.Severity.String()+": "+d.Field+": "+d.Message)
		}
	}
	return strings.Join(lines, "\n")
}

// TestDrafts checks which documents are drafts, and that all others are refused as a server
// refuses them.
func TestDrafts(t *testing.T) {
	const (
		warn3775 = "warning: : MutatingAdmissionPolicy p is in the form of KEP-3775, which no API server accepts"
		warn3962 = "warning: : MutatingAdmissionPolicy p is in the form of an early version of KEP-3962, which no API server accepts"
		flat     = `  mutations: [{expression: 'JSONPatch[{op: "remove", path: "/spec/x"}]'}]` + "\n"
	)
	for _, c := range []struct{ name, version, spec, want string }{
		{"KEP-3775", "v1alpha1", flat, warn3775},
		{"early KEP-3962", "v1alpha1", "  mutations: [{patchType: ApplyConfiguration, expression: 'Object{}'}]\n", warn3962},
		{"only mutationValidationPolicy", "v1alpha1", "  reinvocationPolicy: Never\n  mutationValidationPolicy: Warn\n  mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{}'}}]\n", warn3962},
		{"only paramKind", "v1alpha1", "  paramKind: {group: a.example.com, version: v1, kind: A}\n  mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{}'}}]\n", warn3962},

		{"v1", "v1", flat, `error: spec.mutations[0].expression: unknown field "spec.mutations[0].expression"`},
		{"v1beta1", "v1beta1", flat, `error: spec.mutations[0].expression: unknown field "spec.mutations[0].expression"`},
		{
			"another unknown field", "v1alpha1", "  mutations: [{expression: 'null', patches: []}]\n",
			"error: spec.mutations[0].expression: unknown field \"spec.mutations[0].expression\"\nerror: spec.mutations[0].patches: unknown field \"spec.mutations[0].patches\"",
		},
		{
			"another unknown field in spec", "v1alpha1", flat + "  conditions: []\n",
			"error: spec.conditions: unknown field \"spec.conditions\"\nerror: spec.mutations[0].expression: unknown field \"spec.mutations[0].expression\"",
		},
		{"a wrong type", "v1alpha1", "  mutations: [{expression: [a]}]\n", `error: spec.mutations[0].expression: unknown field "spec.mutations[0].expression"`},
		{"not a draft at all", "v1alpha1", "  mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{}'}}]\n", "error: spec.reinvocationPolicy: Required value"},
		{
			"unset in v1", "v1alpha1", "  reinvocationPolicy: Never\n  mutations: [{patchType: JSONPatch, jsonPatch: {expression: 'JSONPatch{}'}}]\n",
			"error: spec.mutations[0].jsonPatch.expression: Invalid value: must evaluate to list(JSONPatch) but got JSONPatch",
		},

		{
			"both forms in one mutation", "v1alpha1", "  mutations: [{expression: 'null', patchType: JSONPatch, jsonPatch: {expression: '[]'}}]\n",
			warn3962 + "\nerror: spec.mutations[0].jsonPatch: Invalid value: must not be specified beside expression",
		},
		{
			"a type that is no result", "v1alpha1", "  mutations: [{expression: '1'}]\n",
			warn3775 + "\nerror: spec.mutations[0].expression: Invalid value: must evaluate to JSONPatch, a list of JSONPatch, null or a bool but got int",
		},
		{
			"an Object without patchType", "v1alpha1", "  mutations: [{expression: 'Object{}'}]\n",
			warn3775 + "\nerror: spec.mutations[0].expression: Invalid value: must evaluate to JSONPatch, a list of JSONPatch, null or a bool but got Object",
		},
		{
			"a list of Objects", "v1alpha1", "  mutations: [{patchType: ApplyConfiguration, expression: '[Object{}]'}]\n",
			warn3962 + "\nerror: spec.mutations[0].expression: Invalid value: must evaluate to Object, null or a bool but got list(Object)",
		},
		{
			"values that are none", "v1alpha1", "  mutationValidationPolicy: Maybe\n  mutations: [{patchType: Merge, expression: 'null', reinvocationPolicy: Often, condition: '1'}]\n",
			warn3962 + "\nerror: spec.mutationValidationPolicy: Unsupported value: \"Maybe\": supported values: \"Fail\", \"Warn\", \"Skip\"" +
				"\nerror: spec.mutations[0].patchType: Unsupported value: \"Merge\": supported values: \"ApplyConfiguration\", \"JSONPatch\"" +
				"\nerror: spec.mutations[0].condition: Invalid value: must evaluate to bool but got int" +
				"\nerror: spec.mutations[0].reinvocationPolicy: Unsupported value: \"Often\": supported values: \"IfNeeded\", \"Never\"",
		},
		{
			"a paramKind of both forms", "v1alpha1", "  paramKind: {apiVersion: a.example.com/v1, group: a.example.com, kind: A}\n  mutations: [{expression: 'null'}]\n",
			warn3775 + "\nerror: spec.paramKind: Invalid value: give either apiVersion and kind, or group, version and kind",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := compileOne(t, c.version, c.spec); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestRewrite(t *testing.T) {
	for expression, want := range map[string]string{
		`JSONPatch[{op: "add"}]`:                           `[JSONPatch{op: "add"}]`,
		`JSONPatch[{op: "a"}, {op: "b", value: {"op":1}}]`: `[JSONPatch{op: "a"}, JSONPatch{op: "b", value: {"op":1}}]`,
		`JSONPatch[{"op": "a", 'path': "/x"}]`:             `[JSONPatch{op: "a", path: "/x"}]`,
		`x ? JSONPatch[{op: "a"}] : JSONPatch[ { } ]`:      `x ? [JSONPatch{op: "a"}] : [ JSONPatch{ } ]`,
		`JSONPatch[{op: "a", value: JSONPatch`:             `JSONPatch[{op: "a", value: JSONPatch`,
		`"JSONPatch[{op}]" + a.JSONPatch[{}]`:              `"JSONPatch[{op}]" + a.JSONPatch[{}]`,
		`Object.spec.containers.item{a: 1}`:                `Object.spec.containers{a: 1}`,
		`Object.spec.items.item.env.item{}`:                `Object.spec.items.env{}`,
		`Object.item.size()`:                               `Object.item.size()`,
		`a.Object.item{}`:                                  `a.Object.item{}`,
		`'Object.item{}' // Object.item{}`:                 `'Object.item{}' // Object.item{}`,
		`r"\" + Object.x.item{}`:                           `r"\" + Object.x{}`,
		`"""a" Object.item{}""" + Object.x.item{}`:         `"""a" Object.item{}""" + Object.x{}`,
		`"\"" + Object.x.item{} + "`:                       `"\"" + Object.x{} + "`,
	} {
		if got := rewrite(expression).text; got != want {
			t.Errorf("%s\ngives %s\nwant  %s", expression, got, want)
		}
	}
}

// FuzzRewrite checks that positions map back into the expression, in order, and that the text
// between edits does not change.
func FuzzRewrite(f *testing.F) {
	for _, text := range []string{`JSONPatch[{op: "add"}]`, `Object.spec.containers.item{a: JSONPatch[{"op": 1}]}`, `r'\' // x`, `"""`, `JSONPatch[{`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, expression string) {
		r := rewrite(expression)
		last := 0
		for i := range len(r.text) {
			at := r.original(i)
			if at < last || at > len(expression) {
				t.Fatalf("byte %d of %q comes from byte %d of %q, the one before from %d", i, r.text, at, expression, last)
			}
			last = at
		}
		if len(r.edits) == 0 && r.text != expression {
			t.Errorf("%q became %q without an edit", expression, r.text)
		}
	})
}

func TestUnset(t *testing.T) {
	mark := map[string]any{unsetKey: unsetValue}
	deployment := schema.Builtin().Lookup(gvk.Kind{Group: "apps", Version: "v1", Kind: "Deployment"}).Type()
	object := func(text string) map[string]any {
		stream, diagnostics := manifest.Read("o", []byte(text))
		if len(diagnostics) > 0 {
			t.Fatal(diagnostics)
		}
		return stream.Documents()[0].Object()
	}
	live := `{metadata: {labels: {a: "1", b: "2"}}, spec: {paused: true, template: {spec: {containers: [
		{name: x, ports: [{containerPort: 80, protocol: TCP}, {containerPort: 80, protocol: UDP}, {containerPort: 81, protocol: TCP}]}, {name: z}]}}}}`
	for _, c := range []struct {
		name       string
		patch      string
		left, rest string
		err        string
	}{
		{
			"a map entry and a field", `{metadata: {labels: {a: MARK, c: "3"}}, spec: {paused: MARK}}`,
			`{metadata: {labels: {b: "2"}}, spec: {template: TEMPLATE}}`, `{metadata: {labels: {c: "3"}}}`, "",
		},
		{
			"what is not there", `{metadata: {annotations: {a: MARK}, labels: MARK}, status: MARK}`,
			`{metadata: {}, spec: {paused: true, template: TEMPLATE}}`, `{}`, "",
		},
		{
			"an item", `{spec: {template: {spec: {containers: [{name: z, k8s_io__value: unset}]}}}}`,
			`{metadata: {labels: {a: "1", b: "2"}}, spec: {paused: true, template: {spec: {containers: [
				{name: x, ports: [{containerPort: 80, protocol: TCP}, {containerPort: 80, protocol: UDP}, {containerPort: 81, protocol: TCP}]}]}}}}`, `{}`, "",
		},
		{
			"items of items, by some of their keys", `{spec: {template: {spec: {containers: [{name: x, ports: [{containerPort: 80, k8s_io__value: unset}]}]}}}}`,
			`{metadata: {labels: {a: "1", b: "2"}}, spec: {paused: true, template: {spec: {containers: [{name: x, ports: [{containerPort: 81, protocol: TCP}]}, {name: z}]}}}}`,
			`{spec: {template: {spec: {containers: [{name: x}]}}}}`, "",
		},
		{
			"an item of a list without keys", `{spec: {template: {spec: {tolerations: [{k8s_io__value: unset}]}}}}`, "", "",
			"spec.template.spec.tolerations[0]: an item can only be unset by the keys of its list",
		},
		{
			"an item without its key", `{spec: {template: {spec: {containers: [{k8s_io__value: unset}]}}}}`, "", "",
			"spec.template.spec.containers[0]: an item can only be unset by the keys of its list",
		},
		{"beside other fields", `{spec: {strategy: {k8s_io__value: unset, type: Recreate}}}`, "", "", "spec.strategy: what is unset must not have other fields"},
		{"another value", `{spec: {strategy: {k8s_io__value: set}}}`, "", "", `spec.strategy: k8s_io__value must be "unset"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := object(live)
			template := `{spec: {containers: [{name: x, ports: [{containerPort: 80, protocol: TCP}, {containerPort: 80, protocol: UDP}, {containerPort: 81, protocol: TCP}]}, {name: z}]}}`
			patch := object(strings.ReplaceAll(c.patch, "MARK", "{"+unsetKey+": "+unsetValue+"}"))
			left, rest, err := unset(before, patch, deployment)
			switch {
			case c.err != "":
				if err == nil || err.Error() != c.err {
					t.Errorf("error %v, want %s", err, c.err)
				}
			case err != nil:
				t.Error(err)
			case !change.Equal(left, object(strings.ReplaceAll(c.left, "TEMPLATE", template))):
				t.Errorf("left %v", left)
			case !change.Equal(rest, object(c.rest)):
				t.Errorf("rest %v", rest)
			}
			if !change.Equal(before, object(live)) {
				t.Error("the object was modified")
			}
		})
	}
	if left, _, err := unset(map[string]any{"a": int64(1)}, map[string]any{"a": mark}, nil); err != nil || len(left) > 0 {
		t.Errorf("without a schema: %v, %v", left, err)
	}
}
