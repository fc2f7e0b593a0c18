package mapolicy

import (
	"github.com/preadmit/preadmit/engine/internal/admission"
	"github.com/preadmit/preadmit/engine/internal/celenv"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/policy"
)

// input returns the input of the invocation's expressions.
func (i *invocation) input(r *policy.Request, namespace func() map[string]any) celenv.Input {
	input := celenv.Input{
		Object:     i.object(r.Object),
		Params:     i.param,
		Namespace:  namespace,
		Request:    func() map[string]any { return r.Attributes(i.kind, i.kind) },
		Authorizer: i.program.authorizer,
	}
	if r.OldObject != nil {
		input.OldObject = i.object(r.OldObject)
	} else {
		input.OldUnknown = r.Operation == policy.Update
	}
	return input
}

// goValuesSince is the first minor version whose servers give Go values to expressions.
const goValuesSince = 37

// reads notes that expressions of the invocation ask for the objects in a form, and returns the
// forms that they get. Objects in another version have their own forms.
func (i *invocation) reads(r *policy.Request, as celenv.Form) *celenv.Forms {
	forms := &r.Forms
	if i.program.minor < goValuesSince {
		return forms
	}
	if i.kind != r.Kind {
		forms = &celenv.Forms{}
	}
	forms.Read(as)
	return forms
}

// shapes returns the Go types of the variables that the server gives as Go values.
func (i *invocation) shapes(forms *celenv.Forms) celenv.Shapes {
	minor := i.program.minor
	if minor < goValuesSince {
		return celenv.Shapes{}
	}
	shapes := celenv.Shapes{Params: i.paramShape, Namespace: admission.NamespaceShape(minor), Request: admission.RequestShape(minor)}
	object := admission.ShapeOf(i.kind)
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

// paramShape returns the Go type of params of a kind; the kind may be nil.
func paramShape(kind *schema.Kind, minor int) admission.Shape {
	if kind == nil || minor < goValuesSince || withoutInformer[kind.Group] {
		return admission.Shape{}
	}
	return admission.ShapeOf(kind)
}
