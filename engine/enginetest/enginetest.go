// Package enginetest tests policies in Go, for their authors: how policies change manifests, and
// what they deny.
//
//	func TestPolicies(t *testing.T) {
//		policies := enginetest.Load(t, engine.Options{}, "policies", "context.yaml")
//		policies.Becomes(t, "testdata/deployment.yaml", "testdata/expected.yaml")
//		policies.Denies(t, "testdata/no-owner.yaml", "every object names its owner")
//		policies.Warns(t, "testdata/no-probes.yaml", "should have probes")
//		policies.LeavesAlone(t, "testdata/configmap.yaml")
//	}
//
// Set PREADMIT_UPDATE=1 in the environment to let Becomes write the expected file.
package enginetest

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/report"
	"github.com/preadmit/preadmit/engine/source"
)

// Policies are policies under test.
type Policies struct{ set *engine.Set }

// Load reads policies and the objects that they look up from files, and from all *.yaml, *.yml and
// *.json files of directories. The test ends if the policies do not compile.
func Load(t testing.TB, options engine.Options, paths ...string) Policies {
	t.Helper()
	var streams []*manifest.Stream
	for _, path := range paths {
		for _, file := range filesOf(t, path) {
			streams = append(streams, read(t, file))
		}
	}
	set, diagnostics := engine.Compile(streams, nil, options)
	if err := source.Join(diagnostics); err != nil {
		t.Fatal(err)
	}
	return Policies{set}
}

// Becomes checks that the policies turn a file with manifests into another file, byte by byte.
func (p Policies) Becomes(t testing.TB, manifests, expected string) {
	t.Helper()
	got, err := p.run(t, manifests)
	if err != nil {
		t.Errorf("%s: %v", manifests, err)
		return
	}
	if os.Getenv("PREADMIT_UPDATE") != "" {
		if err := os.WriteFile(expected, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(expected)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s does not become %s:\n%s", manifests, expected, report.Diff(expected+"\texpected", expected+"\tgot", string(want), got))
	}
}

// LeavesAlone checks that the policies change nothing in a file with manifests.
func (p Policies) LeavesAlone(t testing.TB, manifests string) {
	t.Helper()
	p.Becomes(t, manifests, manifests)
}

// Denies checks that a policy denies a manifest in a file with a message that contains a text.
func (p Policies) Denies(t testing.TB, manifests, message string) {
	t.Helper()
	_, err := p.run(t, manifests)
	switch {
	case err == nil:
		t.Errorf("%s: no policy denies it", manifests)
	case !source.HasCode(err, source.CodeDenied) || !strings.Contains(err.Error(), message):
		t.Errorf("%s: want a denial with %q, got: %v", manifests, message, err)
	}
}

// Warns checks that validating policies warn about a manifest in a file, in a text that contains
// another.
func (p Policies) Warns(t testing.TB, manifests, text string) {
	t.Helper()
	outcome := p.set.Run(t.Context(), []*manifest.Stream{read(t, manifests)})
	var texts []string
	for _, m := range outcome.Manifests {
		for _, w := range m.Warnings {
			texts = append(texts, w.Text)
		}
	}
	if all := strings.Join(texts, "\n"); !strings.Contains(all, text) {
		t.Errorf("%s: want a warning with %q, got: %q", manifests, text, all)
	}
}

// run runs the policies on a file with manifests.
func (p Policies) run(t testing.TB, manifests string) (string, error) {
	t.Helper()
	stream := read(t, manifests)
	outcome := p.set.Run(t.Context(), []*manifest.Stream{stream})
	return string(stream.Bytes()), source.Join(outcome.Diagnostics)
}

// read reads a file, which must be valid.
func read(t testing.TB, file string) *manifest.Stream {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	stream, diagnostics := manifest.Read(file, text)
	if err := source.Join(diagnostics); err != nil {
		t.Fatal(err)
	}
	return stream
}

// filesOf returns a file, or the files with manifests below a directory.
func filesOf(t testing.TB, path string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(path, func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && (name == path || slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name))) {
			files = append(files, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
