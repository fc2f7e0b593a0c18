package migrate

import (
	"cmp"
	"slices"

	"github.com/preadmit/preadmit/engine/internal/celenv/expr"
	"github.com/preadmit/preadmit/engine/internal/kyverno"
	"github.com/preadmit/preadmit/engine/internal/wildcard"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// exception converts an exception from rules to an exception from the converted policies.
func (m *Migration) exception(d *manifest.Document) ([]string, []source.Diagnostic) {
	spec := policy.NodeAt(d, "spec")
	root := map[string]any{"match": spec.At("match").Value}
	c := &converter{rule: kyverno.Rule{Document: d, Root: policy.Node{Value: root, Path: spec.Path}}, schemas: m.schemas}
	for _, n := range slices.Concat(spec.At("match", "any").Items(), spec.At("match", "all").Items()) {
		if operations := n.At("resources", "operations"); operations.Given() {
			_ = c.refuse(operations.Path, "the operations of an exception, which Kyverno does not compare", "leave them out, or write them as a condition")
		}
	}
	if conditions := spec.At("conditions"); conditions.Given() {
		_ = c.refuse(conditions.Path, "the conditions of an exception, which Kyverno does not apply if they fail", "write them into the conditions of the policy")
	}
	var from []*converter
	others := false
	for _, n := range spec.At("exceptions").Items() {
		found, partly := m.excepted(n)
		if partly != "" {
			_ = c.refuse(n.At("ruleNames").Path, "the exception is from only some of the rules in policy "+partly+", which depend on each other",
				"write the exception into the conditions of these rules")
		}
		from, others = append(from, found...), others || len(found) == 0
	}
	if len(from) == 0 && !source.HasErrors(c.problems) {
		return []string{textOf(d)}, nil
	}
	conditions, err := c.exceptedBy()
	if err != nil || source.HasErrors(c.problems) {
		return nil, c.problems
	}
	slices.SortFunc(from, func(a, b *converter) int { return cmp.Compare(a.name, b.name) })
	texts := []string{exceptionFrom(d, from, conditions)}
	if others {
		texts = append(texts, textOf(d))
	}
	return texts, c.problems
}

// excepted returns the policies that an entry of an exception names all rules of, or a policy that
// it names some rules of.
func (m *Migration) excepted(n policy.Node) (found []*converter, partly string) {
	for _, policies := range m.of {
		for _, p := range policies {
			rules := append([]*converter{p}, p.joined...)
			rest := slices.DeleteFunc(slices.Clone(rules), func(c *converter) bool { return excepts(n, c.rule) })
			switch len(rest) {
			case len(rules):
			case 0:
				found = append(found, p)
			default:
				return nil, p.name
			}
		}
	}
	return found, ""
}

// exceptionFrom writes an exception from policies.
func exceptionFrom(d *manifest.Document, from []*converter, conditions []condition) string {
	var w writer
	w.WriteString(textOf(headOf(d, "policies.kyverno.io/v1", "PolicyException")))
	w.line(0, "spec:")
	w.line(2, "policyRefs:")
	for _, p := range from {
		w.line(2, "- name: %s", scalar(p.name))
		w.line(4, "kind: %s", p.kind())
	}
	w.conditions("matchConditions", conditions, nil)
	return w.String()
}

// excepts reports whether an entry of an exception names a rule.
func excepts(n policy.Node, rule kyverno.Rule) bool {
	key := rule.Policy
	if rule.Namespace != "" {
		key = rule.Namespace + "/" + key
	}
	return key == n.At("policyName").Text() && slices.ContainsFunc(n.At("ruleNames").Texts(), func(name string) bool { return wildcard.Match(name, rule.Name) })
}

// exceptedBy returns the conditions under which an exception applies.
func (c *converter) exceptedBy() ([]condition, error) {
	matches, err := c.blocks(blocksOf(c.rule.Root.At("match")))
	if err != nil || expr.Equal(matches, expr.True) {
		return nil, err
	}
	return []condition{{name: "match", x: matches}}, nil
}
