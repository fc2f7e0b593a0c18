package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/internal/wildcard"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// tellPolicies tells about documents that are ignored, but may look like policies: policies of
// other systems, and kinds with names similar to policies.
func (r *run) tellPolicies() {
	if r.set.settings.options.Plain {
		return
	}
	for _, d := range r.set.others {
		if problem := r.otherPolicy(d); problem != nil {
			r.tell(*problem)
		}
	}
	others := map[gvk.Kind]bool{} // kinds that do not look like policies
	for _, d := range r.input.manifests {
		kind := d.Kind()
		if others[kind] {
			continue
		}
		switch problem := r.otherPolicy(d); {
		case problem != nil:
			r.tell(*problem)
		case !r.set.isMisspelt(kind):
			others[kind] = kind.Group != webhookKind.Group || kind.Kind != webhookKind.Kind
		case kind.Version != "":
			warning := r.set.misspelt(d)
			warning.Severity, warning.Subject = source.Warning, strings.TrimSpace(d.Kind().Kind+" "+d.Name())
			r.tell(warning)
		}
	}
}

// otherPolicy returns a diagnostic about an ignored policy, once for every kind. It returns nil if the
// document does not look like a policy.
func (r *run) otherPolicy(d *manifest.Document) *source.Diagnostic {
	kind := d.Kind()
	var problem source.Diagnostic
	switch {
	case kind.Group == webhookKind.Group && kind.Kind == webhookKind.Kind:
		if r.isPredicted(d) {
			return nil
		}
		problem = source.Notef(d.At(nil), "webhook-unpredicted", "webhooks may change manifests in ways that preadmit cannot predict").
			With("preadmit runs policies; test other webhooks in a cluster")
		problem.Subject = "MutatingWebhookConfiguration " + d.Name()
	case slices.Contains(otherKinds[kind.Group], kind.Kind), slices.Contains(otherGroups, kind.Group):
		problem = source.Notef(d.At(change.Keys("kind")), "policy-not-mutating", "objects of kind %s do not change manifests, so preadmit ignores this one", source.Name(kind.Kind))
	case r.schemas.Lookup(kind) == nil && !r.policies.reads[kind] && !slices.Contains(policyGroups, kind.Group):
		_, known := r.set.policyKinds(kind.Kind)
		if slices.Contains(known, kind.Kind) || source.Misspelt(kind.Kind, known) == "" { // other groups may have a Policy
			return nil
		}
		problem = source.Warningf(d.At(change.Keys("kind")), "policy-kind-unknown", "no policy language has kind %s of %s, so preadmit ignores it", source.Name(kind.Kind), source.Name(kind.APIVersion())).
			Advised(source.Suggest(kind.Kind, known))
	default:
		return nil
	}
	return &problem
}

// tellNames warns about unknown kinds and resources in policies, if their group is part of
// Kubernetes or if they are probably misspelt. Other unknown names may belong to definitions that
// were not given.
func (r *run) tellNames() {
	names := &names{schemas: r.schemas, kinds: sync.OnceValue(r.schemas.Kinds)}
	for _, program := range r.policies.programs {
		selected := program.Selects()
		known := names.known(selected)
		for _, s := range selected {
			if known[anywhere(s)] {
				continue
			}
			if advice, meant := names.misspelt(s); advice != "" {
				known[anywhere(s)] = true // warn once
				r.tell(renamed(source.Warningf(s.At, "name-unknown", "%s: there is no %s", s.ID, source.Name(describeSelected(s))).With(advice), s, meant))
			}
		}
	}
}

// anywhere returns the resource that a rule names, without groups and versions. A rule may list
// several groups and versions, of which only one must exist.
func anywhere(s policy.Selected) policy.Selected {
	if s.Resource != "" {
		s.Group, s.Version = "", ""
	}
	s.GroupIn, s.VersionIn, s.NameIn = source.Extent{}, source.Extent{}, source.Extent{}
	return s
}

