package examples

import (
	"strings"
	"testing"
)

func TestQuickstart(t *testing.T) {
	got := output(t, "quickstart", "preadmit", "render", "-p", "policies", "manifests")
	golden(t, "quickstart/expected.yaml", got)

	// No policy matches ConfigMaps, so the text with its comments must be the same.
	before := strings.Split(read(t, "quickstart/manifests/checkout.yaml"), "---\n")
	after := strings.Split(got, "---\n")
	if len(after) != len(before) {
		t.Fatalf("%d documents became %d", len(before), len(after))
	}
	for i := range before {
		if isConfigMap := strings.Contains(before[i], "kind: ConfigMap"); isConfigMap != (before[i] == after[i]) {
			t.Errorf("document %d: the ConfigMap, and nothing else, is to stay as it is\ngot:\n%s", i, after[i])
		}
	}
}

// TestQuickstartIsStable runs the policies on their own output.
func TestQuickstartIsStable(t *testing.T) {
	once := output(t, "quickstart", "preadmit", "render", "-p", "policies", "manifests")
	if twice := output(t, "quickstart", "preadmit", "render", "-p", "policies", "expected.yaml"); twice != once {
		t.Errorf("the second run gives:\n%s", twice)
	}
}
