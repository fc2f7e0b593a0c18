package manifest

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/preadmit/preadmit/engine/source"
)

// TestMended fixes mistakes whose places have unusual forms. The result has no mistakes; where a fix would make
// others, none is offered.
func TestMended(t *testing.T) {
	for before, after := range map[string]string{
		"a: @b\n":                         "a: \"@b\"\n",
		"a: @b # c\n":                     "a: \"@b\" # c\n",
		"a: @b\t# c\n":                    "a: \"@b\"\t# c\n",
		"a: b\t# {\nc: @d\n":              "a: b\t# {\nc: \"@d\"\n",
		"a: @b\r\n":                       "a: \"@b\"\r\n",
		"a: .inf\t\n":                     "a: \".inf\"\t\n",
		"é: @b":                           "é: \"@b\"",
		"a: @b#c\n":                       "",
		"a: @b, c\n":                      "",
		"a: @b\n  c\n":                    "",
		"a: @b\n# c\n":                    "a: \"@b\"\n# c\n",
		"x:\n- a: @b\n  c: d\n":           "x:\n- a: \"@b\"\n  c: d\n",
		"x:\n- - @b\n  - c\n":             "x:\n- - \"@b\"\n  - c\n",
		"a: {b: @c, d: e}\n":              "a: {b: \"@c\", d: e}\n",
		"a: [.inf]\n":                     "a: [\".inf\"]\n",
		"{\"a\": 1} b: 2\n":               "{\"a\": 1} \n---\nb: 2\n",
		"{\"a\": 1}\n  b: 2\n":            "{\"a\": 1}\n---\n  b: 2\n",
		"a: b\n...\nc: d\n":               "a: b\n...\n---\nc: d\n",
		"a: b\nc: d\na: |\n  e\n#f\n":     "a: b\nc: d\n#f\n",
		"a: b\na:\n  c: d\n# e\n  f: g\n": "a: b\n",
		"a: b\na:\n- c\n\n- d\ne: f\n":    "a: b\ne: f\n",
	} {
		_, problems := Read("m.yaml", []byte(before))
		if len(problems) == 0 {
			t.Errorf("%q has no mistake", before)
			continue
		}
		got := ""
		if fixes := problems[0].Fixes; len(fixes) > 0 {
			got = edited(before, fixes[0].Edits)
			if _, problems := Read("m.yaml", []byte(got)); source.HasErrors(problems) {
				t.Errorf("%q: after %s\n%q\n%v", before, fixes[0].Title, got, problems)
			}
		}
		if got != after {
			t.Errorf("%q: expected\n%q\ngot\n%q", before, after, got)
		}
	}
}

// edited returns a text after edits, which have an end or insert.
func edited(text string, edits []source.Edit) string {
	offset := func(p source.Position) int {
		at := 0
		for range p.Line - 1 {
			at += strings.IndexByte(text[at:], '\n') + 1
		}
		for range p.Column - 1 {
			_, size := utf8.DecodeRuneInString(text[at:])
			at += size
		}
		return at
	}
	after, last := "", 0
	for _, e := range edits {
		after += text[last:offset(e.At)] + e.New
		last = offset(e.At)
		if e.To.IsKnown() {
			last = offset(e.To)
		}
	}
	return after + text[last:]
}
