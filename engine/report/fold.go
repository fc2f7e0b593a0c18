package report

import (
	"fmt"
	"slices"
	"strings"
)

// fold joins the rules of a policy that were not applied for the same reason.
func fold(all []NotApplied) []NotApplied {
	type key struct{ policy, binding, param, reason string }
	rules := map[key][]string{}
	var folded []NotApplied
	for _, n := range all {
		k := key{n.Policy, n.Binding, n.Param, n.Reason}
		if _, ok := rules[k]; !ok {
			folded = append(folded, n)
		}
		rules[k] = append(rules[k], n.Rule)
	}
	for i, n := range folded {
		folded[i].Rule = join(rules[key{n.Policy, n.Binding, n.Param, n.Reason}])
	}
	return folded
}

// generated begins the names of rules that Kyverno makes for controllers of Pods.
const generated = "rule autogen-"

// join names rules together: those that Kyverno has made of others are counted only.
func join(rules []string) string {
	if len(rules) == 1 {
		return rules[0]
	}
	own := slices.DeleteFunc(slices.Clone(rules), func(rule string) bool { return rule == "" || strings.HasPrefix(rule, generated) })
	made := len(rules) - len(own)
	for i, rule := range own {
		if i > 0 {
			own[i] = strings.TrimPrefix(rule, "rule ")
		}
	}
	text := strings.Join(own, ", ")
	if len(own) > 1 && strings.HasPrefix(text, "rule ") {
		text = "rules " + strings.TrimPrefix(text, "rule ")
	}
	switch {
	case made == 0:
	case text == "":
		text = fmt.Sprintf("%d generated rules", made)
	default:
		text += fmt.Sprintf(" and %d generated", made)
	}
	return text
}
