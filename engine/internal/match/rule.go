package match

import (
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/schema"
)

// rule is a resource rule (NamedRuleWithOperations in the API).
type rule struct {
	// at is the path of the rule: "resourceRules[0]".
	at string
	// The lists that the rule covers; "*" is everything.
	operations, groups, versions, resources []string
	// scope is Cluster, Namespaced or *.
	scope string
	// names are the names of the objects that the rule covers; an empty list covers all.
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

// check compares everything but group and version with a request. It returns covered, or the
// first code that says why the rule does not cover the request.
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
		return q.Unknown.Decide(slices.Contains(r.names, q.Name), q.Name)
	}
	metadata, _ := q.Object["metadata"].(map[string]any)
	prefix, _ := metadata["generateName"].(string)
	return q.Unknown.Decide(slices.ContainsFunc(r.names, func(name string) bool { return strings.HasPrefix(prefix, name) }), prefix)
}

// resource compares the resource. "pods" and "*" do not cover subresources, "pods/*" covers pods
// with and without subresources, and "*/scale" covers the subresource of every resource.
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

// isNamespaced reports whether the request is for an object in a namespace. A request for a
// Namespace has the Namespace as its namespace, but is not namespaced.
func isNamespaced(q *Request) bool {
	resource := gvk.Resource{Group: q.Kind.Group, Version: q.Kind.Version, Resource: q.Kind.Resource}
	return q.Namespace != "" && resource != gvk.Resource{Version: "v1", Resource: "namespaces"}
}
