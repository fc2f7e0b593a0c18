package playground

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/examples/playground/answer"
	"github.com/preadmit/preadmit/examples/playground/site"
)

// TestTypes has the compiler of TypeScript check the scripts; esbuild only leaves the types
// out.
func TestTypes(t *testing.T) {
	packages, err := site.Packages(root)
	if err != nil {
		t.Fatal(err)
	}
	sources, err := filepath.Abs("web")
	if err != nil {
		t.Fatal(err)
	}
	config := map[string]any{
		"extends":         filepath.Join(sources, "tsconfig.json"),
		"compilerOptions": map[string]any{"paths": map[string]any{"*": []string{packages + "/*"}}},
		"include":         []string{sources + "/src/*.ts"},
	}
	data, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "tsconfig.json")
	if err := os.WriteFile(file, data, 0o666); err != nil {
		t.Fatal(err)
	}
	if output, err := exec.Command(filepath.Join(packages, ".bin", "tsc"), "-p", file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}

// TestSize keeps the download below 10.1 MB. The libraries of PodSecurity and of the validation of
// custom resources are more than 1 MB of it, and the descriptions of fields 0.2 MB.
func TestSize(t *testing.T) {
	info, err := os.Stat(filepath.Join(*built, "preadmit.wasm.gz"))
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > 10_100_000 {
		t.Errorf("the engine has %d bytes", info.Size())
	}
}

// TestLicenses finds the licences of what others made, with their texts.
func TestLicenses(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(*built, "licenses.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"@codemirror/view 6", "Marijn Haverbeke", "github.com/google/cel-go v", "The Go Authors", "Apache License"} {
		if !strings.Contains(string(data), want) {
			t.Errorf("no %q in licenses.txt", want)
		}
	}
}

var reference = regexp.MustCompile(`(?:href|src)="([^"]*)"`)

// TestLinks follows the links between the pages.
func TestLinks(t *testing.T) {
	err := fs.WalkDir(os.DirFS(*built), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".html" {
			return err
		}
		page := readFile(t, name)
		for _, match := range reference.FindAllStringSubmatch(page, -1) {
			if strings.Contains(match[1], "://") {
				continue
			}
			to, fragment, _ := strings.Cut(match[1], "#")
			target := filepath.Join(filepath.Dir(name), to)
			if to == "" {
				target = name
			}
			if !strings.Contains(readFile(t, target), `id="`+fragment+`"`) && fragment != "" {
				t.Errorf("%s: nothing is at %s", name, match[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(*built, name))
	if err != nil {
		t.Error(err)
	}
	return string(data)
}

// TestRefused refuses what only a damaged address can ask.
func TestRefused(t *testing.T) {
	for request, want := range map[string]string{
		`{`:                             "unexpected end",
		`{"ask": "all"}`:                "no question",
		`{"files": [{"role": "x"}]}`:    `cannot be for \"x\"`,
		`{"options": {"in-place": []}}`: "unknown option in-place",
		`{"files": [{"role": "policies", "name": "../x"}]}`:                                                   "not the name of a file",
		`{"files": [{"role": "policies", "name": "x"}, {"role": "context", "name": "x"}]}`:                    "two files",
		`{"ask": "test", "options": {"plain": ["true"]}, "files": [{"role": "manifests", "name": "x.json"}]}`: "no option plain",
	} {
		if got := new(answer.Session).JSON(request); !strings.HasPrefix(got, `{"error":`) || !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %q", request, got, want)
		}
	}
}
