package kyverno

import (
	"testing"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/schema"
)

// TestAsInKyverno has patches for which Kyverno v1.19.0 was observed to deviate from its
// documentation.
func TestAsInKyverno(t *testing.T) {
	pod := schema.Builtin().Lookup(gvk.Parse("v1", "Pod"))
	for _, c := range []struct{ name, object, patch, want string }{
		{
			"the first item has the field: no other gets it",
			`{spec: {containers: [{name: a, tty: true}, {name: b}]}}`, `{spec: {containers: [{(name): "*", +(tty): false}]}}`,
			`{spec: {containers: [{name: a, tty: true}, {name: b}]}}`,
		},
		{
			"the first item lacks the field: all get it",
			`{spec: {containers: [{name: a}, {name: b, tty: true}]}}`, `{spec: {containers: [{(name): "*", +(tty): false}]}}`,
			`{spec: {containers: [{name: a, tty: false}, {name: b, tty: false}]}}`,
		},
		{
			"text below a condition is written",
			`{spec: {securityContext: {fsGroup: 1}}}`, `{spec: {(securityContext): {fsGroup: ">0"}, hostPID: true}}`,
			`{spec: {securityContext: {fsGroup: ">0"}, hostPID: true}}`,
		},
		{
			"a condition of the whole object is written as it is",
			`{metadata: {name: p}, spec: {}}`, `{(metadata): {name: "p*"}, spec: {hostPID: true}}`,
			`{metadata: {name: p}, (metadata): {name: "p*"}, spec: {hostPID: true}}`,
		},
		{"empty maps are left out", `{spec: {}}`, `{spec: {volumes: [{name: v, emptyDir: {}}], nodeSelector: {}}}`, `{spec: {volumes: [{name: v}]}}`},
		{
			"items without a name stay as they are",
			`{spec: {tolerations: [{key: a}]}}`, `{spec: {tolerations: [{(key): a, operator: Exists}]}}`, `{spec: {tolerations: [{key: a}]}}`,
		},
		{
			"a plain name selects nothing",
			`{spec: {containers: [{name: a}, {name: b}]}}`, `{spec: {containers: [{name: a, (name): "*", tty: true}]}}`,
			`{spec: {containers: [{name: a, tty: true}, {name: b, tty: true}]}}`,
		},
		{
			"a list of an unknown type is replaced",
			`{spec: {things: [{name: a, x: 1}, {name: b}]}}`, `{spec: {things: [{(name): a, y: 2}]}}`, `{spec: {things: [{name: a, y: 2}]}}`,
		},
		{
			"a global condition that holds for one item is enough",
			`{metadata: {}, spec: {containers: [{name: a, image: x}, {name: b, image: y}]}}`,
			`{metadata: {labels: {a: b}}, spec: {containers: [{<(image): y}]}}`,
			`{metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: x}, {name: b, image: y}]}}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := asInKyverno(object(t, c.patch), object(t, c.object), pod.Type())
			if err != nil {
				t.Fatal(err)
			}
			if differences := change.Diff(object(t, c.want), got, nil); len(differences) > 0 {
				t.Errorf("got %v", differences)
			}
		})
	}
}

// TestLostInKyverno has a list with two items with anchors: Kyverno v1.19.0 deletes the patch of
// one item in place of the other item, whose anchor remains.
func TestLostInKyverno(t *testing.T) {
	patch := mutable(object(t, `{containers: [{(name): a, tty: true}, {(name): b, stdin: true}]}`)).(map[string]any)
	if err := preprocess(patch, object(t, `{containers: [{name: a}, {name: b}]}`), true); err != nil {
		t.Fatal(err)
	}
	if _, err := deleteAnchors(patch["containers"], false); err != nil {
		t.Fatal(err)
	}
	want := object(t, `{containers: [{(name): b, stdin: true}, {name: b, stdin: true}]}`)
	if differences := change.Diff(want, immutable(patch).(map[string]any), nil); len(differences) > 0 {
		t.Errorf("got %v", differences)
	}
}
