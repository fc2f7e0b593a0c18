package kyverno

import (
	"maps"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/internal/kyverno/given"
	"github.com/preadmit/preadmit/engine/internal/wildcard"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// values are what the user's values files say, as rules see it.
type values given.Values

func (v *values) answer(call, argument string) (any, bool) {
	return (*given.Values)(v).Answer(call, argument)
}

func (v *values) labels(namespace string) (map[string]any, bool) {
	return (*given.Values)(v).Labels(namespace)
}

// variable is a variable with a dotted path, and its value.
type variable struct {
	key   string
	value any
}

// unused reports policies and rules that nobody gave: their values are for nothing.
func (v *values) unused(definitions []*definition) []source.Diagnostic {
	var problems []source.Diagnostic
	for _, p := range v.Policies {
		r := newReader(p.Document)
		r.Values = true
		policyName := p.Node.At("name")
		if policyName.Text() == "" {
			continue
		}
		named := matching(definitions, func(d *definition) bool { return d.isNamed(policyName.Text()) })
		if len(named) == 0 {
			r.unknown(policyName, "values-without-policy", "there is no policy %q, so its values are for nothing", namesOf(definitions))
		}
		for _, rule := range p.Node.At("rules").Items() {
			if name := rule.At("name"); len(named) > 0 && !slices.ContainsFunc(named, func(d *definition) bool { return d.hasRule(name.Text()) }) {
				r.unknown(name, "values-without-policy", "policy "+named[0].key()+" has no rule %q, so its values are for nothing", named[0].written)
			}
		}
		problems = append(problems, r.Problems...)
	}
	return problems
}

// matching are the policies that a condition holds for.
func matching(definitions []*definition, is func(*definition) bool) []*definition {
	var found []*definition
	for _, d := range definitions {
		if is(d) {
			found = append(found, d)
		}
	}
	return found
}

// namesOf are the names of policies, for advice.
func namesOf(definitions []*definition) []string {
	names := make([]string, len(definitions))
	for i, d := range definitions {
		names[i] = d.key()
	}
	return names
}

// unknown warns of a name that nobody knows.
func (r *reader) unknown(n policy.Node, code, format string, known []string) {
	d := source.Warningf(r.Document.At(n.Path), code, format, n.Text()).With(source.Suggest(n.Text(), known))
	r.Report(d, n.Path)
}

// variables are the variables for a rule on an object, those for the most in
// particular last.
func (v *values) variables(r *rule, object string) []variable {
	sets := []map[string]any{v.Global}
	for _, p := range v.Policies {
		n := p.Node
		if !r.definition.isNamed(n.At("name").Text()) {
			continue
		}
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
	var all []variable
	for _, set := range sets {
		for _, key := range slices.Sorted(maps.Keys(set)) {
			if !strings.HasSuffix(key, "()") {
				all = append(all, variable{key, set[key]})
			}
		}
	}
	return all
}

// operation is the operation of the request for a rule on an object, which the values
// may change.
func (v *values) operation(r *rule, object, operation string) string {
	for _, found := range v.variables(r, object) {
		if text, ok := found.value.(string); ok && found.key == "request.operation" {
			operation = text
		}
	}
	return operation
}

// isNamed reports whether a name is that of the policy.
func (d *definition) isNamed(name string) bool { return name == d.name || name == d.key() }

// hasRule reports whether a name, in which there may be wildcards, is that of a rule of
// the policy, or could be that of one that is generated for it.
func (d *definition) hasRule(name string) bool {
	return slices.ContainsFunc(d.written, func(rule string) bool {
		return slices.ContainsFunc([]string{"", autogenPrefix, cronJobPrefix}, func(prefix string) bool { return wildcard.Match(name, generatedName(prefix, rule)) })
	})
}

// isNamed reports whether a name is that of the rule, or of the one that it was
// generated from.
func (r *rule) isNamed(name string) bool {
	return name == r.name || name == r.root.At("name").Text() || autogenPrefix+name == r.name || cronJobPrefix+name == r.name
}

// foreach are the variables for an element of a rule's foreach.
func (v *values) foreach(r *rule, index int) []variable {
	var found []variable
	for _, p := range v.Policies {
		n := p.Node
		if !r.definition.isNamed(n.At("name").Text()) {
			continue
		}
		for _, item := range n.At("rules").Items() {
			lists := item.At("foreachValues").Object()
			for _, key := range slices.Sorted(maps.Keys(lists)) {
				if list, ok := lists[key].([]any); ok && index < len(list) && r.isNamed(item.At("name").Text()) {
					found = append(found, variable{key, list[index]})
				}
			}
		}
	}
	return found
}

// userInfo is who makes the request.
type userInfo given.UserInfo

func (u userInfo) isGiven() bool { return given.UserInfo(u).IsGiven() }

// is reports whether the user is a subject.
func (u userInfo) is(s subject) bool {
	switch s.kind {
	case "User":
		return wildcard.Match(s.name, u.Name)
	case "Group":
		return slices.ContainsFunc(u.Groups, func(g string) bool { return wildcard.Match(s.name, g) })
	case "ServiceAccount":
		return wildcard.Match("system:serviceaccount:"+s.namespace+":"+s.name, u.Name)
	}
	return false
}

// variable is the variable request.userInfo.
func (u userInfo) variable() map[string]any {
	info := map[string]any{}
	if u.Name != "" {
		info["username"] = u.Name
	}
	if u.UID != "" {
		info["uid"] = u.UID
	}
	if len(u.Groups) > 0 {
		info["groups"] = list(u.Groups)
	}
	return info
}
