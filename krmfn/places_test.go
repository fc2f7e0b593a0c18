package krmfn

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"path/filepath"
	"slices"
	"testing"
)

// TestFindingPlaces checks a law with all cases: a finding about a manifest begins in the manifest,
// and what it says about a policy is at a related place.
func TestFindingPlaces(t *testing.T) {
	findings := 0
	for _, pattern := range []string{"../testdata/cases/*/manifests", "../engine/testdata/recorded/*/manifests"} {
		directories, err := filepath.Glob(pattern)
		if err != nil || len(directories) == 0 {
			t.Fatalf("%s: no directories (%v)", pattern, err)
		}
		for _, manifests := range directories {
			findings += placesOfCase(t, filepath.Dir(manifests))
		}
	}
	if findings < 50 {
		t.Errorf("the cases have %d findings about manifests, expected 50", findings)
	}
}

// placesOfCase checks the findings of a case, and returns how many are about manifests.
func placesOfCase(t *testing.T, dir string) (findings int) {
	t.Helper()
	var stdout bytes.Buffer
	p := &Process{Args: []string{"explain", "-o", "json", "-p", "policies", "manifests"}, Dir: dir, Stdout: &stdout, Stderr: io.Discard}
	if p.Dir, _ = filepath.Abs(dir); Main(context.Background(), p) == exitInvalid && stdout.Len() == 0 {
		return 0 // a case of wrong input
	}
	type place struct{ File string }
	var report struct {
		Manifests   []struct{ ID string }
		Diagnostics []struct {
			Code, Subject string
			At            place
			Related       []struct{ At place }
		}
	}
	if err := json.Unmarshal(stdout.Bytes(), &report); err != nil {
		t.Fatalf("%s: %v", dir, err)
	}
	for _, d := range report.Diagnostics {
		if !slices.ContainsFunc(report.Manifests, func(m struct{ ID string }) bool { return m.ID == d.Subject }) {
			continue
		}
		findings++
		if filepath.Dir(d.At.File) != "manifests" {
			t.Errorf("%s: %s of %s is at %q, not in its manifest", dir, d.Code, d.Subject, d.At.File)
		}
		for _, r := range d.Related {
			if filepath.Dir(r.At.File) != "policies" {
				t.Errorf("%s: %s of %s is related to %q, which is not a policy", dir, d.Code, d.Subject, r.At.File)
			}
		}
	}
	return findings
}
