package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Programs that do with CEL what a short run of preadmit would do without its packages
// celenv/syntax and celenv/library.
const (
	celOnly    = "cel"
	celParser  = "cel-parser"
	celLibrary = "cel-library"
)

// celImports are imported by all these programs, as package celenv imports them.
const celImports = `package main

import (
	"github.com/google/cel-go/cel"
	_ "github.com/google/cel-go/checker"
	_ "github.com/google/cel-go/ext"
	_ "k8s.io/apiserver/pkg/cel"
`

var celPrograms = map[string]string{
	celOnly: celImports + ")\n\nfunc main() { cel.NewEnv(cel.OptionalTypes()) }\n",
	celParser: celImports + `)

func main() {
	env, _ := cel.NewEnv(cel.OptionalTypes())
	for _, text := range []string{` + quotedExpressions() + `} {
		if _, issues := env.Parse(text); issues.Err() != nil {
			panic(issues.Err())
		}
	}
}
`,
	celLibrary: celImports + "\t_ \"k8s.io/apiserver/pkg/cel/library\"\n)\n\nfunc main() { cel.NewEnv(cel.OptionalTypes()) }\n",
}

var expression = regexp.MustCompile(`expression: ("(?:\\.|[^"])*")`)

// quotedExpressions returns the expressions of the ten policies as Go literals.
func quotedExpressions() string {
	var list []string
	for _, match := range expression.FindAllStringSubmatch(ten(nil), -1) {
		list = append(list, match[1])
	}
	return strings.Join(list, ", ")
}

// buildCEL builds these programs in a directory.
func buildCEL(dir string) error {
	for name, source := range celPrograms {
		file := filepath.Join(dir, name+".go")
		if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
			return err
		}
		if err := build(filepath.Join(dir, name), file); err != nil {
			return err
		}
	}
	return nil
}

// printSavings prints what each package of celenv saves in every run.
func (m measured) printSavings(to io.Writer) {
	fmt.Fprintln(to, "\n| package | instead of | saves of each run, CPU in ms |\n|---|---|---|")
	for _, s := range []struct{ name, instead, with string }{
		{"celenv/syntax", "the parser of cel-go, for the expressions of the ten policies", celParser},
		{"celenv/library", "k8s.io/apiserver/pkg/cel/library", celLibrary},
	} {
		fmt.Fprintf(to, "| %s | %s | %.1f |\n", s.name, s.instead, 1000*(m[s.with].cpu()-m[celOnly].cpu()))
	}
}
