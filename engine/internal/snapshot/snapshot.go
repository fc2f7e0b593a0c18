// Package snapshot holds the objects that a cluster would have besides the object of a request:
// namespaces, and objects that policies look up, such as params and ConfigMaps. They come from
// the user's context files, or from the manifests. The snapshot returns a manifest in its
// mutated form: the manifest is admitted when a policy asks for it.
//
// The files in order: snapshot.go (the objects), reader.go (reading during one admission),
// namespace.go (Namespaces as a server stores them).
package snapshot

import (
	"cmp"
	"slices"
	"sync"

	"github.com/preadmit/preadmit/engine/gvk"
)

// Object returns an object of the snapshot, in its admitted form, for a reader. It must return
// the same for every reader. It returns an error if the object cannot be made, for instance
// because that needs the very admission that asks for it.
type Object func(reader *Reader) (map[string]any, error)

// Snapshot holds the objects of one run. The zero value is empty and ready for use. All objects
// must be added before the first Reader is used; Readers may then be used concurrently.
type Snapshot struct {
	objects map[key]Object
	// sorted returns the keys of each kind, by namespace and name. They are sorted for the first
	// List.
	sorted func() map[gvk.Kind][]key
	// made are the values of Once, by key, and the Namespace objects, by name.
	made, namespaces sync.Map
}

type key struct {
	kind            gvk.Kind
	namespace, name string
}

func (k key) compare(other key) int {
	return cmp.Or(cmp.Compare(k.namespace, other.namespace), cmp.Compare(k.name, other.name))
}

// Put adds an object, or replaces the one with the same kind, namespace and name. The
// namespace of a cluster-scoped object is empty.
func (s *Snapshot) Put(kind gvk.Kind, namespace, name string, object Object) {
	if s.objects == nil {
		s.objects = map[key]Object{}
		s.sorted = sync.OnceValue(s.sort)
	}
	s.objects[key{kind, namespace, name}] = object
}

func (s *Snapshot) sort() map[gvk.Kind][]key {
	byKind := map[gvk.Kind][]key{}
	for k := range s.objects {
		byKind[k.kind] = append(byKind[k.kind], k)
	}
	for _, keys := range byKind {
		slices.SortFunc(keys, key.compare)
	}
	return byKind
}

// Names returns the names of the objects of a kind in a namespace, or everywhere if the namespace is
// empty, each after its namespace, in order.
func (s *Snapshot) Names(kind gvk.Kind, namespace string) []string {
	var names []string
	for _, k := range s.list(kind, namespace) {
		names = append(names, k.namespace+"/"+k.name)
	}
	return names
}

// list returns the keys of a kind in a namespace, or everywhere if the namespace is
// empty, in order.
func (s *Snapshot) list(kind gvk.Kind, namespace string) []key {
	if s.objects == nil {
		return nil
	}
	keys := s.sorted()[kind]
	if namespace == "" {
		return keys
	}
	at := func(namespace, name string) int {
		i, _ := slices.BinarySearchFunc(keys, key{kind, namespace, name}, key.compare)
		return i
	}
	return keys[at(namespace, ""):at(namespace+"\x00", "")]
}
