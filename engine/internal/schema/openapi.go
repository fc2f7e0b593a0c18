package schema

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/number"
	"github.com/preadmit/preadmit/internal/lazyregexp"
)

// AddOpenAPI adds the kinds of an OpenAPI v3 document, as an API server returns it for one group
// version under /openapi/v3 (kubectl get --raw /openapi/v3/apis/apps/v1). They replace kinds of
// the same name. Resource names come from the paths of the document; in a document without
// paths, only kinds that the registry already has keep their resource names.
func (r *Registry) AddOpenAPI(data []byte) error {
	value, err := number.Decode(string(data))
	if err != nil {
		return fmt.Errorf("the OpenAPI document is not JSON: %w", err)
	}
	document, _ := value.(map[string]any)
	if document["swagger"] != nil {
		return errors.New("this is an OpenAPI v2 document; give those of OpenAPI v3, for instance of /openapi/v3/apis/apps/v1")
	}
	components := object(object(document, "components"), "schemas")
	if components == nil {
		return errors.New("the OpenAPI document has no components.schemas; expected that of one group version, for instance of /openapi/v3/apis/apps/v1")
	}
	types, err := convertComponents(components)
	if err != nil {
		return err
	}
	served := servedResources(object(document, "paths"))
	for _, name := range slices.Sorted(maps.Keys(components)) {
		for _, kind := range kindsOf(components[name]) {
			r.add(r.openAPIKind(kind, types[name], served))
		}
	}
	return nil
}

// openAPIKind describes a kind of a document, from the paths, or else from the kind that the
// registry already has.
func (r *Registry) openAPIKind(name gvk.Kind, root *Type, served map[gvk.Kind]*Kind) *Kind {
	k := &Kind{Kind: name, lazy: &lazyType{root: root}}
	known := r.Lookup(name)
	switch path := served[name]; {
	case path != nil:
		k.Resource, k.Namespaced, k.Subresources = path.Resource, path.Namespaced, path.Subresources
	case known != nil:
		k.Resource, k.Namespaced, k.Subresources = known.Resource, known.Namespaced, known.Subresources
	}
	k.Custom = r.base.lookup(name) == nil && !strings.HasPrefix(root.Name, kubernetes)
	if !k.Custom && r.base != nil {
		k.Minor = r.base.minor
	}
	return k
}

