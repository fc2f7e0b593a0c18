package engine

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

var update = flag.Bool("update", false, "rewrite what drafts convert to")

// noForm are the cases of drafts that v1 cannot express, with the reasons.
var noForm = map[string]string{
	"kep-3775-denied":              "returns a patch, never null or a bool",
	"kep-3775-results":             "returns a patch, never null or a bool",
	"kep-3775-reinvocation":        "all mutations of a policy are reinvoked, or none",
	"kep-3962-annotation-to-field": "cannot remove anything",
	"kep-3962-remove-annotation":   "cannot remove anything",
	"kep-3962-unset-item":          "cannot remove anything",
}

// nestedMaps are the cases with maps inside lists or maps, which no server converts.
var nestedMaps = map[string]bool{"kep-3962-conditional-volume": true, "kep-3962-limit-ranger": true}

func readStreams(t *testing.T, pattern string) []*manifest.Stream {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s: %v", pattern, err)
	}
	var streams []*manifest.Stream
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		stream, diagnostics := manifest.Read(filepath.Base(path), data)
		if len(diagnostics) > 0 {
			t.Fatal(diagnostics)
		}
		streams = append(streams, stream)
	}
	return streams
}

// TestConvert converts the drafts among the cases and runs the result. It must have the same output
// as the draft, without the warning that no server accepts it.
func TestConvert(t *testing.T) {
	cases, err := filepath.Glob("../testdata/cases/kep-*")
	if err != nil || len(cases) == 0 {
		t.Fatal("no cases", err)
	}
	for _, dir := range cases {
		name := filepath.Base(dir)
		t.Run(name, func(t *testing.T) {
			policies := readStreams(t, filepath.Join(dir, "policies", "*"))
			diagnostics := Convert(policies)
			if want := noForm[name]; want != "" || source.HasErrors(diagnostics) {
				if want == "" || !source.HasErrors(diagnostics) || !strings.Contains(diagnostics[0].Message, want) {
					t.Errorf("%v\nwant %q", diagnostics, want)
				}
				return
			}
			if warned := slices.ContainsFunc(diagnostics, func(d source.Diagnostic) bool { return d.Code == "policy-nested-maps" }); warned != nestedMaps[name] {
				t.Errorf("%v", diagnostics)
			}
			var converted []*manifest.Stream
			for _, stream := range policies {
				read, problems := manifest.Read(stream.Name(), stream.Bytes())
				if len(problems) > 0 {
					t.Fatal(problems)
				}
				converted = append(converted, read)
				if stream.Name() == "policy.yaml" {
					compareGolden(t, filepath.Join("testdata", "converted", name+".yaml"), string(stream.Bytes()))
				}
			}
			for _, version := range []string{"1.36", "1.37"} {
				got, err := runConverted(t, converted, dir, version)
				if refused := nestedMaps[name]; refused != (err != nil) {
					t.Errorf("%s: %v", version, err)
				} else if refused {
					continue
				}
				want, err := os.ReadFile(filepath.Join(dir, "expected.yaml"))
				if os.IsNotExist(err) {
					continue // the draft fails its own check of idempotence
				}
				if err != nil || got != string(want) {
					t.Errorf("%s: the converted policy gives\n%s\nthe draft gave\n%s (%v)", version, got, want, err)
				}
			}
		})
	}
}

// runConverted runs policies on the manifests of a case.
func runConverted(t *testing.T, policies []*manifest.Stream, dir, version string) (string, error) {
	t.Helper()
	set, problems := Compile(policies, nil, Options{KubernetesVersion: version, NonIdempotent: "skip"})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	manifests := readStreams(t, filepath.Join(dir, "manifests", "*"))
	if outcome := set.Run(context.Background(), manifests, Explain(), Views()); outcome.Failed() || len(outcome.Diagnostics) > 0 {
		return "", fmt.Errorf("%v", outcome.Diagnostics)
	}
	return string(manifest.Join(manifests)), nil
}

func compareGolden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want, err := os.ReadFile(path); err != nil || got != string(want) {
		t.Errorf("%s, which -update rewrites, differs (%v):\n%s", path, err, got)
	}
}
