package admissionpolicy

import (
	"github.com/preadmit/preadmit/engine/internal/admission"
	"github.com/preadmit/preadmit/engine/internal/celenv"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/policy"
)

// Input returns the input of the application's expressions. namespace returns the variable
// namespaceObject; it may be nil.
func (a *Application) Input(r *policy.Request, namespace func() map[string]any) celenv.Input {
	input := celenv.Input{
		Object:     a.InVersion(r.Object),
		Params:     a.Param,
		Namespace:  namespace,
		Request:    func() map[string]any { return r.Attributes(a.Kind, a.Kind) },
		Authorizer: a.language.Authorizer,
	}
	if r.OldObject != nil {
		input.OldObject = a.InVersion(r.OldObject)
	} else {
		input.OldUnknown = r.Operation == policy.Update
	}
	return input
}

// InVersion returns an object in the version in which the policy matched it. The version of custom
// resources is all that changes.
func (a *Application) InVersion(object map[string]any) map[string]any {
	return policy.InVersion(object, a.Kind)
}

// goValuesSince is the first minor version whose servers give Go values to expressions.
const goValuesSince = 37

// Reads notes that expressions of the application ask for the objects in a form, and returns the
// forms that they get. Objects in another version have their own forms.
func (a *Application) Reads(r *policy.Request, as celenv.Form) *celenv.Forms {
	forms := &r.Forms
	if a.language.Minor < goValuesSince {
		return forms
	}
	if a.Kind != r.Kind {
		forms = &celenv.Forms{}
	}
	forms.Read(as)
	return forms
}

// GoTypes returns the Go types of the variables that the server gives as Go values.
func (a *Application) GoTypes(forms *celenv.Forms) celenv.GoTypes {
	minor := a.language.Minor
	if minor < goValuesSince {
		return celenv.GoTypes{}
	}
	shapes := celenv.GoTypes{Params: a.paramType, Namespace: admission.NamespaceGoType(minor), Request: admission.RequestGoType(minor)}
	object := admission.GoTypeOf(a.Kind)
	if forms.Object == celenv.AsGo {
		shapes.Object = object
	}
	if forms.OldObject == celenv.AsGo {
		shapes.OldObject = object
	}
	return shapes
}

// withoutInformer are groups of built-in kinds without types in k8s.io/client-go. The server
// reads params of these kinds as JSON.
var withoutInformer = map[string]bool{"apiextensions.k8s.io": true, "apiregistration.k8s.io": true}

// paramType returns the Go type of params of a kind; the kind may be nil.
func paramType(kind *schema.Kind, minor int) admission.GoType {
	if kind == nil || minor < goValuesSince || withoutInformer[kind.Group] {
		return admission.GoType{}
	}
	return admission.GoTypeOf(kind)
}
