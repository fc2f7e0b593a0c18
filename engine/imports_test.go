package engine_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/preadmit/preadmit"

// ladder lists the packages of the module from the bottom up. A package may import only packages of
// lower rungs. So languages do not depend on each other, and neither do frontends.
var ladder = [][]string{
	{"internal/archive", "internal/lazyregexp", "internal/racing"},
	{"engine/gvk", "engine/source", "engine/internal/number", "engine/internal/wildcard", "engine/internal/dns", "engine/internal/image", "engine/internal/parallel", "engine/internal/release", "engine/internal/unknown", "engine/internal/celenv/syntax"},
	{"engine/change"},
	{"engine/limit", "engine/internal/podspec"},
	{"engine/manifest", "engine/internal/schema"},
	{"engine/redact"},
	{"engine/internal/schema/generate", "engine/internal/policydoc/crds", "engine/internal/release/differ", "engine/internal/admission", "engine/internal/match", "engine/internal/snapshot", "engine/internal/jsonpatch", "engine/internal/strategicmerge", "engine/internal/jmespath"},
	{"engine/internal/schema/generate/command", "engine/internal/celenv/library", "engine/internal/workload"},
	{"engine/internal/celenv", "engine/internal/celenv/expr"},
	{"engine/policy"},
	{"engine/internal/policydoc", "engine/internal/witness"},
	{"engine/internal/admissionpolicy", "engine/internal/validation", "engine/internal/kyverno/given", "engine/internal/kyverno/deviation"},
	{"engine/internal/builtin", "engine/internal/mapolicy", "engine/internal/vapolicy", "engine/internal/mutationtree", "engine/internal/kyverno", "engine/internal/mutatingpolicy", "engine/internal/gatekeeper", "engine/internal/webhook"},
	{"engine/internal/migrate", "engine/internal/kyverno/reach"},
	{"engine"},
	{"engine/report", "internal/input", "internal/cluster"},
	{"internal/triage", "internal/hookcall", "internal/editor", "internal/output"},
	{"internal/settings", "internal/lsp"},
	{"krmfn", "tfprovider", "engine/enginetest"},
	{"krmfn/preadmit", "internal/growth", "tfprovider/terraform-provider-preadmit", "examples/library/admit"},
	{"internal/growth/command"},
}

