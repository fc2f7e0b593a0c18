package policy

import (
	"context"
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/celenv"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/internal/snapshot"
	"github.com/preadmit/preadmit/engine/redact"
	"github.com/preadmit/preadmit/engine/source"
)

// Operation is the operation of the request.
type Operation string

// The operations for which mutating policies get an object.
const (
	Create Operation = "CREATE"
	Update Operation = "UPDATE"
)

// User is the user who makes the request.
type User struct {
	Name, UID string
	Groups    []string
	Extra     map[string][]string
}

// Request is the request for one manifest, as policies see it.
type Request struct {
	Context context.Context
	// Kind is the kind of the object. It has a schema, at least for metadata.
	Kind *schema.Kind
	// Name is empty if the server generates the name. Namespace is the namespace of the object, or
	// for a Namespace its own name, as on the API server.
	Name, Namespace string
	Operation       Operation
	DryRun          bool
	User            User
	// Reinvocation means that the policies run a second time because the object has changed.
	Reinvocation bool
	// Memo has facts about the objects of the job. It may be nil.
	Memo *change.Memo
	// Object is the object in its admission view. The engine replaces it between steps. It must not
	// be modified.
	Object map[string]any
	// OldObject is the stored object of an update. It is nil for other operations, or if it is
	// unknown.
	OldObject map[string]any
	// Forms are how a server holds Object and OldObject for expressions.
	Forms celenv.Forms

	Schemas  *schema.Registry
	Snapshot *snapshot.Reader
	// Written is the object as its author wrote it; nil if nobody did.
	Written map[string]any
	// Secrets hides the values that the Secrets of the input have.
	Secrets *redact.Redactor
	// Warn reports a diagnostic that does not stop the request.
	Warn func(source.Diagnostic)
}

// NamespaceObject returns the Namespace object that policies see, or nil for cluster-scoped objects
// and for Namespaces. A namespace that was not given is assumed to exist; known is then false.
func (r *Request) NamespaceObject() (object map[string]any, known bool, err error) {
	if !r.Kind.Namespaced || r.Namespace == "" {
		return nil, true, nil
	}
	return r.Snapshot.Namespace(r.Namespace)
}

// hidden lists the kinds of objects that an API server does not send to webhooks.
var hidden = []string{
	"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
	"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding",
}

// IsHidden reports whether an API server hides objects of a kind from webhooks.
func IsHidden(kind gvk.Kind) bool {
	return kind.Group == "admissionregistration.k8s.io" && slices.Contains(hidden, kind.Kind)
}
