// Package mapolicy implements Kubernetes MutatingAdmissionPolicies and their bindings: versions
// v1, v1beta1 and v1alpha1 of admissionregistration.k8s.io. Invalid documents and denied
// requests have the error texts of kube-apiserver 1.36.3. What the policies share with validating
// policies is in admissionpolicy.
//
// The package also reads policies in the forms of two proposals, KEP-3775 and the early
// KEP-3962, with a warning. draft.go describes these drafts.
//
// The files in order: language.go (from documents to a program), definition.go
// (reading and checking), draft.go and draftcel.go (drafts and their expressions), plan.go (what
// applies to a request), mutate.go (mutations), draftmutate.go and unset.go (mutations of drafts),
// convert.go (from drafts to what servers accept), check.go (mistakes that a server accepts).
package mapolicy

import (
	"slices"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/admissionpolicy"
	"github.com/preadmit/preadmit/engine/internal/celenv"
	"github.com/preadmit/preadmit/engine/internal/match"
	"github.com/preadmit/preadmit/engine/internal/policydoc"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

const group = admissionpolicy.Group

// Language compiles MutatingAdmissionPolicies.
type Language struct {
	shared  *admissionpolicy.Language
	schemas *schema.Registry
}

// New returns the language of Kubernetes 1.minor. The authorizer answers expressions about the
// rights of the user.
func New(minor int, authorizer celenv.Authorizer) *Language {
	return &Language{schemas: schema.BuiltinOf(minor), shared: &admissionpolicy.Language{
		Kind:     "MutatingAdmissionPolicy",
		Served:   map[string]admissionpolicy.Span{"v1alpha1": {Since: 32, Until: 38}, "v1beta1": {Since: 34, Until: 40}, "v1": {Since: 36}},
		Versions: []string{"v1", "v1beta1", "v1alpha1"},
		Denied:   denied, Rules: match.Mutating, Minor: minor, Authorizer: authorizer, CEL: celenv.New(minor),
	}}
}

// denied returns the error that denies a request, in the server's words.
func denied(policy, binding string, err error) error {
	if binding == "" {
		return source.Messagef("policy %q denied request: %v", source.Name(policy), err)
	}
	return source.Messagef("policy '%s' with binding '%s' denied request: %v", source.Name(policy), source.Name(binding), err)
}

// Kinds implements policy.Language.
func (l *Language) Kinds() []gvk.Kind { return l.shared.Kinds() }

// program has the compiled policies with their bindings, sorted by name.
type program struct {
	shared      *admissionpolicy.Language
	policies    admissionpolicy.Policies
	definitions []*definition
}

// document is a policy or a binding; neither if a server does not read it.
type document struct {
	definition *definition
	binding    *admissionpolicy.Binding
}

var (
	_ policy.Language = (*Language)(nil)
	_ policy.Program  = (*program)(nil)

	_ policy.Divisible = (*program)(nil)
)

// Compile implements policy.Language.
func (l *Language) Compile(documents []*manifest.Document, kept *policy.Kept) ([]policy.Program, []source.Diagnostic) {
	all, problems := admissionpolicy.Read(l.shared, documents, kept, l.read)
	definitions := make([]*definition, len(documents))
	bindings := make([]*admissionpolicy.Binding, len(documents))
	for i, one := range all {
		definitions[i], bindings[i] = one.definition, one.binding
	}
	p := &program{shared: l.shared}
	var unlinked []source.Diagnostic
	p.definitions, p.policies, unlinked = admissionpolicy.LinkDefinitions(l.shared, documents, problems, definitions, (*definition).shared, bindings)
	return []policy.Program{p}, append(slices.Concat(problems...), unlinked...)
}

// read reads a policy or a binding.
func (l *Language) read(r *admissionpolicy.Reader) (d document) {
	switch {
	case l.isDraft(r):
		d.definition = l.draft(r)
	case !l.shared.Decodes(r, draftAdvice):
	case r.Doc.Document.Kind().Kind == l.shared.Kind:
		d.definition = l.definition(r)
	default:
		d.binding = r.Binding()
	}
	return d
}

// Hook implements policy.Program. A server runs the policies in any order.
func (*program) Hook() policy.Hook { return policy.Hook{Point: policy.InServer, Shuffled: true} }

// Selects implements policy.Program.
func (p *program) Selects() []policy.Selected { return p.policies.Selects() }

// Existing implements policy.Program.
func (*program) Existing() policy.Follower { return nil }

// Parts implements policy.Program.
func (p *program) Parts() []policy.Part {
	var parts []policy.Part
	for _, d := range p.definitions {
		of := policydoc.Parts{Policy: d.policy.ID(), Document: d.policy.Document}
		d.policy.Parts(&of)
		mutations := policy.NodeAt(d.policy.Document, "spec", "mutations").Items()
		for i, m := range d.mutations {
			of.Mutation(mutations[i].Path, m.rule)
			of.Branches(policydoc.Expression(mutations[i]), m.program)
		}
		parts = append(parts, of.All()...)
	}
	return parts
}

// Alone implements policy.Divisible.
func (p *program) Alone() (alone []policy.Program) {
	for n := 0; ; n++ {
		only := program{shared: p.shared, policies: p.policies}
		some := false
		for _, d := range p.definitions {
			one := *d
			one.mutations = d.mutations[min(n, len(d.mutations)):min(n+1, len(d.mutations))]
			only.definitions = append(only.definitions, &one)
			some = some || len(one.mutations) > 0
		}
		if !some {
			return alone
		}
		alone = append(alone, &only)
	}
}

// Reads implements policy.Program: policies read params.
func (p *program) Reads() []policy.Read { return p.policies.Reads(p.shared.Kind) }
