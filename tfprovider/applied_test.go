package tfprovider

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/internal/archive"
	"github.com/preadmit/preadmit/internal/racing"
)

// inapplicable are cases that kubernetes_manifest cannot apply, and why.
var inapplicable = map[string]string{
	"hidden-from-policies/objects-2": "nothing is stored of it",
	"custom-anything/box":            "its policy tells whether there is a null, which kubernetes_manifest does not send",
}

// applied is the result for a manifest, and the object that the server stored for the same manifest.
type applied struct {
	Manifest string `json:"manifest"`
	Stored   string `json:"stored"`
}

// TestApplied plans and applies all recorded cases with a fake kubernetes_manifest, which plans the
// fields of the manifest and returns the object that the server stored. Terraform compares both. The
// second plan must be empty.
func TestApplied(t *testing.T) {
	terraform(t)
	cases := recordedCases(t)
	if len(cases) < racing.Least(213) {
		t.Fatalf("only %d cases are recorded", len(cases))
	}
	text, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	c := newCLI(t, configuration(t, map[string]string{
		"cases.json": string(text),
		"main.tf": strings.Replace(required, "required_providers {", "required_providers {\n    kubernetes = {\n      source = \"hashicorp/kubernetes\"\n    }", 1) + `
			locals {
				cases = jsondecode(file("${path.module}/cases.json"))
			}
			resource "kubernetes_manifest" "x" {
				for_each = local.cases
				manifest = jsondecode(each.value.manifest)
				stored   = each.value.stored
			}
		`,
	}))
	c.run(t, "apply", "-auto-approve")
	c.run(t, "plan", "-detailed-exitcode")
}

// recordings returns the recorded answers of an API server, except the cases in exceptions.txt: see
// engine/testdata.
func recordings(t *testing.T) []string {
	t.Helper()
	exceptions, err := os.ReadFile("../engine/testdata/exceptions.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, root := range []string{"../engine/testdata/recorded", "../../shared/corpus/map/realworld", archive.Unpack(t, "../engine/testdata/behaviour", 133)} {
		cases, err := filepath.Glob(root + "/*/server/summary.json")
		if err != nil {
			t.Fatal(err)
		}
		for _, summary := range cases {
			directory := filepath.Dir(filepath.Dir(summary))
			if !strings.Contains(string(exceptions), "\n"+filepath.Base(directory)+":") {
				all = append(all, directory)
			}
		}
	}
	return all
}

// recordedRequest has the options with which the cases were recorded.
var recordedRequest = map[string]any{
	"dry_run": true, "authorizer": "allow",
	"user": map[string]any{"username": "oracle-admin", "uid": "oracle-uid", "groups": []string{"system:masters", "system:authenticated"}},
}

// recordedCases admits all recorded manifests that the server accepted.
func recordedCases(t *testing.T) map[string]applied {
	t.Helper()
	s, cases := newServer(t), map[string]applied{}
	for _, directory := range racing.Sample(recordings(t)) {
		name := filepath.Base(directory)
		policies := acceptedPolicies(t, directory)
		for key, document := range recordedManifests(t, directory) {
			stored, err := os.ReadFile(filepath.Join(directory, "server", key+".result.json"))
			if err != nil || strings.Contains(string(stored), `"kind": "Status"`) || inapplicable[name+"/"+key] != "" {
				continue // the server refused it
			}
			got, err := s.call(t, "mutate", document, policies, map[string]any{"for": "kubernetes_manifest", "allow_no_policies": true, "request": recordedRequest})
			if err != nil {
				t.Errorf("%s: %s: %v", name, key, err)
				continue
			}
			cases[name+"/"+key] = applied{got.(string), string(stored)}
		}
	}
	return cases
}

// acceptedPolicies returns the policies of a recorded case that the server accepted, and their
// context.
func acceptedPolicies(t *testing.T, directory string) []string {
	t.Helper()
	var summary struct {
		Policies map[string]struct{ Code int }
	}
	text, err := os.ReadFile(filepath.Join(directory, "server", "summary.json"))
	if err == nil {
		err = json.Unmarshal(text, &summary)
	}
	if err != nil {
		t.Fatal(err)
	}
	var accepted []string
	for _, text := range contents(t, directory+"/policies") {
		stream, _ := manifest.Read("", []byte(text))
		for _, d := range stream.Documents() {
			if summary.Policies[d.Kind().Kind+"/"+d.Name()].Code < 300 {
				accepted = append(accepted, string(d.JSON()))
			}
		}
	}
	return accepted
}

// recordedManifests returns the documents of a recorded case by the names of the answers.
func recordedManifests(t *testing.T, directory string) map[string]string {
	t.Helper()
	found := map[string]string{}
	files, err := filepath.Glob(directory + "/manifests/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		stream, _ := manifest.Read(file, text)
		base := strings.TrimSuffix(filepath.Base(file), ".yaml")
		for i, d := range stream.Documents() {
			name := base
			if _, err := os.Stat(filepath.Join(directory, "server", base+".result.json")); err != nil {
				name = fmt.Sprintf("%s-%d", base, i)
			}
			found[name] = string(d.JSON())
		}
	}
	return found
}
