package snapshot

import (
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
)

// namespaceKind is the kind of Namespace objects.
var namespaceKind = gvk.Kind{Version: "v1", Kind: "Namespace"}

// namespace is a Namespace as the server stores it. known says that it is in the input.
type namespace struct {
	object map[string]any
	known  bool
}

// Namespace returns a Namespace object as the server stores it. If the input does not have it,
// known is false, and the Namespace is assumed to exist with only what a server sets on every
// namespace.
func (r *Reader) Namespace(name string) (object map[string]any, known bool, err error) {
	if n, ok := r.snapshot.namespaces.Load(name); ok {
		r.read.ask(Query{Kind: namespaceKind, Name: name})
		n := n.(namespace)
		return n.object, n.known, nil
	}
	given, err := r.Get(namespaceKind, "", name)
	if err != nil {
		return nil, true, err
	}
	n, _ := r.snapshot.namespaces.LoadOrStore(name, namespace{object: stored(given, name), known: given != nil})
	return n.(namespace).object, given != nil, nil
}

// stored adds the fields that a stored Namespace has: a label from its creation, and fields that
// the server sets after admission.
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
