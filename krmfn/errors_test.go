package krmfn

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/preadmit/preadmit/engine/source"
)

// goldenFiles are the golden files of all packages that contain messages. Files with the best
// examples come first.
var goldenFiles = []string{
	"../testdata/cases/*/expected.err", "testdata/stories/*.txt", "../tfprovider/testdata/*.txt",
	"../engine/manifest/testdata/*.txt", "../engine/internal/mutationtree/testdata/cases/*.txt", "../engine/internal/mapolicy/testdata/refused/*.txt",
}

var (
	// printed matches a diagnostic as text; advice and excerpts follow on indented lines.
	printed = regexp.MustCompile(`(?m)^(?:preadmit: )?(?:[^ \n]+: )?(info|warning|error)\[([a-z0-9-]+)\]: .*\n(?:    .*\n)*`)
	// shown matches a diagnostic of Terraform.
	shown = regexp.MustCompile(`(?m)^(?:argument \d+|(WARNING|ERROR) at [^:\n]+): [A-Z][A-Za-z ]+ \[([a-z0-9-]+)\]: .*\n`)
	// continued matches the start of the other lines of a message.
	continued = regexp.MustCompile(`^[' \t]`)
	// ofTeam matches stories with severities of a team, and with codes that do not exist.
	ofTeam = regexp.MustCompile(`/config-(severity|decisions)-`)
	// marked matches a code in any other format.
	marked = regexp.MustCompile(`(?:(info|warning|error)\[|code: |"code": "|"ruleId": ")([a-z][a-z0-9-]+)`)
)

// examples returns the codes in the golden files: for each code a short message, and its
// severities, "" if the golden file does not have the severity.
func examples(t *testing.T) (example map[string]string, severities map[string][]string) {
	t.Helper()
	example, severities = map[string]string{}, map[string][]string{}
	from := map[string]string{}
	for _, pattern := range goldenFiles {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: no files (%v)", pattern, err)
		}
		for _, path := range paths {
			if ofTeam.MatchString(path) {
				continue
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, form := range []*regexp.Regexp{printed, shown, marked} {
				for _, found := range form.FindAllSubmatchIndex(text, -1) {
					severity, code := "", string(text[found[4]:found[5]])
					if found[2] >= 0 {
						severity = strings.ToLower(string(text[found[2]:found[3]]))
					}
					message := string(text[found[0]:found[1]])
					isBetter := example[code] == "" || from[code] == pattern && len(message) < len(example[code])
					if form != marked && isBetter && !continued.Match(text[found[1]:]) {
						example[code], from[code] = message, pattern
					}
					if !slices.Contains(severities[code], severity) {
						severities[code] = append(severities[code], severity)
					}
				}
			}
		}
	}
	return example, severities
}

// TestErrorsAreGolden checks that golden files have every code of the catalogue, with the severities
// of the catalogue.
func TestErrorsAreGolden(t *testing.T) {
	_, severities := examples(t)
	for _, section := range source.Catalogue {
		for _, e := range section.Entries {
			if (len(severities[e.Code]) > 0) == (e.Unseen != "") {
				t.Errorf("%s: either a test shows it, or the catalogue says why none does", e.Code)
			}
			want := []string{""} // the golden file does not have the severity
			for _, s := range e.Severities {
				want = append(want, s.String())
				if all := severities[e.Code]; e.Unseen == "" && !slices.Contains(all, s.String()) && !slices.Equal(all, []string{""}) {
					t.Errorf("%s: no test shows it as %s", e.Code, s)
				}
			}
			for _, s := range severities[e.Code] {
				if !slices.Contains(want, s) && !(e.Unsure && s == source.Error.String()) {
					t.Errorf("%s: a test shows it as %s, the catalogue has it as %v", e.Code, s, e.Severities)
				}
			}
			delete(severities, e.Code)
		}
	}
	for code := range severities {
		t.Errorf("%s: a test shows it, but it is not in the catalogue", code)
	}
}

// TestErrorsPage checks that docs/errors.md has the catalogue, with an example of every code from the
// golden files.
func TestErrorsPage(t *testing.T) {
	const path = "docs/errors.md"
	example, _ := examples(t)
	var b strings.Builder
	b.WriteString(errorsIntroduction)
	for _, section := range source.Catalogue {
		fmt.Fprintf(&b, "\n- [%s](#%s)", section.Title, anchorOf(section.Title))
	}
	b.WriteString("\n")
	for _, section := range source.Catalogue {
		fmt.Fprintf(&b, "\n## %s\n", section.Title)
		for _, e := range section.Entries {
			var severities []string
			for _, s := range e.Severities {
				severities = append(severities, s.String())
			}
			if e.Unsure {
				severities = append(severities, "an error with `--strict`")
			}
			fmt.Fprintf(&b, "\n### %s\n\n%s (%s). %s\n\n%s\n", e.Code, e.Title, strings.Join(severities, " or "), e.Cause, e.Advice)
			if fixed, _ := filepath.Glob("testdata/fixes/" + e.Code + ".*"); len(fixed) > 0 {
				b.WriteString("\nIn an editor, `preadmit lsp` offers a fix.\n")
			}
			if text := example[e.Code]; text != "" {
				fmt.Fprintf(&b, "\n```\n%s```\n", text)
			}
		}
	}
	if *update {
		writeFile(t, path, b.String())
		return
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != b.String() {
		t.Errorf("%s is not current (%v); -update writes it", path, err)
	}
}

// anchorOf returns the anchor of a heading on GitHub.
func anchorOf(heading string) string {
	return strings.ReplaceAll(strings.ToLower(heading), " ", "-")
}

const errorsIntroduction = `# Errors and warnings

<!-- Generated from engine/source/catalogue.go: go test ./krmfn -run TestErrorsPage -update -->

Every message has a code, which stays the same from release to release:

` + "```" + `
FILE:LINE:COLUMN: SEVERITY[CODE]: what it is about: what is wrong
    what was expected, or what to do
` + "```" + `

In the results of a KRM function the code is in ` + "`tags`" + `, in JSON in ` + "`code`" + `, in SARIF it is the
rule, and with Terraform it follows the summary. An error means that there is no
output; with a warning there is, but it may not be what was meant. Messages about a Secret
contain none of its values.
`

// TestOddNames shows that results are written even if a message has bytes that are not UTF-8.
func TestOddNames(t *testing.T) {
	var stdout, stderr bytes.Buffer
	const list = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n"
	p := &Process{Args: []string{"fn", "-p", "\xff"}, Dir: t.TempDir(), Stdin: strings.NewReader(list), Stdout: &stdout, Stderr: &stderr}
	status := Main(context.Background(), p)
	if status != exitInvalid || !strings.Contains(stdout.String(), "code: path-unreadable") || !utf8.Valid(stdout.Bytes()) {
		t.Errorf("status %d:\n%s\n%s", status, stdout.String(), stderr.String())
	}
}
