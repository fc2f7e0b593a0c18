package tfprovider

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// tfplugindocs builds the generator of the documentation and returns the path of its binary, which is in
// Go's build cache. If the modules are not available, it skips the test; in CI, the test fails.
func tfplugindocs(t *testing.T) string {
	t.Helper()
	command := exec.Command("go", "tool", "-n", "tfplugindocs")
	command.Dir = "../testdata/clients/tfplugindocs"
	output, err := command.Output()
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		t.Fatalf("tfplugindocs cannot be built: %v", err)
	default:
		t.Skipf("tfplugindocs cannot be built: %v", err)
	}
	return strings.TrimSpace(string(output))
}

// TestDocs generates the documentation from the schema, the templates and the examples, and compares it
// with docs; -update writes docs.
func TestDocs(t *testing.T) {
	c := newCLI(t, configuration(t, map[string]string{"main.tf": required}))
	generator := tfplugindocs(t)
	// The generator supports schemas only for providers of HashiCorp.
	schema := strings.NewReplacer("registry.terraform.io/preadmit/preadmit", "registry.terraform.io/hashicorp/preadmit",
		"registry.opentofu.org/preadmit/preadmit", "registry.terraform.io/hashicorp/preadmit").Replace(c.run(t, "providers", "schema", "-json"))
	work := configuration(t, map[string]string{"schema.json": schema[strings.IndexByte(schema, '{'):]})
	for from, to := range map[string]string{examples: "examples/terraform", "templates": "tfprovider/templates"} {
		if err := os.CopyFS(filepath.Join(work, to), os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	generate := exec.Command(generator, "generate", "--provider-name", "preadmit", "--providers-schema", filepath.Join(work, "schema.json"),
		"--provider-dir", filepath.Join(work, "tfprovider"), "--examples-dir", "../examples/terraform")
	generate.Dir = filepath.Join(work, "tfprovider")
	if output, err := generate.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", generate, err, output)
	}
	generated, committed := tree(t, filepath.Join(work, "tfprovider", "docs")), tree(t, "docs")
	if *update {
		for name := range committed {
			if err := os.Remove(filepath.Join("docs", name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, text := range generated {
		if *update {
			writeFiles(t, map[string]string{"docs/" + name: text})
		} else if committed[name] != text {
			t.Errorf("docs/%s, which -update rewrites, is not current; generated:\n%s", name, text)
		}
	}
	if !*update && len(committed) != len(generated) {
		t.Errorf("docs has %d files, %d were generated", len(committed), len(generated))
	}
}

// TestSnippets checks that every configuration in the documentation is valid HCL with the format of
// terraform fmt.
func TestSnippets(t *testing.T) {
	files := map[string]string{}
	for name, text := range tree(t, "docs") {
		for i, block := range strings.Split(text, "```terraform\n")[1:] {
			snippet, _, found := strings.Cut(block, "```\n")
			if !found {
				t.Errorf("docs/%s: a snippet without an end", name)
			}
			files[fmt.Sprintf("%s-%d.tf", strings.NewReplacer("/", "-", ".", "-").Replace(name), i)] = snippet
		}
	}
	if len(files) < 19 {
		t.Fatalf("only %d snippets", len(files))
	}
	newCLI(t, configuration(t, files)).run(t, "fmt", "-check", "-diff", ".")
}

// TestFrontMatter checks that registries can read the title and the description of every page.
func TestFrontMatter(t *testing.T) {
	for name, text := range tree(t, "docs") {
		_, rest, _ := strings.Cut(text, "---\n")
		front, _, _ := strings.Cut(rest, "\n---\n")
		var page struct {
			Title       string `json:"page_title"`
			Description string `json:"description"`
		}
		if err := yaml.Unmarshal([]byte(front), &page); err != nil || page.Title == "" || page.Description == "" {
			t.Errorf("docs/%s: %v in\n%s", name, err, front)
		}
	}
}

// tree returns the files below a directory.
func tree(t *testing.T, directory string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(directory), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(directory, path))
		files[path] = string(data)
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return files
}
