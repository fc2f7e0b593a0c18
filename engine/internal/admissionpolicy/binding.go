package admissionpolicy

import (
	"strings"

	"github.com/preadmit/preadmit/engine/internal/dns"
	"github.com/preadmit/preadmit/engine/internal/match"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
)

// Binding is a binding of a policy.
type Binding struct {
	Name     string
	Document *manifest.Document
	// policy is the name of the policy.
	policy    string
	resources *match.Resources // nil: all that the policy matches
	params    *paramRef        // nil: no params
}

// paramRef selects the params: one by name, or all that the selector selects.
type paramRef struct {
	name, namespace string
	selector        match.Selector
	// allowNone says that the binding does nothing, rather than failing, if there are no params
	// (parameterNotFoundAction Allow).
	allowNone bool
}

// Binding reads the fields that all bindings have, in the order in which the server checks them.
func (r *Reader) Binding() *Binding {
	spec := r.Doc.Root.At("spec")
	b := &Binding{Name: r.name(), Document: r.Doc.Document, policy: spec.At("policyName").Text()}
	if b.policy == "" {
		r.Doc.Required(spec.At("policyName"), "")
	} else {
		for _, problem := range dns.Subdomain(b.policy) {
			r.Doc.Invalid(spec.At("policyName"), "Invalid value: %q: %s", b.policy, problem)
		}
	}
	if ref := spec.At("paramRef"); ref.Given() {
		b.params = r.paramRef(ref)
	}
	if resources := spec.At("matchResources"); resources.Given() {
		var problems []match.Problem
		b.resources, problems = r.language.Rules.Parse(resources.Value)
		r.Doc.Matched(resources, problems)
	}
	return b
}

func (r *Reader) paramRef(n policy.Node) *paramRef {
	name, selector, action := n.At("name"), n.At("selector"), n.At("parameterNotFoundAction")
	ref := &paramRef{name: name.Text(), namespace: n.At("namespace").Text()}
	both := ref.name != "" && selector.Given()
	if ref.name != "" && strings.ContainsAny(ref.name, "/%") || ref.name == "." || ref.name == ".." {
		r.Doc.Invalid(name, "Invalid value: %q: %s", ref.name, pathSegmentProblem(ref.name))
	}
	if both {
		r.Doc.Invalid(name, "Forbidden: name and selector are mutually exclusive")
	}
	if selector.Given() {
		var problems []match.Problem
		ref.selector, problems = match.ParseSelector(selector.Value)
		r.Doc.Matched(selector, problems)
	}
	if both {
		r.Doc.Invalid(selector, "Forbidden: name and selector are mutually exclusive")
	}
	if ref.name == "" && !selector.Given() {
		r.Doc.Required(n, "one of name or selector must be specified")
	}
	switch action.Text() {
	case "Allow":
		ref.allowNone = true
	case "Deny":
	case "":
		if r.Doc.Document.Kind().Version != "v1alpha1" { // v1alpha1 defaults to Deny
			r.Doc.Unchosen(action, "Deny", "Allow")
		}
	default:
		r.Doc.Unsupported(action, "Deny", "Allow")
	}
	return ref
}

func pathSegmentProblem(name string) string {
	switch {
	case name == "." || name == "..":
		return "may not be '" + name + "'"
	case strings.Contains(name, "/"):
		return "may not contain '/'"
	default:
		return "may not contain '%'"
	}
}
