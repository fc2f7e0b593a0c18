// Package vapolicy implements Kubernetes ValidatingAdmissionPolicies and their bindings: version v1
// of admissionregistration.k8s.io, and the older versions where a server serves them. What they
// share with mutating policies is in admissionpolicy. Evaluation follows k8s.io/apiserver v0.36.3
// (pkg/admission/plugin/policy/validating). Invalid documents and refused requests have the error
// texts of kube-apiserver 1.36.3.
//
// The files in order: language.go (from documents to a program), definition.go and binding.go (the
// two kinds), plan.go (what applies to a request), convert.go (objects in other versions), decide.go
// (validations, messages and audit annotations become decisions), answer.go (decisions become
// refusals, warnings and annotations), check.go (mistakes that a server accepts).
package vapolicy

import (
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/admissionpolicy"
	"github.com/preadmit/preadmit/engine/internal/celenv"
	"github.com/preadmit/preadmit/engine/internal/match"
	"github.com/preadmit/preadmit/engine/internal/policydoc"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// Language compiles ValidatingAdmissionPolicies.
type Language struct{ shared *admissionpolicy.Language }

// New returns the language of Kubernetes 1.minor. The authorizer answers expressions about the
// rights of the user.
func New(minor int, authorizer celenv.Authorizer) *Language {
	return &Language{&admissionpolicy.Language{
		Kind:     "ValidatingAdmissionPolicy",
		Served:   map[string]admissionpolicy.Span{"v1alpha1": {Since: 26, Until: 32}, "v1beta1": {Since: 28, Until: 34}, "v1": {Since: 30}},
		Versions: []string{"v1", "v1beta1", "v1alpha1"},
		Denied:   denied, Rules: match.Validating, Actions: []string{"Deny"}, TypedParams: true, Minor: minor, Authorizer: authorizer, CEL: celenv.New(minor),
	}}
}

// denied returns the error that refuses a request, in the server's words.
func denied(policy, binding string, err error) error {
	if binding == "" {
		return source.Messagef("ValidatingAdmissionPolicy '%s' denied request: %v", source.Name(policy), err)
	}
	return source.Messagef("ValidatingAdmissionPolicy '%s' with binding '%s' denied request: %v", source.Name(policy), source.Name(binding), err)
}

// Kinds implements policy.Language.
func (l *Language) Kinds() []gvk.Kind { return l.shared.Kinds() }

// program has the compiled policies with their bindings, sorted by name.
type program struct {
	shared      *admissionpolicy.Language
	policies    admissionpolicy.Policies
	definitions []*definition
	// actions are the validationActions of the bindings.
	actions map[*admissionpolicy.Binding][]string
}

// document is a policy, or a binding with its actions; neither if a server does not read it.
type document struct {
	definition *definition
	binding    *admissionpolicy.Binding
	actions    []string
}

var (
	_ policy.Language = (*Language)(nil)
	_ policy.Program  = (*program)(nil)
)

// Compile implements policy.Language.
func (l *Language) Compile(documents []*manifest.Document, kept *policy.Kept) ([]policy.Program, []source.Diagnostic) {
	all, problems := admissionpolicy.Read(l.shared, documents, kept, l.read)
	definitions := make([]*definition, len(documents))
	bindings := make([]*admissionpolicy.Binding, len(documents))
	p := &program{shared: l.shared, actions: map[*admissionpolicy.Binding][]string{}}
	for i, one := range all {
		definitions[i], bindings[i] = one.definition, one.binding
		p.actions[one.binding] = one.actions
	}
	var unlinked []source.Diagnostic
	p.definitions, p.policies, unlinked = admissionpolicy.LinkDefinitions(l.shared, documents, problems, definitions, (*definition).shared, bindings)
	return []policy.Program{p}, append(slices.Concat(problems...), unlinked...)
}

// read reads a policy or a binding.
func (l *Language) read(r *admissionpolicy.Reader) (d document) {
	switch {
	case !l.shared.Decodes(r, func(change.Path) string { return "" }):
	case r.Doc.Document.Kind().Kind == l.shared.Kind:
		d.definition = readDefinition(r)
	default:
		d.binding, d.actions = readBinding(r)
	}
	return d
}

// Hook implements policy.Program. The order of the policies matters only for which of several
// refusals is reported.
func (*program) Hook() policy.Hook {
	return policy.Hook{Point: policy.Validating, Order: afterPlugins}
}

// afterPlugins is the order among the validating hooks: the plug-ins of the server come first.
const afterPlugins = 1

// Selects implements policy.Program.
func (p *program) Selects() []policy.Selected { return p.policies.Selects() }

// Reads implements policy.Program: policies read params.
func (p *program) Reads() []policy.Read { return p.policies.Reads(p.shared.Kind) }

// Existing implements policy.Program.
func (*program) Existing() policy.Follower { return nil }

// Parts implements policy.Program.
func (p *program) Parts() []policy.Part {
	var parts []policy.Part
	for _, d := range p.definitions {
		of := policydoc.Parts{Policy: d.policy.ID(), Document: d.policy.Document}
		d.policy.Parts(&of)
		for _, v := range d.validations {
			of.Validation(v.node.Path, v.rule, v.program)
		}
		parts = append(parts, of.All()...)
	}
	return parts
}
