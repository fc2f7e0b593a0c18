package manifest

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/yaml"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/number"
	"github.com/preadmit/preadmit/engine/source"
)

// layoutInputs are texts with difficult layouts.
var layoutInputs = []string{
	"a:\n  b: 1\n  # foot\nc: 2 # c\n",
	"- a: 1\n",
	"a:\n- b: 1 # one\n  c: 2\n\n  # head of d\n  d: 3\n- e\n# tail\n",
	"a:\n  - b: 1\n\n  - c: 2\n  # head\n  - d: 3\nf: g",
	"a:\n- - 1\n  # x\n  - 2\n- - 3\nb:\n-\n- c\n-\n  d: e\n",
	"a: [\n  x, # one\n  y,\n  z # three\n]\nb: {c: 1, d: {e: f}}\n",
	"{\n  \"a\": [\n    1,\n    {\"b\": \"c\"}\n  ],\n  \"d\": {}\n}\n",
	"{\"a\":1,\"b\":[1.0,2e3,-0],\"c\":\"\\ud83d\\ude00\\/\"}{\"d\":1}",
	"a: |  # header\n  x\n   y\n\n  z\nb: >-\n  f\n  g\n\n  h\n   i\nc: |+\n\n\nd: |\n",
	"a: 'it''s'\nb: \"q\\\"\\n\"\nc: 'x\n\n  y'\n\"d e\": 1\n'f': 2\n",
	"a: \"x\n\n  y \\\n\n   z\\  \n\n  \"\nb:\n  plain over\n\n  lines\n",
	"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- kind: A\n  data: {x: y}\n-\n  kind: B\n- {kind: C}\nfunctionConfig:\n  kind: F\n",
	"apiVersion: v1\nkind: ConfigMapList\nitems:\n- metadata: {name: a}\n- kind: X\n  metadata:\n    name: b\n",
	"{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[{\"a\":1.0},{\"b\":[]}]}",
	"a:\n  b:\n    c:\n\n\n# end\n",
	"a: 1\r\nb:\r\n- c # d\r\n- |\r\n  e\r\n",
}

// corpusInputs returns recorded manifests if the checkout has them.
func corpusInputs(tb testing.TB) []string {
	var texts []string
	root := filepath.Join("..", "..", "..", "shared", "corpus")
	if _, err := os.Stat(root); err != nil {
		return nil
	}
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		switch filepath.Ext(path) {
		case ".yaml", ".yml", ".json":
			data, err := os.ReadFile(path)
			texts = append(texts, string(data))
			return err
		}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return texts
}

func FuzzRead(f *testing.F) {
	for _, text := range trapInputs() {
		f.Add(text)
	}
	for _, text := range layoutInputs {
		f.Add(text)
	}
	f.Fuzz(checkRead)
}

func TestReadCorpus(t *testing.T) {
	texts := corpusInputs(t)
	if texts == nil {
		t.Skip("no corpus beside the checkout")
	}
	for _, text := range texts {
		checkRead(t, text)
	}
}

// checkRead checks the laws without edits: reading does not panic, the bytes stay, positions exist,
// and every unit reads as in sigs.k8s.io/yaml.
func checkRead(t *testing.T, text string) {
	s, found := Read("in.yaml", []byte(text))
	if got := s.Bytes(); string(got) != text {
		t.Fatalf("read %q, wrote %q", text, got)
	}
	for _, d := range found {
		if d.At.Line < 1 || d.At.Line > len(s.lines()) || d.Severity == source.Info || d.Code == "" || d.Message == "" || d.Advice == "" {
			t.Errorf("a poor diagnostic: %#v", d)
		}
	}
	for _, d := range s.Documents() {
		object := d.Object()
		if err := d.Set(object, nil); err != nil || d.Changed() {
			t.Fatalf("setting what was read changes %q: %v", text, err)
		}
		for form, written := range map[string][]byte{"JSON": d.JSON(), "YAML": d.YAML()} {
			again, _ := ReadPlain("again", written)
			if docs := again.Documents(); len(docs) != 1 || form == "JSON" && !change.Equal(docs[0].Object(), object) || !change.Equal(number.Wholes(docs[0].Object()), number.Wholes(object)) {
				t.Errorf("%q as %s is\n%s", text, form, written)
			}
		}
		eachPath(nil, object, func(path change.Path) {
			if p, q := d.At(path), d.In(path, 1); p.Line < 1 || p.Column < 1 || q.Line < p.Line {
				t.Errorf("%s stands at %s, its inside at %s", path, p, q)
			}
		})
	}
	for _, u := range s.units {
		compareUnit(t, s, u, found)
	}
	checkJoin(t, s, found)
}

