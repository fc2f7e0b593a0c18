package krmfn

import (
	"slices"
	"testing"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/redact"
)

// TestSameRefusal has texts of kubectl 1.32 and kube-apiserver 1.36.3 for the same refusals, and others.
func TestSameRefusal(t *testing.T) {
	const predicted = `services "a" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no load balancers`
	for said, want := range map[string]bool{
		predicted: true,
		`services "a" is invalid: : ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no load balancers`:                true,
		`services "a" is invalid: : ValidatingAdmissionPolicy 'other' with binding 'b' denied request: no load balancers`:            false,
		`services "a" is forbidden: exceeded quota: objects, requested: services=1, used: services=1, limited: services=1`:           false,
		`Service "a" is invalid: spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive`:                       false,
		`admission webhook "w" denied the request: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no load balancers`: true,
	} {
		if sameRefusal(predicted, said) != want {
			t.Errorf("%s: want %v", said, want)
		}
	}
}

// TestListed checks that each difference shows what differs: values with the same text, null, moved items
// and hidden values.
func TestListed(t *testing.T) {
	secrets := &redact.Redactor{}
	secrets.LearnAll(map[string]any{"data": map[string]any{"a": "canary-one", "b": "canary-two"}})
	p := &engine.Prediction{Secrets: secrets}
	path := change.Keys("spec", "a")
	got := listed(p, "predicted", "the cluster has", []change.Change{
		{Op: change.Replace, Path: path, Old: int64(1), New: float64(1)},
		{Op: change.Replace, Path: path, Old: int64(1), New: "1"},
		{Op: change.Replace, Path: path, Old: nil, New: "x"},
		{Op: change.Add, Path: path, New: nil},
		{Op: change.Remove, Path: path, Old: []any{}},
		{Op: change.Move, Path: path.Index(0), From: 2},
		{Op: change.Replace, Path: path, Old: "canary-one", New: "canary-two"},
	})
	want := []string{
		"spec.a: predicted 1 (int64), the cluster has 1 (float64)",
		`spec.a: predicted 1, the cluster has "1"`,
		`spec.a: predicted null, the cluster has "x"`,
		"spec.a: predicted none, the cluster has null",
		"spec.a: predicted [], the cluster has none",
		"spec.a[0]: predicted it as item 2, the cluster has it as item 0",
		"spec.a: predicted another value than the cluster has",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
