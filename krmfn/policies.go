package krmfn

import (
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

const (
	policyKind  = "MutatingAdmissionPolicy"
	bindingKind = "MutatingAdmissionPolicyBinding"
)

// bindAlone returns a binding for a policy that was given without one. It returns nil if the
// streams have a binding for it, or if it is not a MutatingAdmissionPolicy.
func bindAlone(policy *manifest.Document, streams []*manifest.Stream) (*manifest.Stream, []source.Diagnostic) {
	kind, name := policy.Kind(), policy.Name()
	if kind.Kind != policyKind || name == "" {
		return nil, nil
	}
	for _, s := range streams {
		for _, d := range s.Documents() {
			if d.Kind().Group != kind.Group || d.Kind().Kind != bindingKind {
				continue
			}
			if bound, _ := change.Keys("spec", "policyName").Get(d.Object()); bound == name {
				return nil, nil
			}
		}
	}
	stream, diagnostics := manifest.Read("binding of "+name, manifest.JSON(map[string]any{
		"apiVersion": kind.APIVersion(),
		"kind":       bindingKind,
		"metadata":   map[string]any{"name": name},
		"spec":       map[string]any{"policyName": name},
	}))
	note := source.Diagnostic{
		At: policy.At(change.Keys("metadata", "name")), Severity: source.Info, Code: "policy-bound",
		Message: policyKind + " " + name + " has no binding, so it applies to everything that it matches",
		Advice:  "add a " + bindingKind + " to restrict it",
	}
	return stream, append(diagnostics, note)
}
