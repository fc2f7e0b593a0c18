package policy

import (
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/source"
)

// Read is what a policy looks up besides the object of the request: one object, or all of a kind.
type Read struct {
	// Kind is the kind of the objects. It is AnyKind if it is known only when the policy runs.
	Kind gvk.Kind
	// Resource is the resource as the policy names it, if it names a resource and not a kind.
	Resource gvk.Resource
	// Namespace and Name are empty if the policy may look up objects of all namespaces, or of all
	// names.
	Namespace, Name string
	By              ID
	At              source.Position
}
