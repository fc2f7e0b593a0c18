package engine_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const contributing = "../CONTRIBUTING.md"

// linkToName is a link whose text is a name in Go code and whose target is a file.
var linkToName = regexp.MustCompile("\\[`([A-Za-z]\\w*)`\\]\\(([\\w./-]+\\.go)\\)")

// TestContributing checks that the files which CONTRIBUTING.md names declare the linked names, and that
// every walk through the code names a test.
func TestContributing(t *testing.T) {
	data, err := os.ReadFile(contributing)
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range linkToName.FindAllStringSubmatch(string(data), -1) {
		declared, err := declarations(filepath.Join("..", link[2]))
		if err != nil {
			t.Error(err)
		} else if !slices.Contains(declared, link[1]) {
			t.Errorf("%s does not declare %s", link[2], link[1])
		}
	}
	_, walks, _ := strings.Cut(string(data), "\n## Where to change\n")
	walks, words, _ := strings.Cut(walks, "\n## Words\n")
	for _, title := range []string{"The text of a denial", "A new admission plug-in", "A new option", "A new output format"} {
		_, walk, found := strings.Cut(walks, "\n**"+title+".**")
		walk, _, _ = strings.Cut(walk, "\n**")
		if names := linkToName.FindAllStringSubmatch(walk, -1); !found || len(names) < 2 || !strings.Contains(walk, "[`Test") {
			t.Errorf("the walk %q names %d places, or no test", title, len(names))
		}
	}
	words, _, _ = strings.Cut(words, "\n## ")
	if n := strings.Count(words, "\n- *"); n < 20 {
		t.Errorf("%d words are explained", n)
	}
}

// declarations returns the names that a file declares at its top, and its methods.
func declarations(name string) ([]string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			names = append(names, d.Name.Name)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					names = append(names, spec.Name.Name)
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						names = append(names, name.Name)
					}
				}
			}
		}
	}
	return names, nil
}

// TestPicture compares the drawing of the packages in CONTRIBUTING.md with the imports.
func TestPicture(t *testing.T) {
	data, err := os.ReadFile(contributing)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(data), "<!-- packages:")
	mark, rest, closed := strings.Cut(rest, "\n")
	_, after, ended := strings.Cut(rest, "<!-- end of packages -->")
	if !found || !closed || !ended {
		t.Fatal("CONTRIBUTING.md has no place for the packages")
	}
	text := before + "<!-- packages:" + mark + "\n" + picture(goPackages(t)) + "<!-- end of packages -->" + after
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(contributing, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	} else if text != string(data) {
		t.Error("the drawing of the packages is not current: run go test ./engine -run TestPicture -update")
	}
}

// picture draws the packages, each on the lowest line that is above all packages that it imports.
func picture(packages []goPackage) string {
	heights := map[string]int{}
	var height func(name string) int
	height = func(name string) int {
		if h, known := heights[name]; known {
			return h
		}
		h := 0
		if i := slices.IndexFunc(packages, func(p goPackage) bool { return p.ImportPath == name }); i >= 0 {
			for _, imported := range packages[i].Imports {
				if ours, ok := strings.CutPrefix(imported, module+"/"); ok {
					h = max(h, height(ours)+1)
				}
			}
		}
		heights[name] = h
		return h
	}
	var lines [][]string
	for _, p := range packages {
		if len(p.GoFiles) == 0 {
			continue // only tests
		}
		h := height(p.ImportPath)
		for len(lines) <= h {
			lines = append(lines, nil)
		}
		lines[h] = append(lines[h], strings.TrimPrefix(p.ImportPath, "engine/internal/"))
	}
	var b strings.Builder
	b.WriteString("```text\n")
	for i, names := range slices.Backward(lines) {
		line := fmt.Sprintf("%2d", i)
		for _, name := range names {
			if len(line)+len(name) > 96 {
				b.WriteString(line + "\n")
				line = "  "
			}
			line += "  " + name
		}
		b.WriteString(line + "\n")
	}
	return b.String() + "```\n"
}
