// Package admissionpolicy is what the two languages inside the API server share:
// MutatingAdmissionPolicies and ValidatingAdmissionPolicies, with their bindings. Both have match
// constraints, matchConditions, variables and params, and a server reads and matches them with the
// same code. Error texts are those of kube-apiserver 1.36.3.
//
// A server runs policies in random order. Here they are sorted by the names of policy, binding
// and param.
//
// The files in order: admissionpolicy.go (Language, and the versions that servers serve), reader.go
// (the fields that all policies have), binding.go, link.go (the bindings of each policy),
// program.go (the policies of a program), plan.go
// (what applies to a request), params.go, input.go (the input of expressions), conditions.go, never.go
// (match blocks that match nothing).
package admissionpolicy

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/celenv"
	"github.com/preadmit/preadmit/engine/internal/match"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/source"
)

// Group is the API group of the policies.
const Group = "admissionregistration.k8s.io"

// Language is what distinguishes one of the languages from the other.
type Language struct {
	// Kind is the kind of the policies. The kind of the bindings is Kind with the suffix "Binding".
	Kind string
	// Served says which minor versions of Kubernetes serve a version of the API.
	Served map[string]Span
	// Versions are the keys of Served, the best first.
	Versions []string
	// Denied returns the error that denies a request. binding is empty if the policy itself is at
	// fault.
	Denied func(policy, binding string, err error) error
	// Rules reads the match blocks.
	Rules match.Host
	// Actions are the validationActions of a binding; nil if bindings have none.
	Actions []string
	// TypedParams means that params of built-in kinds have apiVersion and kind.
	TypedParams bool

	Minor      int
	Authorizer celenv.Authorizer
	CEL        *celenv.Env
}

// Span has the first minor version that serves something, and the first that does not any more;
// Until is zero if all later versions do.
type Span struct{ Since, Until int }

func (s Span) holds(minor int) bool { return minor >= s.Since && (s.Until == 0 || minor < s.Until) }

// Kinds returns the kinds of the policies and the bindings.
func (l *Language) Kinds() []gvk.Kind {
	return []gvk.Kind{{Group: Group, Kind: l.Kind}, {Group: Group, Kind: l.Kind + "Binding"}}
}

// Decodes reports whether the server reads the document: whether it serves the version, and knows
// all fields. advice returns advice about an unknown field.
func (l *Language) Decodes(r *Reader, advice func(change.Path) string) bool {
	kind := r.Doc.Document.Kind()
	span, known := l.Served[kind.Version]
	refuse := func(advice, format string, args ...any) bool {
		r.Doc.Unserved(fmt.Sprintf(format, args...), advice, l.best())
		return false
	}
	switch {
	case !known:
		return refuse("expected "+Group+"/"+strings.Join(l.Versions[:len(l.Versions)-1], ", ")+" or "+l.Versions[len(l.Versions)-1], "no API server serves %s", kind.APIVersion())
	case l.Minor < span.Since:
		return refuse(l.served(), "Kubernetes 1.%d does not serve %s, which came with 1.%d", l.Minor, kind.APIVersion(), span.Since)
	case !span.holds(l.Minor):
		return refuse(l.served(), "Kubernetes 1.%d does not serve %s any more, 1.%d was the last", l.Minor, kind.APIVersion(), span.Until-1)
	}
	of := schema.BuiltinOf(l.Minor).Lookup(kind).Type()
	problems := of.Check(r.Doc.Root.Value)
	for _, p := range problems {
		if p.Code == schema.FieldUndefined {
			p.Advice.Text = cmp.Or(advice(p.Path), p.Advice.Text)
			r.Doc.Mistaken(p.Path, "policy-field-unknown", p.Text, p.Advice)
			continue
		}
		d := source.Diagnostic{At: r.Doc.Document.At(p.Path), Severity: source.Error, Code: "policy-invalid", Message: p.Text, Advice: advice(p.Path)}
		r.Doc.Report(r.Doc.Document.Retyped(d, p.Path, of.At(p.Path).Fits), p.Path)
	}
	return len(problems) == 0
}

// best returns the best apiVersion that the server serves; "" if it serves none.
func (l *Language) best() string {
	for _, version := range l.Versions {
		if l.Served[version].holds(l.Minor) {
			return Group + "/" + version
		}
	}
	return ""
}

// served returns the advice to use a version that the server serves.
func (l *Language) served() string {
	var served []string
	for _, version := range l.Versions {
		if l.Served[version].holds(l.Minor) {
			served = append(served, Group+"/"+version)
		}
	}
	return "use " + strings.Join(served, " or ")
}

// unreached are resources that the API server hides from admission policies.
var unreached = map[gvk.Resource]bool{
	{Group: "authentication.k8s.io", Resource: "selfsubjectreviews"}:       true,
	{Group: "authentication.k8s.io", Resource: "tokenreviews"}:             true,
	{Group: "authorization.k8s.io", Resource: "localsubjectaccessreviews"}: true,
	{Group: "authorization.k8s.io", Resource: "selfsubjectaccessreviews"}:  true,
	{Group: "authorization.k8s.io", Resource: "selfsubjectrulesreviews"}:   true,
	{Group: "authorization.k8s.io", Resource: "subjectaccessreviews"}:      true,
	{Group: Group, Resource: "validatingadmissionpolicies"}:                true,
	{Group: Group, Resource: "validatingadmissionpolicybindings"}:          true,
	{Group: Group, Resource: "mutatingadmissionpolicies"}:                  true,
	{Group: Group, Resource: "mutatingadmissionpolicybindings"}:            true,
}

// Hides reports whether an API server hides the objects of a kind from policies.
func Hides(kind *schema.Kind) bool {
	return unreached[gvk.Resource{Group: kind.Group, Resource: kind.Resource}]
}
