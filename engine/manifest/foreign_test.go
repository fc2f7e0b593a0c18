package manifest

import (
	"flag"
	"fmt"
	"hash/fnv"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/source"
)

var foreign = flag.String("foreign", "", "a directory with manifests to edit, such as a clone of a repository")

// TestForeign edits every document below a directory, and counts the documents in which other text
// changes than the edited value.
func TestForeign(t *testing.T) {
	if *foreign == "" {
		t.Skip("no directory is given with -foreign")
	}
	counts := map[string]int{}
	err := filepath.WalkDir(*foreign, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		switch filepath.Ext(path) {
		case ".yaml", ".yml", ".json":
			data, err := os.ReadFile(path)
			countEdits(t, counts, path, string(data))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for what, count := range counts {
		lines = append(lines, fmt.Sprintf("%6d %s", count, what))
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[7:], b[7:]) })
	t.Log("\n" + strings.Join(lines, "\n"))
}

func countEdits(t *testing.T, counts map[string]int, path, text string) {
	read := func() *Stream {
		s, _ := Read(path, []byte(text))
		return s
	}
	s, found := Read(path, []byte(text))
	if counts["files"]++; source.HasErrors(found) {
		counts["files with errors"]++
		return
	}
	hash := fnv.New64()
	hash.Write([]byte(text))
	random := rand.New(rand.NewPCG(hash.Sum64(), 1))
	for i, d := range s.Documents() {
		counts["documents"]++
		if d.unit.rewritten != nil {
			counts["documents that are written anew"]++
			t.Logf("written anew: %s", d.At(nil))
		}
		if len(d.unit.tape().anchors) > 0 {
			counts["documents in files with anchors"]++
		}
		if d.Kind().Kind != "" {
			counts["documents with a kind"]++
			if d.unit.rewritten != nil {
				counts["documents with a kind that are written anew"]++
			}
			if d.hasMixedComments() {
				counts["documents with a kind and comments between entries in brackets that share lines"]++
			}
			s := read()
			labelled(t, counts, s, s.Documents()[i])
		}
		object := d.Object()
		var scalars []change.Path
		eachPath(nil, object, func(path change.Path) {
			if value, _ := path.Get(object); len(path) > 1 && isScalar(value) {
				scalars = append(scalars, path)
			}
		})
		if len(scalars) == 0 {
			continue
		}
		slices.SortFunc(scalars, func(a, b change.Path) int { return strings.Compare(a.Pointer(), b.Pointer()) })
		if len(d.unit.tape().aliases) == 0 { // one alias is enough
			scalars = []change.Path{scalars[random.IntN(len(scalars))]}
		}
		for _, path := range scalars {
			s := read()
			changed(t, counts, s, s.Documents()[i], path)
		}
	}
}

// hasMixedComments reports whether the document has brackets that can lose comments.
func (d *Document) hasMixedComments() bool {
	t := d.unit.tape()
	for i := d.root; i < int(t.nodes[d.root].next); i++ {
		if entries := t.entries(i); t.nodes[i].kind.isFlow() && len(entries) > 0 {
			e := d.editor(t.styleOf(d.root, d.root, d.unit.lineBreak))
			if !e.flowLayout(i, surroundings{}, entries).isOrderly() {
				return true
			}
		}
	}
	return false
}

// labelled adds a label.
func labelled(t *testing.T, counts map[string]int, s *Stream, d *Document) {
	counts["labels"]++
	object := d.Object()
	child := func(of map[string]any, key string) map[string]any {
		value, ok := of[key].(map[string]any)
		if !ok {
			value = map[string]any{}
			of[key] = value
		}
		return value
	}
	child(child(object, "metadata"), "labels")["example.com/foreign"] = "new"
	if err := d.Set(object, nil); err != nil {
		t.Errorf("%s: %v", d.At(nil), err)
	}
	text, got := s.Text(), string(s.Bytes())
	head := commonHead(text, got)
	if !strings.HasSuffix(got, text[head:]) {
		counts["labels with other changes"]++
		t.Logf("label: %s", d.At(nil))
	}
}

// changed changes a scalar.
func changed(t *testing.T, counts map[string]int, s *Stream, d *Document, path change.Path) {
	counts["values"]++
	text, at := s.Text(), d.root
	tape := d.unit.tape()
	entangled := false
	for _, e := range path {
		n := &tape.nodes[at]
		entangled = entangled || n.marks&anchored != 0 || n.kind == alias
		if e.IsIndex() {
			at = tape.item(at, e.Index)
		} else {
			at = tape.lookup(at, e.Key)
		}
	}
	if at < 0 {
		return
	}
	n := &tape.nodes[at]
	entangled = entangled || n.marks&anchored != 0 || n.kind == alias
	object := d.Object()
	if err := change.Apply(object, []change.Change{{Op: change.Replace, Path: path, New: "changed"}}); err != nil {
		t.Fatal(err)
	}
	if err := d.Set(object, nil); err != nil {
		t.Errorf("%s: %v", d.At(path), err)
	}
	got := string(s.Bytes())
	if !entangled && d.unit.rewritten == nil {
		if !strings.HasPrefix(got, text[:n.start]) || !strings.HasSuffix(got, text[n.end:]) {
			counts["values with other changes"]++
			t.Logf("value: %s", d.At(path))
		}
		return
	}
	counts["values behind anchors and aliases"]++
	before, after := parts(t, text), parts(t, got)
	for _, part := range before {
		if !slices.ContainsFunc(after, func(p remark) bool { return p.text == part.text }) {
			counts["of these with comments or anchors lost"]++
			t.Logf("lost %s: %s", part.text, d.At(path))
			break
		}
	}
	if lines := strings.Count(got, "\n") - strings.Count(text, "\n"); lines != 0 {
		counts["of these with lines added"]++
	}
}

func commonHead(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
