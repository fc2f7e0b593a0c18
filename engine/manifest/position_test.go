package manifest

import (
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/change"
)

const positions = `# head
apiVersion: v1 # é
kind: ConfigMap
metadata:
  name: web
  labels: {a: "x", "b": [1, {c: d}]}
  none:
data:
  plain: a é b
  over: one
    two
  single: 'it''s é'
  double: "a\u00e9\n b"
  wrapped: "one

    two \
    three"
  literal: |  # header
    has(x)

      && é.y
  folded: >-
    has(x)
    && y

    || z
  empty: |

list:
- a: 1
-
- - x
`

// inner names a place in a string by the text that starts there.
var positionCases = []positionCase{
	{"", "", "2:1"},
	{"/apiVersion", "", "2:13"},
	{"/apiVersion", "1", "2:14"},
	{"/metadata", "", "5:3"},
	{"/metadata/name", "", "5:9"},
	{"/metadata/labels", "", "6:11"},
	{"/metadata/labels/a", "", "6:15"},
	{"/metadata/labels/a", "x", "6:16"},
	{"/metadata/labels/b", "", "6:25"},
	{"/metadata/labels/b/1/c", "", "6:33"},
	{"/metadata/none", "", "7:3"},
	{"/metadata/missing", "", "5:3"},
	{"/metadata/name/deeper", "", "5:9"},
	{"/metadata/labels/b/7", "", "6:25"},
	{"/data/plain", "b", "9:14"},
	{"/data/over", "two", "11:5"},
	{"/data/over", " two", "10:12"},
	{"/data/single", "s é", "12:16"},
	{"/data/single", "é", "12:18"},
	{"/data/single", "'s", "12:14"},
	{"/data/double", "é", "13:13"},
	{"/data/double", "\n", "13:19"},
	{"/data/double", "b", "13:22"},
	{"/data/wrapped", "two", "16:5"},
	{"/data/wrapped", "three", "17:5"},
	{"/data/literal", "", "18:12"},
	{"/data/literal", "has", "19:5"},
	{"/data/literal", "&&", "21:7"},
	{"/data/literal", ".y", "21:11"},
	{"/data/folded", "has", "23:5"},
	{"/data/folded", "&&", "24:5"},
	{"/data/folded", "y", "24:8"},
	{"/data/folded", "|| z", "26:5"},
	{"/list/0/a", "", "30:6"},
	{"/list/1", "", "31:1"},
	{"/list/2", "", "32:3"},
	{"/list/2/0", "", "32:5"},
}

// TestPositions checks that positions are exact in a single document, after other documents, and in
// an item of a list.
func TestPositions(t *testing.T) {
	indented := "apiVersion: v1\nkind: List\nitems:\n-\n  " + strings.TrimSuffix(strings.ReplaceAll(positions, "\n", "\n  "), "  ")
	for _, layout := range []struct {
		name, text   string
		index        int
		line, column int
	}{
		{"alone", positions, 0, 0, 0},
		{"with a byte order mark", byteOrderMark + positions, 0, 0, 0},
		{"after another", "a: 1\n---\n" + positions, 1, 2, 0},
		{"with CRLF", strings.ReplaceAll(positions, "\n", "\r\n"), 0, 0, 0},
		{"as an item", indented, 0, 4, 2},
	} {
		d := readClean(t, layout.text).Documents()[layout.index]
		for _, c := range positionCases {
			path := pointer(c.pointer, d.Object())
			p := d.At(path)
			if c.inner != "" {
				value, _ := path.Get(d.Object())
				p = d.In(path, strings.Index(value.(string), c.inner))
			}
			p.File, p.Line, p.Column = "", p.Line-layout.line, p.Column-layout.column
			if got := strings.TrimPrefix(p.String(), ":"); got != c.want {
				t.Errorf("%s: %q in %s stands at %s, not %s", layout.name, c.inner, c.pointer, got, c.want)
			}
		}
	}
}

// TestPositionsOfAliases checks that a value after an anchor has the position of its text, and that
// the value of an alias has the positions of the original.
func TestPositionsOfAliases(t *testing.T) {
	testPositions(t, `kind: A
---
# head
kind: B
a: &a
  b: [c, 'd e']
  expression: |
    has(x)
      && y
aliased: *a
own: &own plain
`, false, []positionCase{
		{"", "", "in.yaml:4:1"},
		{"/a/b", "", "in.yaml:6:6"},
		{"/a/b/1", "e", "in.yaml:6:13"},
		{"/a/expression", "&& y", "in.yaml:9:7"},
		{"/aliased", "", "in.yaml:10:10"},
		{"/aliased/b/0", "", "in.yaml:6:7"},
		{"/aliased/expression", "has", "in.yaml:8:5"},
		{"/own", "", "in.yaml:11:11"},
		{"/own", "ain", "in.yaml:11:13"},
	})
}

