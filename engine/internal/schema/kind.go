package schema

import (
	"cmp"
	"fmt"
	"strings"
	"sync"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/release"
	"github.com/preadmit/preadmit/engine/source"
)

// Kind describes a kind of objects. It must not be modified.
type Kind struct {
	gvk.Kind
	// Resource is the plural resource name; empty where it is not known, and for kinds that only
	// subresources accept (Scale, Eviction).
	Resource string
	// Namespaced says whether objects of the kind live in a namespace.
	Namespaced bool
	// Subresources are the names of the subresources ("status", "scale"), sorted.
	Subresources []string
	// Minor is the version of Kubernetes, 1.Minor, into which the kind is built; 0 if it is not
	// built in.
	Minor int
	// Custom says that the kind is defined by a CustomResourceDefinition.
	Custom bool
	// Unknown says that the kind has no schema: only apiVersion, kind and metadata have a type.
	Unknown bool

	// Definition says how a CustomResourceDefinition defines the kind. It is nil for other kinds.
	Definition *Definition

	lazy *lazyType
}

// Definition is a version in a CustomResourceDefinition.
type Definition struct {
	// Version is the item of spec.versions. It must not be modified.
	Version map[string]any
	// Versions are the names of all versions, also of those that are not served. A server converts
	// between them by the apiVersion alone. They are nil if a webhook converts.
	Versions []string
	// Deprecation is the server's warning about the version, or "".
	Deprecation string

	once    sync.Once
	derived any
}

// Derived returns what derive returns, which is called once. Only one package may use it.
func (d *Definition) Derived(derive func() any) any {
	d.once.Do(func() { d.derived = derive() })
	return d.derived
}

// Title returns the name of the kind for people, with its version.
func (k *Kind) Title() string {
	if k.Kind == (gvk.Kind{}) {
		return "every kind"
	}
	return k.APIVersion() + " " + k.Kind.Kind
}

// GoType returns the Go type into which a server decodes the kind's objects. It is nil for
// custom resources, and if the type is not known. It is the type of the built-in kind even where
// an OpenAPI document has replaced the kind.
func (k *Kind) GoType() *Type {
	if k == nil || k.Custom || k.Unknown {
		return nil
	}
	if t := k.Type(); t != nil && t.Minor != 0 {
		return t
	}
	if t := libraries[release.Index(k.Minor)].lookup(k.Kind).Type(); t != nil && t.Minor != 0 {
		return t
	}
	return nil
}

// anyResource is a resource whose objects have all fields that objects of unknown kinds have.
const anyResource = "pods"

// SuggestField returns advice about a field that a type of the kind does not declare. parent is the
// path to the values of the type; its indexes do not count.
func (k *Kind) SuggestField(t *Type, name string, parent change.Path) source.Advice {
	if near := source.Nearest(name, t.FieldNames()); near != "" {
		return source.Meant(name, near)
	}
	var path strings.Builder
	for _, part := range parent {
		if part.Index < 0 {
			path.WriteString("." + part.Key)
		}
	}
	return source.Advice{Text: fmt.Sprintf("'kubectl explain %s%s' lists the fields that there are", cmp.Or(k.Resource, anyResource), path.String())}
}

// lazyType is the part of a Kind that is computed when it is first used.
type lazyType struct {
	once   sync.Once
	load   func() *Type
	root   *Type
	merger lazyMerger
}

// Type returns the type of the kind's objects, nil if the type is not known.
func (k *Kind) Type() *Type {
	if k == nil || k.lazy == nil {
		return nil
	}
	k.lazy.once.Do(func() {
		if k.lazy.load != nil {
			k.lazy.root = k.lazy.load()
		}
	})
	return k.lazy.root
}