// names are the names of all known kinds.
type names struct {
	schemas *schema.Registry
	kinds   func() []*schema.Kind
}

// known says of the selected kinds and resources, without groups and versions of resources, whether any
// exists.
func (n *names) known(selected []policy.Selected) map[policy.Selected]bool {
	known := map[policy.Selected]bool{}
	for _, s := range selected {
		known[anywhere(s)] = known[anywhere(s)] || n.know(s)
	}
	return known
}

// know reports whether a kind or resource that a policy names exists.
func (n *names) know(s policy.Selected) bool {
	if strings.ContainsAny(s.Kind+s.Resource, "*?") {
		return true
	}
	if !strings.ContainsAny(s.Group+s.Version, "*?") {
		if s.Resource != "" {
			return n.schemas.LookupResource(gvk.Resource{Group: s.Group, Version: s.Version, Resource: s.Resource}) != nil
		}
		return n.schemas.Lookup(gvk.Kind{Group: s.Group, Version: s.Version, Kind: s.Kind}) != nil
	}
	return slices.ContainsFunc(n.kinds(), func(k *schema.Kind) bool { return selects(s, k) })
}

// selects reports whether a policy selects a kind with a name, which may have wildcards.
func selects(s policy.Selected, k *schema.Kind) bool {
	resource, _, _ := strings.Cut(s.Resource, "/")
	return (s.Kind == "" || wildcard.Match(s.Kind, k.Kind.Kind)) && (resource == "" || wildcard.Match(resource, k.Resource)) &&
		wildcard.Match(s.Group, k.Group) && wildcard.Match(s.Version, k.Version)
}

// describeSelected returns the name of the kind or resource that a policy selects.
func describeSelected(s policy.Selected) string {
	name := "kind " + s.Kind
	if s.Resource != "" {
		name = fmt.Sprintf("resource %q", s.Resource)
	}
	switch {
	case s.Group == "*" && s.Version == "*":
		return name
	case s.Group == "*":
		return name + " of version " + s.Version
	case s.Group == "":
		return name + " of " + s.Version
	}
	return name + " of " + s.Group + "/" + s.Version
}

// selectedName returns the kind or resource that a policy names, and that part of the names of kinds.
func selectedName(s policy.Selected) (own string, name func(*schema.Kind) string) {
	if s.Resource != "" {
		return s.Resource, func(k *schema.Kind) string { return k.Resource }
	}
	return s.Kind, func(k *schema.Kind) string { return k.Kind.Kind }
}

// similar returns the name of the version and group of an unknown one that it probably misspells, or
// "".
func (n *names) similar(s policy.Selected) string {
	own, name := selectedName(s)
	inVersion := func(k *schema.Kind) bool {
		return wildcard.Match(s.Group, k.Group) && wildcard.Match(s.Version, k.Version)
	}
	// A resource is the plural in lower case, but people often write the kind.
	if found := n.pick(name, func(k *schema.Kind) bool { return inVersion(k) && strings.EqualFold(k.Kind.Kind, own) }); len(found) > 0 {
		return found[0]
	}
	return source.Misspelt(own, n.pick(name, inVersion))
}

// renamed returns a diagnostic about a name with the fix that makes another one of it, unless they are equal.
func renamed(d source.Diagnostic, s, meant policy.Selected) source.Diagnostic {
	var edits []source.Edit
	var titles []string
	for _, part := range []struct {
		old, new string
		in       source.Extent
	}{{s.Resource, meant.Resource, s.NameIn}, {s.Kind, meant.Kind, s.NameIn}, {s.Version, meant.Version, s.VersionIn}, {s.Group, meant.Group, s.GroupIn}} {
		switch {
		case part.old == part.new:
			continue
		case part.in != source.Extent{}:
			edits = append(edits, part.in.Replacing(part.old, part.new))
		case part.old == "" || part.new == "" || !s.At.IsKnown():
			return d
		default:
			edits = append(edits, source.Edit{At: s.At, Old: part.old, New: part.new})
		}
		titles = append(titles, cmp.Or(part.old, `""`)+" with "+cmp.Or(part.new, `""`))
	}
	if len(edits) == 0 {
		return d
	}
	return d.Mended("Replace "+strings.Join(titles, ", and "), edits...)
}