// owners lists the packages that may import each third-party library. Libraries that are not listed
// must not be imported. The first matching line counts.
var owners = []struct {
	library  string
	packages []string
}{
	{"k8s.io/kubernetes", nil},
	{"k8s.io/client-go", nil},
	{"github.com/google/cel-go", []string{"engine/internal/celenv", "engine/internal/celenv/library", "engine/internal/celenv/syntax", "engine/internal/celenv/expr"}},
	{"k8s.io/apiserver/pkg/cel/library", nil},
	{"k8s.io/apiserver/pkg/cel", []string{"engine/internal/celenv/library", "engine/internal/celenv", "engine/internal/validation"}},
	{"k8s.io/apiserver/pkg/apis/cel", []string{"engine/internal/celenv", "engine/internal/validation"}},
	{"k8s.io/apiserver", []string{"engine/internal/celenv"}},
	{"google.golang.org/protobuf", []string{"engine/internal/celenv"}},
	{"github.com/evanphx/json-patch", []string{"engine/internal/jsonpatch"}},
	{"sigs.k8s.io/structured-merge-diff", []string{"engine/internal/schema"}},
	{"sigs.k8s.io/kustomize/kyaml", nil},
	{"sigs.k8s.io/yaml", []string{"engine/manifest"}},
	{"go.yaml.in/yaml", []string{"engine/manifest"}},
	{"github.com/jmespath-community/go-jmespath", []string{"engine/internal/mutationtree"}},
	{"github.com/kyverno/go-jmespath", []string{"engine/internal/jmespath"}},
	{"github.com/distribution/reference", nil},
	{"github.com/blang/semver", []string{"engine/internal/jmespath", "engine/internal/celenv/library"}},
	{"gopkg.in/inf.v0", []string{"engine/internal/jmespath"}},
	{"k8s.io/apiextensions-apiserver", []string{"engine/internal/validation"}},
	{"k8s.io/kube-openapi", []string{"engine/internal/validation"}},
	{"k8s.io/pod-security-admission", []string{"engine/internal/builtin"}},
	{"k8s.io/api/core/v1", []string{"engine/internal/builtin"}},
	{"sigs.k8s.io/json", []string{"engine/internal/builtin", "engine/internal/jsonpatch", "engine/internal/webhook"}},
	{"k8s.io/api/admission/v1", []string{"engine/internal/webhook"}},
	{"k8s.io/apimachinery", []string{"engine/internal/schema", "engine/internal/admission", "engine/internal/match", "engine/internal/celenv/library", "engine/internal/dns", "engine/internal/jmespath", "engine/internal/admissionpolicy", "engine/internal/mutatingpolicy", "engine/internal/workload", "engine/internal/builtin", "engine/internal/validation", "engine/internal/vapolicy", "engine/internal/webhook"}},
	{"github.com/spf13/pflag", []string{"krmfn"}},
	{"github.com/bmatcuk/doublestar", []string{"internal/input"}},
	{"go.lsp.dev", []string{"internal/lsp"}},
	{"golang.org/x/text", []string{"internal/input"}},
	{"github.com/hashicorp", []string{"tfprovider", "tfprovider/terraform-provider-preadmit", "internal/growth"}},
}

// starter is the only file that starts programs.
const starter = "krmfn/program.go"

// goPackage is a package with the imports of its files, without those of its tests.
type goPackage struct {
	ImportPath   string
	Name         string
	Dir          string
	GoFiles      []string
	Imports      []string
	TestGoFiles  []string
	XTestGoFiles []string
}

// goPackages lists the packages of the module, also those that go.mod ignores, with paths relative to
// it.
func goPackages(t *testing.T) []goPackage {
	t.Helper()
	command := exec.Command("go", append([]string{"list", "-e", "-json=ImportPath,Name,Dir,GoFiles,Imports,TestGoFiles,XTestGoFiles", module + "/..."}, ignored(t)...)...)
	output, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %v", command, err)
	}
	var packages []goPackage
	for decoder := json.NewDecoder(strings.NewReader(string(output))); ; {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			slices.SortFunc(packages, func(a, b goPackage) int { return strings.Compare(a.ImportPath, b.ImportPath) })
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		p.ImportPath = strings.TrimPrefix(p.ImportPath, module+"/")
		packages = append(packages, p)
	}
}

func TestImports(t *testing.T) {
	packages := goPackages(t)
	for _, p := range packages {
		if len(p.GoFiles) == 0 {
			continue // only tests
		}
		rung := rungOf(p.ImportPath)
		if rung < 0 {
			t.Errorf("%s has no rung on the ladder", p.ImportPath)
		}
		for _, imported := range p.Imports {
			if ours, ok := strings.CutPrefix(imported, module+"/"); ok {
				if rungOf(ours) >= rung {
					t.Errorf("%s imports %s, which is not below it", p.ImportPath, ours)
				}
			} else if isThirdParty(imported) && !slices.Contains(ownersOf(imported), p.ImportPath) {
				t.Errorf("%s imports %s, which is for %q only", p.ImportPath, imported, ownersOf(imported))
			}
		}
	}
	for _, name := range slices.Concat(ladder...) {
		if !slices.ContainsFunc(packages, func(p goPackage) bool { return p.ImportPath == name }) {
			t.Errorf("%s is on the ladder but does not exist", name)
		}
	}
}

