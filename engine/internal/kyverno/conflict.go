package kyverno

import (
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/internal/wildcard"
	"github.com/preadmit/preadmit/engine/policy"
)

// matchesNothing reports a rule that Kyverno takes for one that excludes all that it matches:
// ValidateMatchExcludeConflict in api/kyverno/v1/rule_types.go.
func (r *reader) matchesNothing(n policy.Node) {
	matched, excluded := n.At("match"), n.At("exclude")
	any, excludedAny := matched.At("any").Items(), excluded.At("any").Items()
	empty := false
	switch {
	case isVoid(excluded) || len(matched.At("all").Items())+len(excluded.At("all").Items()) > 0:
	case len(any) > 0 && len(excludedAny) > 0:
		empty = slices.ContainsFunc(any, func(a policy.Node) bool {
			return slices.ContainsFunc(excludedAny, func(b policy.Node) bool { return change.Equal(a.Value, b.Value) })
		})
	default:
		empty = flatConflict(matched, excluded)
	}
	if empty {
		r.refuse(excluded, "Rule is matching an empty set")
	}
}

// isVoid reports whether a block has no fields but empty ones.
func isVoid(n policy.Node) bool {
	for key := range n.Object() {
		if len(n.At(key).Object())+len(n.At(key).Items()) > 0 {
			return false
		}
	}
	return true
}

// flatConflict compares the legacy forms of a match and an exclude block.
func flatConflict(matched, excluded policy.Node) bool {
	resources, others := matched.At("resources"), excluded.At("resources")
	for _, key := range []string{"roles", "clusterRoles", "subjects"} {
		if !covers(excluded.At(key), matched.At(key)) {
			return false
		}
	}
	if name := others.At("name").Text(); name != "" && !wildcard.Match(name, resources.At("name").Text()) {
		return false
	}
	if names := others.At("names").Texts(); len(names) > 0 {
		return slices.ContainsFunc(resources.At("names").Texts(), func(name string) bool { return anyMatches(names, name) })
	}
	for _, key := range []string{"namespaces", "kinds"} {
		if !covers(others.At(key), resources.At(key)) {
			return false
		}
	}
	for _, key := range []string{"selector", "namespaceSelector", "annotations"} {
		a, b := resources.At(key), others.At(key)
		switch {
		case a.Given() != b.Given():
			return false
		case key == "annotations":
			if !change.Equal(a.Value, b.Value) {
				return false
			}
		case !covers(b.At("matchExpressions"), a.At("matchExpressions")) || !coversLabels(b.At("matchLabels").Object(), a.At("matchLabels").Object()):
			return false
		}
	}
	return true
}

// covers reports whether a list of an exclude block is empty or has all items of the match block's.
func covers(excluded, matched policy.Node) bool {
	return len(excluded.Items()) == 0 || len(matched.Items()) > 0 && !slices.ContainsFunc(matched.Items(), func(item policy.Node) bool {
		return !slices.ContainsFunc(excluded.Items(), func(other policy.Node) bool { return change.Equal(item.Value, other.Value) })
	})
}

func coversLabels(excluded, matched map[string]any) bool {
	if len(excluded) == 0 {
		return true
	}
	for key, value := range matched {
		if excluded[key] != value {
			return false
		}
	}
	return len(matched) > 0
}

// clusterKinds reports built-in kinds without a namespace in the match block of a Policy. Kyverno
// asks its cluster for them; those of custom resources are not known here.
func (r *reader) clusterKinds(kinds policy.Node) {
	for _, n := range kinds.Items() {
		if slices.ContainsFunc(schema.Builtin().Kinds(), func(k *schema.Kind) bool {
			return !k.Namespaced && (n.Text() == k.Kind.Kind || n.Text() == k.APIVersion()+"/"+k.Kind.Kind)
		}) {
			r.refuse(n, "Forbidden: Cluster wide resource '%s' not allowed in namespaced policy", n.Text())
		}
	}
}
