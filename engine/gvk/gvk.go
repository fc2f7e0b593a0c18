// Package gvk names kinds and resources the way the Kubernetes API does: by
// group, version and kind, or by group, version and plural resource. It imports
// nothing of ours and holds no knowledge of which kinds exist; package schema has
// that.
package gvk

import "strings"

// Kind names a type of object. The core group is the empty string.
type Kind struct {
	Group, Version, Kind string
}

// Parse splits the apiVersion of a manifest ("apps/v1", "v1") and joins it with
// its kind. It does not check that either is well formed.
func Parse(apiVersion, kind string) Kind {
	group, version, found := strings.Cut(apiVersion, "/")
	if !found {
		group, version = "", apiVersion
	}
	return Kind{Group: group, Version: version, Kind: kind}
}

// APIVersion is the apiVersion field of a manifest of this kind.
func (k Kind) APIVersion() string {
	if k.Group == "" {
		return k.Version
	}
	return k.Group + "/" + k.Version
}

// String prints the kind as the API server does in its messages:
// "apps/v1, Kind=Deployment", "/v1, Kind=Pod".
func (k Kind) String() string {
	return k.Group + "/" + k.Version + ", Kind=" + k.Kind
}

// Plural guesses the name of the resource of a kind, as generators of definitions do.
func (k Kind) Plural() string {
	name := strings.ToLower(k.Kind)
	switch {
	case strings.HasSuffix(name, "s"), strings.HasSuffix(name, "x"), strings.HasSuffix(name, "ch"):
		return name + "es"
	case strings.HasSuffix(name, "y"):
		return strings.TrimSuffix(name, "y") + "ies"
	}
	return name + "s"
}

// ID names an object of the kind for people: "apps/Deployment/shop/web", "Namespace/shop".
func (k Kind) ID(namespace, name string) string {
	id := k.Kind + "/"
	if k.Group != "" {
		id = k.Group + "/" + id
	}
	if namespace != "" {
		id += namespace + "/"
	}
	return id + name
}

// IsIdentity says that a kind is a name, as package source asks.
func (Kind) IsIdentity() {}

// Resource names a collection of objects by its lower-case plural.
type Resource struct {
	Group, Version, Resource string
}

// String prints the resource as the API server does in its messages:
// "apps/v1, Resource=deployments", "/v1, Resource=pods".
func (r Resource) String() string {
	return r.Group + "/" + r.Version + ", Resource=" + r.Resource
}
