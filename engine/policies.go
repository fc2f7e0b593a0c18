package engine

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/celenv"
	"github.com/preadmit/preadmit/engine/internal/gatekeeper"
	"github.com/preadmit/preadmit/engine/internal/mapolicy"
	"github.com/preadmit/preadmit/engine/internal/mutatingpolicy"
	"github.com/preadmit/preadmit/engine/internal/mutationtree"
	"github.com/preadmit/preadmit/engine/internal/policydoc"
	"github.com/preadmit/preadmit/engine/internal/release"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/internal/vapolicy"
	"github.com/preadmit/preadmit/engine/internal/webhook"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// languages is the table of policy languages.
func languages(s settings) []policy.Language {
	return []policy.Language{
		mutationtree.New(s.options.Trees, celenv.New(s.minor)),
		mapolicy.New(s.minor, s.authorizer),
		vapolicy.New(s.minor, s.authorizer),
		gatekeeper.New(),
		s.kyverno,
		mutatingpolicy.New(s.values, s.context, s.options.Namespace),
		webhook.New(s.minor, s.authorizer, s.answerer),
	}
}

// speaking returns a set with the policy languages.
func speaking(settings settings) *Set {
	s := &Set{settings: settings, languages: languages(settings), options: &settings.options}
	s.rules, s.identities = sync.OnceValue(s.digestOfOptions), sync.OnceValue(s.findIdentities)
	for _, l := range s.languages {
		s.kinds = append(s.kinds, l.Kinds())
	}
	return s
}

// spoken are the languages for options.
type spoken struct {
	options   *Options
	languages []policy.Language
}

// speakAs lets the set speak the languages of an earlier set with equal options.
func (s *Set) speakAs() {
	if s.settings.options.Webhooks != nil {
		return // it answers for one run
	}
	same := policy.Keep(s.kept, s.rules(), nil, func() spoken { return spoken{s.options, s.languages} })
	s.options, s.languages = same.options, same.languages
}

// isPolicy reports whether documents of a kind are policies. Among plain documents, only
// mutation trees are.
func (s *Set) isPolicy(kind gvk.Kind) bool {
	if s.settings.options.Plain {
		return kind.Group == mutationtree.PolicyKind.Group
	}
	return s.language(kind) >= 0
}

// language returns the index of the language of a kind, or -1.
func (s *Set) language(kind gvk.Kind) int {
	kind.Version = ""
	return slices.IndexFunc(s.kinds, func(kinds []gvk.Kind) bool { return slices.Contains(kinds, kind) })
}

// owners returns the indexes of the languages that have a document as a policy or as their
// configuration.
func (s *Set) owners(d *manifest.Document) []int {
	if i := s.language(d.Kind()); i >= 0 {
		return []int{i}
	}
	var owners []int
	for i, l := range s.languages {
		if configured, ok := l.(policy.Configured); ok && configured.Configures(d) {
			owners = append(owners, i)
		}
	}
	return owners
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
	"kyverno.io": {"CleanupPolicy", "ClusterCleanupPolicy", "UpdateRequest", "AdmissionReport", "BackgroundScanReport", "ClusterAdmissionReport", "ClusterBackgroundScanReport", "GlobalContextEntry"},
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
		case kind.Version == "":
			problem = s.missingIdentity(d, change.Keys("apiVersion"))
		case kind.Kind == "":
			problem = s.missingIdentity(d, change.Keys("kind"))
		case s.isPolicy(kind), kind == ClusterKind:
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
	if s.settings.options.Plain || s.schemas.Lookup(kind) != nil || slices.Contains(otherKinds[kind.Group], kind.Kind) {
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
		advice := source.Advice{Text: "expected a version of " + group}
		if !strings.Contains(group, " ") { // there is only one
			advice.Old, advice.New = kind.APIVersion(), gvk.Kind{Group: group, Version: kind.Version}.APIVersion()
		} else if near := source.Misspelt(kind.Group, strings.Split(group, " or ")); near != "" {
			advice = source.Meant(kind.APIVersion(), gvk.Kind{Group: near, Version: kind.Version}.APIVersion())
		}
		return source.Errorf(d.At(change.Keys("apiVersion")), "policy-kind-unknown", "%s is not a kind of group %q", source.Name(kind.Kind), source.Name(kind.Group)).Advised(advice)
	}
	return source.Errorf(d.At(change.Keys("kind")), "policy-kind-unknown", "no policy language has kind %s of %s", source.Name(kind.Kind), source.Name(kind.APIVersion())).
		Advised(source.Suggest(kind.Kind, known))
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

// missingIdentity reports that a document lacks a field that every object needs, or that the field is misspelt.
func (s *Set) missingIdentity(d *manifest.Document, path change.Path) source.Diagnostic {
	missing := source.Errorf(d.At(nil), "manifest-invalid", "the document has no %s", path)
	object := d.Object()
	for i := range path {
		in, _ := path[:i].Get(object)
		fields, isMap := in.(map[string]any)
		if !isMap {
			missing = d.Retyped(missing, path[:i], func(value any) bool { _, isMap := value.(map[string]any); return isMap })
		}
		if _, ok := fields[path[i].Key]; ok {
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(fields)) {
			if source.Misspelt(key, []string{path[i].Key}) != "" {
				missing.At = d.Key(path[:i].Key(key))
				return missing.Advised(source.Meant(key, path[i].Key))
			}
		}
		break
	}
	if len(path) == 1 {
		missing = s.proposeIdentity(d, missing, path)
	}
	return missing.With("every Kubernetes object has apiVersion, kind and metadata.name (or generateName)")
}

// mostProposed is how many values are proposed for apiVersion or kind.
const mostProposed = 4

// proposeIdentity returns a diagnostic about a missing apiVersion or kind with the values that fit the other one, if
// they are few.
func (s *Set) proposeIdentity(d *manifest.Document, missing source.Diagnostic, path change.Path) source.Diagnostic {
	fitting := s.identities().apiVersions[d.TextAt("kind")]
	if path[0].Key == "kind" {
		fitting = s.identities().kinds[d.TextAt("apiVersion")]
	}
	if len(fitting) <= mostProposed {
		for _, value := range fitting {
			missing = d.Put(missing, path, value)
		}
	}
	return missing
}

// identities are the kinds of each apiVersion and the apiVersions of each kind that are known.
type identities struct{ kinds, apiVersions map[string][]string }

// findIdentities returns the identities of all policies and schemas.
func (s *Set) findIdentities() identities {
	found := identities{map[string][]string{}, map[string][]string{}}
	add := func(to map[string][]string, key, value string) {
		if !slices.Contains(to[key], value) {
			to[key] = append(to[key], value)
		}
	}
	kinds := slices.Clone(policydoc.Kinds())
	for _, k := range s.schemas.Kinds() {
		kinds = append(kinds, k.Kind)
	}
	for _, k := range kinds {
		add(found.kinds, k.APIVersion(), k.Kind)
		add(found.apiVersions, k.Kind, k.APIVersion())
	}
	return found
}