// TestPositionsOfRewritten checks positions in documents that the scanner leaves to the library.
func TestPositionsOfRewritten(t *testing.T) {
	testPositions(t, `kind: A
---
# head
kind: B
a: &a
  b: [c, 'd e']
  expression: |
    has(x)
      && y
aliased: *a
merged:
  <<: *a
  own: !!str plain
set: {x, z}
`, true, []positionCase{
		{"", "", "in.yaml:4:1"},
		{"/a/b", "", "in.yaml:6:6"},
		{"/a/b/1", "", "in.yaml:6:10"},
		{"/a/b/1", "e", "in.yaml:6:13"},
		{"/a/expression", "has", "in.yaml:8:5"},
		{"/a/expression", "&& y", "in.yaml:9:7"},
		{"/aliased", "", "in.yaml:10:10"},
		{"/aliased/b/0", "", "in.yaml:6:7"},
		{"/merged/own", "", "in.yaml:13:8"},
		{"/merged/b", "", "in.yaml:6:6"},
		{"/merged/missing", "", "in.yaml:12:3"},
	})
}

type positionCase struct{ pointer, inner, want string }

// testPositions checks positions in the second document of a text.
func testPositions(t *testing.T, text string, rewritten bool, cases []positionCase) {
	t.Helper()
	d := readClean(t, text).Documents()[1]
	if (d.unit.rewritten != nil) != rewritten {
		t.Fatal("the document is not read as it is meant to be")
	}
	for _, c := range cases {
		path := pointer(c.pointer, d.Object())
		p := d.At(path)
		if c.inner != "" {
			value, _ := path.Get(d.Object())
			p = d.In(path, strings.Index(value.(string), c.inner))
		}
		if p.String() != c.want {
			t.Errorf("%q in %s stands at %s, not %s", c.inner, c.pointer, p, c.want)
		}
	}
}

// TestPositionsOfItemsAside checks positions in items that the scanner sets aside.
func TestPositionsOfItemsAside(t *testing.T) {
	s := readClean(t, `apiVersion: v1
kind: List
items:
- kind: A
- kind: B
  data: {é: [k: v], e: x}
-
    # of C
    kind: C
    data: [{k},
      last]
`)
	docs := s.Documents()
	for _, c := range []struct {
		index         int
		pointer, want string
	}{
		{0, "/kind", "in.yaml:4:9"},
		{1, "", "in.yaml:5:3"},
		{1, "/kind", "in.yaml:5:9"},
		{1, "/data/é", "in.yaml:6:13"},
		{1, "/data/e", "in.yaml:6:24"},
		{2, "", "in.yaml:9:5"},
		{2, "/data/1", "in.yaml:11:7"},
	} {
		if got := docs[c.index].At(pointer(c.pointer, docs[c.index].Object())).String(); got != c.want {
			t.Errorf("%s of document %d stands at %s, not %s", c.pointer, c.index, got, c.want)
		}
	}
}

func TestLine(t *testing.T) {
	s := readClean(t, "a: 1\r\nb: é # c\n---\nc: 2")
	for path, want := range map[string]string{"a": "a: 1", "b": "b: é # c"} {
		d := s.Documents()[0]
		if got := d.Line(d.At(change.Keys(path))); got != want {
			t.Errorf("the line of %s is %q", path, got)
		}
	}
	if d := s.Documents()[1]; d.Line(d.At(nil)) != "c: 2" {
		t.Errorf("the last line is %q", d.Line(d.At(nil)))
	}
}

// TestText reads the text of a single document, before and after its edits.
func TestText(t *testing.T) {
	stream, problems := Read("-", []byte("# first\na: 1\n---\napiVersion: v1\nkind: List\nitems:\n  - b: 2 # two\n    c: 3\n  - d: 4\n"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for i, want := range [][2]string{
		{"# first\na: 1\n", "# first\na: 9\n"},
		{"    b: 2 # two\n    c: 3\n", "    b: 9 # two\n    c: 3\n"},
		{"    d: 4\n", "    d: 4\n"},
	} {
		d := stream.Documents()[i]
		object := d.Object()
		for _, key := range []string{"a", "b"} {
			if _, ok := object[key]; ok {
				object[key] = int64(9)
			}
		}
		if err := d.Set(object, nil); err != nil {
			t.Fatal(err)
		}
		if before, after := d.Text(); before != want[0] || after != want[1] {
			t.Errorf("document %d: %q and %q, want %q", i, before, after, want)
		}
	}
}

// TestKeyIn checks the positions of bytes in keys.
func TestKeyIn(t *testing.T) {
	stream, problems := Read("a.yaml", []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  \"\\u00e9-x\": a\n  'it''s': b\n"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for key, want := range map[string]string{"é-x": "5:11", "it's": "6:6"} {
		offset := strings.IndexAny(key, "x'")
		if got := stream.Documents()[0].KeyIn(change.Path{change.Key("data"), change.Key(key)}, offset); got.String() != "a.yaml:"+want {
			t.Errorf("%s: %s, not %s", key, got, want)
		}
	}
}
