package krmfn

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// editorFeatures are what the server does in a language, with what a transcript shows of it.
var editorFeatures = []struct{ name, shows string }{
	{"Diagnostics", `(error|warning|info)\[`},
	{"Completion of YAML", `^    \w+  \w`},
	{"Completion of expressions", `^    \w+  \w`},
	{"Hover on YAML", "^    `.*`: "},
	{"Hover on expressions", "^    (`(\\w+\\.)+\\w+`|```)"},
	{"Values of manifests on hover", "As policies see it|a cluster will hold"},
	{"Go to", `:\d+:\d+ `},
	{"References", `:\d+:\d+ `},
	{"Rename", `:\d+:\d+ `},
	{"Symbols", `:\d+:\d+ `},
	{"Folding", `^    \d+-\d+ `},
	{"Tokens", `^    .*\b(variable|function) `},
	{"Fixes", `quickfix: (Replace|Convert|Quote)`},
	{"Refactorings", `refactor\.\S+: .*(\n    \S|\n?\z)`},
	{"Lenses", `matches \d+, changes \d+`},
}

// TestLanguages checks the table of what works in which language, which README.md of examples/editors has. It is
// made from the transcripts language-*.txt in testdata/lsp, which TestLSP plays. Under the name of each feature they
// have its request. A feature that a language cannot have has the reason after its name; all others that the answer does
// not show are not there.
func TestLanguages(t *testing.T) {
	paths, err := filepath.Glob("testdata/lsp/language-*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatal("no transcripts", err)
	}
	table := make([]string, len(editorFeatures)+2)
	table[0], table[1] = "|", "|-"
	for i, f := range editorFeatures {
		table[i+2] = "| " + f.name
	}
	for _, path := range paths {
		title, cells := cellsOf(t, path)
		table[0], table[1] = table[0]+" | "+title, table[1]+"|-"
		for i, cell := range cells {
			table[i+2] += " | " + cell
		}
	}
	const begin, end = "<!-- languages: made by go test ./krmfn -run TestLanguages -update -->\n", "<!-- end of languages -->"
	readme := filepath.FromSlash("../examples/editors/README.md")
	data, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(data), begin)
	_, after, ok := strings.Cut(rest, end)
	if !ok {
		t.Fatal("README.md has no place for the table")
	}
	if want := before + begin + strings.Join(table, " |\n") + " |\n" + end + after; *update {
		writeFile(t, readme, want)
	} else if want != string(data) {
		t.Errorf("%s is not current: run with -update", readme)
	}
}

// cellsOf returns the column of a transcript: its title, and a cell for each feature.
func cellsOf(t *testing.T, path string) (title string, cells []string) {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	commands, _, _ := strings.Cut(string(data), "\n-- ")
	parts := strings.Split(strings.TrimPrefix(commands, "# ")+"\n", "\n# ")
	title, _, _ = strings.Cut(parts[0], "\n")
	if len(parts) != len(editorFeatures)+1 {
		t.Fatalf("%s has %d features, not %d", path, len(parts)-1, len(editorFeatures))
	}
	for i, f := range editorFeatures {
		heading, shown, _ := strings.Cut(parts[i+1], "\n")
		name, reason, _ := strings.Cut(heading, ": ")
		is := regexp.MustCompile("(?m)" + f.shows).MatchString(shown)
		cell := fmt.Sprintf("[yes](../../krmfn/%s)", filepath.ToSlash(path))
		switch {
		case name != f.name || is && reason != "":
			t.Errorf("%s: %s: expected %s, without a reason if the answer shows it", path, heading, f.name)
		case reason != "":
			cell = "no: " + reason
		case !is:
			cell = "no"
		}
		cells = append(cells, cell)
	}
	return title, cells
}
