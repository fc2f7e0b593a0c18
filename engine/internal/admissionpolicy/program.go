package admissionpolicy

import (
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/policydoc"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// Policies are the policies of a program with their bindings, sorted by name.
type Policies []*Policy

// LinkDefinitions links the policies of definitions; see Link. The definitions, some of which may be
// nil, are those of documents that are the same as these. They are returned as those of these documents, in the order
// of their policies.
func LinkDefinitions[D any](l *Language, documents []*manifest.Document, problems [][]source.Diagnostic, definitions []*D, policyOf func(*D) **Policy, bindings []*Binding) ([]*D, Policies, []source.Diagnostic) {
	policies := make([]*Policy, len(definitions))
	of := map[*Policy]*D{}
	for i, d := range definitions {
		if d != nil {
			one := *d
			shared := policyOf(&one)
			*shared = (*shared).of(documents[i])
			policies[i], of[*shared] = *shared, &one
		}
	}
	linked, diagnostics := l.Link(documents, problems, policies, bindings)
	var ordered []*D
	for _, p := range linked {
		ordered = append(ordered, of[p])
	}
	return ordered, linked, diagnostics
}

// Selects returns the kinds and resources that the policies name.
func (all Policies) Selects() []policy.Selected {
	var selected []policy.Selected
	for _, p := range all {
		selected = append(selected, p.Selects()...)
	}
	return selected
}

// Reads returns the params that the bindings of policies refer to. kind is the kind of the policies.
func (all Policies) Reads(kind string) []policy.Read {
	var reads []policy.Read
	for _, p := range all {
		for _, b := range p.Bindings {
			if p.ParamKind != (gvk.Kind{}) && b.params != nil {
				reads = append(reads, policy.Read{
					Kind: p.ParamKind, Namespace: b.params.namespace, Name: b.params.name,
					By: policy.ID{Kind: kind, Policy: p.Name, Binding: b.Name}, At: p.At,
				})
			}
		}
	}
	return reads
}

// Covers reports whether the rules of any policy cover a request.
func (all Policies) Covers(r *policy.Request) bool {
	return !Hides(r.Kind) && slices.ContainsFunc(all, func(p *Policy) bool { return r.Covered(p.Constraints) })
}

// Found returns what check finds in the policy, unless it is kept. check depends on the schemas.
func (p *Policy) Found(kept *policy.Kept, schemas *schema.Registry, check func() []source.Diagnostic) []source.Diagnostic {
	type checked struct{ with *schema.Registry }
	documents := []*manifest.Document{p.Document}
	for _, b := range p.Bindings {
		documents = append(documents, b.Document)
	}
	return policy.Keep(kept, checked{schemas}, documents, check)
}

// Check finds mistakes in a policy that a server accepts. The policy belongs to a point of the request.
func (l *Language) Check(p *Policy, schemas *schema.Registry, at policy.Point) []source.Diagnostic {
	checked := policydoc.Checked{Document: p.Document, Env: l.CEL, Scope: p.Scope, HasParams: p.ParamKind != (gvk.Kind{})}
	checked.AddPolicy(policy.NodeAt(p.Document, "spec"))
	requests := policydoc.RequestsOf(p.Constraints, schemas, Hides)
	requests.Valid = at == policy.Validating
	found := append(checked.Check(requests), p.never(schemas)...)
	for i, c := range p.Conditions {
		path := change.Keys("spec", "matchConditions").Index(i).Key("expression")
		found = append(found, policydoc.Constant(p.Document, p.Scope, c.Program, path, "the policy applies to none")...)
	}
	return found
}
