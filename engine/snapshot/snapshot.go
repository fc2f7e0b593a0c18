// Package snapshot is what a cluster would have known besides the object of a
// request: namespaces, and the objects that policies use as params. Objects come
// from the user's context files or from the manifests themselves; the latter are
// used in their mutated form and therefore made only when they are asked for.
package snapshot

import (
	"maps"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
)

// Object makes an object of the snapshot, in the form that admission gives it. An
// error means that the object cannot be had, for instance because making it needs
// the very request that asks for it.
type Object func() (map[string]any, error)

// Snapshot holds the objects of one run. The zero value is empty and ready for use.
type Snapshot struct {
	objects map[key]Object
	// namespaces are the Namespace objects that have been asked for, by name.
	namespaces map[string]namespace
	asked      int
}

// namespace is what somebody gave, nil for nothing, and what the server keeps.
type namespace struct{ given, stored map[string]any }

// Ask notes that what is in the snapshot, or is not, made a difference to somebody.
func (s *Snapshot) Ask() { s.asked++ }

// Asked returns how often Ask was called.
func (s *Snapshot) Asked() int { return s.asked }

type key struct {
	kind            gvk.Kind
	namespace, name string
}

// namespaceKind is the kind of Namespace objects.
var namespaceKind = gvk.Kind{Version: "v1", Kind: "Namespace"}

// Put adds an object, or replaces the one with the same kind, namespace and name. The
// namespace of a cluster-scoped object is empty.
func (s *Snapshot) Put(kind gvk.Kind, namespace, name string, object Object) {
	if s.objects == nil {
		s.objects = map[key]Object{}
	}
	s.objects[key{kind, namespace, name}] = object
}

// Get returns an object, or nil if there is none.
func (s *Snapshot) Get(kind gvk.Kind, namespace, name string) (map[string]any, error) {
	if object := s.objects[key{kind, namespace, name}]; object != nil {
		return object()
	}
	return nil, nil
}

// List returns the objects of a kind in a namespace, or everywhere if the namespace
// is empty, sorted by namespace and name.
func (s *Snapshot) List(kind gvk.Kind, namespace string) ([]map[string]any, error) {
	keys := slices.SortedFunc(maps.Keys(s.objects), func(a, b key) int {
		return strings.Compare(a.namespace+"\x00"+a.name, b.namespace+"\x00"+b.name)
	})
	var objects []map[string]any
	for _, k := range keys {
		if k.kind != kind || (namespace != "" && k.namespace != namespace) {
			continue
		}
		object, err := s.objects[k]()
		if err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// Namespace returns a Namespace object as the server keeps it. One that nobody gave is
// assumed to exist with nothing but what a server gives every namespace; known tells
// the two apart.
func (s *Snapshot) Namespace(name string) (object map[string]any, known bool, err error) {
	object, err = s.Get(namespaceKind, "", name)
	if err != nil {
		return nil, true, err
	}
	n, found := s.namespaces[name]
	if !found || !change.Equal(n.given, object) {
		n = namespace{given: object, stored: stored(object, name)}
		if s.namespaces == nil {
			s.namespaces = map[string]namespace{}
		}
		s.namespaces[name] = n
	}
	return n.stored, object != nil, nil
}

// stored adds to a Namespace what it has when it is read: a label from its creation,
// and what the server adds after admission.
func stored(object map[string]any, name string) map[string]any {
	if object == nil {
		object = map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}
	}
	object = change.CloneObject(object)
	child := func(of map[string]any, key string) map[string]any {
		value, ok := of[key].(map[string]any)
		if !ok {
			value = map[string]any{}
			of[key] = value
		}
		return value
	}
	child(child(object, "metadata"), "labels")["kubernetes.io/metadata.name"] = name
	if status := child(object, "status"); status["phase"] == nil {
		status["phase"] = "Active"
	}
	spec := child(object, "spec")
	if finalizers, _ := spec["finalizers"].([]any); !slices.Contains(finalizers, any("kubernetes")) {
		spec["finalizers"] = append(finalizers, "kubernetes")
	}
	return object
}
