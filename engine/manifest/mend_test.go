package manifest

import (
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/source"
)

// TestMended fixes mistakes whose places have unusual forms. The result has no mistakes; where a fix would make
// others, no fix is offered.
func TestMended(t *testing.T) {
	for before, after := range map[string]string{
		"a: @b\n":                         "a: \"@b\"\n",
		"a: @b # c\n":                     "a: \"@b\" # c\n",
		"a: @b\t# c\n":                    "a: \"@b\"\t# c\n",
		"a: b\t# {\nc: @d\n":              "a: b\t# {\nc: \"@d\"\n",
		"a: @b\r\n":                       "a: \"@b\"\r\n",
		"a: .inf\t\n":                     "a: \".inf\"\t\n",
		"é: @b":                           "é: \"@b\"",
		"a: @b#c\n":                       "a: \"@b#c\"\n",
		"a: @b, c\n":                      "a: \"@b, c\"\n",
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
		s, problems := Read("m.yaml", []byte(before))
		if len(problems) == 0 {
			t.Errorf("%q has no mistake", before)
			continue
		}
		got := ""
		if fixes := problems[0].Fixes; len(fixes) > 0 {
			got = edited(s, fixes[0].Edits)
			if _, problems := Read("m.yaml", []byte(got)); source.HasErrors(problems) {
				t.Errorf("%q: after %s\n%q\n%v", before, fixes[0].Title, got, problems)
			}
		}
		if got != after {
			t.Errorf("%q: expected\n%q\ngot\n%q", before, after, got)
		}
	}
}

// edited returns the text of a stream after edits, which have an end or insert.
func edited(s *Stream, edits []source.Edit) string {
	after, last := "", 0
	for _, e := range edits {
		at := s.offset(e.At)
		after += s.text[last:at] + e.New
		last = at
		if e.To.IsKnown() {
			last = s.offset(e.To)
		}
	}
	return after + s.text[last:]
}

// TestRewritten changes the b in the value of a, in the forms of a scalar. Where a form does not permit it, there is
// no edit.
func TestRewritten(t *testing.T) {
	for before, after := range map[string]string{
		"a: xby":                           "a: xc\"'\\y",
		"a: xby # b\r\nb: b\r\n":           "a: xc\"'\\y # b\r\nb: b\r\n",
		"{b: 1, a: xby}\n":                 "{b: 1, a: xc\"'\\y}\n",
		"a: 'xby'\n":                       "a: 'xc\"''\\y'\n",
		"a: \"xby\"\n":                     "a: \"xc\\\"'\\\\y\"\n",
		"a: |\n  é\n  xby\n# b\n":          "a: |\n  é\n  xc\"'\\y\n# b\n",
		"a: >-\r\n  x\r\n  by\r\nd: e\r\n": "a: >-\r\n  x\r\n  c\"'\\y\r\nd: e\r\n",
		"a: &b xby\n":                      "a: &b xc\"'\\y\n",
		"a: &b xby\nd: *b\n":               "",
		"d: &b xby\na: *b\n":               "",
		"{\"b\": 1}\n{\"a\": \"xby\"}":     "{\"b\": 1}\n{\"a\": \"xc\\\"'\\\\y\"}",
		"b: [\n---\na: xby\n---\n- b\n":    "b: [\n---\na: xc\"'\\y\n---\n- b\n",
		"a: !!str xby\n":                   "",
	} {
		s, _ := Read("m.yaml", []byte(before))
		documents := s.Documents()
		d := documents[len(documents)-1]
		at := strings.Index(d.Object()["a"].(string), "b")
		if got := fixedText(s, d.Mended(source.Diagnostic{}, change.Keys("a"), source.Mend{Changes: []source.Change{{From: at, To: at + 1, New: `c"'\`}}})); got != after {
			t.Errorf("%q: expected\n%q\ngot\n%q", before, after, got)
		}
	}
}

// TestRequoted puts the value of a in quotes, or takes it out of them.
func TestRequoted(t *testing.T) {
	for before, after := range map[string]string{
		"a: 1":               "a: \"1\"",
		"a: yes # b\r\n":     "a: \"yes\" # b\r\n",
		"{a: 1.0, b: 1.0}\n": "{a: \"1.0\", b: 1.0}\n",
		"{\"a\": 1}":         "{\"a\": \"1\"}",
		"a: '1'\n":           "a: 1\n",
		"{\"a\": \"true\"}":  "{\"a\": true}",
		"a: c:\\b\n":         "",
		"a: &b 1\nb: *b\n":   "",
		"a: &b 1\nb: c\n":    "a: &b \"1\"\nb: c\n",
		"a: |\n  1\n":        "",
		"a:\n":               "",
		"a: b\n---\na: on\n": "a: b\n---\na: \"on\"\n",
	} {
		s, _ := Read("m.yaml", []byte(before))
		documents := s.Documents()
		found := documents[len(documents)-1].Retyped(source.Diagnostic{}, change.Keys("a"), func(any) bool { return true })
		if got := fixedText(s, found); got != after {
			t.Errorf("%q: expected\n%q\ngot\n%q", before, after, got)
		}
	}
}

// fixedText returns a text after the fix of a finding, "" if it has none.
func fixedText(s *Stream, found source.Diagnostic) string {
	if len(found.Fixes) == 0 {
		return ""
	}
	edits, ok := s.Edits(found.Fixes[0].Edits[0])
	if !ok {
		return ""
	}
	return edited(s, edits)
}