// checkJoin checks that the documents of a stream keep their values if another stream follows.
func checkJoin(t *testing.T, s *Stream, found []source.Diagnostic) {
	other, _ := Read("other.yaml", []byte("other: 1\n"))
	if source.HasErrors(found) || s.ResourceList() != nil {
		return
	}
	joined := Join([]*Stream{s, other})
	again, _ := Reread("joined.yaml", joined)
	docs := again.Documents()
	if len(docs) != len(s.Documents())+1 {
		t.Fatalf("%q joined with another is %q, which has %d documents", s.Text(), joined, len(docs))
	}
	for i, d := range s.Documents() {
		if !change.Equal(number.Wholes(docs[i].Object()), number.Wholes(d.Object())) {
			t.Errorf("%q joined with another is %q", s.Text(), joined)
		}
	}
}

func eachPath(path change.Path, value any, f func(change.Path)) {
	f(path)
	switch v := value.(type) {
	case map[string]any:
		for key := range v {
			eachPath(path.Key(key), v[key], f)
		}
	case []any:
		for i := range v {
			eachPath(path.Index(i), v[i], f)
		}
	}
}

// compareUnit compares a unit with sigs.k8s.io/yaml, which reads less JSON than we do.
func compareUnit(t *testing.T, s *Stream, u *unit, found []source.Diagnostic) {
	text := s.text[u.start:u.end]
	if len(u.roots) == 1 && u.tape().nodes[u.roots[0]].marks&fromJSON != 0 || len(u.roots) > 1 {
		return
	}
	want, err := oracle(text, yaml.YAMLToJSONStrict)
	if len(u.roots) == 1 {
		if err != nil && u.rewritten != nil { // it has merged keys twice
			want, err = oracle(text, yaml.YAMLToJSON)
		}
		if err != nil && strings.Contains(err.Error(), "excessive aliasing") {
			return // there the limit is a ratio, here a number of values
		}
		if err != nil {
			t.Errorf("took %q, which is refused elsewhere: %v", text, err)
			return
		}
		if got := u.tape().value(u.roots[0]); !change.Equal(got, want) {
			t.Errorf("%q reads as\n%#v and elsewhere as\n%#v", text, got, want)
		}
		return
	}
	if err == nil && want != nil && !refusedByChoice(s, u, found) && !hasTrailingText(text) {
		t.Errorf("refused %q, which reads elsewhere as %#v: %v", text, want, found)
	}
}

// refusedByChoice reports whether u is refused although other readers accept it.
func refusedByChoice(s *Stream, u *unit, found []source.Diagnostic) bool {
	from, to := s.position(u.start), s.position(u.end)
	for _, d := range found {
		if d.Code != "malformed-yaml" && d.At.Compare(from) >= 0 && d.At.Line <= to.Line {
			return true
		}
	}
	return false
}

// hasTrailingText reports whether text follows the first document. sigs.k8s.io/yaml ignores such
// text.
func hasTrailingText(text string) bool {
	var n kyaml.Node
	d := kyaml.NewDecoder(strings.NewReader(text))
	if err := d.Decode(&n); err != nil {
		return true
	}
	return !errors.Is(d.Decode(&n), io.EOF)
}

