package match

import (
	"fmt"
	"strings"
)

// Code is the kind of a Reason.
type Code int

// Why a request does not match. Of several rules, the one that gets furthest in this
// order gives the reason.
const (
	covered Code = iota
	// NoRule means that no rule is about the resource.
	NoRule
	// OtherOperation means that a rule is about the resource, but not for the
	// request's operation.
	OtherOperation
	// OtherScope means that a rule asks for another scope.
	OtherScope
	// OtherName means that a rule is about objects with other names.
	OtherName
	// UnknownResource means that there is no telling whether a rule is about the
	// kind, since its resource is not known.
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

// identity is what a Reason says of a request. It keeps no object: reasons outlive what
// policies make of one.
func (r *Request) identity() Request {
	about := *r
	about.Object, about.OldObject, about.NamespaceLabels = nil, nil, nil
	return about
}

// String explains the reason in a clause that begins with the field of the match
// block: "resourceRules: none covers apps/v1 deployments CREATE". It holds no values
// of the object but its kind, name and namespace.
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

// resource names the resource of a request: "apps/v1 deployments/scale", or the kind
// where that is all there is.
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

// lacks says what is wrong with labels that do not meet a requirement.
func lacks(unmet *requirement) string {
	switch unmet.operator {
	case "DoesNotExist":
		return "has the label " + unmet.key
	case "NotIn":
		return "has a label " + strings.Replace(unmet.String(), " notin ", " in ", 1)
	}
	return "has no label " + unmet.String()
}
