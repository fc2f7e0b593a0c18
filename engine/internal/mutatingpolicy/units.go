package mutatingpolicy

import (
	"slices"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/match"
	"github.com/preadmit/preadmit/engine/policy"
)

// unit is a policy for some kinds: the kinds that it matches, or controllers of the pods that it
// matches.
type unit struct {
	policy *definition
	// runs is the policy whose expressions are evaluated: the policy, or the one that Kyverno
	// generates from it for controllers.
	runs        *definition
	constraints *match.Resources
	// autogen is Kyverno's name for the controllers; "" for the kinds that the policy matches.
	autogen string
}

// rule returns the ID of a mutation of the unit.
func (u *unit) rule(name string) policy.ID {
	id := u.policy.id()
	id.Rule = name
	if u.autogen != "" {
		id.Rule += " (autogen " + u.autogen + ")"
	}
	return id
}

// controllers are the controllers to which Kyverno extends policies for pods.
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

// makeUnits returns the units of a policy. If one does not compile, Kyverno has no policy at all.
func (l *Language) makeUnits(d *definition, spec policy.Node) (units []*unit, err error) {
	units = []*unit{{policy: d, runs: d, constraints: d.constraints}}
	block := spec.At("matchConstraints")
	if !IsForPodsOnly(block) {
		return units, nil
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
		rewritten, err := l.rewrite(d, spec, c.template)
		if err != nil {
			return units[:1], err
		}
		units = append(units, &unit{policy: d, runs: rewritten, constraints: constraints, autogen: c.autogen})
	}
	return units, nil
}

// IsForPodsOnly reports whether a match block selects only pods, and distinguishes them only by
// their namespaces.
func IsForPodsOnly(block policy.Node) bool {
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
