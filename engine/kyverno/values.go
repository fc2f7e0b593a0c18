package kyverno

import (
	"maps"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/engine/wildcard"
)

// values are what the user's values files say: variables, and the labels of
// namespaces. Their shape is that of the Values of Kyverno's own command.
type values struct {
	global     map[string]any
	policies   []policyValues
	namespaces map[string]map[string]any
}

// policyValues are the values for one policy, and the document that they stand in.
type policyValues struct {
	document *manifest.Document
	node     policy.Node
}

// variable is a variable with a dotted path, and its value.
type variable struct {
	key   string
	value any
}

func readValues(documents []*manifest.Document) (*values, []source.Diagnostic) {
	v := &values{global: map[string]any{}, namespaces: map[string]map[string]any{}}
	var problems []source.Diagnostic
	for _, d := range documents {
		r := newReader(d)
		r.quiet = true
		if r.fields(r.root, []string{"apiVersion", "kind", "metadata", "globalValues", "policies", "namespaceSelector", "subresources"}) {
			v.read(r)
		}
		problems = append(problems, r.problems...)
	}
	return v, problems
}

func (v *values) read(r *reader) {
	maps.Copy(v.global, r.root.At("globalValues").Object())
	for _, n := range r.list(r.root.At("policies")) {
		if !r.fields(n, []string{"name", "resources", "rules"}) {
			continue
		}
		for _, item := range r.list(n.At("resources")) {
			r.fields(item, []string{"name", "values"})
		}
		for _, item := range r.list(n.At("rules")) {
			r.fields(item, []string{"name", "values", "foreachValues"})
		}
		v.policies = append(v.policies, policyValues{r.document, n})
	}
	for _, n := range r.list(r.root.At("namespaceSelector")) {
		if r.fields(n, []string{"name", "labels"}) {
			v.namespaces[n.At("name").Text()] = n.At("labels").Object()
		}
	}
}

// unused reports policies and rules that nobody gave: their values are for nothing.
func (v *values) unused(definitions []*definition) []source.Diagnostic {
	var problems []source.Diagnostic
	for _, p := range v.policies {
		r := newReader(p.document)
		r.quiet = true
		policyName := p.node.At("name")
		named := matching(definitions, func(d *definition) bool { return d.isNamed(policyName.Text()) })
		if len(named) == 0 {
			r.unknown(policyName, "values-without-policy", "there is no policy %q, so its values are for nothing", namesOf(definitions))
		}
		for _, rule := range p.node.At("rules").Items() {
			if name := rule.At("name"); len(named) > 0 && !slices.ContainsFunc(named, func(d *definition) bool { return d.hasRule(name.Text()) }) {
				r.unknown(name, "values-without-policy", "policy "+named[0].key()+" has no rule %q, so its values are for nothing", named[0].written)
			}
		}
		problems = append(problems, r.problems...)
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
	d := source.Warningf(r.document.At(n.Path), code, format, n.Text()).With(source.Suggest(n.Text(), known))
	r.report(d, n.Path)
}

// variables are the variables for a rule on an object, those for the most in
// particular last.
func (v *values) variables(r *rule, object string) []variable {
	sets := []map[string]any{v.global}
	for _, p := range v.policies {
		n := p.node
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
	for _, given := range v.variables(r, object) {
		if text, ok := given.value.(string); ok && given.key == "request.operation" {
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
	for _, p := range v.policies {
		n := p.node
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

// answer is the value of a function that has another one in every run: a global value
// of its name, or for each argument.
func (v *values) answer(call, argument string) (any, bool) {
	value, ok := v.global[call]
	if byArgument, isMap := value.(map[string]any); isMap {
		value, ok = byArgument[argument]
	}
	return value, ok
}

// userInfo is who makes the request.
type userInfo struct {
	name, uid                   string
	groups, roles, clusterRoles []string
}

func (u userInfo) given() bool {
	return u.name != "" || u.uid != "" || len(u.groups)+len(u.roles)+len(u.clusterRoles) > 0
}

func readUserInfo(documents []*manifest.Document) (userInfo, []source.Diagnostic) {
	var u userInfo
	var problems []source.Diagnostic
	for _, d := range documents {
		r := newReader(d)
		r.quiet = true
		if r.fields(r.root, []string{"apiVersion", "kind", "metadata", "roles", "clusterRoles", "userInfo"}) {
			u.roles = append(u.roles, r.strings(r.root.At("roles"))...)
			u.clusterRoles = append(u.clusterRoles, r.strings(r.root.At("clusterRoles"))...)
			if info := r.root.At("userInfo"); info.Given() && r.fields(info, []string{"username", "uid", "groups", "extra"}) {
				u.name, u.uid = r.string(info.At("username")), r.string(info.At("uid"))
				u.groups = r.strings(info.At("groups"))
			}
		}
		problems = append(problems, r.problems...)
	}
	return u, problems
}

// is reports whether the user is a subject.
func (u userInfo) is(s subject) bool {
	switch s.kind {
	case "User":
		return wildcard.Match(s.name, u.name)
	case "Group":
		return slices.ContainsFunc(u.groups, func(g string) bool { return wildcard.Match(s.name, g) })
	case "ServiceAccount":
		return wildcard.Match("system:serviceaccount:"+s.namespace+":"+s.name, u.name)
	}
	return false
}

// variable is the variable request.userInfo.
func (u userInfo) variable() map[string]any {
	info := map[string]any{}
	if u.name != "" {
		info["username"] = u.name
	}
	if u.uid != "" {
		info["uid"] = u.uid
	}
	if len(u.groups) > 0 {
		info["groups"] = list(u.groups)
	}
	return info
}
