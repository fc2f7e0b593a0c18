package engine

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// longest is the largest number of lines of a function in the engine, so that functions fit on a
// screen.
const longest = 40

// findings are the allowed boolean fields besides those of Options. They record findings, and do
// not switch the behaviour of a stage; an Observer, a Program or a separate function does that.
var findings = map[string]bool{
	"passes.mutated": true, "passes.patched": true, "Plan.Uncalled": true, "event.drops": true, "job.denied": true, "Prediction.Sensitive": true,
	"Outcome.Denied": true, "Outcome.Invalid": true, "Manifest.Consulted": true,
	"Manifest.DependsOnOthers": true, "Manifest.Sensitive": true, "Change.Sensitive": true,
	"followState.changed": true, "followState.touched": true, "revealed.derived": true,
	// The needs of observers; see isUntouched.
	"Observer.apart": true, "Observer.partial": true, "Observer.tolerant": true, "run.watched": true,
}

// TestCode keeps the code readable.
func TestCode(t *testing.T) {
	inspectCode(t, func(files *token.FileSet, n ast.Node) {
		f, ok := n.(*ast.FuncDecl)
		if !ok {
			return
		}
		if lines := files.Position(f.End()).Line - files.Position(f.Pos()).Line + 1; lines > longest {
			t.Errorf("%s: %s has %d lines, more than %d", files.Position(f.Pos()), f.Name.Name, lines, longest)
		}
	})
}

// TestSwitches looks for boolean fields of the engine that switch the behaviour of a stage.
func TestSwitches(t *testing.T) {
	inspectCode(t, func(files *token.FileSet, n ast.Node) {
		if spec, ok := n.(*ast.TypeSpec); ok && filepath.Dir(files.Position(n.Pos()).Filename) == "." {
			if fields, isStruct := spec.Type.(*ast.StructType); isStruct {
				checkSwitches(t, files, spec.Name.Name, fields)
			}
		}
	})
}

// inspectCode visits the code of the engine and of the frontends, without tests.
func inspectCode(t *testing.T, visit func(files *token.FileSet, n ast.Node)) {
	for _, root := range []string{".", "../internal", "../krmfn", "../tfprovider"} {
		err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.Contains(name, "testdata") {
				return err
			}
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				visit(files, n)
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func checkSwitches(t *testing.T, files *token.FileSet, of string, fields *ast.StructType) {
	for _, field := range fields.Fields.List {
		kind, ok := field.Type.(*ast.Ident)
		if !ok || kind.Name != "bool" || of == "Options" {
			continue
		}
		for _, name := range field.Names {
			if !findings[of+"."+name.Name] {
				t.Errorf("%s: %s.%s: make what it switches two functions, or say above that it is a finding", files.Position(name.Pos()), of, name.Name)
			}
		}
	}
}
