package migrate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
)

// Rules of a policy run in order, and each sees the result of the one before. Policies in a
// cluster run in any order. So rules that depend on each other become one policy, in which the
// conditions of each rule are part of its mutations.

// follows reports whether a rule must run after another one of the same policy.
func (c *converter) follows(earlier *converter) bool {
	for _, written := range earlier.writes() {
		if c.reads(written) {
			return true
		}
		for _, own := range c.writes() {
			if own.at == written.at && own.value != written.value {
				return true
			}
		}
	}
	return false
}

// effect is a place in the object that a policy writes to, and the value that it writes.
type effect struct{ at, value string }

// writes returns the effects of the mutations.
func (c *converter) writes() []effect {
	var all []effect
	for _, m := range c.mutations {
		all = append(all, m.writes...)
	}
	return all
}

// reads reports whether the rule reads a place, other than to keep its value.
func (c *converter) reads(w effect) bool {
	texts := c.texts()
	for i, m := range c.mutations {
		if !slices.Contains(m.writes, w) {
			texts = append(texts, c.mutations[i].expression.flat())
		}
	}
	for _, text := range texts {
		text = strings.NewReplacer(".?", ".", "[?", "[").Replace(text)
		if strings.Contains(text, w.at) {
			return true
		}
	}
	return false
}

// texts returns the conditions and variables of the rule.
func (c *converter) texts() []string {
	var all []string
	for _, named := range slices.Concat(c.matched.conditions, c.variables) {
		all = append(all, named.text)
	}
	return all
}

// canJoin reports whether two rules can become one policy.
func (c *converter) canJoin(other *converter) bool {
	same := func(a, b constraints) bool {
		return slices.EqualFunc(a.rules, b.rules, resourceRule.equal) && change.Equal(a.namespaces, b.namespaces) && change.Equal(a.selector, b.selector)
	}
	return same(c.matched, other.matched) && c.targets == nil && other.targets == nil
}

func (r resourceRule) equal(other resourceRule) bool {
	return slices.Equal(r.groups, other.groups) && slices.Equal(r.versions, other.versions) &&
		slices.Equal(r.operations, other.operations) && slices.Equal(r.resources, other.resources)
}

// join appends the mutations of another rule to the mutations of this rule.
func (c *converter) join(other *converter) {
	if !slices.Equal(c.matched.conditions, other.matched.conditions) || other.dependsOnItself(c) {
		c.guardMutations()
		other.guardMutations()
	}
	c.mutations = append(c.mutations, other.mutations...)
	names := map[string]string{}
	for _, v := range c.variables {
		names[v.name] = v.text
	}
	for _, v := range other.variables {
		if text, taken := names[v.name]; !taken {
			c.variables = append(c.variables, v)
		} else if text != v.text {
			c.warn(other.rule.Root.At("context").Path, fmt.Sprintf("the rules use the name %s for different things, and are one policy now", v.name), "give one of the variables another name")
		}
	}
	c.replacesAtomics = c.replacesAtomics || other.replacesAtomics
	c.problems = append(c.problems, other.problems...)
	c.joined = append(c.joined, other)
}

// dependsOnItself reports whether the rule's conditions see the changes of an earlier rule.
func (c *converter) dependsOnItself(earlier *converter) bool {
	for _, w := range earlier.writes() {
		for _, text := range c.texts() {
			if strings.Contains(strings.NewReplacer(".?", ".", "[?", "[").Replace(text), w.at) {
				return true
			}
		}
	}
	return false
}

// guardMutations moves the conditions of the policy into its mutations.
func (c *converter) guardMutations() {
	condition := join(c.matched.conditions)
	if condition == "true" {
		return
	}
	for i, m := range c.mutations {
		none := plain("[]")
		if m.patchType == applyConfiguration {
			none = "Object{}"
		}
		c.mutations[i].expression = either{condition, bracketed(m.expression), none}
	}
	c.matched.conditions = nil
}

// mergedRules merges rules that depend on each other. Generated rules stay separate, because
// they match other kinds.
func mergedRules(rules []*converter) []*converter {
	var policies []*converter
	for _, rule := range rules {
		into := -1
		for i, earlier := range policies {
			if earlier.canJoin(rule) && rule.follows(earlier) {
				into = i
			}
		}
		if into >= 0 {
			policies[into].join(rule)
			continue
		}
		for _, earlier := range policies {
			if rule.meets(earlier) && rule.follows(earlier) {
				rule.warn(rule.rule.Root.Path, fmt.Sprintf("rule %s depends on what rule %s does before it, and a cluster runs MutatingPolicies in any order", rule.rule.Name, earlier.rule.Name),
					"give both the same kinds and selectors, then they become one policy")
			}
		}
		policies = append(policies, rule)
	}
	return policies
}

// meets reports whether both rules may match the same object.
func (c *converter) meets(other *converter) bool {
	kinds := map[string]bool{}
	for _, k := range c.matched.kinds {
		kinds[k.String()] = true
	}
	for _, k := range other.matched.kinds {
		if kinds[k.String()] || k.Kind.Kind == "*" || maps.Equal(kinds, map[string]bool{"*": true}) {
			return true
		}
	}
	return false
}
