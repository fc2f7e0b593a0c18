// Gone writes a table of the kinds that modules of the Kubernetes API had once, and have no more: when a
// server began to warn of them, when it stopped to serve them, and what replaced them. The format is that
// of gotypes/lifecycle.go.
//
//	go run ./gone > gone.txt
//
// It reads the sources of k8s.io/api of each minor version from 1.16 on, and those of the modules that
// still have the types of versions that no server serves. A kind is gone with the first version that does
// not have it, or with that in which its type says that it is removed. Types of alpha versions name no
// replacement: it is the kind in version v1.
package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// releases are the read versions of k8s.io/api, from the oldest. The proxy does not have every patch.
var releases = []string{
	"v0.16.15", "v0.17.17", "v0.18.19", "v0.19.16", "v0.20.15", "v0.21.14", "v0.22.17", "v0.23.17", "v0.24.17", "v0.25.16", "v0.26.15",
	"v0.27.16", "v0.28.15", "v0.29.15", "v0.30.14", "v0.31.14", "v0.32.13", "v0.33.13", "v0.34.3", "v0.35.4", "v0.36.3",
}

// others are modules with types that no supported server serves, and the directories of their groups.
var others = [][2]string{
	{"k8s.io/apiextensions-apiserver@v0.36.3", "pkg/apis"},
	{"k8s.io/kube-aggregator@v0.36.3", "pkg/apis"},
}

// supported is the minor version from which on the table of the types themselves has the kinds.
const supported = 34

// lifecycle is what became of a kind. The numbers are minor versions, 0 for none.
type lifecycle struct {
	deprecated, removed int
	replacement         string
}

func main() {
	log.SetFlags(0)
	kinds, last := map[string]lifecycle{}, map[string]int{}
	for _, version := range releases {
		minor := minorOf(version)
		for kind, l := range read(directory("k8s.io/api@" + version)) {
			kinds[kind], last[kind] = l, minor
		}
	}
	finish(kinds, last)
	for _, other := range others {
		for kind, l := range read(filepath.Join(directory(other[0]), other[1])) {
			if l.removed > 0 {
				kinds[kind] = l
			}
		}
	}
	var lines []string
	for kind, l := range kinds {
		lines = append(lines, fmt.Sprintf("%s %s %s %s", kind, number(l.deprecated), number(l.removed), l.replacement))
	}
	slices.Sort(lines)
	fmt.Println(strings.Join(lines, "\n"))
}

// finish completes the kinds that the last versions do not have, and removes the others. last has the last
// minor version with each kind.
func finish(kinds map[string]lifecycle, last map[string]int) {
	newest := minorOf(releases[len(releases)-1])
	for kind, minor := range last {
		if minor >= supported {
			delete(kinds, kind)
			continue
		}
		l := kinds[kind]
		if l.removed == 0 || l.removed > minor+1 {
			l.removed = minor + 1
		}
		if l.deprecated >= l.removed {
			l.deprecated = 0
		}
		if stable := stableOf(kind); l.replacement == "-" && last[stable] == newest {
			l.replacement = stable
		}
		kinds[kind] = l
	}
}

// stableOf returns the kind in the version v1 of its group.
func stableOf(kind string) string {
	parts := strings.Split(kind, "/")
	parts[len(parts)-2] = "v1"
	return strings.Join(parts, "/")
}

func number(minor int) string {
	if minor == 0 {
		return "-"
	}
	return strconv.Itoa(minor)
}

func minorOf(version string) int {
	minor, err := strconv.Atoi(strings.Split(version, ".")[1])
	if err != nil {
		log.Fatal(err)
	}
	return minor
}

// directory returns where the sources of a module are, and downloads them first if they are not there.
func directory(module string) string {
	output, err := exec.Command("go", "mod", "download", "-json", module).Output()
	var downloaded struct{ Dir, Error string }
	if json.Unmarshal(output, &downloaded) != nil || downloaded.Dir == "" {
		log.Fatalf("%s: %v %s", module, err, downloaded.Error)
	}
	return downloaded.Dir
}

// read returns the kinds of all groups and versions below a directory.
func read(root string) map[string]lifecycle {
	kinds := map[string]lifecycle{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != "types.go" {
			return err
		}
		dir := filepath.Dir(path)
		if group, ok := groupOf(dir); ok {
			for name, l := range kindsIn(dir) {
				kinds[strings.TrimPrefix(group+"/", "/")+filepath.Base(dir)+"/"+name] = l
			}
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	return kinds
}

var groupName = regexp.MustCompile(`GroupName\s*=\s*"([^"]*)"`)

// groupOf returns the group that a version in a directory belongs to.
func groupOf(dir string) (string, bool) {
	for _, file := range []string{"register.go", "../register.go"} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if found := groupName.FindSubmatch(text); err == nil && found != nil {
			return string(found[1]), true
		}
	}
	return "", false
}

// kindsIn returns the kinds of a version that are stored, each with its lifecycle.
func kindsIn(dir string) map[string]lifecycle {
	kinds := map[string]lifecycle{}
	each(dir, "types.go", func(d ast.Decl) {
		declaration, ok := d.(*ast.GenDecl)
		if !ok || declaration.Tok != token.TYPE {
			return
		}
		for _, spec := range declaration.Specs {
			t := spec.(*ast.TypeSpec)
			if fields, ok := t.Type.(*ast.StructType); ok && embeds(fields, "TypeMeta") && embeds(fields, "ObjectMeta") {
				kinds[t.Name.Name] = lifecycle{replacement: "-"}
			}
		}
	})
	each(dir, "zz_generated.prerelease-lifecycle.go", func(d ast.Decl) {
		method, ok := d.(*ast.FuncDecl)
		if !ok || method.Recv == nil {
			return
		}
		receiver := method.Recv.List[0].Type.(*ast.StarExpr).X.(*ast.Ident).Name
		if l, ok := kinds[receiver]; ok {
			l.learn(method)
			kinds[receiver] = l
		}
	})
	return kinds
}

// each calls f for the declarations of a file, which may be missing.
func each(dir, name string, f func(ast.Decl)) {
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err != nil {
		return
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		log.Fatal(err)
	}
	for _, d := range file.Decls {
		f(d)
	}
}

func embeds(fields *ast.StructType, name string) bool {
	return slices.ContainsFunc(fields.Fields.List, func(f *ast.Field) bool {
		selector, ok := f.Type.(*ast.SelectorExpr)
		return ok && len(f.Names) == 0 && selector.Sel.Name == name
	})
}

// learn adds what a generated method of a kind returns.
func (l *lifecycle) learn(method *ast.FuncDecl) {
	results := method.Body.List[0].(*ast.ReturnStmt).Results
	switch method.Name.Name {
	case "APILifecycleDeprecated":
		l.deprecated = literal(results[1])
	case "APILifecycleRemoved":
		l.removed = literal(results[1])
	case "APILifecycleReplacement":
		var parts []string
		for _, element := range results[0].(*ast.CompositeLit).Elts {
			part, err := strconv.Unquote(element.(*ast.KeyValueExpr).Value.(*ast.BasicLit).Value)
			if err != nil {
				log.Fatal(err)
			}
			parts = append(parts, part)
		}
		l.replacement = strings.TrimPrefix(strings.Join(parts, "/"), "/")
	}
}

// literal returns the number in a return statement.
func literal(e ast.Expr) int {
	n, err := strconv.Atoi(e.(*ast.BasicLit).Value)
	if err != nil {
		log.Fatal(err)
	}
	return n
}
