package admissionpolicy

import (
	"cmp"
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

// Link adds the bindings to their policies, and returns the policies sorted by name. Some of the
// given policies and bindings may be nil. A server ignores bindings without a policy and policies
// without a binding, so they get a warning.
func (l *Language) Link(policies []*Policy, bindings []*Binding) ([]*Policy, []source.Diagnostic) {
	var diagnostics []source.Diagnostic
	var linked []*Policy
	byName := map[string]*Policy{}
	for _, p := range policies {
		if p == nil {
			continue
		}
		if other := byName[p.Name]; other != nil {
			diagnostics = append(diagnostics, duplicate(l.Kind, p.Name, p.Document, other.Document)...)
			continue
		}
		byName[p.Name] = p
		linked = append(linked, p)
	}
	diagnostics = append(diagnostics, l.bind(byName, bindings)...)
	slices.SortFunc(linked, func(a, b *Policy) int { return cmp.Compare(a.Name, b.Name) })
	for _, p := range linked {
		slices.SortFunc(p.Bindings, func(a, b *Binding) int { return cmp.Compare(a.Name, b.Name) })
		if len(p.Bindings) == 0 {
			diagnostics = append(diagnostics, source.Warningf(p.At, "policy-without-binding", "%s %s has no binding, so it does nothing", source.Literal(l.Kind), source.Name(p.Name)).
				With("give a "+l.Kind+"Binding with spec.policyName: "+p.Name))
		}
	}
	return linked, diagnostics
}

// bind adds the bindings to their policies.
func (l *Language) bind(policies map[string]*Policy, bindings []*Binding) []source.Diagnostic {
	var diagnostics []source.Diagnostic
	seen := map[string]*Binding{}
	for _, b := range bindings {
		if b == nil {
			continue
		}
		if other := seen[b.Name]; other != nil {
			diagnostics = append(diagnostics, duplicate(l.Kind+"Binding", b.Name, b.Document, other.Document)...)
			continue
		}
		seen[b.Name] = b
		p := policies[b.policy]
		if p == nil {
			diagnostics = append(diagnostics, source.Warningf(b.Document.At(change.Keys("spec", "policyName")), "binding-without-policy",
				"%sBinding %s: there is no policy %q, so the binding does nothing", source.Literal(l.Kind), source.Name(b.Name), source.Name(b.policy)).
				With("give the policy as well, or correct spec.policyName"))
			continue
		}
		p.Bindings = append(p.Bindings, b)
	}
	return diagnostics
}

// duplicate reports a second document of the same name, unless the specs are equal.
func duplicate(kind, name string, second, first *manifest.Document) []source.Diagnostic {
	if change.Equal(second.Object()["spec"], first.Object()["spec"]) {
		return nil
	}
	return []source.Diagnostic{source.Errorf(second.At(change.Keys("metadata", "name")), "policy-defined-twice",
		"%s %s is defined twice, differently; the other one is at %s", source.Literal(kind), source.Name(name), first.At(change.Keys("metadata", "name"))).
		With("a cluster keeps one of them: remove the other")}
}
