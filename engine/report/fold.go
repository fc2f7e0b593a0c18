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

// generated is the prefix of the names of rules that Kyverno generates for controllers of Pods.
const generated = "rule autogen-"

// join returns the names of rules as one text. Generated rules are only counted.
func join(rules []string) string {
	if len(rules) == 1 {
		return rules[0]
	}
	written := slices.DeleteFunc(slices.Clone(rules), func(rule string) bool { return rule == "" || strings.HasPrefix(rule, generated) })
	made := len(rules) - len(written)
	for i, rule := range written {
		if i > 0 {
			written[i] = strings.TrimPrefix(rule, "rule ")
		}
	}
	text := strings.Join(written, ", ")
	if len(written) > 1 && strings.HasPrefix(text, "rule ") {
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
