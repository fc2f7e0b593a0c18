package policy

import (
	"fmt"
	"maps"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/match"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/source"
)

// Matches asks a match block about the request; who looks at the namespace, and where
// that is written, is for the warning about one that nobody described.
func (r *Request) Matches(resources *match.Resources, at source.Position, who string) match.Decision {
	return r.MatchesBy(resources, func(name string) (map[string]string, error) { return r.NamespaceLabels(name, at, who) })
}

// MatchesBy asks a match block about the request, with the labels of namespaces.
func (r *Request) MatchesBy(resources *match.Resources, labels func(namespace string) (map[string]string, error)) match.Decision {
	attributes := r.attributes()
	attributes.NamespaceLabels = labels
	return resources.Matches(attributes)
}

// NamespaceLabels returns the labels of a namespace, for who selects namespaces by them.
func (r *Request) NamespaceLabels(name string, at source.Position, who string) (map[string]string, error) {
	r.Snapshot.Ask()
	object, known, err := r.Snapshot.Namespace(name)
	if err != nil {
		return nil, err
	}
	if !known {
		r.WarnAssumed(name, at, who+" selects namespaces by label")
	}
	return LabelsOf(object), nil
}

// Covered reports whether the rules of a match block are about the request.
func (r *Request) Covered(resources *match.Resources) bool { return resources.Covers(r.attributes()) }

func (r *Request) attributes() match.Request {
	return match.Request{
		Kind: r.Kind, Namespace: r.Namespace, Name: r.Name, Operation: string(r.Operation),
		Object: r.Object, OldObject: r.OldObject, Schemas: r.Schemas,
	}
}

// LabelsOf returns the labels of an object.
func LabelsOf(object map[string]any) map[string]string {
	value, _ := change.Keys("metadata", "labels").Get(object)
	object, _ = value.(map[string]any)
	labels := make(map[string]string, len(object))
	for key, value := range object {
		labels[key], _ = value.(string)
	}
	return labels
}

// WarnAssumed says that a policy looked at a namespace that nobody described.
func (r *Request) WarnAssumed(namespace string, at source.Position, why string) {
	r.Warn(source.Warningf(at, "namespace-assumed",
		"%s, but there is no Namespace %q in the input; it is assumed to have only the label kubernetes.io/metadata.name", why, namespace).
		With("give the Namespace object as context"))
}

// InVersion gives a custom resource another version: they are the same in every
// version but for their apiVersion, as far as conversion without a webhook goes.
func InVersion(object map[string]any, kind *schema.Kind) map[string]any {
	if object["apiVersion"] == kind.APIVersion() {
		return object
	}
	object = maps.Clone(object)
	object["apiVersion"] = kind.APIVersion()
	return object
}

// Attributes is the JSON form of the AdmissionRequest, without the fields that are empty
// there, and without the objects: kind is that under which the policy matched, resource
// that of the kind given.
func (r *Request) Attributes(kind, resource *schema.Kind) map[string]any {
	request := map[string]any{
		"uid":             "",
		"kind":            kindOf(kind),
		"resource":        resourceOf(resource),
		"requestKind":     kindOf(r.Kind),
		"requestResource": resourceOf(r.Kind),
		"operation":       string(r.Operation),
		"userInfo":        r.User.info(),
		"object":          nil,
		"oldObject":       nil,
		"dryRun":          r.DryRun,
		"options":         r.options(),
	}
	if r.Name != "" {
		request["name"] = r.Name
	}
	if r.Namespace != "" {
		request["namespace"] = r.Namespace
	}
	return request
}

func kindOf(k *schema.Kind) map[string]any {
	return map[string]any{"group": k.Group, "version": k.Version, "kind": k.Kind.Kind}
}

func resourceOf(k *schema.Kind) map[string]any {
	return map[string]any{"group": k.Group, "version": k.Version, "resource": k.Resource}
}

// info is the JSON form of UserInfo.
func (u User) info() map[string]any {
	info := map[string]any{}
	if u.Name != "" {
		info["username"] = u.Name
	}
	if u.UID != "" {
		info["uid"] = u.UID
	}
	if len(u.Groups) > 0 {
		info["groups"] = texts(u.Groups)
	}
	if len(u.Extra) > 0 {
		extra := make(map[string]any, len(u.Extra))
		for key, values := range u.Extra {
			extra[key] = texts(values)
		}
		info["extra"] = extra
	}
	return info
}

// options are the CreateOptions or UpdateOptions of the request.
func (r *Request) options() map[string]any {
	kind := "CreateOptions"
	if r.Operation == Update {
		kind = "UpdateOptions"
	}
	options := map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": kind}
	if r.DryRun {
		options["dryRun"] = []any{"All"}
	}
	return options
}

func texts(values []string) []any {
	list := make([]any, len(values))
	for i, value := range values {
		list[i] = value
	}
	return list
}

// FalseCondition is the reason of a matchCondition that is false.
type FalseCondition struct {
	Index int
	Name  string
	// AsksOperation says that the condition asks for the operation of the request.
	AsksOperation bool
}

// String implements fmt.Stringer.
func (c FalseCondition) String() string {
	return fmt.Sprintf("matchConditions[%d] %q is false", c.Index, c.Name)
}

// IsOutOfScope reports whether the policy or the rule is not about the object: what it
// matches says so, not a condition, an exception or the patch.
func (n NotApplied) IsOutOfScope() bool {
	reason := n.Reason
	if by, ok := reason.(ByOperation); ok {
		reason = by.Stringer
	}
	switch reason.(type) {
	case Unmatched, OutOfScope:
		return true
	}
	return false
}

// Passes reports whether an exception is the reason that has it reported as a success.
func (n NotApplied) Passes() bool {
	x, ok := n.Reason.(Excepted)
	return ok && x.Passes
}

// Excepted is the reason that a PolicyException gives. Passes says that Kyverno reports the
// policy as passed, not as skipped.
type Excepted struct {
	Name   string
	Passes bool
}

// String implements fmt.Stringer.
func (x Excepted) String() string { return "PolicyException " + x.Name + " excepts the object" }

// OutOfScope is a reason in words that a match block gives.
type OutOfScope string

// String implements fmt.Stringer.
func (s OutOfScope) String() string { return string(s) }

// Unmatched is the reason that a match block gives.
type Unmatched struct {
	Block  string
	Reason match.Reason
}

// String implements fmt.Stringer.
func (u Unmatched) String() string { return u.Block + ": " + u.Reason.String() }

// ByOperation is a Reason that a request of another operation may not give.
type ByOperation struct{ fmt.Stringer }

// IsByOperation reports whether a request of another operation may not give a Reason.
func IsByOperation(reason fmt.Stringer) bool {
	switch reason := reason.(type) {
	case ByOperation:
		return true
	case FalseCondition:
		return reason.AsksOperation
	case Unmatched:
		return reason.Reason.Code == match.OtherOperation
	}
	return false
}

// AsksOperation reports whether an expression asks for the operation of the request.
func AsksOperation(expression string) bool { return strings.Contains(expression, "request.operation") }
