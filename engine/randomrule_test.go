package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/manifest"
)

// ingredients are what random policies are made of: kinds, and the part of odd choices in a hundred.
type ingredients struct {
	kinds []randomKind
	odd   int
}

// clusterPolicy returns a ClusterPolicy with rules for random kinds.
func (r random) clusterPolicy(name string, of ingredients) string {
	metadata := map[string]any{"name": name}
	if r.chance(30) {
		metadata["annotations"] = map[string]any{"pod-policies.kyverno.io/autogen-controllers": oneOf(r, "none", "Deployment,CronJob")}
	}
	return r.rulePolicy("ClusterPolicy", metadata, of)
}

// namespacedPolicy returns a Policy of the namespace of most random manifests.
func (r random) namespacedPolicy(name string, of ingredients) string {
	return r.rulePolicy("Policy", map[string]any{"name": name, "namespace": "default"}, of)
}

func (r random) rulePolicy(kind string, metadata map[string]any, of ingredients) string {
	spec := map[string]any{"background": r.chance(5)}
	if r.chance(15) {
		spec["applyRules"] = oneOf(r, "One", "All")
	}
	var rules []any
	for i := range 1 + r.IntN(3) {
		rules = append(rules, r.rule(fmt.Sprintf("r%d", i), of))
	}
	spec["rules"] = rules
	return string(manifest.YAML(map[string]any{"apiVersion": "kyverno.io/v1", "kind": kind, "metadata": metadata, "spec": spec}))
}

func (r random) rule(name string, of ingredients) map[string]any {
	k := oneOf(r, of.kinds...)
	s := model{r: r, odd: of.odd, object: r.object(k)}
	rule := map[string]any{"name": name, "match": r.filters(k, of)}
	if r.chance(15) {
		rule["exclude"] = r.filters(k, of)
	}
	rule["context"], s = s.context("fact")
	if r.chance(30) {
		rule["preconditions"] = s.conditions()
	}
	rule["mutate"] = s.mutation()
	return rule
}

// object returns an object of a kind.
func (r random) object(k randomKind) map[string]any {
	value, _ := manifest.Value(r.manifest(k, oneOf(r, "m01", "m12", "web")))
	object, _ := value.(map[string]any)
	return object
}

// filters returns the match or exclude of a rule for a kind.
func (r random) filters(k randomKind, of ingredients) map[string]any {
	filters := []any{r.filter(k, of)}
	if r.chance(20) {
		filters = append(filters, r.filter(oneOf(r, of.kinds...), of))
	}
	if r.chance(10) {
		return r.filter(k, of) // the old form
	}
	return map[string]any{oneOf(r, "any", "any", "all"): filters}
}

// filter returns a filter that a kind meets, unless its other fields say otherwise.
func (r random) filter(k randomKind, of ingredients) map[string]any {
	version := k.apiVersion[strings.Index(k.apiVersion, "/")+1:]
	kinds := []any{oneOf(r, k.kind, k.kind, k.kind, k.apiVersion+"/"+k.kind)}
	if r.chance(of.odd) {
		kinds = []any{oneOf(r, k.kind, k.kind, version+"/"+k.kind, "*/"+k.kind, k.kind[:2]+"*", k.kind[:1]+"??*", "*/*/"+k.kind, k.kind+"/status"), oneOf(r, of.kinds...).kind}
	}
	resources := map[string]any{"kinds": kinds}
	for _, field := range filterFields {
		if r.chance(field.chance) {
			resources[field.key] = oneOf(r, field.values...)
		}
	}
	filter := map[string]any{"resources": resources}
	if r.chance(of.odd / 5) {
		user := oneOf(r, userFilters...)
		filter[user.key] = oneOf(r, user.values...)
	}
	return filter
}

// fieldValues are values of a field, which it has in some of a hundred cases.
type fieldValues struct {
	key    string
	chance int
	values []any
}

