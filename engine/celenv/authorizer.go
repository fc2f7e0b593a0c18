package celenv

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// Authorizer is the answer to every question that an expression asks the variable
// authorizer: who may do what is known to a cluster only.
type Authorizer int

// The answers. Asking a NoAuthorizer makes the expression fail.
const (
	NoAuthorizer Authorizer = iota
	AllowAll
	DenyAll
)

var errNoAuthorizer = errors.New("the authorizer was asked, but what a user may do is known to the cluster only; say what it answers with the option authorizer (allow or deny)")

// anyone stands for the user: the answers depend on nobody.
var anyone = &user.DefaultInfo{}

// answering is the authorizer of an activation.
type answering Activation

// Authorize implements authorizer.Authorizer.
func (a *answering) Authorize(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	switch a.input.Authorizer {
	case AllowAll:
		return authorizer.DecisionAllow, "", nil
	case DenyAll:
		return authorizer.DecisionDeny, "", nil
	default:
		a.refusal = errNoAuthorizer
		return authorizer.DecisionNoOpinion, "", errNoAuthorizer
	}
}

// requested is the resource of the request, for authorizer.requestResource.
type requested Activation

func (r *requested) text(names ...string) string {
	var value any = (*Activation)(r).requestObject()
	for _, name := range names {
		object, _ := value.(map[string]any)
		value = object[name]
	}
	text, _ := value.(string)
	return text
}

// GetName implements library.Resource.
func (r *requested) GetName() string { return r.text("name") }

// GetNamespace implements library.Resource.
func (r *requested) GetNamespace() string { return r.text("namespace") }

// GetSubresource implements library.Resource.
func (r *requested) GetSubresource() string { return r.text("subResource") }

// GetResource implements library.Resource.
func (r *requested) GetResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{
		Group:    r.text("resource", "group"),
		Version:  r.text("resource", "version"),
		Resource: r.text("resource", "resource"),
	}
}
