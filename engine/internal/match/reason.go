package match

import (
	"fmt"
	"strings"
)

// Code is the kind of a Reason.
type Code int

// The reasons why a request does not match. If several rules do not match, the rule with the
// highest code gives the reason.
const (
	covered Code = iota
	// NoRule means that no rule covers the resource.
	NoRule
	// OtherOperation means that a rule covers the resource, but not the operation of the
	// request.
	OtherOperation
	// OtherScope means that a rule requires another scope.
	OtherScope
	// OtherName means that a rule covers objects with other names.
	OtherName
	// UnknownResource means that it is unknown whether a rule covers the kind, because the
	// resource of the kind is not known.
	UnknownResource
	// Excluded means that a rule excludes the request.
	Excluded
	// ObjectSelector means that the object's labels do not match.
	ObjectSelector
	// NamespaceSelector means that the namespace's labels do not match.
	NamespaceSelector
)

// Reason says why a request does not match.
type Reason struct {
	Code Code

	request Request
	rule    *rule
	unmet   *requirement
}

// identity returns the part of a request that a Reason prints. It has no object: a Reason may be
// kept longer than the object.
func (r *Request) identity() Request {
	about := *r
	about.Object, about.OldObject, about.NamespaceLabels = nil, nil, nil
	return about
}

// String explains the reason in a clause that begins with the field of the match block:
// "resourceRules: none covers apps/v1 deployments CREATE". The clause contains only the kind,
// name and namespace of the object.
func (r Reason) String() string {
	q := &r.request
	switch r.Code {
	case NoRule:
		return fmt.Sprintf("resourceRules: none covers %s %s", resource(q), q.Operation)
	case OtherOperation:
		return fmt.Sprintf("%s covers %s, but only for %s, not %s",
			r.rule.at, resource(q), strings.Join(r.rule.operations, ", "), q.Operation)
	case OtherScope:
		if isNamespaced(q) {
			return fmt.Sprintf("%s has scope %s, but the object is in namespace %q", r.rule.at, r.rule.scope, q.Namespace)
		}
		return fmt.Sprintf("%s has scope %s, but the object has no namespace", r.rule.at, r.rule.scope)
	case OtherName:
		if q.Name == "" {
			return fmt.Sprintf("%s has resourceNames, but the object has no name yet", r.rule.at)
		}
		return fmt.Sprintf("%s has resourceNames without %q", r.rule.at, q.Name)
	case UnknownResource:
		return fmt.Sprintf("%s may cover %s, whose resource is not known: give its CustomResourceDefinition", r.rule.at, q.Kind.Kind)
	case Excluded:
		return fmt.Sprintf("%s covers %s %s", r.rule.at, resource(q), q.Operation)
	case ObjectSelector:
		return "objectSelector: the object " + lacks(r.unmet)
	case NamespaceSelector:
		return fmt.Sprintf("namespaceSelector: namespace %q %s", q.Namespace, lacks(r.unmet))
	}
	return ""
}

// resource names the resource of a request: "apps/v1 deployments/scale", or the kind if the
// resource is not known.
func resource(q *Request) string {
	if q.Kind.Resource == "" {
		return q.Kind.Kind.String()
	}
	text := q.Kind.APIVersion() + " " + q.Kind.Resource
	if q.Subresource != "" {
		text += "/" + q.Subresource
	}
	return text
}

// lacks describes why labels do not meet a requirement.
func lacks(unmet *requirement) string {
	switch unmet.operator {
	case "DoesNotExist":
		return "has the label " + unmet.key
	case "NotIn":
		return "has a label " + strings.Replace(unmet.String(), " notin ", " in ", 1)
	}
	return "has no label " + unmet.String()
}
