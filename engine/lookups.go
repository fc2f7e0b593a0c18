package engine

import (
	"slices"
	"strings"

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

// Named returns a function that reports whether a policy of the set names the kind of a resource, in
// any version: because it selects its objects, or because it looks them up.
func (s *Set) Named() func(group, resource, kind string) bool {
	type name struct{ group, resource, kind string }
	names := map[name]bool{}
	for _, program := range s.orEmpty().programs {
		for _, selected := range program.Selects() {
			names[name{selected.Group, selected.Resource, selected.Kind}] = true
		}
	}
	for _, read := range s.Reads() {
		names[name{read.Kind.Group, "", read.Kind.Kind}] = read.Kind != policy.AnyKind
		names[name{read.Resource.Group, read.Resource.Resource, ""}] = read.Resource != gvk.Resource{}
	}
	var patterns []name
	for n, is := range names {
		if is && strings.ContainsAny(n.group+n.resource+n.kind, "*?") {
			patterns = append(patterns, n)
		}
	}
	return func(group, resource, kind string) bool {
		return names[name{group, resource, ""}] || names[name{group, "", kind}] || slices.ContainsFunc(patterns, func(n name) bool {
			return wildcard.Match(n.group, group) && (n.kind == "" && wildcard.Match(n.resource, resource) || n.resource == "" && wildcard.Match(n.kind, kind))
		})
	}
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
