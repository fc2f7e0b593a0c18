package tfprovider

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/settings"
)

func secretNamed(name, password string) string {
	return "apiVersion: v1\nkind: Secret\nmetadata:\n  name: " + name + "\nstringData:\n  password: " + password + "\n"
}

func TestDataSource(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFiles(t, map[string]string{
		"app/10.yaml":       "# ours\n" + configMap("b") + "---\n" + secretNamed("s", "hunter2hunter2"),
		"policy.yaml":       labelPolicy,
		"app/deeper/20.yml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: ns}\n",
	})
	state, messages := newServer(t).read(t, map[string]any{
		"manifests":           []string{configMap("a")},
		"manifest_files":      []string{"app"},
		"sensitive_manifests": []string{configMap("c")},
		"policy_files":        []string{"policy.yaml"},
		"namespace":           "shop",
		"outputs":             []string{"yaml"},
	})
	if state == nil || messages != "" {
		t.Fatal(messages)
	}
	for name, want := range map[string]any{
		"ids": []any{"_/ConfigMap/shop/a", "_/ConfigMap/shop/b", "_/Secret/shop/s", "_/Namespace/_/ns", "_/ConfigMap/shop/c"},
		"results": map[string]any{
			"_/ConfigMap/shop/a": mutated("a"),
			"_/ConfigMap/shop/b": mutated("b"),
			"_/Namespace/_/ns":   `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"ns"}}`,
		},
		"sensitive_results": map[string]any{
			"_/ConfigMap/shop/c": mutated("c"),
			"_/Secret/shop/s":    `{"apiVersion":"v1","kind":"Secret","metadata":{"labels":{"mutated":"yes"},"name":"s"},"stringData":{"password":"hunter2hunter2"}}`,
		},
		"changed": []any{"_/ConfigMap/shop/a", "_/ConfigMap/shop/b", "_/Secret/shop/s", "_/ConfigMap/shop/c"},
		"diffs": map[string]any{
			"_/ConfigMap/shop/a": "--- _/ConfigMap/shop/a\n+++ _/ConfigMap/shop/a\n@@ -2,3 +2,5 @@\n kind: ConfigMap\n metadata:\n   name: a\n+  labels:\n+    mutated: \"yes\"\n",
			"_/ConfigMap/shop/b": "--- _/ConfigMap/shop/b\n+++ _/ConfigMap/shop/b\n@@ -3,3 +3,5 @@\n kind: ConfigMap\n metadata:\n   name: b\n+  labels:\n+    mutated: \"yes\"\n",
		},
		"warnings": []any{},
	} {
		if got := state[name]; !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n%v\nwant:\n%v", name, got, want)
		}
	}
	if yaml := state["yaml"].(string); !strings.HasPrefix(yaml, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n") || !strings.Contains(yaml, "# ours\n") {
		t.Errorf("yaml:\n%s", yaml)
	}
}

// The output yaml is computed only on request, because it may be large and contains Secrets.
func TestDataSourceWithoutStream(t *testing.T) {
	state, messages := newServer(t).read(t, map[string]any{"manifests": []string{configMap("a")}, "policies": []string{labelPolicy}})
	if state == nil || state["yaml"] != nil {
		t.Error(messages, state["yaml"])
	}
}

// Objects with generated names have keys, too.
func TestGeneratedName(t *testing.T) {
	state, messages := newServer(t).read(t, map[string]any{
		"manifests": []string{"apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: job-}\n"}, "policies": []string{labelPolicy},
	})
	if state == nil || !reflect.DeepEqual(state["ids"], []any{"_/ConfigMap/default/job-*"}) {
		t.Error(messages, state["ids"])
	}
}

// A value that is unknown at validation is not an error.
func TestValidationOfUnknown(t *testing.T) {
	s := newServer(t)
	for _, config := range []map[string]any{
		{"manifests": unknown{}},
		{"sensitive_manifests": unknown{}, "defaulting": unknown{}},
		{"manifest_files": []string{"x"}, "request": unknown{}},
	} {
		if messages := s.validate(t, config); messages != "" {
			t.Errorf("%v: %s", config, messages)
		}
	}
}

