package krmfn

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/internal/archive"
)

// TestExplainFolds checks a law of explain with all cases: applying the edits of its JSON output to
// the manifests gives the output of render.
func TestExplainFolds(t *testing.T) {
	// The same requests as in the recordings.
	asRecorded := []string{"--dry-run", "--authorizer=allow", "--as=oracle-admin", "--as-uid=oracle-uid", "--as-group=system:masters", "--as-group=system:authenticated"}
	for _, c := range []struct {
		pattern string
		flags   []string
		atLeast int // how many manifests change
	}{
		{"../testdata/cases/*/manifests", nil, 40},
		{"../examples/*/manifests", nil, 2},
		{"../engine/testdata/recorded/*/manifests", asRecorded, 100},
		{archive.Unpack(t, "../engine/testdata/behaviour", 133) + "/*/manifests", asRecorded, 50},
		{"../../shared/corpus/map/realworld/*/manifests", asRecorded, 0},
		{"../engine/testdata/kyverno/*/*/resource.yaml", nil, 17},
		{"../../shared/corpus/kyverno/*/*/resource.yaml", nil, 0},
	} {
		directories, err := filepath.Glob(c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		changed := 0
		for _, manifests := range directories {
			changed += foldCase(t, manifests, c.flags)
		}
		t.Logf("%s: %d manifests change", c.pattern, changed)
		if changed < c.atLeast {
			t.Errorf("%s: %d manifests change, expected %d", c.pattern, changed, c.atLeast)
		}
	}
}

// foldCase folds the edits of every admitted manifest of a case, and returns how many change.
func foldCase(t *testing.T, manifests string, flags []string) (changed int) {
	t.Helper()
	dir, err := filepath.Abs(filepath.Dir(manifests))
	if err != nil {
		t.Fatal(err)
	}
	for _, policies := range []string{"policies", "policy.yaml"} {
		if _, err := os.Stat(filepath.Join(dir, policies)); err == nil {
			flags = append(flags[:len(flags):len(flags)], "-p", policies)
		}
	}
	files := []string{manifests}
	if filepath.Ext(manifests) == "" {
		if files, err = filepath.Glob(filepath.Join(manifests, "*")); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range files {
		before, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		file, err := filepath.Rel(filepath.Dir(manifests), name)
		if err != nil {
			t.Fatal(err)
		}
		var stdout, after bytes.Buffer
		run := func(stdout io.Writer, command ...string) int {
			p := &Process{Args: append(append(command, flags...), file), Dir: dir, Stdout: stdout, Stderr: io.Discard}
			return Main(context.Background(), p)
		}
		if run(&stdout, "explain", "-o", "json", "--show-secrets") != exitDone {
			continue
		}
		if status := run(&after, "render"); status != exitDone {
			t.Errorf("%s: explain has status 0, and render %d", name, status)
			continue
		}
		n, err := fold(stdout.Bytes(), string(before), after.String())
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, &stdout)
		}
		changed += n
	}
	return changed
}

// printedEdit is an edit in the output of explain.
type printedEdit struct {
	Op            change.Op
	Pointer, From string
	New           json.RawMessage
	Causes        []any
}

// fold applies the edits of a report to a text, and compares the result with another text.
func fold(report []byte, before, after string) (changed int, err error) {
	var r struct {
		Manifests []struct {
			At    struct{ Line int }
			Edits []printedEdit
		}
	}
	if err := json.Unmarshal(report, &r); err != nil {
		return 0, err
	}
	from, _ := manifest.Read("before", []byte(before))
	to, _ := manifest.Read("after", []byte(after))
	if len(from.Documents()) != len(to.Documents()) {
		return 0, fmt.Errorf("%d documents became %d", len(from.Documents()), len(to.Documents()))
	}
	for i, d := range from.Documents() {
		object := d.Object()
		for _, m := range r.Manifests {
			if m.At.Line != d.At(nil).Line {
				continue
			}
			if len(m.Edits) > 0 {
				changed++
			}
			for _, e := range m.Edits {
				if err := e.apply(object); err != nil {
					return changed, err
				}
			}
		}
		got, want := manifest.JSON(object), manifest.JSON(to.Documents()[i].Object())
		if !bytes.Equal(got, want) {
			return changed, fmt.Errorf("document %d: got %s, want %s", i, got, want)
		}
	}
	return changed, nil
}

// apply applies an edit.
func (e printedEdit) apply(object map[string]any) error {
	if len(e.Causes) == 0 {
		return fmt.Errorf("nothing caused %s %s", e.Op, e.Pointer)
	}
	c := change.Change{Op: e.Op, Path: pathTo(object, e.Pointer)}
	if e.Op == change.Move {
		from := pathTo(object, e.From)
		c.From = from[len(from)-1].Index
	}
	if len(e.New) > 0 {
		value, _ := manifest.ReadPlain("new", []byte(`{"value":`+string(e.New)+`}`))
		c.New = value.Documents()[0].Object()["value"]
	}
	return change.Apply(object, []change.Change{c})
}

// pathTo returns the path of a JSON Pointer in an object.
func pathTo(object any, pointer string) change.Path {
	var path change.Path
	for _, token := range strings.Split(pointer, "/")[1:] {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		switch value := object.(type) {
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil {
				return nil
			}
			path, object = path.Index(i), nil
			if i < len(value) {
				object = value[i]
			}
		case map[string]any:
			path, object = path.Key(token), value[token]
		default:
			path = path.Key(token)
		}
	}
	return path
}
