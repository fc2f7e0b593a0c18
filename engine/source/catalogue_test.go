package source_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/source"
)

// TestCatalogueIsComplete compares the catalogue with the codes in the program, both ways.
func TestCatalogueIsComplete(t *testing.T) {
	used := codesIn(t, "../../engine", "../../krmfn", "../../tfprovider")
	for _, code := range slices.Sorted(maps.Keys(used)) {
		if _, ok := source.Lookup(code); !ok {
			t.Errorf("%s: the code %s is not in the catalogue", used[code], code)
		}
	}
	listed := map[string]bool{}
	for _, section := range source.Catalogue {
		for _, e := range section.Entries {
			if used[e.Code] == "" {
				t.Errorf("the code %s of the catalogue is not used", e.Code)
			}
			if listed[e.Code] {
				t.Errorf("the code %s is in the catalogue twice", e.Code)
			}
			listed[e.Code] = true
		}
	}
}

var (
	codePattern = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	sentence    = regexp.MustCompile("^[A-Z`<].*\\.$")
)

// TestCatalogueStyle checks that all entries have the same form.
func TestCatalogueStyle(t *testing.T) {
	for _, section := range source.Catalogue {
		for _, e := range section.Entries {
			if !codePattern.MatchString(e.Code) || len(e.Severities) == 0 {
				t.Errorf("%s: the code or the severities", e.Code)
			}
			if e.Title == "" || strings.HasSuffix(e.Title, ".") || strings.ToUpper(e.Title[:1]) != e.Title[:1] {
				t.Errorf("%s: a title starts with a capital and has no full stop: %q", e.Code, e.Title)
			}
			for _, text := range []string{e.Cause, e.Advice} {
				if !sentence.MatchString(text) {
					t.Errorf("%s: not a sentence: %q", e.Code, text)
				}
			}
		}
	}
}

// serverText matches the beginnings of messages that are an API server's, or that begin with a
// name.
var serverText = regexp.MustCompile(`^(Invalid|Required|Unsupported|Duplicate|Too many|Forbidden|Kubernetes |Kyverno |Gatekeeper |JMESPath|CEL|KEP|Object |JSONPatch |MutatingAdmissionPolicy|YAML |Argo CD |[A-Z_]+: |[A-Z]+_[A-Z_]+ )`)

// TestMessageStyle checks that the messages and advice in the source have the same form: no capital
// at the start, no full stop at the end.
func TestMessageStyle(t *testing.T) {
	p := parse(t, "../../engine", "../../krmfn", "../../tfprovider")
	checked := 0
	for _, file := range p.files {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			first, hasCode := p.parameters[nameOf(call.Fun)]
			if nameOf(call.Fun) == "With" {
				first, hasCode = -1, true
			}
			if !hasCode {
				return true
			}
			for _, argument := range call.Args[min(first+1, len(call.Args)):] {
				text := literal(argument)
				if text == "" {
					continue
				}
				checked++
				if strings.HasSuffix(text, ".") && !strings.HasSuffix(text, "...") || strings.ToLower(text[:1]) != text[:1] && !serverText.MatchString(text) {
					t.Errorf("%s: %q", p.set.Position(argument.Pos()), text)
				}
			}
			return true
		})
	}
	if checked < 100 {
		t.Errorf("only %d texts were found", checked)
	}
}

// program collects facts about the packages before codes are searched: the functions with a
// parameter named code, the structs with a field named code, and the values of constants.
type program struct {
	files      []*ast.File
	set        *token.FileSet
	parameters map[string]int
	fields     map[string]int
	constants  map[string]string
	codes      map[string]string // the codes with a position of each
}

// codesIn finds the codes of diagnostics in directories, and a position of each.
func codesIn(t *testing.T, directories ...string) map[string]string {
	t.Helper()
	p := parse(t, directories...)
	for _, file := range p.files {
		ast.Inspect(file, p.look)
	}
	return p.codes
}

