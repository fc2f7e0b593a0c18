package tfprovider

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const examples = "../examples/terraform"

// copyExamples copies the examples, so that tests leave no files in them.
func copyExamples(t *testing.T) string {
	t.Helper()
	directory := t.TempDir()
	if err := os.CopyFS(directory, os.DirFS(examples)); err != nil {
		t.Fatal(err)
	}
	return directory
}

// TestExamples runs the tests of every example. Other providers are fakes with the same attributes.
func TestExamples(t *testing.T) {
	terraform(t)
	tests, err := filepath.Glob(examples + "/*/tests")
	if err != nil || len(tests) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	directory := copyExamples(t)
	if os.Getenv("TF_ACC_PROVIDER_HOST") == "registry.opentofu.org" {
		// OpenTofu 1.12.6 crashes if a test imports into an override.
		if err := os.Remove(directory + "/adopt-objects/import.tf"); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range tests {
		name := filepath.Base(filepath.Dir(test))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			output := newCLI(t, filepath.Join(directory, name)).run(t, "test")
			if !strings.Contains(output, ", 0 failed.") || strings.Contains(output, "Success! 0 passed") {
				t.Error(output)
			}
		})
	}
}

// TestReadme plans the configuration in README.md.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(readme), "### Terraform\n")
	_, section, _ = strings.Cut(section, "```hcl\n")
	example, _, found := strings.Cut(section, "```")
	if !found {
		t.Fatal("README.md shows no configuration")
	}
	c := newCLI(t, configuration(t, map[string]string{
		"versions.tf": strings.Replace(required, "required_providers {", "required_providers {\n    kubernetes = {\n      source = \"hashicorp/kubernetes\"\n    }", 1),
		"main.tf":     example, "app.yaml": configMap("a") + "---\n" + configMap("b"), "policies.yaml": labelPolicy,
	}))
	if output := c.run(t, "plan"); !strings.Contains(output, "2 to add") || !strings.Contains(output, `mutated = "yes"`) {
		t.Error(output)
	}
	c.run(t, "fmt", "-check", "-diff", "main.tf")
}

// TestDocumentedExamples plans the examples of the documentation without changes.
func TestDocumentedExamples(t *testing.T) {
	for name, want := range map[string]string{
		"provider":                        "No changes.",
		"data-sources/preadmit_manifests": "\"apps/Deployment/shop/web\",\n",
		"functions/admit":                 `"example.com/team" = "payments"`,
		"functions/mutate":                `"example.com/team" = "payments"`,
		"functions/mutate_all":            `"example.com/team" = "payments"`,
		"functions/unknowns":              "+ unknowns = []",
		"functions/report":                "+ changed = [",
		"functions/pods":                  "\"nginx:1.27\",\n",
		"functions/split":                 "\"_/Service/shop/web\",\n",
		"functions/explain":               "changed = false",
	} {
		t.Run(name, func(t *testing.T) {
			c := newCLI(t, filepath.Join(copyExamples(t), name))
			if output := c.run(t, "plan"); !strings.Contains(output, want) {
				t.Errorf("no %q in:\n%s", want, output)
			}
			c.run(t, "fmt", "-check", "-diff", ".")
		})
	}
}
