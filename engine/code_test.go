package engine

import (
	"go/ast"
	"go/parser"
	"go/token"
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
	"passes.mutated": true, "event.drops": true, "job.denied": true,
	"Outcome.Denied": true, "Outcome.Invalid": true, "Manifest.Consulted": true,
	"Manifest.DependsOnOthers": true, "Manifest.Sensitive": true, "Change.Sensitive": true,
	"followState.changed": true, "followState.touched": true,
	// The needs of observers; see isUntouched.
	"Observer.partial": true, "Observer.tolerant": true, "run.watched": true,
}

// TestCode keeps the code of the engine readable.
func TestCode(t *testing.T) {
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if lines := files.Position(n.End()).Line - files.Position(n.Pos()).Line + 1; lines > longest {
					t.Errorf("%s: %s has %d lines, more than %d", files.Position(n.Pos()), n.Name.Name, lines, longest)
				}
			case *ast.TypeSpec:
				if fields, ok := n.Type.(*ast.StructType); ok {
					checkSwitches(t, files, n.Name.Name, fields)
				}
			}
			return true
		})
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
