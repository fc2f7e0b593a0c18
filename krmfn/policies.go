package krmfn

import (
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/schema"
	"github.com/preadmit/preadmit/engine/source"
)

const (
	policyGroup = "admissionregistration.k8s.io"
	policyKind  = "MutatingAdmissionPolicy"
	bindingKind = "MutatingAdmissionPolicyBinding"
	treeGroup   = "json.preadmit.dev"
)

// isPolicy reports whether documents of the kind are policies, or bindings of them.
func isPolicy(kind gvk.Kind) bool {
	return kind.Group == treeGroup || kind.Group == policyGroup && (kind.Kind == policyKind || kind.Kind == bindingKind)
}

// hasPolicies reports whether there are any policies in the streams.
func hasPolicies(streams []*manifest.Stream) bool {
	for _, s := range streams {
		for _, d := range s.Documents() {
			if isPolicy(d.Kind()) {
				return true
			}
		}
	}
	return false
}

// policyLikeGroups hold the policies of other systems.
var policyLikeGroups = []string{policyGroup, "kyverno.io", "policies.kyverno.io", "json.kyverno.io", "mutations.gatekeeper.sh"}

// checkPolicies reports documents given as policies, or with them, that look as if
// they were meant to do something and will not.
func checkPolicies(streams []*manifest.Stream) []source.Diagnostic {
	var diagnostics []source.Diagnostic
	for _, s := range streams {
		for _, d := range s.Documents() {
			if problem := checkPolicy(d); problem != nil {
				problem.Subject = strings.TrimSpace(d.Kind().Kind + " " + d.Name())
				diagnostics = append(diagnostics, *problem)
			}
		}
	}
	return diagnostics
}

func checkPolicy(d *manifest.Document) *source.Diagnostic {
	kind := d.Kind()
	at := d.At(change.Keys("kind"))
	known := []string{policyKind, bindingKind}
	isLike := slices.Contains(policyLikeGroups, kind.Group) || strings.HasSuffix(kind.Kind, "Policy") || strings.HasSuffix(kind.Kind, "PolicyBinding")
	switch {
	case kind.Kind == "" || kind.Version == "":
		problem := source.Errorf(d.At(nil), "manifest-invalid", "the document has no apiVersion or no kind").
			With("every Kubernetes object has both")
		return &problem
	case isPolicy(kind) || !isLike && nearest(kind.Kind, known) == "":
		return nil
	case slices.Contains(known, kind.Kind):
		problem := source.Errorf(d.At(change.Keys("apiVersion")), "policy-kind-unknown", "%s is not of group %s", kind.Kind, kind.Group).
			With("expected apiVersion: " + policyGroup + "/v1, or v1beta1 or v1alpha1 for older clusters")
		return &problem
	case schema.Builtin().Lookup(kind) != nil:
		if kind.Group != policyGroup {
			return nil
		}
		problem := source.Warningf(at, "policy-not-mutating", "a %s does not change manifests, so it is ignored", kind.Kind)
		return &problem
	}
	problem := source.Errorf(at, "policy-kind-unknown", "there is no policy language with kind %s of %s", kind.Kind, kind.APIVersion()).
		With(suggest(kind.Kind, known))
	return &problem
}

// bindAlone returns a binding for the policy that a stream consists of, unless there
// is one in the other streams; or if it is no policy.
func bindAlone(policy *manifest.Document, streams []*manifest.Stream) (*manifest.Stream, []source.Diagnostic) {
	kind, name := policy.Kind(), policy.Name()
	if kind.Kind != policyKind || name == "" {
		return nil, nil
	}
	for _, s := range streams {
		for _, d := range s.Documents() {
			bound, _ := change.Keys("spec", "policyName").Get(d.Object())
			if isPolicy(d.Kind()) && d.Kind().Kind == bindingKind && bound == name {
				return nil, nil
			}
		}
	}
	stream, diagnostics := manifest.Read("binding of "+name, mustEncode(map[string]any{
		"apiVersion": kind.APIVersion(),
		"kind":       bindingKind,
		"metadata":   map[string]any{"name": name},
		"spec":       map[string]any{"policyName": name},
	}))
	note := source.Diagnostic{
		At: policy.At(change.Keys("metadata", "name")), Severity: source.Info, Code: "policy-bound",
		Message: policyKind + " " + name + " has no binding, so it is bound to everything that it matches",
		Advice:  "give a " + bindingKind + " to say where it applies",
	}
	return stream, append(diagnostics, note)
}
