package source_test

import (
	"errors"
	"flag"
	"fmt"
	"go/format"
	"os"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/source"
)

var update = flag.Bool("update", false, "rewrite codes.go")

// TestCodes compares codes.go with the catalogue. codes.go has a constant for every code.
func TestCodes(t *testing.T) {
	var b strings.Builder
	b.WriteString("package source\n\n// The codes of diagnostics, as the Catalogue explains them.\nconst (\n")
	for i, section := range source.Catalogue {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "// %s.\n", section.Title)
		for _, e := range section.Entries {
			name := ""
			for _, word := range strings.Split(e.Code, "-") {
				name += strings.ToUpper(word[:1]) + word[1:]
			}
			name = strings.NewReplacer("Yaml", "YAML", "Crd", "CRD", "Openapi", "OpenAPI", "Api", "API", "Utf", "UTF").Replace(name)
			fmt.Fprintf(&b, "Code%s = %q\n", name, e.Code)
		}
	}
	b.WriteString(")\n")
	want, err := format.Source([]byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("codes.go", want, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile("codes.go"); err != nil || string(got) != string(want) {
		t.Errorf("codes.go is not what the catalogue says (%v): go test ./engine/source -update", err)
	}
}

func TestErrors(t *testing.T) {
	if err := source.Join([]source.Diagnostic{source.Warningf(source.Position{}, "b", "harmless")}); err != nil {
		t.Errorf("a warning is an error: %v", err)
	}
	first := source.Errorf(source.Position{File: "f", Line: 1, Column: 2}, "denied", "no")
	err := fmt.Errorf("wrapped: %w", source.Join([]source.Diagnostic{first, source.Warningf(source.Position{}, "b", "harmless"), source.Errorf(source.Position{}, "internal", "oops")}))
	if want := "wrapped: f:1:2: error[denied]: no\nerror[internal]: oops"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	var d source.Diagnostic
	if !errors.As(err, &d) || d != first {
		t.Errorf("errors.As found %v", d)
	}
	for code, want := range map[string]bool{"denied": true, "internal": true, "b": false} {
		if source.HasCode(err, code) != want {
			t.Errorf("HasCode(%s) is %v", code, !want)
		}
	}
	if !source.HasCode(first, source.CodeDenied) || source.HasCode(nil, source.CodeDenied) {
		t.Error("HasCode of a Diagnostic, or of nil")
	}
}
