package engine

import (
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/kyverno"
	"github.com/preadmit/preadmit/engine/internal/kyverno/given"
	"github.com/preadmit/preadmit/engine/internal/mutationtree"
	"github.com/preadmit/preadmit/engine/internal/release"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// IsPolicy reports whether documents of a kind belong to a policy language.
func IsPolicy(kind gvk.Kind) bool {
	return speaking(settings{kyverno: kyverno.New(&given.Values{}, given.UserInfo{}, "", release.Newest), values: &given.Values{}, context: &given.Context{}}).isPolicy(kind)
}

// IsBuiltin reports whether a kind is part of Kubernetes, in any known version.
func IsBuiltin(kind gvk.Kind) bool {
	if schema.Builtin().Lookup(kind) != nil {
		return true
	}
	if strings.Contains(kind.Group, ".") && !strings.HasSuffix(kind.Group, ".k8s.io") {
		return false // most groups need no look at the other versions
	}
	for minor := release.Oldest; minor <= release.Newest; minor++ {
		if schema.BuiltinOf(minor).Lookup(kind) != nil {
			return true
		}
	}
	return false
}

// policyGroups are the groups of policies that change manifests, including unsupported ones.
var policyGroups = []string{"admissionregistration.k8s.io", "kyverno.io", "policies.kyverno.io", "json.kyverno.io", mutationtree.PolicyKind.Group, "mutations.gatekeeper.sh"}

// otherKinds are kinds in these groups that change no manifest, or that preadmit cannot predict.
// They are ignored, because an export of a cluster contains them.
var otherKinds = map[string][]string{
	"kyverno.io": {"CleanupPolicy", "ClusterCleanupPolicy", "UpdateRequest", "AdmissionReport", "BackgroundScanReport", "ClusterAdmissionReport", "ClusterBackgroundScanReport"},
	"policies.kyverno.io": {
		"ValidatingPolicy", "NamespacedValidatingPolicy", "ImageValidatingPolicy", "NamespacedImageValidatingPolicy",
		"GeneratingPolicy", "NamespacedGeneratingPolicy", "DeletingPolicy", "NamespacedDeletingPolicy",
	},
	"json.kyverno.io": {"ValidatingPolicy"},
}

// otherGroups are the groups of policies that do not change manifests.
var otherGroups = []string{"constraints.gatekeeper.sh", "templates.gatekeeper.sh", "expansion.gatekeeper.sh", "status.gatekeeper.sh"}

// checkPolicies reports documents, given as policies or with them, that were probably meant to be
// policies but have no effect. Unknown kinds are reported only with the manifests: see
// tellPolicies.
func (s *Set) checkPolicies(streams []*manifest.Stream) []source.Diagnostic {
	var diagnostics []source.Diagnostic
	for _, d := range documentsOf(streams) {
		var problem source.Diagnostic
		switch kind := d.Kind(); {
		case kind.Kind == "" || kind.Version == "":
			problem = source.Errorf(d.At(nil), "manifest-invalid", "the document has no apiVersion or no kind").
				With("every Kubernetes object has both")
		case s.isPolicy(kind):
			continue
		case s.isMisspelt(kind):
			problem = s.misspelt(d)
		default:
			s.others = append(s.others, d)
			continue
		}
		problem.Subject = strings.TrimSpace(d.Kind().Kind + " " + d.Name())
		diagnostics = append(diagnostics, problem)
	}
	return diagnostics
}

// isMisspelt reports whether an unknown kind was probably meant to be a policy, because no known
// kind of its group has a similar name.
func (s *Set) isMisspelt(kind gvk.Kind) bool {
	if s.settings.Plain || s.schemas.Lookup(kind) != nil || slices.Contains(otherKinds[kind.Group], kind.Kind) {
		return false
	}
	group, _ := s.policyKinds(kind.Kind)
	return slices.Contains(policyGroups, kind.Group) || group != "" && kind.Kind != commonName
}

// commonName is a supported kind whose name many groups have.
const commonName = "Policy"

// misspelt returns the diagnostic about a document that was probably meant to be a policy.
func (s *Set) misspelt(d *manifest.Document) source.Diagnostic {
	kind := d.Kind()
	group, known := s.policyKinds(kind.Kind)
	if group != "" {
		return source.Errorf(d.At(change.Keys("apiVersion")), "policy-kind-unknown", "%s is not a kind of group %q", source.Name(kind.Kind), source.Name(kind.Group)).
			With("expected a version of " + group)
	}
	return source.Errorf(d.At(change.Keys("kind")), "policy-kind-unknown", "no policy language has kind %s of %s", source.Name(kind.Kind), source.Name(kind.APIVersion())).
		With(source.Suggest(kind.Kind, known))
}

// tellPolicies warns about documents that are ignored, but may look like policies: policies of
// other systems, and kinds with names similar to policies.
func (r *run) tellPolicies() {
	if r.set.settings.Plain {
		return
	}
	for _, d := range r.set.others {
		if problem := r.otherPolicy(d); problem != nil {
			r.tell(*problem)
		}
	}
	for _, d := range r.input.manifests {
		switch problem := r.otherPolicy(d); {
		case problem != nil:
			r.tell(*problem)
		case r.set.isMisspelt(d.Kind()) && d.Kind().Version != "":
			warning := r.set.misspelt(d)
			warning.Severity, warning.Subject = source.Warning, strings.TrimSpace(d.Kind().Kind+" "+d.Name())
			r.tell(warning)
		}
	}
}

// otherPolicy returns a warning about an ignored policy, once for every kind. It returns nil if the
// document does not look like a policy.
func (r *run) otherPolicy(d *manifest.Document) *source.Diagnostic {
	kind := d.Kind()
	var problem source.Diagnostic
	switch {
	case kind.Group == policyGroups[0] && kind.Kind == "MutatingWebhookConfiguration":
		if r.knownWebhook(d.Name()) {
			return nil
		}
		problem = source.Warningf(d.At(nil), "webhook-unpredicted", "webhooks may change manifests in ways that preadmit cannot predict").
			With("preadmit runs policies; test other webhooks in a cluster")
		problem.Subject = "MutatingWebhookConfiguration " + d.Name()
	case slices.Contains(otherKinds[kind.Group], kind.Kind), slices.Contains(otherGroups, kind.Group):
		problem = source.Warningf(d.At(change.Keys("kind")), "policy-not-mutating", "objects of kind %s do not change manifests, so preadmit ignores this one", source.Name(kind.Kind))
	case r.schemas.Lookup(kind) == nil && !r.reads[kind] && !slices.Contains(policyGroups, kind.Group):
		_, known := r.set.policyKinds(kind.Kind)
		if slices.Contains(known, kind.Kind) || source.Misspelt(kind.Kind, known) == "" { // other groups may have a Policy
			return nil
		}
		problem = source.Warningf(d.At(change.Keys("kind")), "policy-kind-unknown", "no policy language has kind %s of %s, so preadmit ignores it", source.Name(kind.Kind), source.Name(kind.APIVersion())).
			With(source.Suggest(kind.Kind, known))
	default:
		return nil
	}
	return &problem
}

// knownWebhook reports whether a webhook belongs to policies that run here.
func (r *run) knownWebhook(name string) bool {
	return name != "" && slices.ContainsFunc(r.programs, func(p policy.Program) bool { return p.Hook().Configuration == name })
}

// policyKinds returns the kinds of all languages, and the group that has a kind with the given
// name.
func (s *Set) policyKinds(name string) (group string, known []string) {
	var groups []string
	for _, kind := range slices.Concat(s.kinds...) {
		if !slices.Contains(known, kind.Kind) {
			known = append(known, kind.Kind)
		}
		if kind.Kind == name {
			groups = append(groups, kind.Group)
		}
	}
	return strings.Join(groups, " or "), known
}