var filterFields = []fieldValues{
	{"names", 8, []any{[]any{"m?1", "m*2"}, []any{"m1*"}, []any{"*"}, []any{"web", "m0?"}}},
	{"namespaces", 8, []any{[]any{"def*"}, []any{"shop", "default"}, []any{"shop"}, []any{"?"}}},
	{"annotations", 6, []any{map[string]any{"x": "y"}, map[string]any{"a/*": "?"}, map[string]any{"*": "*"}}},
	{"selector", 10, []any{
		map[string]any{"matchLabels": map[string]any{"app": "w*"}},
		map[string]any{"matchLabels": map[string]any{"ap?": "web"}},
		map[string]any{"matchLabels": map[string]any{"app": "skip"}},
		map[string]any{"matchExpressions": []any{map[string]any{"key": "app", "operator": "NotIn", "values": []any{"skip"}}}},
		map[string]any{"matchExpressions": []any{map[string]any{"key": "app", "operator": "Exists"}, map[string]any{"key": "team", "operator": "DoesNotExist"}}},
	}},
	{"namespaceSelector", 10, []any{
		map[string]any{"matchLabels": map[string]any{"tier": "p*"}},
		map[string]any{"matchLabels": map[string]any{"tier": "prod"}},
		map[string]any{"matchExpressions": []any{map[string]any{"key": "tier", "operator": "In", "values": []any{"prod", "test"}}}},
		map[string]any{"matchExpressions": []any{map[string]any{"key": "tier", "operator": "DoesNotExist"}}},
	}},
	{"operations", 6, []any{[]any{"CREATE"}, []any{"UPDATE"}, []any{"CREATE", "UPDATE"}}},
}

var userFilters = []fieldValues{
	{"clusterRoles", 0, []any{[]any{"cluster-admin"}, []any{"view*"}, []any{"view", "edit"}}},
	{"roles", 0, []any{[]any{"default:editor"}, []any{"*:editor"}}},
	{"subjects", 0, []any{
		[]any{map[string]any{"kind": "User", "name": "ann*"}},
		[]any{map[string]any{"kind": "Group", "name": "dev"}},
		[]any{map[string]any{"kind": "ServiceAccount", "name": "robot", "namespace": "default"}},
	}},
}

// userInfo and values are what the command and preadmit know about requests besides their objects. The values are those
// of the ConfigMap settings, which the command reads from no other place. It cannot answer an apiCall.
const (
	runSettings = "settings"

	userInfo = `{apiVersion: cli.kyverno.io/v1alpha1, kind: UserInfo, metadata: {name: user}, clusterRoles: [view, edit], roles: ["default:editor"], userInfo: {username: anna, groups: [dev, ops]}}
`
	valuesOfRuns = `{apiVersion: cli.kyverno.io/v1alpha1, kind: Values, metadata: {name: values}, globalValues: {settings.data.mode: w*, settings.data.list: '["web", "m*"]', settings.metadata.name: m}, namespaceSelector: [{name: default, labels: {tier: prod}}, {name: shop, labels: {tier: test, "a/b": c}}]}
`
)

// model makes parts of rules for objects like its own: they name what it has, and sometimes what it
// lacks.
type model struct {
	r random
	// odd is the part of odd choices in a hundred.
	odd    int
	object map[string]any
	// facts are the names of the entries of contexts, elements are those of the lists of foreach around.
	facts    []string
	elements []any
}

// context returns up to two entries of a context, and the model that knows them.
func (s model) context(name string) ([]any, model) {
	entries := []any{}
	for i := range max(0, s.r.IntN(5)-2) {
		if s.r.chance(10) {
			entries = append(entries, map[string]any{"name": runSettings, "configMap": map[string]any{"name": runSettings, "namespace": "default"}})
			s.facts = append(slices.Clip(s.facts), runSettings+".data.mode", runSettings+".data.list", runSettings+".metadata.name")
			continue
		}
		variable := map[string]any{}
		if s.r.chance(70) {
			variable["value"] = oneOf[any](s.r, "known", s.text(), s.text(), map[string]any{"a": s.text(), "n": int64(3)}, []any{"x", s.text()}, int64(7), true)
		}
		if query := s.query(); len(variable) == 0 {
			variable["jmesPath"] = query
		} else if s.r.chance(30) {
			variable["jmesPath"] = oneOf(s.r, "to_string(@)", "@", "a", "length(@)", "[0]", "type(@)")
		}
		if _, reads := variable["jmesPath"]; reads && s.r.chance(50) {
			variable["default"] = oneOf[any](s.r, "none", int64(1), []any{}, map[string]any{"a": "b"}, s.text())
		}
		entry := fmt.Sprintf("%s%d", name, i)
		entries = append(entries, map[string]any{"name": entry, "variable": variable})
		s.facts = append(slices.Clip(s.facts), entry)
	}
	return entries, s
}

