package kyverno

import (
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/internal/kyverno/given"
	"github.com/preadmit/preadmit/engine/internal/wildcard"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// variable is a variable with a dotted path, and its value.
type variable struct {
	key   string
	value any
}

// unusedValues reports values for policies and rules that are not in the input.
func unusedValues(v *given.Values, definitions []*definition) (problems []source.Diagnostic) {
	for _, p := range v.Policies {
		r := newReader(p.Document)
		r.doc.Values = true
		policyName := p.Node.At("name")
		if policyName.Text() == "" {
			continue
		}
		named := matching(definitions, func(d *definition) bool { return d.isNamed(policyName.Text()) })
		if len(named) == 0 {
			r.noPolicy(policyName, "values-without-policy", "its values are not used", namesOf(definitions))
		}
		for _, rule := range p.Node.At("rules").Items() {
			if name := rule.At("name"); len(named) > 0 && !slices.ContainsFunc(named, func(d *definition) bool { return d.broken || d.hasRule(name.Text()) }) {
				r.unknown(name, "values-without-policy", "policy "+named[0].key()+" has no rule %q, so its values are not used", named[0].written)
			}
		}
		problems = append(problems, r.doc.Problems...)
	}
	return problems
}

// matching returns the policies for which a condition holds.
func matching(definitions []*definition, is func(*definition) bool) []*definition {
	var found []*definition
	for _, d := range definitions {
		if is(d) {
			found = append(found, d)
		}
	}
	return found
}

// namesOf returns the names of policies, for advice.
func namesOf(definitions []*definition) []string {
	names := make([]string, len(definitions))
	for i, d := range definitions {
		names[i] = d.key()
	}
	return names
}

// noPolicy warns about the name of a policy that is not given. The advice lists no names, because there may be many.
func (r *reader) noPolicy(n policy.Node, code, consequence string, known []string) {
	advice := source.Advice{Text: "give the policy as well, or correct the name"}
	if source.Nearest(n.Text(), known) != "" {
		advice = source.Suggest(n.Text(), known)
	}
	d := source.Warningf(r.doc.Document.At(n.Path), code, "there is no policy %q, so %s", source.Name(n.Text()), source.Literal(consequence))
	r.doc.Report(d.Advised(advice), n.Path)
}

// unknown warns about a name that is not one of the known names.
func (r *reader) unknown(n policy.Node, code, format string, known []string) {
	d := source.Warningf(r.doc.Document.At(n.Path), code, format, n.Text()).Advised(source.Suggest(n.Text(), known))
	r.doc.Report(d, n.Path)
}

// variables returns the variables for a rule and an object; the most specific come last.
func (r *rule) variables(v *given.Values, object string) (all []variable) {
	sets := []map[string]any{v.Global}
	for _, n := range r.policy.values(v) {
		for _, item := range n.At("resources").Items() {
			if wildcard.Match(item.At("name").Text(), object) {
				sets = append(sets, item.At("values").Object())
			}
		}
		for _, item := range n.At("rules").Items() {
			if r.isNamed(item.At("name").Text()) {
				sets = append(sets, item.At("values").Object())
			}
		}
	}
	for _, set := range sets {
		for _, key := range sortedKeys(set) {
			if !strings.HasSuffix(key, "()") {
				all = append(all, variable{key, set[key]})
			}
		}
	}
	return all
}

// values returns the values for a policy.
func (d *definition) values(v *given.Values) (found []policy.Node) {
	for _, p := range v.Policies {
		if d.isNamed(p.Node.At("name").Text()) {
			found = append(found, p.Node)
		}
	}
	return found
}

// operation returns the operation of the request for a rule and an object. The values may set
// it.
func (r *rule) operation(v *given.Values, object, operation string) string {
	for _, found := range r.variables(v, object) {
		if text, ok := found.value.(string); ok && found.key == "request.operation" {
			operation = text
		}
	}
	return operation
}

// isNamed reports whether a name is the name of the policy.
func (d *definition) isNamed(name string) bool { return name == d.name || name == d.key() }

// hasRule reports whether a name, which may have wildcards, is the name of a rule of the policy,
// or could be the name of a generated rule.
func (d *definition) hasRule(name string) bool {
	return slices.ContainsFunc(d.written, func(rule string) bool {
		return slices.ContainsFunc([]string{"", autogenPrefix, cronJobPrefix}, func(prefix string) bool { return wildcard.Match(name, generatedName(prefix, rule)) })
	})
}

// isNamed reports whether a name is the name of the rule, or of the rule from which it was
// generated.
func (r *rule) isNamed(name string) bool {
	return name == r.name || name == r.root.At("name").Text() || autogenPrefix+name == r.name || cronJobPrefix+name == r.name
}

// foreachVariables returns the variables for an element of the rule's foreach.
func (r *rule) foreachVariables(v *given.Values, index int) (found []variable) {
	for _, n := range r.policy.values(v) {
		for _, item := range n.At("rules").Items() {
			lists := item.At("foreachValues").Object()
			for _, key := range sortedKeys(lists) {
				if list, ok := lists[key].([]any); ok && index < len(list) && r.isNamed(item.At("name").Text()) {
					found = append(found, variable{key, list[index]})
				}
			}
		}
	}
	return found
}
