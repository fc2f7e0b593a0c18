package engine_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// ignored returns the import paths of the packages that go.mod keeps out of patterns such as ./...
func ignored(t *testing.T) []string {
	t.Helper()
	edit := exec.Command("go", "mod", "edit", "-json")
	edit.Dir = ".."
	output, err := edit.Output()
	var file struct{ Ignore []struct{ Path string } }
	if err == nil {
		err = json.Unmarshal(output, &file)
	}
	if err != nil || len(file.Ignore) == 0 {
		t.Fatalf("%v: %s, %v", edit, output, err)
	}
	var paths []string
	for _, i := range file.Ignore {
		paths = append(paths, path.Join(module, i.Path))
	}
	return paths
}

// TestInstalled checks that go install ./..., which pre-commit runs, installs preadmit only, and that
// the other programs have no tests, which go test ./... would not run.
func TestInstalled(t *testing.T) {
	list := exec.Command("go", "list", "-f", `{{if eq .Name "main"}}{{.ImportPath}}{{end}}`, "./...")
	list.Dir = ".."
	output, err := list.Output()
	if installed := strings.Fields(string(output)); err != nil || !slices.Equal(installed, []string{module + "/krmfn/preadmit"}) {
		t.Errorf("go install ./... installs %q (%v): add all but krmfn/preadmit to the ignored directories in go.mod", installed, err)
	}
	others := ignored(t)
	for _, p := range goPackages(t) {
		if !slices.Contains(others, path.Join(module, p.ImportPath)) {
			continue
		}
		if p.Name != "main" || len(p.TestGoFiles)+len(p.XTestGoFiles) > 0 {
			t.Errorf("go.mod ignores %s, which is not a program without tests", p.ImportPath)
		}
		files, err := os.ReadDir(p.Dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if f.IsDir() {
				t.Errorf("go.mod ignores %s with its directory %s", p.ImportPath, f.Name())
			}
		}
	}
}

// linter matches a command that checks the packages of the module.
var linter = regexp.MustCompile(`(?m)^(?:step 'go vet' |\t)(?:go vet|"\$\(go -C [^)]*\)") (.*)$`)

// TestChecked checks that the scripts of CI check the programs that go.mod ignores, too.
func TestChecked(t *testing.T) {
	for name, want := range map[string]int{"../.ci/run": 4, "../.ci/platforms": 1} {
		script, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		commands := linter.FindAllStringSubmatch(string(script), -1)
		if len(commands) != want {
			t.Errorf("%s checks packages with %q, want %d commands", name, commands, want)
		}
		for _, command := range commands {
			if command[1] != "./... $programs" {
				t.Errorf("%s: %s: want ./... $programs", name, command[0])
			}
		}
		list := regexp.MustCompile(`(?m)^programs=\$\((sed .* go\.mod)\)`).FindSubmatch(script)
		if list == nil {
			t.Fatalf("%s does not read the programs from go.mod", name)
		}
		read := exec.Command("sh", "-c", string(list[1]))
		read.Dir = ".."
		output, err := read.Output()
		got := strings.Fields(string(output))
		for i := range got {
			got[i] = path.Join(module, got[i])
		}
		if err != nil || !slices.Equal(got, ignored(t)) {
			t.Errorf("%s reads %q from go.mod (%v), want %q", name, got, err, ignored(t))
		}
	}
}
