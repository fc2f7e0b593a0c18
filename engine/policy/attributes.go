package policy

import (
	"fmt"
	"maps"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/match"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/internal/unknown"
	"github.com/preadmit/preadmit/engine/source"
)

// Matches matches the request against a match block. at and who, the author of the block, are for
// the warning about a namespace that was not given.
func (r *Request) Matches(resources *match.Resources, at source.Position, who string) match.Decision {
	return r.MatchesBy(resources, func(name string) (map[string]string, error) { return r.NamespaceLabels(name, at, who) })
}

// MatchesBy matches the request against a match block, with a function for the labels of
// namespaces.
func (r *Request) MatchesBy(resources *match.Resources, labels func(namespace string) (map[string]string, error)) match.Decision {
	attributes := r.attributes()
	attributes.NamespaceLabels = labels
	return resources.Matches(attributes)
}

// NamespaceLabels returns the labels of a namespace. If the namespace was not given, it warns that
// who, at the position at, selects namespaces by label.
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

// Covered reports whether the rules of a match block cover the request.
func (r *Request) Covered(resources *match.Resources) bool { return resources.Covers(r.attributes()) }

func (r *Request) attributes() match.Request {
	return match.Request{
		Kind: r.Kind, Namespace: r.Namespace, Name: r.Name, Operation: string(r.Operation),
		Object: r.Object, OldObject: r.OldObject, Schemas: r.Schemas, Unknown: unknown.In(r.Context),
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

// WarnAssumed warns that a policy has read a namespace that was not given.
func (r *Request) WarnAssumed(namespace string, at source.Position, why string) {
	r.Warn(source.Warningf(at, "namespace-assumed",
		"%s, but there is no Namespace %q in the input; it is assumed to have only the label kubernetes.io/metadata.name", source.Name(why), source.Name(namespace)).
		With("give the Namespace object as context"))
}

// InVersion returns a custom resource in another version. Only the apiVersion changes, as in a
// conversion without a webhook.
func InVersion(object map[string]any, kind *schema.Kind) map[string]any {
	if object["apiVersion"] == kind.APIVersion() {
		return object
	}
	object = maps.Clone(object)
	object["apiVersion"] = kind.APIVersion()
	return object
}

// Attributes returns the JSON form of the AdmissionRequest, without empty fields and without the
// objects. kind is the kind that the policy has matched, and resource the kind whose resource is
// given.
func (r *Request) Attributes(kind, resource *schema.Kind) map[string]any {
	request := map[string]any{
		"uid":             "",
		"kind":            kindOf(kind),
		"resource":        resourceOf(resource),
		"requestKind":     kindOf(r.Kind),
		"requestResource": resourceOf(r.Kind),
		"operation":       string(r.Operation),
		"userInfo":        r.User.Info(),
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

// Info returns the JSON form of UserInfo.
func (u User) Info() map[string]any {
	info := map[string]any{}
	if u.Name != "" {
		info["username"] = u.Name
	}
	if u.UID != "" {
		info["uid"] = u.UID
	}
	if len(u.Groups) > 0 {
		info["groups"] = change.List(u.Groups)
	}
	if len(u.Extra) > 0 {
		extra := make(map[string]any, len(u.Extra))
		for key, values := range u.Extra {
			extra[key] = change.List(values)
		}
		info["extra"] = extra
	}
	return info
}

// options returns the CreateOptions or UpdateOptions of the request.
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

// FalseCondition is the reason that a matchCondition is false.
type FalseCondition struct {
	Index int
	Name  string
	// AsksOperation means that the condition reads the operation of the request.
	AsksOperation bool
}

// String implements fmt.Stringer.
func (c FalseCondition) String() string {
	return fmt.Sprintf("matchConditions[%d] %q is false", c.Index, c.Name)
}

// IsOutOfScope reports whether the policy or rule does not match the object, because of a match
// block and not because of a condition, an exception or the patch.
func (n NotApplied) IsOutOfScope() bool {
	reason := n.Reason
	if by, ok := reason.(ByOperation); ok {
		reason = by.Stringer
	}
	_, is := reason.(interface{ IsOutOfScope() })
	return is
}

// Passes reports whether the reason is an exception that Kyverno reports as passed.
func (n NotApplied) Passes() bool {
	x, ok := n.Reason.(Excepted)
	return ok && x.Passes
}

// Excepted is the reason that a PolicyException applies. Passes means that Kyverno reports the
// policy as passed, not as skipped.
type Excepted struct {
	Name   string
	Passes bool
}

// String implements fmt.Stringer.
func (x Excepted) String() string { return "PolicyException " + x.Name + " excepts the object" }

// OutOfScope is the reason that a match block does not match, as text.
type OutOfScope string

// String implements fmt.Stringer.
func (s OutOfScope) String() string { return string(s) }

// IsOutOfScope marks the reason as that of a match block.
func (OutOfScope) IsOutOfScope() {}

// Unmatched is the reason that a match block does not match, with the name of the block.
type Unmatched struct {
	Block  string
	Reason match.Reason
}

// String implements fmt.Stringer.
func (u Unmatched) String() string { return u.Block + ": " + u.Reason.String() }

// IsOutOfScope marks the reason as that of a match block.
func (Unmatched) IsOutOfScope() {}

// ByOperation is a Reason that may not hold for another operation.
type ByOperation struct{ fmt.Stringer }

// IsByOperation reports whether a Reason may not hold for another operation.
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

// AsksOperation reports whether an expression reads the operation of the request.
func AsksOperation(expression string) bool { return strings.Contains(expression, "request.operation") }
