package engine_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// frontends are the packages that print. exact are their files that write the exact message of a
// diagnostic, into a format that escapes it.
var (
	frontends = []string{"engine/report", "internal/editor", "internal/lsp", "krmfn", "tfprovider"}
	exact     = map[string]bool{"engine/report/json.go": true, "engine/report/findings.go": true}
)

// TestOneSink checks that only package redact hides anything, and that the packages that print get
// the text of a diagnostic from package source, which makes it printable.
func TestOneSink(t *testing.T) {
	for _, p := range goPackages(t) {
		isFrontend := false
		for _, name := range frontends {
			isFrontend = isFrontend || p.ImportPath == name
		}
		for _, name := range p.GoFiles {
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			path := p.ImportPath + "/" + name
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.BasicLit:
					if n.Kind == token.STRING && strings.Contains(n.Value, "*****") && p.ImportPath != "engine/redact" {
						t.Errorf("%s has a mask of its own: use package redact", files.Position(n.Pos()))
					}
				case *ast.SelectorExpr:
					if of, ok := n.X.(*ast.SelectorExpr); ok && n.Sel.Name == "String" && of.Sel.Name == "Reason" && isFrontend {
						t.Errorf("%s: use Reason of the Redactor", files.Position(n.Pos()))
					}
					of, _ := n.X.(*ast.Ident)
					isType := of != nil && of.Name == "jsonrpc2"
					if n.Sel.Name == "Message" && isFrontend && !exact[path] && !isType {
						t.Errorf("%s: use Printed, Text or String of the Diagnostic", files.Position(n.Pos()))
					}
				}
				return true
			})
		}
	}
}
