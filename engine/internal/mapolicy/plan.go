package mapolicy

import (
	"fmt"
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/admission"
	"github.com/preadmit/preadmit/engine/internal/match"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// invocation is a policy applied through a binding with a param, which may be nil, to a request.
// It implements policy.Invocation.
type invocation struct {
	*definition
	program *program
	binding *binding
	id      policy.ID
	param   map[string]any
	// paramShape is the Go type that the server has for the param.
	paramShape admission.Shape
	// kind is the kind under which the policy matched. With matchPolicy Equivalent it may be
	// another version of the request's kind.
	kind *schema.Kind
}

// unreached are resources that the API server hides from admission policies.
var unreached = map[gvk.Resource]bool{
	{Group: "authentication.k8s.io", Resource: "selfsubjectreviews"}:       true,
	{Group: "authentication.k8s.io", Resource: "tokenreviews"}:             true,
	{Group: "authorization.k8s.io", Resource: "localsubjectaccessreviews"}: true,
	{Group: "authorization.k8s.io", Resource: "selfsubjectaccessreviews"}:  true,
	{Group: "authorization.k8s.io", Resource: "selfsubjectrulesreviews"}:   true,
	{Group: "authorization.k8s.io", Resource: "subjectaccessreviews"}:      true,
	{Group: group, Resource: "validatingadmissionpolicies"}:                true,
	{Group: group, Resource: "validatingadmissionpolicybindings"}:          true,
	{Group: group, Resource: "mutatingadmissionpolicies"}:                  true,
	{Group: group, Resource: "mutatingadmissionpolicybindings"}:            true,
}

// Hides reports whether an API server hides the objects of a kind from policies.
func Hides(kind *schema.Kind) bool {
	return unreached[gvk.Resource{Group: kind.Group, Resource: kind.Resource}]
}

// Plan implements policy.Program.
func (p *program) Plan(r *policy.Request) policy.Plan {
	var plan policy.Plan
	if Hides(r.Kind) {
		return plan
	}
	for _, d := range p.definitions {
		p.planDefinition(d, r, &plan)
	}
	return plan
}

// Covers implements policy.Program.
func (p *program) Covers(r *policy.Request) bool {
	if Hides(r.Kind) {
		return false
	}
	return slices.ContainsFunc(p.definitions, func(d *definition) bool { return r.Covered(d.constraints) })
}

func (p *program) planDefinition(d *definition, r *policy.Request, plan *policy.Plan) {
	decision := d.match(d.constraints, r)
	if decision.Reason.Code == match.UnknownResource {
		r.Warn(source.Warningf(d.at, "resource-unknown", "policy %s: %s", d.name, decision.Reason))
	}
	switch {
	case decision.Err != nil:
		plan.Failures = append(plan.Failures, d.failure(nil, fmt.Errorf("failed to configure policy: %w", decision.Err)))
		return
	case !decision.Matched:
		plan.NotApplied = append(plan.NotApplied, policy.NotApplied{
			ID: policy.ID{Policy: d.name}, At: d.at, Reason: policy.Unmatched{Block: "matchConstraints", Reason: decision.Reason},
		})
		return
	}
	paramKind, err := d.resolveParamKind(r)
	if err != nil {
		plan.Failures = append(plan.Failures, d.failure(nil, fmt.Errorf("failed to configure policy: %w", err)))
		return
	}
	for _, b := range d.bindings {
		p.planBinding(d, b, paramKind, decision, r, plan)
	}
}

func (p *program) planBinding(d *definition, b *binding, paramKind *schema.Kind, decision match.Decision, r *policy.Request, plan *policy.Plan) {
	fail := func(err error) {
		plan.Failures = append(plan.Failures, d.failure(b, fmt.Errorf("failed to configure binding: %w", err)))
	}
	skip := func(reason fmt.Stringer) {
		plan.NotApplied = append(plan.NotApplied, policy.NotApplied{
			ID: policy.ID{Policy: d.name, Binding: b.name}, At: b.document.At(change.Keys("spec")), Reason: reason,
		})
	}
	if b.resources != nil {
		switch bound := d.match(b.resources, r); {
		case bound.Err != nil:
			fail(bound.Err)
			return
		case !bound.Matched:
			skip(policy.Unmatched{Block: "matchResources of the binding", Reason: bound.Reason})
			return
		}
	}
	params, err := d.params(b, paramKind, r)
	if err != nil {
		fail(err)
		return
	}
	if len(params) == 0 {
		skip(policy.Text("there are no params, and parameterNotFoundAction is Allow"))
		r.Warn(source.Warningf(b.document.At(change.Keys("spec", "paramRef")), "param-not-found",
			"policy %s, binding %s: there is no %s, so the policy does nothing, as parameterNotFoundAction Allow says", d.name, b.name, b.params.describe(paramKind)).
			With("give the param as context, or among the manifests"))
	}
	for _, param := range params {
		plan.Invocations = append(plan.Invocations, &invocation{
			definition: d, program: p, binding: b, param: param, paramShape: paramShape(paramKind, p.minor), kind: decision.Kind,
			id: policy.ID{Policy: d.name, Binding: b.name, Param: objectName(param)},
		})
	}
}

// match matches the request with a match block of the policy, or of a binding to it.
func (d *definition) match(resources *match.Resources, r *policy.Request) match.Decision {
	return r.Matches(resources, d.at, "policy "+d.name)
}

// failure returns the error that denies a request, in the server's words; binding is nil for an
// error of the policy itself.
func (d *definition) failure(b *binding, err error) policy.Failure {
	id := policy.ID{Policy: d.name}
	if b == nil {
		err = fmt.Errorf("policy %q denied request: %w", d.name, err)
	} else {
		id.Binding = b.name
		err = fmt.Errorf("policy '%s' with binding '%s' denied request: %w", d.name, b.name, err)
	}
	return policy.Failure{ID: id, At: d.at, Err: err, Ignored: d.ignore}
}

// ID implements policy.Invocation.
func (i *invocation) ID() policy.ID { return i.id }

// Reinvocable implements policy.Invocation.
func (i *invocation) Reinvocable() bool { return i.reinvocable }

// Deny implements policy.Invocation.
func (i *invocation) Deny(err error) policy.Failure {
	f := i.failure(i.binding, err)
	f.ID = i.id
	return f
}

// objectName names an object as "namespace/name", or "name" if it has no namespace.
func objectName(object map[string]any) string {
	namespace, _ := change.Keys("metadata", "namespace").Get(object)
	name, _ := change.Keys("metadata", "name").Get(object)
	text, _ := name.(string)
	if prefix, _ := namespace.(string); prefix != "" {
		return prefix + "/" + text
	}
	return text
}
