package engine_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestExportedNames compares the exported names of public packages, with their signatures, with
// testdata/api.txt. A change there affects everyone who embeds the engine, and must be in
// CHANGELOG.md.
func TestExportedNames(t *testing.T) {
	const golden = "testdata/api.txt"
	var b strings.Builder
	for _, p := range goPackages(t) {
		if !strings.HasPrefix(p.ImportPath, "engine") || strings.Contains(p.ImportPath, "internal") {
			continue
		}
		fmt.Fprintf(&b, "package %s\n\n", p.ImportPath)
		slices.Sort(p.GoFiles)
		for _, name := range p.GoFiles {
			b.WriteString(exported(t, filepath.Join(p.Dir, name)))
		}
	}
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(golden, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(b.String(), "\n")
	for line := range strings.Lines(string(want)) {
		if line = strings.TrimSuffix(line, "\n"); !slices.Contains(got, line) {
			t.Errorf("no longer exported: %s", line)
		}
	}
	if b.String() != string(want) {
		t.Errorf("the exported names are not those of %s: if that is meant, go test ./engine -run %s -update, and read the difference", golden, t.Name())
	}
}

// receiver returns the type of a method.
func receiver(d *ast.FuncDecl) string {
	of := d.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	return of.(*ast.Ident).Name
}

// exported returns the exported declarations of a file, without comments and bodies.
func exported(t *testing.T, name string) string {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.FileExports(file)
	var b bytes.Buffer
	for _, declaration := range file.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			if d.Recv != nil && !ast.IsExported(receiver(d)) {
				continue
			}
			d.Body = nil
		case *ast.GenDecl:
			if d.Tok == token.IMPORT {
				continue
			}
			if d.Tok == token.VAR {
				for _, spec := range d.Specs {
					spec.(*ast.ValueSpec).Values = nil
				}
			}
		}
		if err := format.Node(&b, set, declaration); err != nil {
			t.Fatal(err)
		}
		b.WriteString("\n\n")
	}
	return regexp.MustCompile(`\n\n+(\t|\})`).ReplaceAllString(b.String(), "\n$1")
}
