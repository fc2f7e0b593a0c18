package engine_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// runners are the files that run the stages in order, so they call all of them.
var runners = []string{"run.go", "directories.go"}

// TestStageOrder checks that no file calls a function of a later stage. The order of the files is in
// the package comment.
func TestStageOrder(t *testing.T) {
	t.Parallel()
	rank := fileOrder(t)
	calls := map[string]int{}
	for _, c := range callsBetweenFiles(t) {
		from, known := rank[c.from]
		if !known {
			t.Errorf("the package comment does not list %s", c.from)
		}
		if from < rank[c.to] && !slices.Contains(runners, c.from) {
			calls[fmt.Sprintf("%s calls %s of %s", c.from, c.name, c.to)]++
		}
	}
	for _, c := range slices.Sorted(maps.Keys(calls)) {
		t.Errorf("%s, which is a later stage (%d times)", c, calls[c])
	}
}

// TestStageResults checks that no stage sets a field of the result of an earlier stage, which it
// finds in its own.
func TestStageResults(t *testing.T) {
	t.Parallel()
	set, files := engineFiles(t)
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			assignment, ok := n.(*ast.AssignStmt)
			if !ok {
				return true
			}
			for _, target := range assignment.Lhs {
				field, _ := target.(*ast.SelectorExpr)
				if field == nil {
					continue
				}
				if of, ok := field.X.(*ast.SelectorExpr); ok && slices.Contains([]string{"loaded", "admitted", "written"}, of.Sel.Name) {
					t.Errorf("%s: sets %s of %s", set.Position(field.Pos()), field.Sel.Name, of.Sel.Name)
				}
			}
			return true
		})
	}
}

// fileOrder returns the position of each file in the package comment.
func fileOrder(t *testing.T) map[string]int {
	t.Helper()
	comment, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	rank := map[string]int{"doc.go": 0}
	for _, file := range regexp.MustCompile(`[a-z]+\.go\b`).FindAllString(string(comment), -1) {
		if rank[file] == 0 {
			rank[file] = len(rank)
		}
	}
	return rank
}

// call is a use of a function or method of one file in another file.
type call struct{ from, to, name string }

// callsBetweenFiles returns the calls between the files of the engine. Other packages are not
// loaded, so a method is missing if only they say what type it belongs to.
func callsBetweenFiles(t *testing.T) []call {
	t.Helper()
	set, files := engineFiles(t)
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: noImports{}, Error: func(error) {}}
	pkg, _ := config.Check("engine", set, files, info)
	var calls []call
	for ident, object := range info.Uses {
		if _, ok := object.(*types.Func); ok && object.Pkg() == pkg {
			c := call{set.Position(ident.Pos()).Filename, set.Position(object.Pos()).Filename, object.Name()}
			if c.from != c.to {
				calls = append(calls, c)
			}
		}
	}
	return calls
}

// engineFiles parses the files of the engine, without tests.
func engineFiles(t *testing.T) (*token.FileSet, []*ast.File) {
	t.Helper()
	set := token.NewFileSet()
	var files []*ast.File
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return set, files
}

// noImports imports every package as an empty one.
type noImports struct{}

// Import implements types.Importer.
func (noImports) Import(path string) (*types.Package, error) {
	empty := types.NewPackage(path, filepath.Base(path))
	empty.MarkComplete()
	return empty, nil
}
