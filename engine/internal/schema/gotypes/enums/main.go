// Enums writes a table of the fields whose values the Kubernetes API enumerates: the component, the field,
// and its values without the empty one, sorted. The name of a list ends with []:
//
//	io.k8s.api.core.v1.PodSpec restartPolicy Always Never OnFailure
//
//	go run ./enums > enums.txt
//
// The values are the constants of the types that the sources of k8s.io/api mark with +enum, as servers
// publish them in their OpenAPI documents. Documents in the repositories of Kubernetes leave them out.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

func main() {
	log.SetFlags(0)
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/api").Output()
	if err != nil {
		log.Fatal(err)
	}
	dir := strings.TrimSpace(string(out))
	files, err := filepath.Glob(dir + "/*/v*/types.go")
	if err != nil || len(files) == 0 {
		log.Fatalf("%s has no types: %v", dir, err)
	}
	packages := map[string]*enums{}
	for _, file := range files {
		path := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(file)), filepath.ToSlash(dir)+"/")
		packages[path] = read(file)
	}
	var lines []string
	for path, of := range packages {
		component := "io.k8s.api." + strings.ReplaceAll(path, "/", ".") + "."
		for _, f := range of.fields {
			values := of.values[f.typ]
			if name, other, qualified := cutPackage(f.typ); qualified && packages[name] != nil {
				values = packages[name].values[other]
			}
			if len(values) > 0 {
				lines = append(lines, component+f.owner+" "+f.name+" "+strings.Join(values, " ")+"\n")
			}
		}
	}
	slices.Sort(lines)
	fmt.Print(strings.Join(lines, ""))
}

// cutPackage cuts the name of a package of the API, as "v1" or "core/v1", from the name of a type.
func cutPackage(name string) (path, typ string, qualified bool) {
	alias, typ, qualified := strings.Cut(name, ".")
	return map[string]string{"v1": "core/v1", "corev1": "core/v1", "apiv1": "core/v1"}[alias], typ, qualified
}

// enums are the enumerations of a package.
type enums struct {
	// values are the values of a type.
	values map[string][]string
	fields []field
}

// field is a field of a struct with a named type, or with a list of such.
type field struct{ owner, name, typ string }

// read reads a file of types.
func read(file string) *enums {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		log.Fatal(err)
	}
	e := &enums{values: map[string][]string{}}
	for _, d := range parsed.Decls {
		if d, ok := d.(*ast.GenDecl); ok && d.Tok == token.TYPE {
			e.types(d)
		}
	}
	for _, d := range parsed.Decls {
		if d, ok := d.(*ast.GenDecl); ok && d.Tok == token.CONST {
			e.constants(d)
		}
	}
	return e
}

// types reads types: those marked as enumerations, and structs.
func (e *enums) types(d *ast.GenDecl) {
	for _, s := range d.Specs {
		s := s.(*ast.TypeSpec)
		for _, doc := range []*ast.CommentGroup{d.Doc, s.Doc} {
			if doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool { return strings.TrimSpace(strings.TrimPrefix(c.Text, "//")) == "+enum" }) {
				e.values[s.Name.Name] = []string{}
			}
		}
		if of, ok := s.Type.(*ast.StructType); ok {
			for _, f := range of.Fields.List {
				e.field(s.Name.Name, f)
			}
		}
	}
}

func (e *enums) field(owner string, f *ast.Field) {
	if f.Tag == nil {
		return
	}
	tag, err := strconv.Unquote(f.Tag.Value)
	if err != nil {
		log.Fatal(err)
	}
	name, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
	typ := f.Type
	for {
		switch of := typ.(type) {
		case *ast.StarExpr:
			typ = of.X
			continue
		case *ast.ArrayType:
			typ, name = of.Elt, name+"[]"
			continue
		case *ast.Ident:
			e.fields = append(e.fields, field{owner, name, of.Name})
		case *ast.SelectorExpr:
			e.fields = append(e.fields, field{owner, name, of.X.(*ast.Ident).Name + "." + of.Sel.Name})
		}
		return
	}
}

// constants reads the values of enumerations. It drops a type that has a constant which is not a literal.
func (e *enums) constants(d *ast.GenDecl) {
	for _, s := range d.Specs {
		s := s.(*ast.ValueSpec)
		of, ok := s.Type.(*ast.Ident)
		if !ok || e.values[of.Name] == nil {
			continue
		}
		for _, value := range s.Values {
			literal, ok := value.(*ast.BasicLit)
			if !ok {
				delete(e.values, of.Name)
				break
			}
			text, err := strconv.Unquote(literal.Value)
			if err != nil {
				log.Fatal(err)
			}
			if text != "" {
				e.values[of.Name] = append(e.values[of.Name], text)
			}
		}
		slices.Sort(e.values[of.Name])
	}
}
