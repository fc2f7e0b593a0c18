package match

import (
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/schema"
)

// rule is a resource rule (NamedRuleWithOperations in the API).
type rule struct {
	// at is where the rule is: "resourceRules[0]".
	at string
	// The lists of what the rule covers; "*" is everything.
	operations, groups, versions, resources []string
	// scope is Cluster, Namespaced or *.
	scope string
	// names are those of the objects that the rule covers; none means all.
	names []string
	// prefixes: see Host.
	prefixes bool
}

// concerns reports whether the rule covers the group and version of a kind.
func (r *rule) concerns(kind *schema.Kind) bool {
	return includes(r.groups, kind.Group) && includes(r.versions, kind.Version)
}

func includes(items []string, item string) bool {
	return slices.Contains(items, "*") || slices.Contains(items, item)
}

// check holds everything but group and version against a request. It returns
// covered, or the first code that says why the rule does not cover the request.
func (r *rule) check(q *Request) Code {
	resource := r.resource(q)
	switch {
	case resource == NoRule:
		return NoRule
	case !includes(r.operations, q.Operation):
		return OtherOperation
	case r.scope == "Cluster" && isNamespaced(q), r.scope == "Namespaced" && !isNamespaced(q):
		return OtherScope
	case len(r.names) > 0 && !r.isNamed(q):
		return OtherName
	}
	return resource
}

func (r *rule) isNamed(q *Request) bool {
	if q.Name != "" || !r.prefixes {
		return slices.Contains(r.names, q.Name)
	}
	metadata, _ := q.Object["metadata"].(map[string]any)
	prefix, _ := metadata["generateName"].(string)
	return slices.ContainsFunc(r.names, func(name string) bool { return strings.HasPrefix(prefix, name) })
}

// resource compares the resource: "pods" is without subresources, "*" too; "pods/*"
// is with and without them, "*/scale" is one of any resource.
func (r *rule) resource(q *Request) Code {
	result := NoRule
	for _, resource := range r.resources {
		name, sub, _ := strings.Cut(resource, "/")
		switch {
		case sub != "*" && sub != q.Subresource:
		case name == "*", q.Kind.Resource != "" && name == q.Kind.Resource:
			return covered
		case q.Kind.Resource == "":
			result = UnknownResource
		}
	}
	return result
}

// isNamespaced reports whether the request is about an object in a namespace. That
// of a Namespace names it as its own namespace.
func isNamespaced(q *Request) bool {
	resource := gvk.Resource{Group: q.Kind.Group, Version: q.Kind.Version, Resource: q.Kind.Resource}
	return q.Namespace != "" && resource != gvk.Resource{Version: "v1", Resource: "namespaces"}
}
