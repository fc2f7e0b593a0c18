// Crds writes the CustomResourceDefinitions of policies that package policydoc embeds: one version
// of each, without descriptions and without the schema of the status. The first one is ClusterPolicy
// without the schemas of otherRules. The descriptions of the fields are in another file.
//
//	go run . KYVERNO GATEKEEPER DIRECTORY
//
// The arguments are the directories of the modules of Kyverno and Gatekeeper, which are under the
// Apache License 2.0, and the directory to write to; the script generate finds the modules.
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
		fmt.Fprintln(os.Stderr, "usage: go run . KYVERNO GATEKEEPER DIRECTORY")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "crds:", err)
		os.Exit(1)
	}
}

func run(kyverno, gatekeeper, to string) error {
	var all []byte
	descriptions := map[string]string{}
	for _, file := range files(kyverno, gatekeeper) {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		definition, err := compact(file, data, descriptions)
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
	if err := os.WriteFile(filepath.Join(to, "crds.json"), all, 0o644); err != nil {
		return err
	}
	text, err := json.MarshalIndent(descriptions, "", "")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(to, "descriptions.json"), append(text, '\n'), 0o644)
}

// files are the files of the definitions in the modules.
func files(kyverno, gatekeeper string) []string {
	return []string{
		filepath.Join(kyverno, ofRules+"clusterpolicies.yaml"),
		filepath.Join(kyverno, ofKyverno+"mutatingpolicies.yaml"),
		filepath.Join(kyverno, ofKyverno+"policyexceptions.yaml"),
		filepath.Join(gatekeeper, ofGatekeeper+"assign-customresourcedefinition.yaml"),
		filepath.Join(gatekeeper, ofGatekeeper+"assignmetadata-customresourcedefinition.yaml"),
		filepath.Join(gatekeeper, ofGatekeeper+"modifyset-customresourcedefinition.yaml"),
		filepath.Join(gatekeeper, ofGatekeeper+"assignimage-customresourcedefinition.yaml"),
		filepath.Join(gatekeeper, ofGatekeeper+"config-customresourcedefinition.yaml"),
	}
}

// compact returns a definition with what is needed to check documents, on one line. It adds the descriptions of the
// fields, by the kind and their path.
func compact(file string, data []byte, descriptions map[string]string) ([]byte, error) {
	stream, diagnostics := manifest.Read(file, data)
	if len(diagnostics) > 0 || len(stream.Documents()) != 1 {
		return nil, fmt.Errorf("%s is not one definition: %v", file, diagnostics)
	}
	object := stream.Documents()[0].Object()
	spec := part(object, "spec")
	versions, _ := spec["versions"].([]any)
	version := newest(versions)
	schema := part(part(version, "schema"), "openAPIV3Schema")
	names := part(spec, "names")
	part(schema, "properties")["status"] = map[string]any{"x-kubernetes-preserve-unknown-fields": true}
	strip(schema, fmt.Sprint(names["kind"]), descriptions)
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
	other, err := compact(file, data, map[string]string{})
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

// strip moves the descriptions out of a schema, which may be missing, to its path. The items of a list are at the path
// of the list.
func strip(schema map[string]any, path string, descriptions map[string]string) {
	if schema == nil {
		return
	}
	if text, _ := schema["description"].(string); text != "" && descriptions[path] == "" {
		descriptions[path] = text
	}
	delete(schema, "description")
	for name, property := range part(schema, "properties") {
		if property, ok := property.(map[string]any); ok {
			strip(property, path+"."+name, descriptions)
		}
	}
	for _, key := range []string{"items", "additionalProperties"} {
		strip(part(schema, key), path, descriptions)
	}
}
