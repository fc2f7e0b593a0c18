package triage

import (
	"slices"
	"strings"
	"testing"
)

// FuzzBaseline shows that a baseline is read as it was written, whatever names it has, that it has all of
// its own findings and no others, and that one more is new.
func FuzzBaseline(f *testing.F) {
	f.Add("a.yaml", "ConfigMap/shop/a", "data[x y]", "denied", "owner", 1)
	f.Add("- b: c", "\u2028\n\t\"", "&a *b !c", "mutation", "{}", 3)
	f.Fuzz(func(t *testing.T, file, object, field, code, policy string, count int) {
		e := Entry{File: file, Object: object, Field: field, Code: code, Policy: policy}
		if code == "" || strings.ToValidUTF8(file+object+field+code+policy, "") != file+object+field+code+policy {
			return
		}
		found := slices.Repeat([]Entry{e}, 1+max(0, count)%5)
		text := Baseline{"check": found}.Text()
		read, problems := ReadBaseline("baseline.yaml", text, []string{"check"})
		if len(problems) > 0 || string(read.Text()) != string(text) {
			t.Fatalf("%v: %s became %s", problems, text, read.Text())
		}
		if c := read.Compare("check", found); slices.Contains(c.Known, false) || len(c.Gone) > 0 || c.Left != len(found) {
			t.Errorf("its own findings: %+v", c)
		}
		if c := read.Compare("check", append(found, e)); c.Known[len(found)] || c.Left != len(found) {
			t.Errorf("one more: %+v", c)
		}
		moved := e
		moved.File += "-moved"
		if c := read.Compare("check", []Entry{moved}); !c.Known[0] || c.Left != 1 {
			t.Errorf("in another file: %+v", c)
		}
		if c := read.Compare("check", nil); len(c.Gone) != 1 || c.Gone[0].Count != len(found) {
			t.Errorf("nothing found: %+v", c)
		}
	})
}
