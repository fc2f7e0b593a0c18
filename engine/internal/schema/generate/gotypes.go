package generate

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/internal/release"
)

// goField is a field of a Go struct: its name, the character that says how its zero value is
// written, and the code of its type; gotypes/main.go explains both.
type goField struct {
	name string
	zero byte
	code string
}

// goTypes returns the Go structs of Kubernetes 1.minor by component.
func goTypes(dir string, minor int) (map[string][]goField, error) {
	text, err := os.ReadFile(dir + "/gotypes/types.txt")
	if err != nil {
		return nil, err
	}
	table := string(text)
	if minor != release.Default {
		differences, err := os.ReadFile(fmt.Sprintf("%s/gotypes/types-1.%d.txt", dir, minor))
		if err != nil {
			return nil, err
		}
		table = release.Apply(table, string(differences), " ")
	}
	types := map[string][]goField{}
	for line := range strings.Lines(table) {
		words := strings.Fields(line)
		fields := make([]goField, len(words)-1)
		for i, word := range words[1:] {
			at := strings.IndexAny(word, "!~?*^")
			fields[i] = goField{word[:at], word[at], word[at+1:]}
		}
		types[words[0]] = fields
	}
	return types, nil
}

// goAttributes returns the characters that follow the names of the fields of a struct, which are
// sorted, and the order of the fields in Go.
func (g *generator) goAttributes(component string, names []string) (zeros []byte, order string) {
	zeros = []byte(strings.Repeat(" ", len(names)))
	of, found := g.goTypes[component]
	if !found {
		return zeros, ""
	}
	order = "#"
	for _, f := range of {
		place, found := slices.BinarySearch(names, f.name)
		if !found || len(of) != len(names) {
			g.err = fmt.Errorf("the Go type of %s and its schema have different fields", component)
			return zeros, ""
		}
		zeros[place] = f.zero
		order += string(rune('0' + place))
	}
	return zeros, order
}

// goOnly adds the Go types that no document has.
func (g *generator) goOnly() {
	for component, of := range g.goTypes {
		if _, found := g.types[component]; found {
			continue
		}
		fields := slices.SortedFunc(slices.Values(of), func(a, b goField) int { return strings.Compare(a.name, b.name) })
		names, texts := make([]string, len(of)), make([]string, len(of))
		for i, f := range fields {
			names[i], texts[i] = f.name, goOnlyText(f.code)
		}
		g.types[component] = g.fields(component, names, texts)
	}
}

// goOnlyText returns the text of a type from its code.
func goOnlyText(code string) string {
	switch {
	case code[0] == '[':
		return "[" + goOnlyText(code[1:]) + "]"
	case code[0] == '{':
		return "<" + goOnlyText(code[1:]) + ">"
	case len(code) > 1:
		return "&" + code
	}
	const meta = "&io.k8s.apimachinery.pkg."
	return map[string]string{
		"s": "s", "b": "b", "i": "i:int32", "l": "i:int64", "f": "n:double", "y": "s:byte",
		"q": meta + "api.resource.Quantity", "t": meta + "apis.meta.v1.Time", "m": meta + "apis.meta.v1.MicroTime",
		"x": meta + "util.intstr.IntOrString", "r": meta + "runtime.RawExtension",
	}[code]
}

// fields writes a struct from the names of its fields and their texts.
func (g *generator) fields(component string, names, texts []string) string {
	zeros, order := g.goAttributes(component, names)
	all := make([]string, len(names))
	for i := range names {
		all[i] = names[i] + string(zeros[i]) + texts[i]
	}
	return "{" + strings.Join(all, ",") + "}" + order
}