// parse reads the packages in directories.
func parse(t *testing.T, directories ...string) *program {
	t.Helper()
	p := &program{
		set: token.NewFileSet(), parameters: map[string]int{}, fields: map[string]int{}, constants: map[string]string{}, codes: map[string]string{},
	}
	for _, directory := range directories {
		err := filepath.WalkDir(directory, func(path string, e fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case e.IsDir() && e.Name() == "testdata":
				return fs.SkipDir
			case filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			file, err := parser.ParseFile(p.set, path, nil, parser.SkipObjectResolution)
			p.files = append(p.files, file)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range p.files {
		ast.Inspect(file, p.declare)
	}
	return p
}

// declare records the declarations in a node.
func (p *program) declare(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncDecl:
		if i := indexOfCode(n.Type.Params); i >= 0 {
			p.parameters[n.Name.Name] = i
		}
	case *ast.TypeSpec:
		if s, ok := n.Type.(*ast.StructType); ok && indexOfCode(s.Fields) >= 0 {
			p.fields[n.Name.Name] = indexOfCode(s.Fields)
		}
	case *ast.GenDecl:
		for _, spec := range n.Specs {
			if v, ok := spec.(*ast.ValueSpec); ok && n.Tok == token.CONST {
				for i := range v.Values {
					p.constants[v.Names[i].Name] = literal(v.Values[i])
				}
			}
		}
	}
	return true
}

// look records the codes in a node.
func (p *program) look(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CallExpr:
		if i, ok := p.parameters[nameOf(n.Fun)]; ok && i < len(n.Args) {
			p.note(n.Args[i])
		}
	case *ast.KeyValueExpr:
		if strings.EqualFold(nameOf(n.Key), "code") {
			p.note(n.Value)
		}
	case *ast.AssignStmt:
		for i, left := range n.Lhs {
			if strings.EqualFold(nameOf(left), "code") && i < len(n.Rhs) {
				p.note(n.Rhs[i])
			}
		}
	case *ast.CompositeLit:
		p.composite(n)
	}
	return true
}

// composite records the codes in a struct literal without field names, or in a list of them.
func (p *program) composite(n *ast.CompositeLit) {
	if i, ok := p.fields[nameOf(n.Type)]; ok && i < len(n.Elts) {
		p.note(n.Elts[i])
	}
	array, ok := n.Type.(*ast.ArrayType)
	if !ok {
		return
	}
	element, ok := array.Elt.(*ast.StructType)
	if !ok || indexOfCode(element.Fields) < 0 {
		return
	}
	for _, item := range n.Elts {
		if keyed, ok := item.(*ast.KeyValueExpr); ok {
			item = keyed.Value
		}
		p.note(item.(*ast.CompositeLit).Elts[indexOfCode(element.Fields)])
	}
}

func (p *program) note(n ast.Expr) {
	code := literal(n)
	if code == "" {
		code = p.constants[nameOf(n)]
	}
	if codePattern.MatchString(code) && p.codes[code] == "" {
		p.codes[code] = p.set.Position(n.Pos()).String()
	}
}

// indexOfCode returns the index of a string named code or Code in a list of parameters or fields,
// or -1.
func indexOfCode(list *ast.FieldList) int {
	i := 0
	for _, field := range list.List {
		for _, name := range field.Names {
			if strings.EqualFold(name.Name, "code") && nameOf(field.Type) == "string" {
				return i
			}
			i++
		}
		if len(field.Names) == 0 {
			i++
		}
	}
	return -1
}

func nameOf(n ast.Expr) string {
	switch n := n.(type) {
	case *ast.Ident:
		return n.Name
	case *ast.SelectorExpr:
		return n.Sel.Name
	}
	return ""
}

func literal(n ast.Expr) string {
	if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
		text, _ := strconv.Unquote(l.Value)
		return text
	}
	return ""
}
