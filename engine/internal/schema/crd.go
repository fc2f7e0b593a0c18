package schema

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/version"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/source"
)

// Problem is a problem with the value at a path of an object.
type Problem struct {
	Path change.Path
	Text string
	// Code is FieldUndefined or TypeMismatch for a value that does not fit a type; "" for others.
	Code string
	// Advice is about the key of an unknown field; it has no text unless a field has a similar name.
	Advice source.Advice
}

func (e Problem) Error() string {
	if len(e.Path) == 0 {
		return e.Text
	}
	return e.Path.String() + ": " + e.Text
}

// AddCRD adds the kinds of a CustomResourceDefinition, one for each served version. They replace
// kinds of the same name. A version whose schema has problems is left out. The caller must not
// modify the object afterwards.
func (r *Registry) AddCRD(crd map[string]any) []Problem {
	d := definition{object: crd}
	d.readNames()
	if len(d.problems) > 0 {
		return d.problems
	}
	for _, k := range d.versions() {
		if r.base.lookup(k.Kind) != nil {
			d.problem(change.Keys("spec", "names", "kind"), fmt.Sprintf("%s is built in, it cannot be defined", k.Kind))
			continue
		}
		r.add(k)
	}
	return d.problems
}

// definition reads a CustomResourceDefinition.
type definition struct {
	object              map[string]any
	group, kind, plural string
	namespaced          bool
	problems            []Problem
}

func (d *definition) problem(path change.Path, text string) {
	d.problems = append(d.problems, Problem{Path: path, Text: text})
}

// need returns the string at a path, or reports that it is missing.
func (d *definition) need(keys ...string) string {
	path := change.Keys(keys...)
	value, _ := path.Get(d.object)
	s, _ := value.(string)
	if s == "" {
		d.problem(path, "expected a string that is not empty")
	}
	return s
}

func (d *definition) readNames() {
	name := gvk.Parse(text(d.object, "apiVersion"), text(d.object, "kind"))
	switch {
	case name.Group != "apiextensions.k8s.io" || name.Kind != "CustomResourceDefinition":
		d.problem(change.Keys("kind"), fmt.Sprintf("expected apiextensions.k8s.io/v1, Kind=CustomResourceDefinition, got %s", name))
		return
	case name.Version != "v1":
		d.problem(change.Keys("apiVersion"), fmt.Sprintf("%s is not served any more, expected apiextensions.k8s.io/v1", name.APIVersion()))
		return
	}
	d.group = d.need("spec", "group")
	d.kind = d.need("spec", "names", "kind")
	d.plural = d.need("spec", "names", "plural")
	switch scope := d.need("spec", "scope"); scope {
	case "Namespaced":
		d.namespaced = true
	case "Cluster", "":
	default:
		d.problem(change.Keys("spec", "scope"), fmt.Sprintf("expected Namespaced or Cluster, got %q", scope))
	}
}

