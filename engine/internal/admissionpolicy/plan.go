package admissionpolicy

import (
	"fmt"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/admission"
	"github.com/preadmit/preadmit/engine/internal/match"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// Application is a policy applied through a binding with a param, which may be nil, to a request.
type Application struct {
	ID      policy.ID
	Policy  *Policy
	Binding *Binding
	// Kind is the kind under which the policy matched. With matchPolicy Equivalent it may be another
	// version of the request's kind.
	Kind *schema.Kind
	// Param is the param, or nil.
	Param map[string]any

	language *Language
	// paramType is the Go type that the server has for the param.
	paramType admission.GoType
}

// Plan adds to a plan the applications of a policy to a request. apply makes invocations of them.
func (l *Language) Plan(p *Policy, r *policy.Request, plan *policy.Plan, apply func(*Application) policy.Invocation) {
	decision := p.match(p.Constraints, r)
	if decision.Reason.Code == match.UnknownResource {
		r.Warn(source.Warningf(p.At, "resource-unknown", "policy %s: %s", source.Name(p.Name), decision.Reason))
	}
	fail := func(err error) { plan.Failures = append(plan.Failures, l.configuration(p, nil, "policy", err)) }
	switch {
	case decision.Err != nil:
		fail(decision.Err)
		return
	case !decision.Matched:
		plan.NotApplied = append(plan.NotApplied, policy.NotApplied{
			ID: p.ID(), At: p.At, Reason: policy.Unmatched{Block: "matchConstraints", Reason: decision.Reason},
		})
		return
	}
	paramKind, err := p.resolveParamKind(r)
	if err != nil {
		fail(err)
		return
	}
	for _, b := range p.Bindings {
		for _, param := range l.planBinding(p, b, paramKind, r, plan) {
			id := p.through(b)
			id.Param = objectName(param)
			plan.Invocations = append(plan.Invocations, apply(&Application{
				ID: id, Policy: p, Binding: b, Param: param, Kind: decision.Kind, language: l, paramType: paramType(paramKind, l.Minor),
			}))
		}
	}
}

// Apply returns the application of a policy without a binding, under the kind that it has matched.
func (l *Language) Apply(p *Policy, id policy.ID, kind *schema.Kind) *Application {
	return &Application{ID: id, Policy: p, Kind: kind, language: l}
}

// planBinding returns the params with which a binding applies a policy to a request.
func (l *Language) planBinding(p *Policy, b *Binding, paramKind *schema.Kind, r *policy.Request, plan *policy.Plan) []map[string]any {
	fail := func(err error) { plan.Failures = append(plan.Failures, l.configuration(p, b, "binding", err)) }
	skip := func(reason fmt.Stringer) {
		plan.NotApplied = append(plan.NotApplied, policy.NotApplied{
			ID: p.through(b), At: b.Document.At(change.Keys("spec")), Reason: reason,
		})
	}
	if b.resources != nil {
		switch bound := p.match(b.resources, r); {
		case bound.Err != nil:
			fail(bound.Err)
			return nil
		case !bound.Matched:
			skip(policy.Unmatched{Block: "matchResources of the binding", Reason: bound.Reason})
			return nil
		}
	}
	params, err := l.params(b, paramKind, r)
	if err != nil {
		fail(err)
		return nil
	}
	if len(params) == 0 && !b.params.allowNone {
		f := l.configuration(p, b, "binding", source.Messagef("no params found for policy binding with `Deny` parameterNotFoundAction"))
		f.Advice, f.Missing = "there is no "+b.params.describe(paramKind)+": "+giveParam, b.params.id(paramKind, r.Namespace)
		action := change.Keys("spec", "paramRef", "parameterNotFoundAction")
		f.Fixes = b.Document.Put(b.unfound(paramKind, source.Diagnostic{}, r), action, "Allow").Fixes
		plan.Failures = append(plan.Failures, f)
		return nil
	}
	if len(params) == 0 {
		skip(policy.Text("there are no params, and parameterNotFoundAction is Allow"))
		r.Warn(b.unfound(paramKind, source.Warningf(b.Document.At(change.Keys("spec", "paramRef")), "param-not-found",
			"policy %s, binding %s: there is no %s, so the policy does nothing, as parameterNotFoundAction Allow says", source.Name(p.Name), source.Name(b.Name), b.params.describe(paramKind)).
			With(giveParam), r))
	}
	return params
}

const giveParam = "give the param as context, or among the manifests"

// ID returns the ID of the policy itself.
func (p *Policy) ID() policy.ID { return policy.ID{Kind: p.Document.Kind().Kind, Policy: p.Name} }

// through returns the ID of the policy as it applies through a binding.
func (p *Policy) through(b *Binding) policy.ID {
	id := p.ID()
	id.Binding = b.Name
	return id
}

// match matches the request with a match block of the policy, or of a binding to it.
func (p *Policy) match(resources *match.Resources, r *policy.Request) match.Decision {
	return r.MatchesBy(resources, func(name string) (map[string]string, error) { return r.NamespaceLabels(name, p.At, "policy "+p.Name) })
}

// configuration returns the failure of a policy, or of a binding, that cannot be applied.
func (l *Language) configuration(p *Policy, b *Binding, what string, err error) policy.Failure {
	return l.failure(p, b, source.Messagef("failed to configure %s: %v", source.Literal(what), err))
}

// failure returns the error that denies a request, in the server's words; binding is nil for an
// error of the policy itself.
func (l *Language) failure(p *Policy, b *Binding, err error) policy.Failure {
	id := p.ID()
	if b != nil {
		id = p.through(b)
	}
	return policy.Failure{ID: id, At: p.At, Err: l.Denied(id.Policy, id.Binding, p.Words().Derive(err)), Ignored: p.Ignore}
}

// Deny returns an error of the application as a failure.
func (a *Application) Deny(err error) policy.Failure {
	f := a.language.failure(a.Policy, a.Binding, err)
	f.ID = a.ID
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
