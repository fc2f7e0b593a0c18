package engine

import (
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/kyverno"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/mutationtree"
	"github.com/preadmit/preadmit/engine/source"
)

// IsPolicy reports whether documents of a kind belong to a policy language.
func IsPolicy(kind gvk.Kind) bool {
	s := Set{languages: languages(settings{kyverno: kyverno.New(nil, nil, "", newestMinor)})}
	return s.isPolicy(kind)
}

// policyGroups hold the policies of systems that change manifests, ours or not.
var policyGroups = []string{"admissionregistration.k8s.io", "kyverno.io", "policies.kyverno.io", "json.kyverno.io", mutationtree.PolicyKind.Group, "mutations.gatekeeper.sh"}

// checkPolicies reports documents given as policies, or with them, that look as if
// they were meant to do something and will not.
func (s *Set) checkPolicies(streams []*manifest.Stream) []source.Diagnostic {
	var diagnostics []source.Diagnostic
	for _, stream := range streams {
		for _, d := range stream.Documents() {
			if problem := s.checkPolicy(d); problem != nil {
				problem.Subject = strings.TrimSpace(d.Kind().Kind + " " + d.Name())
				diagnostics = append(diagnostics, *problem)
			}
		}
	}
	return diagnostics
}

func (s *Set) checkPolicy(d *manifest.Document) *source.Diagnostic {
	var problem source.Diagnostic
	kind := d.Kind()
	at := d.At(change.Keys("kind"))
	switch group, known := s.policyKinds(kind.Kind); {
	case kind.Kind == "" || kind.Version == "":
		problem = source.Errorf(d.At(nil), "manifest-invalid", "the document has no apiVersion or no kind").
			With("every Kubernetes object has both")
	case s.language(kind) >= 0:
		return nil
	case group != "":
		problem = source.Errorf(d.At(change.Keys("apiVersion")), "policy-kind-unknown", "%s is not of group %q", kind.Kind, kind.Group).
			With("expected a version of " + group)
	case s.schemas.Lookup(kind) != nil:
		if kind.Group != policyGroups[0] {
			return nil
		}
		problem = source.Warningf(at, "policy-not-mutating", "a %s does not change manifests, so it is ignored", kind.Kind)
	case slices.Contains(policyGroups, kind.Group) || strings.HasSuffix(kind.Kind, "Policy") || strings.HasSuffix(kind.Kind, "PolicyBinding") || source.Nearest(kind.Kind, known) != "":
		problem = source.Errorf(at, "policy-kind-unknown", "there is no policy language with kind %s of %s", kind.Kind, kind.APIVersion()).
			With(source.Suggest(kind.Kind, known))
	default:
		return nil
	}
	return &problem
}

// policyKinds returns the kinds of all languages, and the group that has one with
// the name given.
func (s *Set) policyKinds(name string) (group string, known []string) {
	for _, l := range s.languages {
		for _, kind := range l.Kinds() {
			known = append(known, kind.Kind)
			if kind.Kind == name {
				group = kind.Group
			}
		}
	}
	return group, known
}
