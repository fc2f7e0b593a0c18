package engine_test

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// TestPackageComments checks that the comment of a package with several files names each of them.
func TestPackageComments(t *testing.T) {
	for _, p := range goPackages(t) {
		comment, files := "", p.GoFiles
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.ParseComments|parser.PackageClauseOnly)
			if err != nil {
				t.Fatal(err)
			}
			comment += file.Doc.Text()
		}
		if len(files) == 0 {
			continue // only tests
		}
		if comment == "" {
			t.Errorf("%s has no comment", p.ImportPath)
		}
		for _, name := range files {
			if len(files) > 1 && name != "doc.go" && !strings.Contains(comment, name) {
				t.Errorf("the comment of %s does not name %s", p.ImportPath, name)
			}
		}
	}
}
