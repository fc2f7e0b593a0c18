package engine

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/builtin"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/internal/racing"
)

// builtinCase is an object that was sent to a real API server, with the changes of one plug-in or
// the words of its refusal. See testdata/README.md.
type builtinCase struct {
	// Policies are the names of the policies in force, if any.
	Policies []string
	Object   map[string]any
	Effect   []any
	Denied   string
}

// TestBuiltin sends objects through every plug-in and compares the changes and refusals with
// kube-apiserver 1.36.3, which was recorded with and without that plug-in.
func TestBuiltin(t *testing.T) {
	for _, name := range builtin.Names() {
		if name == builtin.PodSecurity {
			continue // see TestPodSecurity
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			context, _, cases := readBuiltin(t, filepath.Join("testdata/builtin", name+".json"))
			if len(cases) < 100 {
				t.Errorf("there are %d cases only", len(cases))
			}
			acted := 0
			for i, c := range racing.Sample(cases) {
				if c.compare(t, i, name, nil, context) {
					acted++
				}
			}
			if acted < racing.Least(len(cases))/4 {
				t.Errorf("only %d of %d cases show what it does", acted, len(cases))
			}
		})
	}
}

// TestBuiltinWithPolicies sends Pods through all plug-ins of a stock server and through policies.
// Both run again if the others have changed anything.
func TestBuiltinWithPolicies(t *testing.T) {
	context, policies, cases := readBuiltin(t, "testdata/builtin/policies.json")
	if len(cases) < 100 {
		t.Errorf("there are %d cases only", len(cases))
	}
	for i, c := range racing.Sample(cases) {
		var text strings.Builder
		for _, name := range c.Policies {
			for _, document := range policies[name] {
				text.WriteString(string(document) + "\n---\n")
			}
		}
		c.compare(t, i, "default", []*manifest.Stream{readText(t, "policies.yaml", text.String())}, context)
	}
}

// compare compares the effect of a plug-in and policies on an object with the recording, and
// reports whether they have an effect.
func (c builtinCase) compare(t *testing.T, i int, plugin string, policies []*manifest.Stream, context *manifest.Stream) bool {
	t.Helper()
	effect, denied := admitBuiltin(t, plugin, policies, context, c.Object)
	if !sameWords(denied, c.Denied) {
		t.Errorf("case %d %v: denied with %q, want %q", i, c.Policies, denied, c.Denied)
	}
	if denied == "" && !change.Equal(effect, c.Effect) {
		t.Errorf("case %d %v: effect\n%s, want\n%s", i, c.Policies, manifest.JSON(effect), manifest.JSON(c.Effect))
	}
	return denied != "" || len(effect) > 0
}

func readBuiltin(t *testing.T, path string) (context *manifest.Stream, policies map[string][]json.RawMessage, cases []builtinCase) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var recorded struct {
		Context  []json.RawMessage
		Policies map[string][]json.RawMessage
		Cases    []builtinCase
	}
	if err := json.Unmarshal(data, &recorded); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, object := range recorded.Context {
		text.Write(object)
		text.WriteString("\n---\n")
	}
	return readText(t, "context.yaml", text.String()), recorded.Policies, recorded.Cases
}

// admitBuiltin sends an object through a plug-in and policies.
func admitBuiltin(t *testing.T, plugin string, policies []*manifest.Stream, surroundings *manifest.Stream, object map[string]any) (effect []any, denied string) {
	t.Helper()
	set, problems := Compile(policies, []*manifest.Stream{surroundings}, Options{AdmissionPlugins: []string{plugin}})
	for _, d := range problems {
		t.Fatal(d)
	}
	outcome := set.Run(context.Background(), []*manifest.Stream{readText(t, "object.yaml", string(manifest.JSON(object)))}, Views())
	m := outcome.Manifests[0]
	if outcome.Denied {
		return nil, outcome.Diagnostics[0].Message
	}
	return difference(roundTrip(t, m.Before), roundTrip(t, m.After), ""), ""
}

// roundTrip returns a value after encoding and decoding as JSON.
func roundTrip(t *testing.T, object map[string]any) any {
	t.Helper()
	var value map[string]any
	if err := json.Unmarshal(manifest.JSON(object), &value); err != nil {
		t.Fatal(err)
	}
	delete(value, "status")
	return value
}

// difference returns the additions, removals and replacements between two values in the form of the
// recordings. A list whose length changes is replaced as a whole.
func difference(from, to any, path string) []any {
	a, isMap := from.(map[string]any)
	b, areMaps := to.(map[string]any)
	x, isList := from.([]any)
	y, areLists := to.([]any)
	all := []any{}
	switch {
	case isMap && areMaps:
		keys := maps.Clone(a)
		maps.Copy(keys, b)
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			at := path + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
			old, had := a[key]
			value, has := b[key]
			switch {
			case !had:
				all = append(all, []any{"+", at, value})
			case !has:
				all = append(all, []any{"-", at, old})
			default:
				all = append(all, difference(old, value, at)...)
			}
		}
	case isList && areLists && len(x) == len(y):
		for i := range x {
			all = append(all, difference(x[i], y[i], path+"/"+strconv.Itoa(i))...)
		}
	case !change.Equal(from, to):
		all = append(all, []any{"~", path, from, to})
	}
	return all
}

// sameWords compares messages of the server, which lists problems in random order.
func sameWords(a, b string) bool {
	x, y := []byte(a), []byte(b)
	slices.Sort(x)
	slices.Sort(y)
	return a == b || strings.Contains(a, "[") && slices.Equal(x, y)
}
