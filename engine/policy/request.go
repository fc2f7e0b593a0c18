package policy

import (
	"context"
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/internal/snapshot"
	"github.com/preadmit/preadmit/engine/source"
)

// Operation is what the request does to the object.
type Operation string

// The operations that reach mutating policies with an object.
const (
	Create Operation = "CREATE"
	Update Operation = "UPDATE"
)

// User is who makes the request.
type User struct {
	Name, UID string
	Groups    []string
	Extra     map[string][]string
}

// Request is the request for one manifest, as policies see it.
type Request struct {
	Context context.Context
	// Kind is the kind of the object. It has a schema, if only for its metadata.
	Kind *schema.Kind
	// Name is empty if the server is to generate one. Namespace is that of the
	// object, or its own name if it is a Namespace, as on the API server.
	Name, Namespace string
	Operation       Operation
	DryRun          bool
	User            User
	// Reinvocation says that the policies run a second time, because an object changed.
	Reinvocation bool
	// Memo knows what has been found out about objects of the job; it may be nil.
	Memo *change.Memo
	// Object is the object in its admission view. The engine replaces it between
	// steps; nobody modifies it.
	Object map[string]any
	// OldObject is the stored object of an update; nil otherwise, or if it is not
	// known.
	OldObject map[string]any

	Schemas  *schema.Registry
	Snapshot *snapshot.Reader
	// Warn tells the user something that does not stop the request.
	Warn func(source.Diagnostic)
}

// NamespaceObject returns the Namespace object that policies see: nil for objects
// without a namespace, and for Namespaces themselves. A namespace that nobody
// described is assumed to exist; known is then false.
func (r *Request) NamespaceObject() (object map[string]any, known bool, err error) {
	if !r.Kind.Namespaced || r.Namespace == "" {
		return nil, true, nil
	}
	return r.Snapshot.Namespace(r.Namespace)
}

// hidden are the kinds of objects that an API server sends to no webhook.
var hidden = []string{
	"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
	"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding",
}

// IsHidden reports whether an API server hides objects of a kind from webhooks.
func IsHidden(kind gvk.Kind) bool {
	return kind.Group == "admissionregistration.k8s.io" && slices.Contains(hidden, kind.Kind)
}
