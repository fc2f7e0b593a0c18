package krmfn

import (
	"html"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// fullPolicy makes long changes: it replaces the end of a long text, one line of many and one word of
// a long line, adds a text of many lines and an item, and removes a long text.
var fullPolicy = "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingAdmissionPolicy\nmetadata: {name: long}\nspec:\n" +
	"  reinvocationPolicy: Never\n  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], resources: [pods], operations: ['*']}]}\n  mutations:\n" +
	"  - patchType: JSONPatch\n    jsonPatch:\n      expression: |-\n        [\n" +
	`          JSONPatch{op: "replace", path: "/spec/containers/0/image", value: object.spec.containers[0].image + "` + fullAdded + `"},
          JSONPatch{op: "replace", path: "/metadata/annotations/lines", value: object.metadata.annotations["lines"].replace("line 50\n", "another line 50\n")},
          JSONPatch{op: "replace", path: "/metadata/annotations/words", value: object.metadata.annotations["words"].replace("word-50 ", "another-word-50 ")},
          JSONPatch{op: "add", path: "/metadata/annotations/new", value: lists.range(100).map(i, "new line " + string(i)).join("\n")},
          JSONPatch{op: "remove", path: "/metadata/annotations/old"}
        ]
` + "---\napiVersion: admissionregistration.k8s.io/v1\nkind: MutatingAdmissionPolicyBinding\nmetadata: {name: long}\nspec: {policyName: long}\n"

// fullAdded is what the policy adds to the name of an image.
const fullAdded = "-hardened/us-central1-docker.pkg.dev/bank-of-anthos-ci/bank-of-anthos/frontend:v0.6.7@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func fullPod() string {
	var b strings.Builder
	b.WriteString("apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n  annotations:\n    lines: |\n")
	for i := range 100 {
		b.WriteString("      line " + strconv.Itoa(i) + "\n")
	}
	b.WriteString("    words: ")
	for i := range 100 {
		b.WriteString("word-" + strconv.Itoa(i) + " ")
	}
	b.WriteString("end\n    old: ")
	for i := range 100 {
		b.WriteString("old-" + strconv.Itoa(i) + "-")
	}
	return b.String() + "end\nspec:\n  containers:\n  - name: web\n    image: registry.acme.io/mirror\n"
}

// TestWhatDiffersIsShown shows that every report has all of what changes in long values, and that
// --full adds what does not.
func TestWhatDiffersIsShown(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "p.yaml"), fullPolicy)
	writeFile(t, filepath.Join(dir, "m.yaml"), fullPod())
	for _, command := range []string{
		"explain", "explain -o html", "explain -o json", "diff", "diff -o github", "diff -o sarif", "diff -o junit", "diff -o markdown", "diff -o json",
	} {
		printed := map[bool]string{}
		for _, full := range []bool{false, true} {
			args := append(strings.Fields(command), "-p", "p.yaml", "m.yaml")
			if full {
				args = append(args, "--full")
			}
			printed[full] = html.UnescapeString(runIn(dir, args))
			differing := []string{fullAdded, "another line 50", "another-word-50", "old-0-", "old-50-", "old-99-", "new line 0", "new line 50", "new line 99"}
			for _, text := range differing {
				if !strings.Contains(printed[full], text) {
					t.Errorf("%q, full %t: %q is not shown:\n%s", command, full, text, printed[full])
				}
			}
		}
		for _, text := range []string{"line 3", "line 97", "word-3 ", "word-97 "} {
			if !strings.Contains(printed[true], text) {
				t.Errorf("%q --full does not show %q:\n%s", command, text, printed[true])
			}
		}
	}
}

// TestManyCauses shows that the value of a step that caused many edits is written once in each of
// them in short form.
func TestManyCauses(t *testing.T) {
	dir := t.TempDir()
	var b strings.Builder
	b.WriteString("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata:\n")
	for i := range 200 {
		b.WriteString("  key-" + strconv.Itoa(i) + ": a\n")
	}
	writeFile(t, filepath.Join(dir, "m.yaml"), b.String())
	writeFile(t, filepath.Join(dir, "p.yaml"), "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingAdmissionPolicy\nmetadata: {name: anew}\nspec:\n"+
		"  reinvocationPolicy: Never\n  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], resources: [configmaps], operations: ['*']}]}\n"+
		"  mutations:\n"+
		"  - {patchType: JSONPatch, jsonPatch: {expression: '[JSONPatch{op: \"remove\", path: \"/data\"}]'}}\n"+
		"  - {patchType: JSONPatch, jsonPatch: {expression: '[JSONPatch{op: \"add\", path: \"/data\", value: dyn({\"key-1\": \"c\", \"key-2\": \"c\"})}]'}}\n"+
		"---\napiVersion: admissionregistration.k8s.io/v1\nkind: MutatingAdmissionPolicyBinding\nmetadata: {name: anew}\nspec: {policyName: anew}\n")
	if printed := runIn(dir, []string{"explain", "-p", "p.yaml", "m.yaml"}); len(printed) > 200*500 || !strings.Contains(printed, "…") {
		t.Errorf("%d bytes:\n%s", len(printed), printed)
	}
}