// versions returns the kinds of the served versions.
func (d *definition) versions() []*Kind {
	at := change.Keys("spec", "versions")
	list, _ := object(d.object, "spec")["versions"].([]any)
	if len(list) == 0 {
		d.problem(at, "expected a list of at least one version")
	}
	var kinds []*Kind
	names := d.convertible(list)
	for i, item := range list {
		version, _ := item.(map[string]any)
		if version["served"] != true {
			continue
		}
		if text(version, "name") == "" {
			d.problem(at.Index(i).Key("name"), "expected the name of the version")
			continue
		}
		if k := d.version(at.Index(i), version); k != nil {
			k.Definition.Versions, k.Definition.Deprecation = names, d.deprecation(list, version)
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// convertible returns the names of the versions, or nil if a webhook converts between them.
func (d *definition) convertible(versions []any) (names []string) {
	if text(object(object(d.object, "spec"), "conversion"), "strategy") == "Webhook" {
		return nil
	}
	for _, item := range versions {
		version, _ := item.(map[string]any)
		names = append(names, text(version, "name"))
	}
	return names
}

// deprecation returns the warning of a server about a version, or "", as k8s.io/apiextensions-apiserver
// v0.36.3 (pkg/apiserver/customresource_handler.go) does.
func (d *definition) deprecation(versions []any, deprecated map[string]any) string {
	name := text(deprecated, "name")
	if deprecated["deprecated"] != true {
		return ""
	}
	newest := name
	for _, item := range versions {
		other, _ := item.(map[string]any)
		if other["served"] == true && other["deprecated"] != true && version.CompareKubeAwareVersionStrings(newest, text(other, "name")) < 0 {
			newest = text(other, "name")
		}
	}
	warning := fmt.Sprintf("%s/%s %s is deprecated", d.group, name, d.kind)
	if newest != name {
		warning += fmt.Sprintf("; use %s/%s %s", d.group, newest, d.kind)
	}
	return cmp.Or(text(deprecated, "deprecationWarning"), warning)
}

func (d *definition) version(at change.Path, version map[string]any) *Kind {
	root := object(object(version, "schema"), "openAPIV3Schema")
	at = at.Key("schema").Key("openAPIV3Schema")
	if root == nil {
		d.problem(at, "expected a schema")
		return nil
	}
	before := len(d.problems)
	d.structural(at, root, rootLevel)
	if len(d.problems) > before {
		return nil
	}
	k := &Kind{
		Kind:         gvk.Kind{Group: d.group, Version: text(version, "name"), Kind: d.kind},
		Resource:     d.plural,
		Namespaced:   d.namespaced,
		Subresources: slices.Sorted(maps.Keys(object(version, "subresources"))),
		Custom:       true,
		Definition:   &Definition{Version: version},
	}
	k.lazy = &lazyType{load: func() *Type { return CustomType(k.Kind, root) }}
	return k
}

// CustomType returns the type of a custom resource from the schema in its CustomResourceDefinition,
// which must be correct: AddCRD checks it. The server adds apiVersion,
// kind and metadata, as every object has them, to the published schema, and merges by that.
func CustomType(name gvk.Kind, schema map[string]any) *Type {
	schema = maps.Clone(schema)
	schema["x-kubernetes-embedded-resource"] = true
	c := converter{custom: true}
	t := c.inline(schema, false)
	t.Embedded = false
	labels := strings.Split(name.Group, ".")
	slices.Reverse(labels)
	t.Name = strings.Join(append(labels, name.Version, name.Kind), ".")
	return &t
}

// The places in a schema, in the words of the server.
const (
	rootLevel  = "at the root"
	fieldLevel = "for specified object fields"
	itemLevel  = "for specified array items"
)

// structural reports what the server would refuse in a schema, and what makes its types
// ambiguous (k8s.io/apiextensions-apiserver v0.36.3, pkg/apiserver/schema and
// pkg/apis/apiextensions/validation).
func (d *definition) structural(at change.Path, node map[string]any, level string) {
	typ := text(node, "type")
	free := node["x-kubernetes-int-or-string"] == true || node["x-kubernetes-preserve-unknown-fields"] == true
	switch {
	case node["$ref"] != nil:
		d.problem(at.Key("$ref"), "references are not supported, expected the schema in place")
		return
	case typ == "" && !free:
		d.problem(at.Key("type"), "must not be empty "+level)
	case level == rootLevel && typ != "" && typ != "object":
		d.problem(at.Key("type"), "must be object at the root")
	case typ != "" && !slices.Contains(jsonTypes, typ):
		d.problem(at.Key("type"), fmt.Sprintf("expected one of %s, got %q", strings.Join(jsonTypes, ", "), typ))
	case typ != "object" && node["x-kubernetes-embedded-resource"] == true:
		d.problem(at.Key("type"), "must be object if x-kubernetes-embedded-resource is true")
	}
	d.structuralObject(at, node, level)
	d.structuralList(at, node)
}

var jsonTypes = []string{"array", "boolean", "integer", "number", "object", "string"}

func (d *definition) structuralObject(at change.Path, node map[string]any, level string) {
	if relation := node["x-kubernetes-map-type"]; relation != nil && relation != "atomic" && relation != "granular" {
		d.problem(at.Key("x-kubernetes-map-type"), fmt.Sprintf("expected atomic or granular, got %v", relation))
	}
	properties, ok := node["properties"].(map[string]any)
	if node["properties"] != nil && !ok {
		d.problem(at.Key("properties"), "expected a map of schemas")
	}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		d.structuralChild(at.Key("properties").Key(name), properties[name], fieldLevel)
	}
	switch additional := node["additionalProperties"].(type) {
	case nil, bool:
	default:
		d.structuralChild(at.Key("additionalProperties"), additional, fieldLevel)
	}
	switch {
	case node["additionalProperties"] == nil:
	case level == rootLevel:
		d.problem(at.Key("additionalProperties"), "must not be used at the root")
	case len(properties) > 0:
		d.problem(at.Key("additionalProperties"), "must not be used together with properties")
	}
}

func (d *definition) structuralChild(at change.Path, child any, level string) {
	node, ok := child.(map[string]any)
	if !ok {
		d.problem(at, "expected a schema")
		return
	}
	d.structural(at, node, level)
}

func (d *definition) structuralList(at change.Path, node map[string]any) {
	if node["items"] != nil {
		d.structuralChild(at.Key("items"), node["items"], itemLevel)
	}
	relation := node["x-kubernetes-list-type"]
	if text(node, "type") != "array" {
		if relation != nil {
			d.problem(at.Key("x-kubernetes-list-type"), "must only be used where type is array")
		}
		return
	}
	if node["items"] == nil {
		d.problem(at.Key("items"), "must be specified where type is array")
	}
	switch relation {
	case nil, "atomic", "set":
	case "map":
		d.structuralKeys(at, node)
	default:
		d.problem(at.Key("x-kubernetes-list-type"), fmt.Sprintf("expected atomic, set or map, got %v", relation))
	}
}

// structuralKeys checks the keys of a list of type map.
func (d *definition) structuralKeys(at change.Path, node map[string]any) {
	items := object(node, "items")
	at = at.Key("x-kubernetes-list-map-keys")
	keys, _ := node["x-kubernetes-list-map-keys"].([]any)
	if len(keys) == 0 {
		d.problem(at, "expected at least one key where x-kubernetes-list-type is map")
	}
	required, _ := items["required"].([]any)
	for i, key := range keys {
		name, ok := key.(string)
		property := object(object(items, "properties"), name)
		switch {
		case !ok || property == nil:
			d.problem(at.Index(i), fmt.Sprintf("expected a property of the items, got %v", key))
		case property["default"] == nil && !slices.Contains(required, any(name)):
			d.problem(at.Index(i), fmt.Sprintf("the property %s must have a default or be required", name))
		}
	}
}
