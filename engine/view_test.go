package engine

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

// recordedManifests returns the files with manifests of the recorded cases.
func recordedManifests(t *testing.T) []string {
	t.Helper()
	var files []string
	for _, dir := range recordedCases(t) {
		manifests, err := filepath.Glob(filepath.Join(dir, "manifests", "*.yaml"))
		if err != nil || len(manifests) == 0 {
			t.Fatalf("%s: no manifests (%v)", dir, err)
		}
		files = append(files, manifests...)
	}
	return files
}

// policiesBeside reads the policies of the case of a manifest.
func policiesBeside(t *testing.T, file string) []*manifest.Stream {
	t.Helper()
	var policies []*manifest.Stream
	paths, _ := filepath.Glob(filepath.Join(filepath.Dir(file), "../policies/*.yaml"))
	for _, path := range paths {
		policies = append(policies, readFile(t, path))
	}
	return policies
}

// TestViewIsWhatRunShows runs the recorded cases. View must return the same object that the
// policies of Run see.
func TestViewIsWhatRunShows(t *testing.T) {
	compared := 0
	for _, file := range recordedManifests(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		policies := policiesBeside(t, file)
		set, _ := Compile(policies, nil, recordedRequest)
		if set == nil {
			continue // a case with invalid policies
		}
		stream, _ := manifest.Read(file, text)
		run := set.Run(context.Background(), []*manifest.Stream{stream}, Explain(), Views())
		stream, _ = manifest.Read(file, text)
		view := View([]*manifest.Stream{stream}, policies, recordedRequest)
		if view.Failed() {
			t.Fatalf("%s: %v", file, view.Diagnostics)
		}
		views := map[source.Position]map[string]any{}
		for _, m := range view.Manifests {
			views[m.Document.At(nil)] = m.Before
		}
		for _, m := range run.Manifests {
			if m.Before == nil {
				continue // no policy matches it
			}
			compared++
			if got := views[m.Document.At(nil)]; !change.Equal(got, m.Before) {
				t.Errorf("%s: %s: got\n%s\nwant\n%s", file, m.ID, manifest.YAML(got), manifest.YAML(m.Before))
			}
		}
	}
	if compared == 0 {
		t.Error("nothing was compared")
	}
}

func readFile(t testing.TB, path string) *manifest.Stream {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	stream, diagnostics := manifest.Read(path, text)
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics)
	}
	return stream
}
