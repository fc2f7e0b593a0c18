package engine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/internal/racing"
)

// TestPrepared compares the objects that validating policies see with the objects that
// kube-apiserver 1.36.3 returned for the manifests of the recorded cases.
func TestPrepared(t *testing.T) {
	compared := 0
	for _, dir := range racing.Sample(recordedCases(t)) {
		set, diagnostics := Compile(readAll(t, filepath.Join(dir, "policies")), nil, recordedRequest)
		if set == nil {
			t.Logf("%s: %v", dir, diagnostics) // some policies are refused
			set = emptySet()
		}
		files, err := filepath.Glob(filepath.Join(dir, "server", "*.baseline.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			want := recordedObject(t, file)
			if want["kind"] == "Status" || want["kind"] == "SelfSubjectRulesReview" {
				continue
			}
			compared++
			d := readCase(t, dir, "manifests", strings.TrimSuffix(filepath.Base(file), ".baseline.json")).Documents()[0]
			p := set.placeOf(d, set.schemas)
			view, err := completing.view(nil, p, d.Object())
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := completing.prepare(p, view, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range change.Diff(got, want, p.kind.Type()) {
				if !isDrawn(c) {
					t.Errorf("%s: %s: %s", file, p.kind.Kind.Kind, c)
				}
			}
		}
	}
	t.Logf("%d objects compared", compared)
	if compared < racing.Least(400) {
		t.Errorf("only %d objects were compared", compared)
	}
}

// readAll reads the documents of a directory that can be read one by one; policies that the server
// refused are left out.
func readAll(t *testing.T, dir string) (streams []*manifest.Stream) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		for _, document := range splitDocuments(t, file, text) {
			stream, _ := manifest.Read(file, document)
			if set, _ := Compile([]*manifest.Stream{stream}, nil, recordedRequest); set != nil {
				streams = append(streams, stream)
			}
		}
	}
	return streams
}

// drawn matches paths of values that a cluster draws, and of those that recordings leave out.
var drawn = regexp.MustCompile(`^metadata\.(uid|creationTimestamp|managedFields)$|controller-uid|^spec\.clusterIPs?(\[0\])?$|\.nodePort$|TransitionTime$`)

// isDrawn reports whether a difference is one of drawn values, or is made when a stored object is
// read: labels of Jobs, and null for empty rules.
func isDrawn(c change.Change) bool {
	path := c.Path.String()
	generated := path == "metadata.name" && strings.HasSuffix(c.Old.(string), "00000")
	return drawn.MatchString(path) || generated || path == "metadata.labels" && c.Op == change.Add || path == "rules" && c.New == nil
}
