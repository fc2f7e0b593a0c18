package engine

import (
	"slices"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/mutatingpolicy"
	"github.com/preadmit/preadmit/engine/internal/wildcard"
	"github.com/preadmit/preadmit/engine/policy"
)

// Reads returns what the policies of the set look up, as far as they say so, with what the
// admission plug-ins of the options look up.
func (s *Set) Reads() []policy.Read {
	s = s.orEmpty()
	var reads []policy.Read
	for _, program := range s.programs {
		reads = append(reads, program.Reads()...)
	}
	for _, d := range slices.Concat(s.policies, s.context) {
		if read, ok := mutatingpolicy.EntryRead(d); ok {
			reads = append(reads, read)
		}
	}
	return reads
}

// Names reports whether a policy of the set names the kind of a resource, in any version: because it
// selects its objects, or because it looks them up.
func (s *Set) Names(group, resource, kind string) bool {
	s = s.orEmpty()
	for _, program := range s.programs {
		for _, selected := range program.Selects() {
			own := resource
			if selected.Resource == "" {
				own = kind
			}
			if wildcard.Match(selected.Group, group) && wildcard.Match(selected.Resource+selected.Kind, own) {
				return true
			}
		}
	}
	return slices.ContainsFunc(s.Reads(), func(read policy.Read) bool {
		return read.Kind.Group == group && read.Kind.Kind == kind || read.Resource.Group == group && read.Resource.Resource == resource
	})
}

// PolicyKinds returns the kinds of a cluster that decide how it changes or refuses objects: policies,
// their bindings and exceptions, the configuration of their languages, and configurations of
// webhooks. They have no versions.
func PolicyKinds() []gvk.Kind {
	kinds := slices.Concat(emptySet().kinds...)
	kinds = append(kinds, configurations...)
	slices.SortFunc(kinds, func(a, b gvk.Kind) int { return slices.Compare([]string{a.Group, a.Kind}, []string{b.Group, b.Kind}) })
	return slices.Compact(kinds)
}

// configurations are the kinds that configure languages, or that have their policies in another form.
var configurations = []gvk.Kind{
	{Group: webhookKind.Group, Kind: webhookKind.Kind},
	{Group: webhookKind.Group, Kind: "ValidatingWebhookConfiguration"},
	{Group: "config.gatekeeper.sh", Kind: "Config"},
	{Group: "kyverno.io", Kind: "GlobalContextEntry"},
}

// IsPolicyGroup reports whether the kinds of a group are those of a policy language.
func IsPolicyGroup(group string) bool {
	return slices.Contains(policyGroups, group) || slices.Contains(otherGroups, group) || group == "config.gatekeeper.sh" || group == "externaldata.gatekeeper.sh"
}

// Declared returns an object without the fields that a server adds when it stores the object, and
// without those that only clients and controllers of the cluster use. It shares parts with the object.
func Declared(object map[string]any) map[string]any {
	return essence(object)
}
