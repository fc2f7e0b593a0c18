package witness_test

import (
	"fmt"
	"testing"

	"github.com/preadmit/preadmit/engine/internal/witness"
	"github.com/preadmit/preadmit/engine/policy"
)

// TestReads checks that everything in a policy that decides about an object is among what it reads.
func TestReads(t *testing.T) {
	condition := func(text string) any { return []any{map[string]any{"name": "c", "expression": text}} }
	for _, test := range []struct {
		spec map[string]any
		want string
	}{
		{map[string]any{"variables": condition("object.data.a"), "validations": condition("variables.c == 'x'"), "matchConditions": condition("object.spec.b")}, "[spec.b data.a]"},
		{map[string]any{"validations": condition("request.object.data.a == request.name")}, "[data.a]"},
		{map[string]any{"validations": condition("request == null || f(request.object)")}, "[ ]"},
		{map[string]any{"matchConstraints": map[string]any{"objectSelector": map[string]any{}}}, "[metadata.labels]"},
		{map[string]any{"matchResources": map[string]any{"namespaceSelector": map[string]any{}}}, "[metadata.labels]"},
		{map[string]any{"validations": condition("object.")}, "[]"},
	} {
		got := witness.Reads(policy.Node{Value: map[string]any{"spec": test.spec}})
		if fmt.Sprint(got) != test.want {
			t.Errorf("%v: %v, want %s", test.spec, got, test.want)
		}
	}
}
