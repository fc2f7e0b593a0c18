// Crds writes the CustomResourceDefinitions of policies that package policydoc embeds: one version
// of each, without descriptions and without the schema of the status. The first one is ClusterPolicy
// without the schemas of otherRules.
//
//	go run . KYVERNO GATEKEEPER FILE
//
// The arguments are the directories of the modules of Kyverno and Gatekeeper, which are under the
// Apache License 2.0, and the file to write; the script generate finds the modules.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/preadmit/preadmit/engine/manifest"
)

// The files of the definitions.
const (
	ofRules      = "config/crds/kyverno/kyverno.io_"
	ofKyverno    = "config/crds/policies.kyverno.io/policies.kyverno.io_"
	ofGatekeeper = "charts/gatekeeper/crds/"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: go run . KYVERNO GATEKEEPER FILE")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "crds:", err)
		os.Exit(1)
	}
}

func run(kyverno, gatekeeper, to string) error {
	var all []byte
	for _, file := range []string{
		filepath.Join(kyverno, ofRules+"clusterpolicies.yaml"),
		filepath.Join(kyverno, ofKyverno+"mutatingpolicies.yaml"),
		filepath.Join(kyverno, ofKyverno+"policyexceptions.yaml"),
		filepath.Join(gatekeeper, ofGatekeeper+"assign-customresourcedefinition.yaml"),
		filepath.Join(gatekeeper, ofGatekeeper+"assignmetadata-customresourcedefinition.yaml"),
		filepath.Join(gatekeeper, ofGatekeeper+"modifyset-customresourcedefinition.yaml"),
		filepath.Join(gatekeeper, ofGatekeeper+"assignimage-customresourcedefinition.yaml"),
		filepath.Join(gatekeeper, ofGatekeeper+"config-customresourcedefinition.yaml"),
	} {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		definition, err := compact(file, data)
		if err != nil {
			return err
		}
		if len(all) == 0 {
			if err := sameAsPolicy(definition, filepath.Join(kyverno, ofRules+"policies.yaml")); err != nil {
				return err
			}
			mutating, err := mutating(definition)
			if err != nil {
				return err
			}
			all = append(mutating, '\n')
		}
		all = append(append(all, definition...), '\n')
	}
	return os.WriteFile(to, all, 0o644)
}

// compact returns a definition with what is needed to check documents, on one line.
func compact(file string, data []byte) ([]byte, error) {
	stream, diagnostics := manifest.Read(file, data)
	if len(diagnostics) > 0 || len(stream.Documents()) != 1 {
		return nil, fmt.Errorf("%s is not one definition: %v", file, diagnostics)
	}
	object := stream.Documents()[0].Object()
	spec := part(object, "spec")
	versions, _ := spec["versions"].([]any)
	version := newest(versions)
	schema := part(part(version, "schema"), "openAPIV3Schema")
	strip(schema)
	part(schema, "properties")["status"] = map[string]any{"x-kubernetes-preserve-unknown-fields": true}
	names := part(spec, "names")
	return json.Marshal(map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"spec": map[string]any{
			"group": spec["group"], "scope": spec["scope"], "names": map[string]any{"kind": names["kind"], "plural": names["plural"]},
			"versions": []any{map[string]any{"name": version["name"], "served": true, "schema": map[string]any{"openAPIV3Schema": schema}}},
		},
	})
}

// otherRules are the fields of rules that do not mutate: see OtherRules of package policydoc.
var otherRules = []string{"generate", "imageExtractors", "validate", "verifyImages"}

// mutating returns the definition of ClusterPolicy with any value for the fields of rules that do
// not mutate.
func mutating(definition []byte) ([]byte, error) {
	var object map[string]any
	if err := json.Unmarshal(definition, &object); err != nil {
		return nil, err
	}
	version := newest(part(object, "spec")["versions"].([]any))
	at := part(part(version, "schema"), "openAPIV3Schema")
	for _, key := range []string{"spec", "rules"} {
		at = part(part(at, "properties"), key)
	}
	rule := part(part(at, "items"), "properties")
	for _, key := range otherRules {
		if rule[key] == nil {
			return nil, fmt.Errorf("rules have no field %s", key)
		}
		rule[key] = map[string]any{"x-kubernetes-preserve-unknown-fields": true}
	}
	return json.Marshal(object)
}

// sameAsPolicy returns an error if the kind Policy differs from ClusterPolicy in more than its names
// and its scope.
func sameAsPolicy(definition []byte, file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	other, err := compact(file, data)
	if err != nil {
		return err
	}
	names := strings.NewReplacer(`"ClusterPolicy"`, `"Policy"`, `"clusterpolicies"`, `"policies"`, `"scope":"Cluster"`, `"scope":"Namespaced"`)
	if names.Replace(string(definition)) != string(other) {
		return fmt.Errorf("%s differs from ClusterPolicy: embed it, too", file)
	}
	return nil
}

// newest returns the version v1, or else the first one.
func newest(versions []any) map[string]any {
	var first map[string]any
	for _, v := range versions {
		version, _ := v.(map[string]any)
		if version["name"] == "v1" {
			return version
		}
		if first == nil {
			first = version
		}
	}
	return first
}

// part returns the object under a key.
func part(object map[string]any, key string) map[string]any {
	value, _ := object[key].(map[string]any)
	return value
}

// strip removes the descriptions from a schema, which may be missing.
func strip(schema map[string]any) {
	if schema == nil {
		return
	}
	delete(schema, "description")
	for _, property := range part(schema, "properties") {
		if property, ok := property.(map[string]any); ok {
			strip(property)
		}
	}
	for _, key := range []string{"items", "additionalProperties"} {
		strip(part(schema, key))
	}
}
