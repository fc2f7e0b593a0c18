package krmfn

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

// FuzzFunction checks the laws of the package for the function with any input.
func FuzzFunction(f *testing.F) {
	paths, err := filepath.Glob("testdata/stories/fn-*.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		s := readStory(f, path)
		stdin, _ := s.take("stdin")
		f.Add(stdin)
	}
	f.Add("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nfunctionConfig: \n  00:\n  kind: ConfigMap\n  apiVersion: !0\n")
	dir, err := filepath.Abs("testdata")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, stdin string) {
		var stdout, stderr bytes.Buffer
		status := Main(context.Background(), &Process{
			Args: []string{"fn", "-p", "shared/team.yaml"}, Dir: dir,
			Stdin: strings.NewReader(stdin), Stdout: &stdout, Stderr: &stderr,
		})
		checkOutput(t, status, stdin, stdout.String(), stderr.String())
		if status != exitDone {
			return
		}
		before, _ := manifest.Read("-", []byte(stdin))
		after, problems := manifest.Read("-", stdout.Bytes())
		if source.HasErrors(problems) || after.ResourceList() == nil || len(before.Documents()) != len(after.Documents()) {
			t.Fatalf("it succeeded with %q: %v", &stdout, problems)
		}
		for i, d := range before.Documents() {
			if got := after.Documents()[i]; got.Kind() != d.Kind() || got.Name() != d.Name() {
				t.Errorf("item %d was %v %s and is %v %s", i, d.Kind(), d.Name(), got.Kind(), got.Name())
			}
		}
	})
}