func TestFind(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFiles(t, map[string]string{
		"a/1.yaml": "", "a/2.yml": "", "a/3.json": "", "a/4.txt": "", "a/.hidden.yaml": "",
		"a/b/5.yaml": "", "a/b/c/6.yaml": "", "a/.git/7.yaml": "", "[x].yaml": "",
	})
	if err := os.Symlink("..", "a/b/loop"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../4.txt", "a/b/linked.yaml"); err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for pattern, want := range map[string]string{
		"a":                "a/1.yaml a/2.yml a/3.json a/b/5.yaml a/b/c/6.yaml a/b/linked.yaml",
		"./a/":             "a/1.yaml a/2.yml a/3.json a/b/5.yaml a/b/c/6.yaml a/b/linked.yaml",
		"a/*.yaml":         "a/1.yaml",
		"a/4.txt":          "a/4.txt",
		"a/*/*.yaml":       "a/b/5.yaml a/b/linked.yaml",
		"a/**/*.yaml":      "a/1.yaml a/b/5.yaml a/b/c/6.yaml a/b/linked.yaml",
		"**/[56].yaml":     "a/b/5.yaml a/b/c/6.yaml",
		"a/?.*":            "a/1.yaml a/2.yml a/3.json a/4.txt",
		"[x].yaml":         "[x].yaml",
		here + "/a/*.json": here + "/a/3.json",
	} {
		if got, problems := found(t, pattern); len(problems) > 0 || filepath.ToSlash(strings.Join(got, " ")) != want {
			t.Errorf("%s: %q, %v, want %s", pattern, got, problems, want)
		}
	}
	for _, pattern := range []string{"", "a/*.none", "missing", "missing/*.yaml", "[", "a/[-]x"} {
		if got, problems := found(t, pattern); len(problems) != 1 {
			t.Errorf("%q: %q, %v, want an error", pattern, got, problems)
		}
	}
}

// found returns the names of the files of a pattern, and the problems.
func found(t *testing.T, pattern string) (names []string, problems []error) {
	t.Helper()
	set := inputReader(t, 0).NewSet()
	problems = add(set, pattern)
	for _, f := range set.Files {
		names = append(names, f.Name)
	}
	return names, problems
}

// TestSameFiles shows that a directory has the same manifests for the provider and for the command
// line: both skip what is ignored and what is no manifest.
func TestSameFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	object := func(name string) string { return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\n" }
	writeFiles(t, map[string]string{
		"a/kustomization.yaml": "resources: [b.yaml]\npatches: [{path: patch.yaml}]\n", "a/b.yaml": object("b"), "a/patch.yaml": object("patch"),
		"a/.preadmitignore": "ignored\n", "a/ignored/c.yaml": object("c"), "a/values.json": "{}", "a/utf16.yaml": "\xff\xfe" + wide(object("d")),
		"a/chart/Chart.yaml": "name: chart\n", "a/chart/values.yaml": "kind: [", "a/chart/templates/e.yaml": "kind: {{ .Values.kind }}\n",
		".preadmitignore": "old-*\n", "a/old-f.yaml": object("f"), "outside/g.yaml": object("g"),
	})
	if err := os.Symlink("../outside", "a/linked"); err != nil {
		t.Fatal(err)
	}
	texts, problems := readFiles([]pattern{{text: "a"}}, settings.Manifests, inputReader(t, 0))
	var names []string
	for _, text := range texts {
		names = append(names, text.name)
	}
	if got, want := strings.Join(names, " "), "a/b.yaml a/utf16.yaml"; got != want || texts[1].data != object("d") {
		t.Errorf("%s, want %s", got, want)
	}
	if len(problems) != 1 || problems[0].code != "link-outside" || problems[0].severity != source.Warning {
		t.Errorf("%v", problems)
	}
	stdout, _, status := render(t, ".", "a")
	var all strings.Builder
	for i, text := range texts {
		all.WriteString(map[bool]string{true: "---\n"}[i > 0] + text.data)
	}
	if status != 0 || stdout != all.String() {
		t.Errorf("status %d: the command line prints\n%s\nand the provider reads\n%s", status, stdout, &all)
	}
	writeFiles(t, map[string]string{"a/broken.yaml": "{kind: x"})
	if texts, _ := readFiles([]pattern{{text: "a"}}, settings.Manifests, inputReader(t, 0)); len(texts) != 3 {
		t.Errorf("%d texts with a file that cannot be read", len(texts))
	}
	if _, problems := readFiles([]pattern{{text: "a/chart"}}, settings.Policies, inputReader(t, 0)); len(problems) > 0 {
		t.Errorf("%v", problems)
	}
}

// wide returns ASCII text in UTF-16, little endian.
func wide(text string) string {
	var b strings.Builder
	for _, c := range text {
		b.WriteString(string(c) + "\x00")
	}
	return b.String()
}