// oracle reads text as an API server does after kubectl: YAML is converted to JSON, and whole
// numbers to integers.
func oracle(text string, convert func([]byte) ([]byte, error)) (value any, err error) {
	data, err := convert([]byte(text))
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	err = d.Decode(&value)
	return numbers(value), err
}

func numbers(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key := range v {
			v[key] = numbers(v[key])
		}
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	case json.Number:
		if i, err := strconv.ParseInt(v.String(), 10, 64); err == nil && !strings.Contains(v.String(), ".") {
			return i
		}
		f, _ := v.Float64()
		return f
	}
	return value
}

func FuzzRewritten(f *testing.F) {
	for _, text := range append(trapInputs(), layoutInputs...) {
		f.Add(text, uint8(0), uint8(1), "b")
		f.Add(text, uint8(1), uint8(0), " #: '\"\\")
	}
	f.Fuzz(checkRewritten)
}

// unbounded reads as the language server does.
var unbounded = Bounds{Documents: math.MaxInt}

// checkRewritten changes a part of each scalar of a text, and its quotes, and adds a field to each map. If there are
// edits for that, the text reads as before but for this scalar or field.
func checkRewritten(t *testing.T, text string, from, size uint8, to string) {
	s, found := unbounded.ReadPlain("in.yaml", []byte(text))
	if source.HasErrors(found) {
		return
	}
	const most, few = 200, 20 // aliases make many paths
	for i, d := range s.Documents() {
		var paths []change.Path
		eachPath(nil, d.Object(), func(path change.Path) { paths = append(paths, path) })
		for n, path := range paths[:min(most, len(paths))] {
			want := d.Object()
			value, _ := path.Get(want)
			if text, ok := value.(string); ok && int(from) <= len(text) {
				changes := []source.Change{{From: int(from), To: min(int(from)+int(size), len(text)), New: to}}
				put(want, path, source.Changed(text, changes))
				checkFix(t, s, i, want, d.Mended(source.Diagnostic{}, path, source.Mend{Changes: changes}))
			}
			checkFix(t, s, i, want, d.Retyped(source.Diagnostic{}, path, func(meant any) bool { return put(want, path, meant) }))
			want = d.Object()
			if fields, ok := value.(map[string]any); ok && n < few && fields["x"] == nil && utf8.ValidString(to) {
				inside := path.Key("x")
				put(want, inside, []any{to})
				checkFix(t, s, i, want, d.Put(source.Diagnostic{}, inside, []any{to}))
			}
		}
	}
}

// checkFix makes the fix of a finding, if it has one, after which a document of a stream is an object.
func checkFix(t *testing.T, s *Stream, document int, want map[string]any, found source.Diagnostic) {
	after := fixedText(s, found)
	if after == "" {
		return
	}
	again, problems := unbounded.ReadPlain("in.yaml", []byte(after))
	documents := again.Documents()
	if source.HasErrors(problems) || len(documents) != len(s.Documents()) {
		t.Fatalf("%q is after a fix %q: %v", s.text, after, problems)
	}
	for i, d := range s.Documents() {
		is := d.Object()
		if i == document {
			is = want
		}
		if !change.Equal(documents[i].Object(), is) {
			t.Errorf("%q is after a fix %q, not %v", s.text, after, is)
		}
	}
}

func FuzzSet(f *testing.F) {
	for i, text := range append(trapInputs(), layoutInputs...) {
		for j := range 4 {
			f.Add(text, []byte{byte(i), byte(j), byte(7 * i), byte(31 * j), 5, byte(i + j), 9, 1, byte(3 * i), 2, 8, 200, byte(j), 17})
		}
	}
	f.Fuzz(checkSet)
}

func TestSetCorpus(t *testing.T) {
	texts := corpusInputs(t)
	if texts == nil {
		t.Skip("no corpus beside the checkout")
	}
	for i, text := range texts {
		recipe := sha256.Sum256([]byte(text))
		checkSet(t, text, recipe[:8+i%24])
	}
}

