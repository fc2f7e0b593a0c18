// Package snapshot holds what a cluster would know besides the object of a request:
// namespaces, and the objects that policies look up, such as params and ConfigMaps. They come
// from the user's context files, or from the manifests themselves. Of a manifest the snapshot
// gives the mutated form, so it is admitted first, when a policy asks for it.
//
// The files in order: snapshot.go (the objects), reader.go (how one admission looks at them),
// namespace.go (Namespaces as a server keeps them).
package snapshot

import (
	"cmp"
	"slices"
	"sync"

	"github.com/preadmit/preadmit/engine/gvk"
)

// Object makes an object of the snapshot, in the form that admission gives it, for a
// reader. It must give every reader the same. An error means that the object cannot be
// had, for instance because making it needs the very admission that asks for it.
type Object func(reader *Reader) (map[string]any, error)

// Snapshot holds the objects of one run. The zero value is empty and ready for use. All
// objects must be put into it before the first Reader looks at it; Readers may then be
// used concurrently.
type Snapshot struct {
	objects map[key]Object
	// sorted are the keys of each kind, by namespace and name; made when the first one
	// asks for a list.
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