// misspelt returns advice about an unknown name, and the name that was meant, or s if only the writer knows it. It
// has no text if a definition that was not given may have it.
func (n *names) misspelt(s policy.Selected) (advice string, meant policy.Selected) {
	meant = s
	own, name := selectedName(s)
	isNamed := func(k *schema.Kind) bool { return name(k) == own }
	inGroup := func(k *schema.Kind) bool { return isNamed(k) && wildcard.Match(s.Group, k.Group) }
	if versions := n.pick(func(k *schema.Kind) string { return k.Version }, inGroup); len(versions) > 0 {
		if len(versions) == 1 {
			meant.Version = versions[0]
		}
		return "expected version " + source.Alternatives(versions), meant
	}
	if near := n.similar(s); near != "" {
		return source.Meant(own, near).Text, withName(s, near)
	}
	var groups []string
	for _, k := range n.kinds() {
		if group := cmp.Or(k.Group, `""`); isNamed(k) && !slices.Contains(groups, group) {
			groups = append(groups, group)
		}
	}
	switch near := source.Misspelt(s.Group, groups); {
	case near != "":
		meant.Group = strings.Trim(near, `"`)
		return "did you mean group " + near + "?", meant
	case len(groups) > 0 && (n.isBuiltin(s.Group) || isReserved(s.Group)):
		if len(groups) == 1 {
			meant.Group = strings.Trim(groups[0], `"`)
		}
		return "expected group " + source.Alternatives(groups), meant
	case n.isBuiltin(s.Group):
		return fmt.Sprintf("no cluster serves that: the group is part of Kubernetes, and 'kubectl api-resources --api-group=%s' lists its resources", s.Group), meant
	}
	return n.bothMisspelt(s)
}

// isReserved reports whether no definition can have a group: an API server refuses one without a dot
// (apiextensions-apiserver v0.36.3, ValidateCustomResourceDefinition).
func isReserved(group string) bool { return group != "" && !strings.ContainsAny(group, ".*?") }

// bothMisspelt is misspelt for a name and a group that are both unknown.
func (n *names) bothMisspelt(s policy.Selected) (advice string, meant policy.Selected) {
	meant = s
	meant.Group = source.Misspelt(s.Group, n.pick(func(k *schema.Kind) string { return k.Group }, func(*schema.Kind) bool { return true }))
	if near := n.similar(meant); meant.Group != "" && near != "" {
		return "did you mean " + near + " of group " + meant.Group + "?", withName(meant, near)
	}
	if isReserved(s.Group) {
		return "no definition can have a group without a dot: 'kubectl api-resources' lists the groups", s
	}
	return "", s
}

// withName returns s with another name of its resource or kind.
func withName(s policy.Selected, name string) policy.Selected {
	if s.Resource != "" {
		s.Resource = name
	} else {
		s.Kind = name
	}
	return s
}

// isBuiltin reports whether a group is part of Kubernetes, so that all its kinds are known.
func (n *names) isBuiltin(group string) bool {
	return slices.ContainsFunc(n.kinds(), func(k *schema.Kind) bool { return k.Group == group && !k.Custom })
}

// pick returns sorted distinct parts of the names of matching kinds.
func (n *names) pick(part func(*schema.Kind) string, matches func(*schema.Kind) bool) []string {
	var parts []string
	for _, k := range n.kinds() {
		if part(k) != "" && matches(k) {
			parts = append(parts, part(k))
		}
	}
	slices.Sort(parts)
	return slices.Compact(parts)
}
