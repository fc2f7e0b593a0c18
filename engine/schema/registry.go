package schema

import "github.com/preadmit/preadmit/engine/gvk"

// Kind is what is known about one kind of object.
type Kind struct {
	gvk.Kind
	// Resource is the plural resource name.
	Resource string
	// Namespaced says whether objects of the kind live in a namespace.
	Namespaced bool
	// Subresources are the names below the resource ("status", "scale").
	Subresources []string
	// Custom says that the kind is defined by a CustomResourceDefinition.
	Custom bool
}
