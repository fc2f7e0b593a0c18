package admissionpolicy

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/policydoc"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

// Link adds the bindings to their policies, and returns the policies sorted by name. The policies
// and bindings, and their problems, are those of documents, at the same indexes; some may be nil.
// Those with errors are left out. A server ignores bindings without a policy and policies without
// a binding, so they get a warning, unless the other one is there and has errors.
func (l *Language) Link(documents []*manifest.Document, problems [][]source.Diagnostic, policies []*Policy, bindings []*Binding) ([]*Policy, []source.Diagnostic) {
	var diagnostics []source.Diagnostic
	var linked []*Policy
	byName, unsound, broken := map[string]*Policy{}, map[*Policy]bool{}, newBroken(l.Kind, documents, problems)
	for i, p := range policies {
		if p == nil {
			continue
		}
		unsound[p] = source.HasErrors(problems[i])
		if other := byName[p.Name]; other != nil {
			diagnostics = append(diagnostics, duplicate(l.Kind, p.Name, p.Document, other.Document)...)
			continue
		}
		byName[p.Name] = p
		linked = append(linked, p)
	}
	var sound []*Binding
	for i, b := range bindings {
		if b != nil && !source.HasErrors(problems[i]) {
			sound = append(sound, b)
		}
	}
	diagnostics = append(diagnostics, l.bind(byName, sound, broken)...)
	slices.SortFunc(linked, func(a, b *Policy) int { return cmp.Compare(a.Name, b.Name) })
	for _, p := range linked {
		slices.SortFunc(p.Bindings, func(a, b *Binding) int { return cmp.Compare(a.Name, b.Name) })
		if len(p.Bindings) == 0 && !broken.bound[p.Name] {
			diagnostics = append(diagnostics, l.unbound(p))
		}
	}
	return slices.DeleteFunc(linked, func(p *Policy) bool { return unsound[p] }), diagnostics
}

// unbound reports a policy without a binding.
func (l *Language) unbound(p *Policy) source.Diagnostic {
	d := source.Warningf(p.At, "policy-without-binding", "%s %s has no binding, so it does nothing", source.Literal(l.Kind), source.Name(p.Name)).
		With("give a " + l.Kind + "Binding with spec.policyName: " + p.Name)
	if edit, ok := p.Document.After(l.binding(p)); ok {
		return d.Mended("Add a binding", edit)
	}
	return d
}

// binding returns the text of a binding for a policy, which applies it everywhere.
func (l *Language) binding(p *Policy) string {
	text := fmt.Sprintf("---\napiVersion: %s\nkind: %sBinding\nmetadata:\n  name: %s\nspec:\n  policyName: %[3]s\n", p.Document.Kind().APIVersion(), l.Kind, p.Name)
	if len(l.Actions) > 0 {
		text += "  validationActions: [" + l.Actions[0] + "]\n"
	}
	return text
}

// broken are the names of policies with errors, and of policies that bindings with errors bind.
type broken struct{ policies, bound map[string]bool }

func newBroken(kind string, documents []*manifest.Document, problems [][]source.Diagnostic) broken {
	b := broken{map[string]bool{}, map[string]bool{}}
	for i, d := range documents {
		switch {
		case !source.HasErrors(problems[i]):
		case d.Kind().Kind == kind:
			b.policies[d.Name()] = true
		default:
			b.bound[d.TextAt("spec", "policyName")] = true
		}
	}
	return b
}

// bind adds the bindings to their policies.
func (l *Language) bind(policies map[string]*Policy, bindings []*Binding, broken broken) []source.Diagnostic {
	var diagnostics []source.Diagnostic
	seen := map[string]*Binding{}
	for _, b := range bindings {
		if other := seen[b.Name]; other != nil {
			diagnostics = append(diagnostics, duplicate(l.Kind+"Binding", b.Name, b.Document, other.Document)...)
			continue
		}
		seen[b.Name] = b
		switch p := policies[b.policy]; {
		case p != nil:
			p.Bindings = append(p.Bindings, b)
		case !broken.policies[b.policy]:
			diagnostics = append(diagnostics, source.Warningf(b.Document.At(change.Keys("spec", "policyName")), "binding-without-policy",
				"%sBinding %s: there is no policy %q, so the binding does nothing", source.Literal(l.Kind), source.Name(b.Name), source.Name(b.policy)).
				AdvisedAt(b.Document.At(change.Keys("spec", "policyName")), source.Expected("give the policy as well, or correct spec.policyName", b.policy, slices.Sorted(maps.Keys(policies)))))
		}
	}
	return diagnostics
}

// duplicate reports a second document of the same name, unless the specs are equal.
func duplicate(kind, name string, second, first *manifest.Document) []source.Diagnostic {
	if change.Equal(second.Object()["spec"], first.Object()["spec"]) {
		return nil
	}
	return []source.Diagnostic{policydoc.DefinedTwice(kind, name, second, first)}
}
