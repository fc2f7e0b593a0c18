package match

import (
	"slices"
	"strings"
)

// Operations returns the operations of the requests that the rules cover; nil if they do not name all
// kinds of the objects: if they have wildcards, or subresources, whose objects are of other kinds.
func (m *Resources) Operations() (operations []string) {
	for _, rule := range m.rules {
		if slices.Contains(rule.groups, "*") || slices.ContainsFunc(rule.resources, func(r string) bool { return strings.ContainsAny(r, "*/") }) {
			return nil
		}
		for _, operation := range rule.operations {
			if operation == "*" {
				operations = append(operations, "CREATE", "UPDATE", "DELETE", "CONNECT")
			} else {
				operations = append(operations, operation)
			}
		}
	}
	slices.Sort(operations)
	return slices.Compact(operations)
}

// ObjectContradiction says why no labels of an object meet the selectors of the blocks, all of which must
// agree; "" if some do.
func ObjectContradiction(blocks ...*Resources) string {
	var all []requirement
	for _, m := range blocks {
		all = append(all, m.objects.requirements...)
	}
	return contradiction(all)
}

// NamespaceContradiction says why no labels of a namespace meet the selectors of the blocks. Requests
// without a namespace meet all of them.
func NamespaceContradiction(blocks ...*Resources) string {
	var all []requirement
	for _, m := range blocks {
		all = append(all, m.namespaces.requirements...)
	}
	return contradiction(all)
}

// contradiction returns the first two requirements, of all for one label, that cannot hold together with
// those before.
func contradiction(all []requirement) string {
	allowed := map[string][]string{}
	for i, r := range all {
		values, isLimited := allowed[r.key]
		switch r.operator {
		case "In", "=":
			if !isLimited {
				values = r.values
			}
			values = slices.DeleteFunc(slices.Clone(values), func(v string) bool { return !slices.Contains(r.values, v) || !isAllowed(all[:i], r.key, v) })
			if len(values) == 0 {
				return against(all[:i], r)
			}
			allowed[r.key] = values
		case "NotIn":
			if values = slices.DeleteFunc(slices.Clone(values), func(v string) bool { return slices.Contains(r.values, v) }); isLimited && len(values) == 0 {
				return against(all[:i], r)
			}
			if isLimited {
				allowed[r.key] = values
			}
		case "Exists":
			if slices.ContainsFunc(all[:i], func(o requirement) bool { return o.key == r.key && o.operator == "DoesNotExist" }) {
				return against(all[:i], r)
			}
		case "DoesNotExist":
			if slices.ContainsFunc(all[:i], func(o requirement) bool {
				return o.key == r.key && o.operator != "NotIn" && o.operator != "DoesNotExist"
			}) {
				return against(all[:i], r)
			}
		}
	}
	return ""
}

// isAllowed reports whether a value of a label meets requirements.
func isAllowed(all []requirement, key, value string) bool {
	return !slices.ContainsFunc(all, func(r requirement) bool {
		return r.key == key && !r.isMet(func(string) (string, bool) { return value, true })
	})
}

// against names a requirement and those for the same label before it.
func against(before []requirement, r requirement) string {
	var texts []string
	for _, other := range append(slices.Clone(before), r) {
		if other.key == r.key {
			texts = append(texts, other.String())
		}
	}
	return "no labels meet " + strings.Join(texts, " and ")
}

// Uncovered says why the rules cover no request for objects of a kind, in a clause; "" if they cover some.
func (m *Resources) Uncovered(r Request) string {
	if m.Under(r) != nil {
		return ""
	}
	_, reason := m.ruled(&r)
	return reason.String()
}