// kindsOf returns the kinds that a component names as its own.
func kindsOf(component any) []gvk.Kind {
	node, _ := component.(map[string]any)
	list, _ := node["x-kubernetes-group-version-kind"].([]any)
	var kinds []gvk.Kind
	for _, item := range list {
		item, _ := item.(map[string]any)
		kind := gvk.Kind{Group: text(item, "group"), Version: text(item, "version"), Kind: text(item, "kind")}
		if kind.Kind != "" {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// servedResources reads resource names and scopes from the paths of a document:
// /apis/group/version[/namespaces/{namespace}]/resource[/{name}/subresource].
func servedResources(paths map[string]any) map[gvk.Kind]*Kind {
	served := map[gvk.Kind]*Kind{}
	byResource := map[gvk.Resource]*Kind{}
	for _, path := range slices.Sorted(maps.Keys(paths)) { // a resource before its subresources
		resource, rest, namespaced := splitPath(path)
		switch {
		case resource.Resource == "":
		case len(rest) == 0:
			name, found := createdKind(paths[path])
			if !found {
				continue
			}
			k := served[name]
			if k == nil {
				k = &Kind{Kind: name, Resource: resource.Resource}
				served[name], byResource[resource] = k, k
			}
			k.Namespaced = k.Namespaced || namespaced
		case len(rest) == 2 && rest[0] == "{name}" && byResource[resource] != nil:
			k := byResource[resource]
			k.Subresources = append(k.Subresources, rest[1])
		}
	}
	return served
}

func splitPath(path string) (resource gvk.Resource, rest []string, namespaced bool) {
	words := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case len(words) > 3 && words[0] == "apis":
		resource.Group, resource.Version, words = words[1], words[2], words[3:]
	case len(words) > 2 && words[0] == "api":
		resource.Version, words = words[1], words[2:]
	default:
		return resource, nil, false
	}
	if len(words) > 2 && words[0] == "namespaces" && words[1] == "{namespace}" {
		words, namespaced = words[2:], true
	}
	resource.Resource = words[0]
	return resource, words[1:], namespaced
}

// createdKind returns the kind of the objects that a POST to a path creates.
func createdKind(path any) (gvk.Kind, bool) {
	node, _ := path.(map[string]any)
	kind := object(object(node, "post"), "x-kubernetes-group-version-kind")
	name := gvk.Kind{Group: text(kind, "group"), Version: text(kind, "version"), Kind: text(kind, "kind")}
	return name, name.Kind != ""
}

// convertComponents converts all components to types.
func convertComponents(components map[string]any) (map[string]*Type, error) {
	c := converter{components: make(map[string]*Type, len(components))}
	for name := range components {
		c.components[name] = &Type{Name: name}
	}
	for name, component := range components {
		node, ok := component.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("the component %s is not an object", name)
		}
		t := c.components[name]
		switch name {
		case quantity:
			t.Scalar = Quantity
		case rawExtension:
			t.Scalar, t.AtomicMap = Untyped, true
		default:
			c.custom = !strings.HasPrefix(name, kubernetes)
			*t = c.inline(node, false)
			t.Name = name
		}
	}
	for _, v := range c.variants {
		v.complete()
	}
	if len(c.missing) > 0 {
		slices.Sort(c.missing)
		return nil, fmt.Errorf("the document refers to the component %s, which it does not have", c.missing[0])
	}
	return c.components, nil
}

const (
	// kubernetes begins the names of components that are Go types of Kubernetes. Other
	// components are treated as custom resources.
	kubernetes = "io.k8s."

	// Components whose types do not follow from their schemas.
	quantity     = "io.k8s.apimachinery.pkg.api.resource.Quantity"
	rawExtension = "io.k8s.apimachinery.pkg.runtime.RawExtension"
)

// converter converts OpenAPI schemas to types, as k8s.io/kube-openapi/pkg/schemaconv does for
// the API server's own merges.
type converter struct {
	components map[string]*Type
	// custom says that the schemas come from a CustomResourceDefinition.
	custom   bool
	variants []variant
	missing  []string
}

// typ returns the type of a schema; preserve says that an enclosing schema keeps unknown fields.
func (c *converter) typ(node map[string]any, preserve bool) *Type {
	if ref := reference(node); ref != "" {
		return c.refer(ref, node)
	}
	t := c.inline(node, preserve)
	if t.Scalar == Untyped && len(t.Fields) == 0 && !t.Preserve && !t.Embedded && !t.AtomicMap && !t.Prunes && t.Strategy == "" {
		return untyped
	}
	return &t
}

// reference returns the component that a schema refers to, directly or by an allOf with one
// entry.
func reference(node map[string]any) string {
	ref := text(node, "$ref")
	if all, _ := node["allOf"].([]any); ref == "" && len(all) == 1 {
		only, _ := all[0].(map[string]any)
		ref = text(only, "$ref")
	}
	return ref[strings.LastIndexByte(ref, '/')+1:]
}

func (c *converter) refer(name string, node map[string]any) *Type {
	of := c.components[name]
	if of == nil {
		c.missing = append(c.missing, name)
		return untyped
	}
	mapType, strategy := text(node, "x-kubernetes-map-type"), text(node, "x-kubernetes-patch-strategy")
	if mapType == "" && strategy == "" {
		return of
	}
	t := new(Type)
	c.variants = append(c.variants, variant{of, t, func(t *Type) {
		if mapType != "" {
			t.AtomicMap = mapType == "atomic"
		}
		if strategy != "" {
			t.Strategy, t.MergeKey = strategy, text(node, "x-kubernetes-patch-merge-key")
		}
	}})
	return t
}

// inline returns the type of a schema that is written in place.
func (c *converter) inline(node map[string]any, preserve bool) Type {
	t := Type{
		Format:    text(node, "format"),
		Strategy:  text(node, "x-kubernetes-patch-strategy"),
		MergeKey:  text(node, "x-kubernetes-patch-merge-key"),
		AtomicMap: text(node, "x-kubernetes-map-type") == "atomic",
		Preserve:  node["x-kubernetes-preserve-unknown-fields"] == true,
		Embedded:  node["x-kubernetes-embedded-resource"] == true,
	}
	preserve = preserve || t.Preserve
	switch text(node, "type") {
	case "object":
		c.structure(&t, node, preserve)
	case "array":
		c.list(&t, node, preserve)
	case "string":
		t.Scalar = String
		if c.custom {
			t.Bounds = boundsOf(node)
		}
	case "integer":
		t.Scalar = Integer
	case "number":
		t.Scalar = Number
	case "boolean":
		t.Scalar = Boolean
	default:
		t.Scalar = Untyped
		if node["x-kubernetes-int-or-string"] == true || t.Format == "int-or-string" {
			t.Scalar, t.Format = IntOrString, ""
		} else if t.Embedded || node["properties"] != nil {
			c.structure(&t, node, preserve)
		}
	}
	return t
}

// boundsOf returns the bounds of a string, nil if it has none.
func boundsOf(node map[string]any) *Bounds {
	var b Bounds
	values, _ := node["enum"].([]any)
	for _, value := range values {
		if value, ok := value.(string); ok {
			b.Enum = append(b.Enum, value)
		}
	}
	if pattern := text(node, "pattern"); pattern != "" {
		b.Pattern = lazyregexp.New(pattern)
	}
	length, _ := node["maxLength"].(int64)
	b.MaxLength = int(length)
	if b.Enum == nil && b.Pattern == nil && b.MaxLength == 0 {
		return nil
	}
	return &b
}

func (c *converter) structure(t *Type, node map[string]any, preserve bool) {
	properties := object(node, "properties")
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		property, _ := properties[name].(map[string]any)
		t.Fields = append(t.Fields, Field{
			Name:     name,
			Type:     c.typ(property, preserve),
			Default:  property["default"],
			Nullable: property["nullable"] == true,
		})
	}
	if required, _ := node["required"].([]any); required != nil {
		for i := range t.Fields {
			t.Fields[i].Required = slices.Contains(required, any(t.Fields[i].Name))
		}
	}
	if c.custom && t.Embedded {
		t.declare(typeMeta())
	}
	switch additional := node["additionalProperties"].(type) {
	case map[string]any:
		c.elem(t, additional, preserve)
	case bool:
		if additional {
			t.Elem = &Type{Scalar: Untyped, Prunes: c.custom}
		}
	default:
		if preserve || len(t.Fields) == 0 {
			t.Elem = untyped
		}
		t.Prunes = c.custom && !t.Preserve
	}
}