// checkSet edits one document as a recipe says, and checks the laws of edits.
func checkSet(t *testing.T, text string, recipe []byte) {
	s, found := Read("in.yaml", []byte(text))
	docs := s.Documents()
	if len(docs) == 0 || source.HasErrors(found) {
		return
	}
	c := &cook{recipe: recipe}
	chosen := c.next(len(docs))
	d := docs[chosen]
	want := d.Object()
	for len(c.recipe) > 0 {
		want, _ = c.change(want, 0).(map[string]any)
	}
	if want == nil || impliedLost(d, want) {
		return
	}
	if !d.unit.tape().styleOf(d.root, d.unit.rootOf(d.root), d.unit.lineBreak).strict {
		want = number.Wholes(want).(map[string]any)
	}
	if err := d.Set(want, shapes{}); err != nil {
		t.Fatal(err)
	}
	written := s.Bytes()
	if slices.ContainsFunc(d.anew, func(i int) bool { return !hasFlowComment(d.unit.tape(), i) }) {
		t.Fatalf("%q edited to\n%#v\nwrites values anew:\n%s", text, want, written)
	}
	if err := d.Set(want, shapes{}); err != nil || !bytes.Equal(s.Bytes(), written) {
		t.Fatalf("setting %q twice differs: %v", text, err)
	}
	was := d.Object()
	if shared, _ := sharing(was, want).(map[string]any); shared != nil {
		if err := d.Edit(was, shared, shapes{}); err != nil || !bytes.Equal(s.Bytes(), written) {
			t.Fatalf("%q edited to\n%#v\nthat shares parts (%v) is\n%s\nnot\n%s", text, want, err, s.Bytes(), written)
		}
	}
	if !d.Changed() && string(written) != text {
		t.Errorf("%q unchanged is %q", text, written)
	}
	again, found := Read("in.yaml", written)
	if !sameShape(want) {
		return
	}
	if source.HasErrors(found) {
		t.Fatalf("%q edited to %#v is refused:\n%s%v", text, want, written, found)
	}
	if len(again.Documents()) != len(docs) {
		t.Fatalf("%q edited has %d documents, not %d:\n%s", text, len(again.Documents()), len(docs), written)
	}
	for i, d := range again.Documents() {
		expected := docs[i].Object()
		if i == chosen {
			expected = want
		}
		if got := d.Object(); !change.Equal(got, expected) {
			t.Errorf("document %d of %q reads as\n%#v\nnot\n%#v\nin\n%s", i, text, got, expected, written)
		}
	}
}

// sharing returns a value that equals want, with the equal parts of was.
func sharing(was, want any) any {
	if change.Equal(was, want) {
		return was
	}
	switch want := want.(type) {
	case map[string]any:
		before, _ := was.(map[string]any)
		object := map[string]any{}
		for key, value := range want {
			object[key] = sharing(before[key], value)
		}
		return object
	case []any:
		before, _ := was.([]any)
		list := make([]any, len(want))
		for i, item := range want {
			if list[i] = item; i < len(before) {
				list[i] = sharing(before[i], item)
			}
		}
		return list
	}
	return want
}

// hasFlowComment reports whether the node at index i is in brackets and may contain a comment.
func hasFlowComment(t *tape, i int) bool {
	n := &t.nodes[i]
	return n.kind.isFlow() && strings.Contains(t.text[n.start:n.end], "#")
}

// sameShape reports whether the number of documents stays the same, because the edited object is
// not a list.
func sameShape(object map[string]any) bool {
	kind, _ := object["kind"].(string)
	return !strings.HasSuffix(kind, "List")
}

// impliedLost reports whether object lacks a value that the list of d implies. No text can express
// that.
func impliedLost(d *Document, object map[string]any) bool {
	for _, pair := range d.implied {
		if _, ok := object[pair[0]]; !ok {
			return true
		}
	}
	return false
}