// TestPrograms checks that only one file starts programs.
func TestPrograms(t *testing.T) {
	var starters []string
	for _, p := range goPackages(t) {
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			if slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"os/exec"` }) {
				starters = append(starters, p.ImportPath+"/"+name)
			}
		}
	}
	if !slices.Equal(starters, []string{starter}) {
		t.Errorf("os/exec is imported by %q, and is for %s only", starters, starter)
	}
}

// caller is the only package that opens connections: to the URLs that the user names.
const caller = "internal/hookcall"

// network are the packages that open connections.
var network = []string{"net", "net/http", "net/http/httptrace", "net/rpc", "net/smtp", "net/textproto", "crypto/tls", "golang.org/x/net"}

// TestNoNetwork checks that no package of this module imports a network package.
func TestNoNetwork(t *testing.T) {
	for _, p := range goPackages(t) {
		for _, imported := range p.Imports {
			if slices.Contains(network, imported) && p.ImportPath != caller {
				t.Errorf("%s imports %s", p.ImportPath, imported)
			}
		}
	}
}

// costly are packages that slow down the start of a program or are useless for it: packages of
// servers, which register metrics, flags and feature gates when they are imported. The library of
// PodSecurity needs the types of k8s.io/api, which bring net/http and klog, and the schemas of custom
// resources need kube-openapi's formats: the row `version` of the page on performance has what they
// cost.
var costly = []string{
	"expvar",
	"k8s.io/client-go", "k8s.io/component-base/metrics", "k8s.io/component-base/featuregate", "k8s.io/component-base/logs",
	"k8s.io/apiserver/pkg/features", "k8s.io/apiserver/pkg/cel/environment", "k8s.io/kube-openapi/pkg/schemaconv",
	"github.com/prometheus", "go.opentelemetry.io", "github.com/distribution/reference",
	"sigs.k8s.io/kustomize",
}

// TestCostly checks that the command does not depend on them, not even indirectly.
func TestCostly(t *testing.T) {
	output, err := exec.Command("go", "list", "-deps", module+"/krmfn/preadmit").Output()
	if err != nil {
		t.Fatal(err)
	}
	for path := range strings.Lines(string(output)) {
		path = strings.TrimSpace(path)
		for _, root := range costly {
			if path == root || strings.HasPrefix(path, root+"/") {
				t.Errorf("krmfn/preadmit imports %s, by way of others", path)
			}
		}
	}
}

// TestPatterns checks that no regular expression is compiled when a program starts.
func TestPatterns(t *testing.T) {
	for _, p := range goPackages(t) {
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, declaration := range file.Decls {
				if variables, ok := declaration.(*ast.GenDecl); ok && compilesPattern(variables) {
					t.Errorf("%s/%s compiles a regular expression: use lazyregexp", p.ImportPath, name)
				}
			}
		}
	}
}

// compilesPattern reports whether variables are initialized with regexp.MustCompile, outside of
// functions that are called later.
func compilesPattern(variables *ast.GenDecl) (compiles bool) {
	ast.Inspect(variables, func(n ast.Node) bool {
		if _, later := n.(*ast.FuncLit); later {
			return false
		}
		if selector, ok := n.(*ast.SelectorExpr); ok {
			name, ok := selector.X.(*ast.Ident)
			compiles = compiles || ok && name.Name == "regexp" && selector.Sel.Name == "MustCompile"
		}
		return true
	})
	return compiles
}

// rungOf returns the rung of a package, or -1.
func rungOf(name string) int {
	return slices.IndexFunc(ladder, func(rung []string) bool { return slices.Contains(rung, name) })
}

// isThirdParty reports whether an import path begins with a host name.
func isThirdParty(path string) bool {
	host, _, _ := strings.Cut(path, "/")
	return strings.Contains(host, ".")
}

func ownersOf(path string) []string {
	for _, owner := range owners {
		if path == owner.library || strings.HasPrefix(path, owner.library+"/") {
			return owner.packages
		}
	}
	return nil
}
