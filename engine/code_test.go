package engine

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// longest is the largest number of lines of a function in the engine, so that functions fit on a
// screen.
const longest = 40

// findings are the allowed boolean fields besides those of Options. They record findings, and do
// not switch the behaviour of a stage; an Observer, a Program or a separate function does that.
var findings = map[string]bool{
	"passes.mutated": true, "passes.patched": true, "Plan.Uncalled": true, "event.drops": true, "job.denied": true, "kept.denied": true, "Prediction.Sensitive": true,
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

// extended are the structs of ours that others may embed, with those that embed them: values that
// say more than the embedded value, and values that an encoder or cel-go asks for all their fields or
// methods. Whatever only needs another struct has a field.
var extended = map[string][]string{
	"engine/change.Change":            {"engine.Change", "engine.Edit"},
	"engine/gvk.Kind":                 {"schema.Kind"},
	"engine/gvk.Resource":             {"match.Name", "cluster.Resource"},
	"engine/source.Diagnostic":        {"triage.Finding"},
	"engine/internal/celenv.provider": {"celenv.typed"},
	"engine/internal/celenv.opaque":   {"celenv.bindingValue", "celenv.contextValue", "celenv.gvrValue", "celenv.imageValue", "celenv.objectValue", "celenv.patchValue", "celenv.record", "celenv.trace", "celenv.variableMap", "celenv.watchedItems"},
	"engine/report.jsonChange":        {"report.jsonEdit", "report.jsonStep"},
	"engine/report.jsonName":          {"report.jsonNotApplied", "report.jsonObjection", "report.jsonStep"},
	"tfprovider.rule":                 {"tfprovider.changed", "tfprovider.notApplied"},
}

// TestEmbedded looks for structs of ours that embed one of ours to borrow its fields.
func TestEmbedded(t *testing.T) {
	structs := map[string]bool{}
	var embeddings []embedding
	inspectCode(t, func(files *token.FileSet, n ast.Node) {
		file, ok := n.(*ast.File)
		if !ok {
			return
		}
		in := path.Join("engine", filepath.ToSlash(filepath.Dir(files.Position(file.Pos()).Filename)))
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if of, isStruct := spec.Type.(*ast.StructType); isStruct {
					structs[in+"."+spec.Name.Name] = true
					embeddings = append(embeddings, embeddingsOf(files, file, in, spec.Name.Name, of)...)
				}
			}
			return true
		})
	})
	for _, e := range embeddings {
		if structs[e.embedded] && !slices.Contains(extended[e.embedded], path.Base(e.by)) {
			t.Errorf("%s: %s embeds %s: give it a field", e.at, e.by, e.embedded)
		}
	}
}

// embedding is a struct that embeds a type, each with the directory of its package.
type embedding struct {
	by, embedded string
	at           token.Position
}

func embeddingsOf(files *token.FileSet, file *ast.File, in, name string, of *ast.StructType) (found []embedding) {
	imported := map[string]string{}
	for _, spec := range file.Imports {
		from, _ := strconv.Unquote(spec.Path.Value)
		imported[path.Base(from)] = strings.TrimPrefix(from, "github.com/preadmit/preadmit/")
	}
	for _, field := range of.Fields.List {
		if len(field.Names) > 0 {
			continue
		}
		embedded := field.Type
		if pointer, ok := embedded.(*ast.StarExpr); ok {
			embedded = pointer.X
		}
		e := embedding{by: in + "." + name, at: files.Position(field.Pos())}
		switch embedded := embedded.(type) {
		case *ast.Ident:
			e.embedded = in + "." + embedded.Name
		case *ast.SelectorExpr:
			e.embedded = imported[embedded.X.(*ast.Ident).Name] + "." + embedded.Sel.Name
		}
		found = append(found, e)
	}
	return found
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
