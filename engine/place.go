package engine

import (
	"maps"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

// place is the kind, namespace and name under which a cluster keeps an object.
type place struct {
	kind            *schema.Kind
	namespace, name string
}

// placeOf returns the place of a document. An unknown kind counts as namespaced if the document has
// a namespace.
func (s *Set) placeOf(d *manifest.Document, schemas *schema.Registry) place {
	return s.placeAs(d.Kind(), d.Namespace(), d.Name(), schemas)
}

// placeAs returns the place of an object with the given kind, namespace and name.
func (s *Set) placeAs(said gvk.Kind, namespace, name string, schemas *schema.Registry) place {
	kind := schemas.Lookup(said)
	if kind == nil {
		kind = schemas.Unknown(said)
		kind.Namespaced = namespace != ""
	}
	p := place{kind: kind, name: name}
	if kind.Namespaced {
		if p.namespace = namespace; p.namespace == "" {
			p.namespace = s.settings.options.Namespace
		}
	}
	return p
}

// ofRequest returns the namespace of a request for the object: a request for a Namespace is in that
// namespace.
func (p place) ofRequest() string {
	if p.kind.Kind == namespaceKind {
		return p.name
	}
	return p.namespace
}

// id returns the name of the object for people.
func (p place) id() string {
	return source.Printable(p.kind.Kind.ID(p.namespace, p.name))
}

// identity identifies an object of a cluster.
type identity struct {
	kind            gvk.Kind
	namespace, name string
}

func (p place) identity() identity { return identity{p.kind.Kind, p.namespace, p.name} }

// unversioned returns the identity without the version, because an object has several versions.
func (p place) unversioned() identity {
	id := p.identity()
	id.kind.Version = ""
	return id
}

// textAt returns the string at a path of keys, or "".
func textAt(object map[string]any, path ...string) string {
	last := len(path) - 1
	for _, key := range path[:last] {
		object, _ = object[key].(map[string]any)
	}
	text, _ := object[path[last]].(string)
	return text
}

// inNamespace adds a namespace, if it is not empty, to an object without one.
func inNamespace(object map[string]any, namespace string) map[string]any {
	if namespace == "" || textAt(object, "metadata", "namespace") != "" {
		return object
	}
	metadata, _ := object["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	if metadata == nil {
		metadata = map[string]any{}
	}
	metadata["namespace"] = namespace
	object = maps.Clone(object)
	object["metadata"] = metadata
	return object
}