// conditions returns preconditions.
func (s model) conditions() any {
	list := func() (list []any) {
		for range 1 + s.r.IntN(2) {
			list = append(list, s.condition())
		}
		return list
	}
	switch s.r.IntN(8) {
	case 0:
		return list()
	case 1:
		return map[string]any{"any": list(), "all": list()}
	}
	return map[string]any{oneOf(s.r, "any", "all"): list()}
}

var conditionOperators = []string{
	"Equals", "NotEquals", "In", "NotIn", "AnyIn", "AllIn", "AnyNotIn", "AllNotIn", "GreaterThan", "GreaterThanOrEquals", "LessThan", "LessThanOrEquals",
	"DurationGreaterThan", "DurationLessThanOrEquals",
}

func (s model) condition() map[string]any {
	path, value := s.path()
	key := any("{{ " + path + " }}")
	switch s.r.IntN(4) {
	case 0:
		key = "{{ " + s.query() + " }}"
	case 1:
		key = "{{ " + path + " || " + oneOf(s.r, "''", "`null`", "`0`", "`[]`", "'x'") + " }}"
	}
	if s.r.chance(s.odd / 5) {
		key = oneOf[any](s.r, "web", int64(3), []any{"web", key}, true, map[string]any{"a": key}, "10m")
	}
	values := oneOf[any](s.r, s.distorted(value), s.distorted(value), value)
	if s.r.chance(s.odd) {
		values = oneOf[any](s.r, []any{s.distorted(value), "x"}, s.leaf(value), "1-5", "*", []any{}, []any{"*:latest", "web"}, `["web", "m*"]`)
	}
	return map[string]any{"key": key, "operator": oneOf(s.r, conditionOperators...), "value": values}
}

// definitionsOfRuns define the custom resources.
const definitionsOfRuns = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets, singular: widget, listKind: WidgetList}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer}
              ratio: {type: number}
              note: {type: string, nullable: true}
              parts: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, required: [name], properties: {name: {type: string}, count: {type: integer}, image: {type: string}, tags: {type: array, items: {type: string}}}}}
              containers: {type: array, items: {type: object, properties: {name: {type: string}, image: {type: string}}}}
              endpoints: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [port, protocol], items: {type: object, required: [port, protocol], properties: {port: {type: integer}, protocol: {type: string}, host: {type: string}}}}
              zones: {type: array, x-kubernetes-list-type: set, items: {type: string}}
              matrix: {type: array, items: {type: array, items: {type: integer}}}
              options: {type: object, properties: {mode: {type: string}, nested: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`

// ruleException returns an exception for a policy with rules.
func (r random) ruleException(name string, of ingredients) string {
	k := oneOf(r, of.kinds...)
	spec := map[string]any{
		"match":      map[string]any{"any": []any{r.filter(k, of), r.filter(oneOf(r, of.kinds...), of)}},
		"exceptions": []any{map[string]any{"policyName": oneOf(r, name, name, "default/"+name), "ruleNames": oneOf(r, []any{"r0"}, []any{"r*", "autogen-r0"}, []any{"*"})}},
	}
	if conditions, isMap := (model{r: r, odd: of.odd, object: r.object(k)}).conditions().(map[string]any); isMap && r.chance(60) {
		for _, list := range conditions {
			for _, condition := range list.([]any) {
				condition := condition.(map[string]any)
				if operator := condition["operator"]; operator == "In" || operator == "NotIn" { // which an exception cannot have
					condition["operator"] = fmt.Sprint("Any", operator)
				}
			}
		}
		spec["conditions"] = conditions
	}
	return string(manifest.YAML(map[string]any{
		"apiVersion": "kyverno.io/v2", "kind": "PolicyException", "metadata": map[string]any{"name": "x-" + name, "namespace": "default"}, "spec": spec,
	}))
}
