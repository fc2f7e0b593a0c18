package mutatingpolicy

import (
	"slices"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/match"
	"github.com/preadmit/preadmit/engine/policy"
)

// unit is a policy for some kinds: those that it matches, or controllers of the pods that
// it matches.
type unit struct {
	policy      *definition
	constraints *match.Resources
	// autogen is what Kyverno calls the kinds that the policy is carried over to; empty for
	// those that it matches.
	autogen string
	// template is where controllers have the template of their pods; nil if they are pods.
	template []string
}

// rule names a mutation of the unit.
func (u *unit) rule(name string) policy.ID {
	id := u.policy.id()
	id.Rule = name
	if u.autogen != "" {
		id.Rule += " (autogen " + u.autogen + ")"
	}
	return id
}

// controllers are the resources that policies for pods are carried over to.
var controllers = []struct {
	autogen   string
	template  []string
	resources []gvk.Resource
}{
	{"defaults", []string{"spec", "template"}, []gvk.Resource{
		{Group: "apps", Version: "v1", Resource: "daemonsets"},
		{Group: "apps", Version: "v1", Resource: "deployments"},
		{Group: "apps", Version: "v1", Resource: "replicasets"},
		{Group: "apps", Version: "v1", Resource: "statefulsets"},
		{Group: "batch", Version: "v1", Resource: "jobs"},
	}},
	{"cronjobs", []string{"spec", "jobTemplate", "spec", "template"}, []gvk.Resource{{Group: "batch", Version: "v1", Resource: "cronjobs"}}},
}

// makeUnits says what a policy is for.
func (d *definition) makeUnits(spec policy.Node) []*unit {
	units := []*unit{{policy: d, constraints: d.constraints}}
	block := spec.At("matchConstraints")
	if !isForPodsOnly(block) {
		return units
	}
	chosen := spec.At("autogen", "podControllers", "controllers")
	for _, c := range controllers {
		byGroup := map[string][]any{}
		for _, resource := range c.resources {
			if !chosen.Given() || slices.Contains(chosen.Texts(), resource.Resource) {
				byGroup[resource.Group] = append(byGroup[resource.Group], resource.Resource)
			}
		}
		var rules []any
		for _, group := range []string{"apps", "batch"} {
			if len(byGroup[group]) > 0 {
				rules = append(rules, map[string]any{
					"apiGroups": []any{group}, "apiVersions": []any{"v1"}, "resources": byGroup[group],
					"operations": block.At("resourceRules").Items()[0].At("operations").Value,
				})
			}
		}
		if len(rules) == 0 {
			continue
		}
		constraints, _ := match.Kyverno.Parse(map[string]any{"resourceRules": rules, "namespaceSelector": block.At("namespaceSelector").Value})
		units = append(units, &unit{policy: d, constraints: constraints, autogen: c.autogen, template: c.template})
	}
	return units
}

// isForPodsOnly reports whether a match block is about pods, and nothing tells one from
// another but their namespace.
func isForPodsOnly(block policy.Node) bool {
	rules := block.At("resourceRules").Items()
	selector := block.At("objectSelector")
	if len(rules) != 1 || len(block.At("excludeResourceRules").Items()) > 0 ||
		len(selector.At("matchLabels").Object())+len(selector.At("matchExpressions").Items()) > 0 {
		return false
	}
	rule := rules[0]
	only := func(name, value string) bool { return slices.Equal(rule.At(name).Texts(), []string{value}) }
	return only("apiGroups", "") && only("apiVersions", "v1") && only("resources", "pods") && len(rule.At("resourceNames").Items()) == 0
}
