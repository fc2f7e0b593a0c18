package krmfn

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// namedAction is an action in the help: its kind and its title, in which a word in capitals is for any text.
	namedAction = regexp.MustCompile(`(?m)^  (quickfix|refactor\.\w+) +([A-Z].*)$`)
	// shownAction is an action that a transcript lists.
	shownAction = regexp.MustCompile(`(?m)^    ((?:quickfix|refactor\.\w+): .*)$`)
	anyText     = regexp.MustCompile(`\b[A-Z]+\b`)
)

// TestActionsNamed requires that the help of the language server names the actions of the transcripts, only these,
// and the kinds of actions that the server announces. The fixes of findings, which the help does not list, are in
// testdata/fixes.
func TestActionsNamed(t *testing.T) {
	paths, err := filepath.Glob("testdata/lsp/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	var shown []string
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, action := range shownAction.FindAllStringSubmatch(string(text), -1) {
			shown = append(shown, action[1])
		}
	}
	kinds := map[string]bool{}
	named := map[string]bool{} // the shown actions that the help names
	for _, row := range namedAction.FindAllStringSubmatch(serveText, -1) {
		kinds[row[1]] = true
		pattern := regexp.MustCompile("^" + row[1] + ": " + anyText.ReplaceAllString(regexp.QuoteMeta(row[2]), ".+") + "$")
		known := len(named)
		for _, action := range shown {
			if pattern.MatchString(action) {
				named[action] = true
			}
		}
		if len(named) == known {
			t.Errorf("no transcript has the action %s: %s", row[1], row[2])
		}
	}
	isFix := regexp.MustCompile(`^quickfix: (Add a binding|Replace \S+ with \S+|Convert to admissionregistration.k8s.io/v1|Quote the value)$`)
	for _, action := range shown {
		if !named[action] && !isFix.MatchString(action) {
			t.Errorf("the help does not name the action %s", action)
		}
	}
	c := startLSP(t, t.TempDir(), "")
	defer c.stop()
	announced := map[string]bool{}
	for _, kind := range c.result["capabilities"].(map[string]any)["codeActionProvider"].(map[string]any)["codeActionKinds"].([]any) {
		announced[kind.(string)] = true
	}
	if !maps.Equal(kinds, announced) {
		t.Errorf("the help names the kinds %q, and the server announces %q", slices.Sorted(maps.Keys(kinds)), slices.Sorted(maps.Keys(announced)))
	}
}

// TestFixesTogether fixes two equal mistakes in one expression in a block, beside a document that cannot be read, from
// the last one on. After each fix, the other one is offered only for the text as it is now.
func TestFixesTogether(t *testing.T) {
	const policy = `apiVersion: v1
kind: ConfigMap
data: {a: [}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata:
  name: p
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}
  reinvocationPolicy: Never
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: |
        "é" == "😀"
        ? Object{spec: Object.spec{replicas: "5"}}
        : Object{spec: Object.spec{replicas: "5"}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata:
  name: p
spec:
  policyName: p
`
	dir := t.TempDir()
	makeFile(t, dir, "p.yaml", policy)
	c := startLSP(t, dir, "")
	defer c.stop()
	c.open("p.yaml")
	c.check()
	for left := 2; left > 0; left-- {
		var fixes []map[string]any
		for _, action := range c.actions("p.yaml", 0, len(c.texts["p.yaml"])) {
			if action := action.(map[string]any); action["title"] == `Replace "5" with 5` {
				fixes = append(fixes, action)
			}
		}
		if len(fixes) != left {
			t.Fatalf("%d fixes, not %d\n%s%s", len(fixes), left, c.showDiagnostics(), c.texts["p.yaml"])
		}
		c.perform(fixes[left-1])
		c.check()
	}
	if want := strings.ReplaceAll(policy, `"5"`, "5"); c.texts["p.yaml"] != want {
		t.Errorf("after both fixes\n%s", c.texts["p.yaml"])
	}
}