// shapes has the shapes of lists by name.
type shapes struct{}

func (s shapes) Field(string) change.Shape { return s }
func (s shapes) Item() change.Shape        { return s }
func (s shapes) Keys() []string            { return []string{"name"} }

// A cook changes values as the bytes of a recipe say.
type cook struct{ recipe []byte }

func (c *cook) next(limit int) int {
	if len(c.recipe) == 0 || limit == 0 {
		return 0
	}
	b := int(c.recipe[0])
	c.recipe = c.recipe[1:]
	return b % limit
}

var ingredients = []any{
	nil, true, int64(0), int64(-7), 1.5, 2.0, "", "plain", "yes", "12:30", "0x1F", "1e3", "null", "a: b", "# c", " x ",
	"it's", "\"q\"", "two\nlines\n", "no\nend", "more\n\n\n", "\n", "\n\nlate\n", "  indented\nfirst\n", "\ttab\nx", "a\rb\n", "t\t\nu",
	"- x", "{x}", "[", "*a", "&a", "!t", "%d", "@", "`", "?", "? a", "---", "...", "<<", "=", "~", "é\u0085ü", "\u2028", "😀",
	"x\n---\ny\n", "x\n  y\n\n z", "\n  \nz\n", "  \n", "trailing \nspaces  \n",
	map[string]any{},
	[]any{},
	map[string]any{"name": "n", "on": "off", "1": []any{}},
	[]any{"a", []any{int64(1)}, map[string]any{"name": "z", "b": nil}},
	map[string]any{"x": map[string]any{"y": "deep\nlines\n"}},
	[]any{[]any{[]any{}}, []any{map[string]any{"k": []any{"v"}}}},
}

var keys = []string{"a", "name", "b", "kind", "metadata", "on", "1", "", "x: y", "#", "apiVersion", "é", "long key", "~", "- d", "\"", "new\nline"}

func (c *cook) ingredient() any { return change.Clone(ingredients[c.next(len(ingredients))]) }

func (c *cook) change(value any, depth int) any {
	op := c.next(16)
	switch v := value.(type) {
	case map[string]any:
		names := slices.Sorted(maps.Keys(v))
		switch {
		case op < 9 && len(names) > 0:
			name := names[c.next(len(names))]
			v[name] = c.change(v[name], depth+1)
		case op < 11 && len(names) > 0:
			delete(v, names[c.next(len(names))])
		case op < 15 || depth == 0:
			v[keys[c.next(len(keys))]] = c.ingredient()
		default:
			return c.ingredient()
		}
		return v
	case []any:
		switch i := c.next(len(v)); {
		case op < 6 && len(v) > 0:
			v[i] = c.change(v[i], depth+1)
		case op < 8 && len(v) > 0:
			return slices.Delete(v, i, i+1)
		case op < 10 && len(v) > 1:
			j := c.next(len(v))
			v[i], v[j] = v[j], v[i]
		case op < 12 && len(v) > 0:
			v[i] = c.ingredient()
		case op < 15:
			return slices.Insert(v, c.next(len(v)+1), c.ingredient())
		default:
			return c.ingredient()
		}
		return v
	}
	return c.ingredient()
}

// TestBecomesJSON edits text that becomes JSON, where 0.0 is not an integer.
func TestBecomesJSON(t *testing.T) {
	s, _ := Read("in.yaml", []byte(`{"a":[00,0.0]}`))
	want := map[string]any{"a": []any{nil, int64(0)}}
	if err := s.Documents()[0].Set(want, nil); err != nil {
		t.Fatal(err)
	}
	again, _ := Read("in.yaml", s.Bytes())
	if got := again.Documents()[0].Object(); !change.Equal(got, want) {
		t.Errorf("%s reads as %#v", s.Bytes(), got)
	}
}
