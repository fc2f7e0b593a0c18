package source

import "testing"

func TestSuggest(t *testing.T) {
	known := []string{"policyPaths", "kubernetesVersion", "request.operation"}
	for name, want := range map[string]string{
		"policypath":   "did you mean policyPaths?",
		"operations":   "did you mean request.operation?",
		"spec.oprtion": "did you mean request.operation?",
		"xyzzy":        "expected policyPaths, kubernetesVersion or request.operation",
	} {
		if got := Suggest(name, known); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if got := Suggest("x", nil); got != "there are none" {
		t.Error(got)
	}
}
