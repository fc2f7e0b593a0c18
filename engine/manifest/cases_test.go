package manifest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/change"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares got with a file, or writes the file with -update.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines, wanted := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range max(len(lines), len(wanted)) {
		if i >= len(lines) || i >= len(wanted) || lines[i] != wanted[i] {
			t.Fatalf("%s:%d: differs; run the test with -update and look at what changes. Got:\n%s",
				path, i+1, strings.Join(lines[min(i, len(lines)):min(i+12, len(lines))], "\n"))
		}
	}
}

// TestTraps checks for every trap how its documents read, what is refused, and the text after a key
// was added to every document.
func TestTraps(t *testing.T) {
	var out strings.Builder
	for _, trap := range traps {
		fmt.Fprintf(&out, "## %s\nin:    %q\n", trap.name, trap.text)
		s, found := Read("in.yaml", []byte(trap.text))
		for i, d := range s.Documents() {
			text := emitter{style: style{json: true, strict: true, colon: ":", comma: ","}}
			text.flow(d.Object(), doubleQuoted, "", noModel)
			fmt.Fprintf(&out, "reads: %s\n", text.String())
			object := d.Object()
			object["new"] = int64(i)
			if err := d.Set(object, nil); err != nil {
				t.Errorf("%s: %v", trap.name, err)
			}
		}
		for _, d := range found {
			fmt.Fprintf(&out, "%s\n", d)
		}
		if len(s.Documents()) > 0 {
			fmt.Fprintf(&out, "set:   %q\n", s.Bytes())
		}
		out.WriteByte('\n')
	}
	golden(t, filepath.Join("testdata", "traps.txt"), out.String())
}

// A section is a named part of a case file: the line "-- name --" and the lines below.
type section struct{ name, text string }

func readCase(t *testing.T, path string) []section {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	list := []section{{}}
	for line := range strings.Lines(string(data)) {
		name, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "-- ")
		if name, isName := strings.CutSuffix(name, " --"); ok && isName {
			list = append(list, section{name: name})
			continue
		}
		list[len(list)-1].text += line
	}
	return list
}

// TestCases runs the cases in testdata/cases. The section "in" is read. "set" has changes, one per
// line: the index of the document, the operation, a JSON Pointer, and a value or the index from
// which an item moves. "out" is the resulting text, and "warnings" has the warnings. Every section
// "set" starts from the text that was read. A section with "(quoted)" after its name has Go
// strings, one per line.
func TestCases(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("testdata", "cases", "*.txt"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			var s *Stream
			var got strings.Builder
			for i, part := range readCase(t, path) {
				name, isQuoted := strings.CutSuffix(part.name, " (quoted)")
				if i > 0 {
					fmt.Fprintf(&got, "-- %s --\n", part.name)
				}
				text := part.text
				switch name {
				case "in":
					s = readClean(t, content(t, part.text, isQuoted))
				case "set":
					applyCase(t, s, part.text)
				case "warnings":
					text = ""
					for _, d := range s.Documents() {
						for _, w := range d.Warnings() {
							text += w.String() + "\n"
						}
					}
				case "results":
					setResults(t, s, part.text)
				case "out":
					text = string(s.Bytes())
					if isQuoted {
						text = quoteLines(text)
					}
				}
				got.WriteString(text)
			}
			golden(t, path, got.String())
		})
	}
}

func readClean(t *testing.T, text string) *Stream {
	t.Helper()
	s, found := Read("in.yaml", []byte(text))
	for _, d := range found {
		t.Error(d)
	}
	return s
}

func content(t *testing.T, text string, isQuoted bool) string {
	t.Helper()
	if !isQuoted {
		return text
	}
	var out strings.Builder
	for line := range strings.Lines(text) {
		s, err := strconv.Unquote(strings.TrimSpace(line))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		out.WriteString(s)
	}
	return out.String()
}

func quoteLines(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(strconv.Quote(line) + "\n")
	}
	return out.String()
}

// applyCase sets documents to the results of the changes of a case.
func applyCase(t *testing.T, s *Stream, changes string) {
	t.Helper()
	docs := s.Documents()
	for _, d := range docs {
		d.Reset()
	}
	objects := map[int]map[string]any{}
	for line := range strings.Lines(changes) {
		fields := strings.SplitN(strings.TrimSpace(line), " ", 4)
		index, err := strconv.Atoi(fields[0])
		if err != nil || index >= len(docs) || len(fields) < 3 {
			t.Fatalf("a line must be like \"0 replace /spec/replicas 3\", not %q", line)
		}
		if objects[index] == nil {
			objects[index] = docs[index].Object()
		}
		c := change.Change{Op: change.Op(fields[1]), Path: pointer(fields[2], objects[index])}
		switch {
		case c.Op == change.Move:
			c.From, err = strconv.Atoi(fields[3])
		case len(fields) == 4:
			c.New, err = oracle(fields[3], func(data []byte) ([]byte, error) { return data, nil })
		}
		if err == nil {
			err = change.Apply(objects[index], []change.Change{c})
		}
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	for index, object := range objects {
		if err := docs[index].Set(object, shapes{}); err != nil {
			t.Error(err)
		}
	}
}

// pointer converts a JSON Pointer to a path in object.
func pointer(text string, object map[string]any) change.Path {
	var path change.Path
	for _, token := range strings.Split(text, "/")[1:] {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		value, _ := path.Get(object)
		index, err := strconv.Atoi(token)
		if _, isList := value.([]any); isList && err == nil {
			path = path.Index(index)
		} else {
			path = path.Key(token)
		}
	}
	return path
}

func setResults(t *testing.T, s *Stream, text string) {
	t.Helper()
	var results []map[string]any
	for line := range strings.Lines(text) {
		value, err := oracle(line, func(data []byte) ([]byte, error) { return data, nil })
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, value.(map[string]any))
	}
	if err := s.ResourceList().SetResults(results); err != nil {
		t.Fatal(err)
	}
}
