package redact

import (
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/manifest"
)

const secretHead = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\n"

func TestHideComments(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{
			"everywhere", "# one\n" + secretHead + "# two\ndata: # three\n  a: b   # four\n  #five\n# six\n",
			"# *****\n" + secretHead + "# *****\ndata: # *****\n  a: b   # *****\n  # *****\n# *****\n",
		},
		{
			"only in Secrets", "# one\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a} # two\n---\n" + secretHead + "# three\n---\n# four\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n",
			"# one\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a} # two\n---\n" + secretHead + "# *****\n---\n# four\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n",
		},
		{"beside Secrets", "# one\n---\n" + secretHead + "---\n# two\n", "# *****\n---\n" + secretHead + "---\n# *****\n"},
		{"separators", "--- # one\n" + secretHead + "... # two\n", "--- # *****\n" + secretHead + "... # *****\n"},
		{
			"no comments", secretHead + "  annotations:\n    a: 'b # c'\n    d: \"e # f\" # one\n    g: h#i # two # three\n    j: |\n      # title\n      k # l\n    m: >-\n      n\n      # o\ntype: Opaque #p\n",
			secretHead + "  annotations:\n    a: 'b # c'\n    d: \"e # f\" # *****\n    g: h#i # *****\n    j: |\n      # title\n      k # l\n    m: >-\n      n\n      # o\ntype: Opaque # *****\n",
		},
		{"nothing in them", secretHead + "#\n##\ndata: {} #\n", secretHead + "#\n##\ndata: {} #\n"},
		{"of Windows", strings.ReplaceAll("\ufeff# one\n"+secretHead+"data: {} # two\n", "\n", "\r\n"), strings.ReplaceAll("\ufeff# *****\n"+secretHead+"data: {} # *****\n", "\n", "\r\n")},
		{"other line breaks", "apiVersion: v1 # one\u0085# two\rkind: Secret\rmetadata: {name: a} # three\r# four\r", "apiVersion: v1 # *****\u0085# *****\rkind: Secret\rmetadata: {name: a} # *****\r# *****\r"},
		{"in a list", "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1 # one\n  kind: Secret\n  metadata: {name: a, # two\n    labels: {}}\n", "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1 # *****\n  kind: Secret\n  metadata: {name: a, # *****\n    labels: {}}\n"},
		{"with anchors", "# one\napiVersion: v1\nkind: Secret\nmetadata: &m {name: a} # two\nx: *m # three\n", "# *****\napiVersion: v1\nkind: Secret\nmetadata: &m {name: a} # *****\nx: *m # *****\n"},
	} {
		if got := hideComments(c.text); got != c.want {
			t.Errorf("%s: got\n%q\nwant\n%q", c.name, got, c.want)
		}
	}
}

// TestHideCommentsAnew checks that a document with too many candidates loses its comments, and
// nothing else.
func TestHideCommentsAnew(t *testing.T) {
	text := secretHead + "  annotations:\n    a: |\n" + strings.Repeat("      # not a comment\n", mostTries) + "# one\n"
	got := hideComments(text)
	if strings.Contains(got, "one") {
		t.Errorf("the comment is shown:\n%s", got)
	}
	if !sameObjects(objectsIn(got), objectsIn(text)) {
		t.Errorf("the object has changed:\n%s", got)
	}
}

// FuzzHideComments checks that hiding comments changes neither the objects nor the number of lines,
// and that hiding them again changes nothing.
func FuzzHideComments(f *testing.F) {
	for _, text := range []string{"# one\n" + secretHead, secretHead + "data: {a: 'b # c'} # d\n", secretHead + "x: |\n  # a\n# b\n", secretHead + "x: [a,#b\n c]\n", secretHead + "x: \"a\\\n # b\"\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = secretHead + text
		if _, problems := manifest.Read("-", []byte(text)); len(problems) > 0 {
			return
		}
		got := hideComments(text)
		if !sameObjects(objectsIn(got), objectsIn(text)) {
			t.Fatalf("%q became %q", text, got)
		}
		if hideComments(got) != got {
			t.Fatalf("%q became %q, and then %q", text, got, hideComments(got))
		}
		if strings.Count(text, "#") < mostTries && strings.Count(got, "\n") != strings.Count(text, "\n") {
			t.Fatalf("%q became %q", text, got)
		}
	})
}
