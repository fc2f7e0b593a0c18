package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/admission"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/internal/racing"
)

// TestStored compares our output with the objects that an API server returned. Every value that our
// output adds to the manifest is in the recorded result, equal and of the same type. A map that we
// write has no more keys there. Every edit affects the view. Every value of a normalized manifest
// is in the server's answer without policies, and every value of a normalized output in its answer
// with them.
func TestStored(t *testing.T) {
	exceptions := readExceptions(t, "testdata/exceptions.txt")
	for _, dir := range racing.Sample(recordedCases(t)) {
		if exceptions[filepath.Base(dir)] != "" {
			continue
		}
		t.Run(filepath.Base(dir), func(t *testing.T) {
			var want recorded
			data, err := os.ReadFile(filepath.Join(dir, "server", "summary.json"))
			if err == nil {
				err = json.Unmarshal(data, &want)
			}
			if err != nil {
				t.Fatal(err)
			}
			checkStored(t, dir, want)
		})
	}
}

func checkStored(t *testing.T, dir string, want recorded) {
	policies, _ := acceptedPolicies(t, dir, want, recordedRequest)
	set, diagnostics := Compile(policies, nil, recordedRequest)
	if set == nil {
		t.Fatal(diagnostics)
	}
	options := recordedRequest
	options.Normalize = true
	normalizing, diagnostics := Compile(policies, nil, options)
	if normalizing == nil {
		t.Fatal(diagnostics)
	}
	files, err := filepath.Glob(filepath.Join(dir, "manifests", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, document := range splitDocuments(t, file, text) {
			name := strings.TrimSuffix(filepath.Base(file), ".yaml")
			if _, ok := want.Manifests[name]; !ok {
				name = fmt.Sprintf("%s-%d", name, i)
			}
			if want.Manifests[name].Result < 300 {
				t.Run(name, func(t *testing.T) {
					checkStoredManifest(t, set, document, filepath.Join(dir, "server", name))
					checkNormalized(t, normalizing, document, filepath.Join(dir, "server", name))
				})
			}
		}
	}
}

// checkStoredManifest checks one manifest. files is the prefix of the server's answers.
func checkStoredManifest(t *testing.T, set *Set, document []byte, files string) {
	stream, _ := manifest.Read("", document)
	before := stream.Documents()[0].Object()
	if set.isPolicy(stream.Documents()[0].Kind()) {
		t.Skip("policies are not changed")
	}
	outcome := set.Run(context.Background(), []*manifest.Stream{stream}, Explain(), Views())
	if outcome.Failed() {
		t.Fatal(outcome.Diagnostics)
	}
	output, _ := manifest.Read("", stream.Bytes())
	m, p := outcome.Manifests[0], set.placeOf(stream.Documents()[0], set.schemas)
	var found notStored
	found.compare(nil, before, output.Documents()[0].Object(), recordedObject(t, files+".result.json"), p.kind.Type())
	for _, edit := range m.Edits {
		if view := viewWithout(t, p, before, m.Edits, edit); view != nil && change.Equal(view, m.After) {
			found = append(found, "without effect: "+edit.String())
		}
	}
	view, err := admission.View(nil, p.kind, before, p.namespace)
	if err != nil {
		t.Fatal(err)
	}
	normal, err := admission.Normalize(nil, p.kind, before, p.namespace, view)
	if err != nil {
		t.Fatal(err)
	}
	if p.kind.Group != "authorization.k8s.io" { // such objects are answered, not stored
		found.compare(nil, nil, normal, recordedObject(t, files+".baseline.json"), p.kind.Type())
	}
	for _, problem := range found {
		t.Error(problem)
	}
}

// checkNormalized checks one manifest that is normalized after policies have seen it as it is
// written.
func checkNormalized(t *testing.T, set *Set, document []byte, files string) {
	stream, _ := manifest.Read("", document)
	outcome := set.Run(context.Background(), []*manifest.Stream{stream}, Explain())
	if outcome.Failed() {
		t.Fatal(outcome.Diagnostics)
	}
	p := set.placeOf(stream.Documents()[0], set.schemas)
	if p.kind.Group == "authorization.k8s.io" { // such objects are answered, not stored
		return
	}
	output, _ := manifest.Read("", stream.Bytes())
	object := output.Documents()[0].Object()
	var found notStored
	found.compare(nil, nil, object, recordedObject(t, files+".result.json"), p.kind.Type())
	for _, problem := range found {
		t.Error("normalized: " + problem)
	}
}

// viewWithout returns the view of a manifest with all edits but one. It returns nil if the other
// edits depend on that one.
func viewWithout(t *testing.T, p place, object map[string]any, edits []Edit, without Edit) map[string]any {
	if without.Path[len(without.Path)-1].IsIndex() {
		return nil // later paths count the item
	}
	object = change.CloneObject(object)
	for _, edit := range edits {
		if !slices.Equal(edit.Path, without.Path) && change.Apply(object, []change.Change{edit.Change}) != nil {
			return nil
		}
	}
	view, err := admission.View(nil, p.kind, object, p.namespace)
	if err != nil {
		t.Fatal(err)
	}
	return view
}

// notStored collects values that a server does not store.
type notStored []string

// compare searches result for the values of out that before does not have.
func (u *notStored) compare(path change.Path, before, out, result any, shape change.Shape) {
	if before != nil && change.Equal(before, out) {
		return
	}
	switch out := out.(type) {
	case map[string]any:
		had, _ := before.(map[string]any)
		has, ok := result.(map[string]any)
		if !ok && (len(had) == 0 || len(out) == 0) {
			u.add(path, out, result)
			return
		}
		for _, key := range slices.Sorted(maps.Keys(out)) {
			u.compare(path.Key(key), had[key], out[key], has[key], shape.Field(key))
		}
		if t, ok := shape.(*schema.Type); !ok || t == nil || t.Elem == nil || len(t.Fields) > 0 || len(had) > 0 || path[0].Key == "metadata" {
			return
		}
		for _, key := range slices.Sorted(maps.Keys(has)) {
			if _, ok := out[key]; !ok && !strings.Contains(key, "controller-uid") && !strings.Contains(key, "job-name") {
				u.add(path.Key(key), nil, has[key]) // the server adds keys to a map that we write
			}
		}
	case []any:
		had, _ := before.([]any)
		has, ok := result.([]any)
		if !ok || len(has) != len(out) {
			u.add(path, out, result)
			return
		}
		for j, i := range change.Align(had, out, shape) {
			var item any
			if i >= 0 {
				item = had[i]
			}
			u.compare(path.Index(j), item, out[j], has[j], shape.Item())
		}
	default:
		if !change.Equal(out, result) {
			u.add(path, out, result)
		}
	}
}

func (u *notStored) add(path change.Path, out, result any) {
	*u = append(*u, fmt.Sprintf("%s: we have %s, the server %s", path, manifest.JSON(out), manifest.JSON(result)))
}
