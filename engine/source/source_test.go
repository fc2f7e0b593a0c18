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
		if got := Suggest(name, known).Text; got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	for name, want := range map[string]string{"--per-dir": "--per-directory", "--object": "", "--statss": "--stats", "--values-file": "--values"} {
		if got := Nearest(name, []string{"--operation", "--per-directory", "--context", "--stats-file", "--stats", "--values"}); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got := Suggest("x", nil).Text; got != "no name is possible here" {
		t.Error(got)
	}
}

func TestDiagnostic(t *testing.T) {
	at := Position{File: "policy.yaml", Line: 3, Column: 7}
	for _, tc := range []struct {
		diagnostic Diagnostic
		want       string
	}{
		{Errorf(Position{}, "c", "no %s", "place"), "error[c]: no place"},
		{Warningf(at, "c", "careful").With("do this\nor that"), "policy.yaml:3:7: warning[c]: careful\n    do this\n    or that"},
		{
			Diagnostic{At: Position{File: "-", Line: 2}, Code: "c", Subject: "Pod/default/a", Field: "spec.x", Message: "m", Excerpt: "x: y\n   ^"},
			"-:2: info[c]: Pod/default/a: spec.x: m\n    x: y\n       ^",
		},
	} {
		if got := tc.diagnostic.String(); got != tc.want {
			t.Errorf("got  %q\nwant %q", got, tc.want)
		}
	}
}

func TestSort(t *testing.T) {
	diagnostics := []Diagnostic{
		Warningf(Position{File: "b", Line: 1}, "", "3"),
		Warningf(Position{File: "a", Line: 2, Column: 9}, "", "2"),
		Errorf(Position{}, "", "0"),
		Warningf(Position{File: "a", Line: 2, Column: 1}, "", "1"),
		Warningf(Position{File: "b", Line: 1}, "", "4"),
	}
	Sort(diagnostics)
	for i, d := range diagnostics {
		if d.Message != string(rune('0'+i)) {
			t.Fatalf("at %d is %v", i, d)
		}
	}
	if !HasErrors(diagnostics) || HasErrors(diagnostics[1:]) {
		t.Error("HasErrors")
	}
}
