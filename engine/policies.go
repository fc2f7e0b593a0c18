package engine

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
)

// IsPolicy reports whether documents of the kind are policies, or bindings of them.
func IsPolicy(kind gvk.Kind) bool {
	return kind.Group == policyGroup && (kind.Kind == policyKind || kind.Kind == bindingKind)
}

// HavePolicies reports whether there are any policies in the streams.
func HavePolicies(streams []*manifest.Stream) bool {
	for _, s := range streams {
		for _, d := range s.Documents() {
			if IsPolicy(d.Kind()) {
				return true
			}
		}
	}
	return false
}

// policyLikeGroups hold the policies of other systems.
var policyLikeGroups = []string{policyGroup, "kyverno.io", "policies.kyverno.io", "json.kyverno.io", "mutations.gatekeeper.sh"}

// CheckPolicies reports documents given as policies, or with them, that look as if
// they were meant to do something and will not.
func CheckPolicies(streams []*manifest.Stream) []source.Diagnostic {
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
	case IsPolicy(kind) || !isLike && source.Nearest(kind.Kind, known) == "":
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
		With(source.Suggest(kind.Kind, known))
	return &problem
}