// elem sets the type of the items of a list or the values of a map.
func (c *converter) elem(t *Type, node map[string]any, preserve bool) {
	t.Elem = c.typ(node, preserve)
	if c.custom {
		t.ElemDefault, t.ElemNullable = node["default"], node["nullable"] == true
	}
}

// declare adds fields, or replaces fields of the same name.
func (t *Type) declare(fields []Field) {
	for _, f := range fields {
		i, found := slices.BinarySearchFunc(t.Fields, f.Name, func(f Field, name string) int { return strings.Compare(f.Name, name) })
		if !found {
			t.Fields = slices.Insert(t.Fields, i, Field{})
		}
		t.Fields[i] = f
	}
}

func (c *converter) list(t *Type, node map[string]any, preserve bool) {
	t.IsList = true
	t.Elem = untyped
	if items := object(node, "items"); items != nil {
		c.elem(t, items, preserve)
	}
	switch text(node, "x-kubernetes-list-type") {
	case "set":
		t.List = Set
	case "map":
		t.List = Associative
		keys, _ := node["x-kubernetes-list-map-keys"].([]any)
		for _, key := range keys {
			if key, ok := key.(string); ok {
				t.ListKeys = append(t.ListKeys, key)
			}
		}
	case "":
		if t.Strategy == "merge" || t.Strategy == "merge,retainKeys" {
			t.List = Set
			if t.MergeKey != "" {
				t.List, t.ListKeys = Associative, []string{t.MergeKey}
			}
		}
	}
}

// object returns the object under key, nil if it is missing.
func object(node map[string]any, key string) map[string]any {
	value, _ := node[key].(map[string]any)
	return value
}

// text returns the string under key, empty if it is missing.
func text(node map[string]any, key string) string {
	value, _ := node[key].(string)
	return value
}
