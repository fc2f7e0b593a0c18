package migrate

import (
	"slices"
	"strconv"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/lazyregexp"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/policy"
)

// A witness is an object that is made up to reach a branch of a policy. Its fields have values
// that the expressions of the policy compare them with.

// fact is a value of a field that matters to an expression.
type fact struct {
	path  []string
	value any
}

var (
	// chains finds chains of fields and the text after them.
	chains   = lazyregexp.New(`\b([A-Za-z_]\w*)((?:\.\??[A-Za-z_]\w*\b|\[\??(?:"[^"]*"|\d+|i)\])+)`)
	steps    = lazyregexp.New(`\.\??([A-Za-z_]\w*)|\[\??(?:"([^"]*)"|(\d+)|(i))\]`)
	loops    = lazyregexp.New(`^\((\w+), `)
	compared = lazyregexp.New(`^(?:\.orValue\([^()]*\))?\)? (?:==|!=|in) \[?("(?:[^"\\]|\\.)*"|-?\d+|true|false)`)
	called   = lazyregexp.New(`^\.(startsWith|endsWith|contains)\("([^"]*)"\)`)
	bounded  = lazyregexp.New(`^(?:\.orValue\([^()]*\))? (>|>=|<|<=) (\d+)`)
)

// functions end a chain: they are called on its value.
var functions = []string{"exists", "filter", "map", "all", "orValue", "or", "value", "hasValue", "startsWith", "endsWith", "contains", "matches", "reverse", "flatten", "split", "join", "replace", "upperAscii", "lowerAscii", "compareTo"}

// factsOf returns the facts in an expression about the fields of the object.
func factsOf(expression string) []fact {
	var found []fact
	variables := map[string][]string{"object": {}, "request": nil}
	for _, at := range chains().FindAllStringSubmatchIndex(expression, -1) {
		root, ok := variables[expression[at[2]:at[3]]]
		if !ok {
			continue
		}
		path := slices.Clone(root)
		end, function := at[5], ""
		for _, step := range steps().FindAllStringSubmatchIndex(expression[at[4]:at[5]], -1) {
			text := expression[at[4]+step[0] : at[4]+step[1]]
			name := strings.Trim(strings.TrimLeft(text, ".[?"), `"]`)
			if slices.Contains(functions, name) && text[0] == '.' {
				end, function = at[4]+step[0], name
				break
			}
			if name == "i" {
				name = "0"
			}
			path = append(path, name)
		}
		rest := expression[end:]
		if len(path) == 0 || path[len(path)-1] == "image" && function == "contains" {
			continue
		}
		if root == nil { // a field of the request
			if path[0] != "namespace" {
				continue
			}
			path = []string{"metadata", "namespace"}
		}
		if strings.HasSuffix(expression[:at[0]], "size(") {
			path = append(path, "0")
		}
		if slices.Contains([]string{"exists", "filter", "map", "all"}, function) {
			if loop := loops().FindStringSubmatch(strings.TrimPrefix(rest, "."+function)); loop != nil {
				variables[loop[1]] = append(path, "0")
			}
			continue
		}
		for _, value := range valuesOf(rest) {
			found = append(found, fact{path, value})
		}
	}
	return found
}

// valuesOf returns values of a field that matter to the text after it.
func valuesOf(rest string) []any {
	if m := compared().FindStringSubmatch(rest); m != nil {
		return []any{constantOf(m[1])}
	}
	if m := called().FindStringSubmatch(rest); m != nil {
		return []any{map[string]string{"startsWith": m[2] + "x", "endsWith": "x" + m[2], "contains": m[2]}[m[1]]}
	}
	if m := bounded().FindStringSubmatch(rest); m != nil {
		n, _ := strconv.ParseInt(m[2], 10, 64)
		return []any{n + 1, max(n-1, 0)}
	}
	return []any{present}
}

// present is any value.
var present any = struct{}{}

func constantOf(text string) any {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	if s, err := strconv.Unquote(text); err == nil {
		return s
	}
	return text == "true"
}

// Witnesses returns objects that a Kyverno CEL policy may match: the simplest object, an object
// for each fact in the policy's expressions, and an object for all facts together.
func Witnesses(root policy.Node, schemas *schema.Registry) []map[string]any {
	var all []map[string]any
	var facts []fact
	spec := root.At("spec")
	texts := expressionsOf(spec)
	for _, text := range texts {
		facts = append(facts, factsOf(text)...)
	}
	const most = 24
	facts = facts[:min(len(facts), most)]
	for _, kind := range kindsOf(spec.At("matchConstraints"), schemas) {
		base := simplest(kind)
		addLabels(base, spec.At("matchConstraints", "objectSelector"))
		complete := base
		for _, f := range facts {
			complete = f.of(complete, kind.Type())
		}
		all = append(all, base, complete)
		for _, f := range facts {
			all = append(all, f.of(base, kind.Type()))
		}
		for i := range facts {
			most := base
			for j, f := range facts {
				if i != j {
					most = f.of(most, kind.Type())
				}
			}
			all = append(all, most)
		}
	}
	return slices.CompactFunc(all, func(a, b map[string]any) bool { return change.Equal(a, b) })
}

// expressionsOf returns all expressions in a value.
func expressionsOf(n policy.Node) []string {
	var texts []string
	for _, key := range sortedKeys(n.Object()) {
		if key == "expression" {
			texts = append(texts, n.At(key).Text())
		}
		texts = append(texts, expressionsOf(n.At(key))...)
	}
	for _, item := range n.Items() {
		texts = append(texts, expressionsOf(item)...)
	}
	return texts
}

// kindsOf returns some of the kinds that rules select.
func kindsOf(block policy.Node, schemas *schema.Registry) []*schema.Kind {
	var kinds []*schema.Kind
	for _, rule := range block.At("resourceRules").Items() {
		for _, group := range rule.At("apiGroups").Texts() {
			for _, version := range rule.At("apiVersions").Texts() {
				for _, resource := range rule.At("resources").Texts() {
					if kind := schemas.LookupResource(gvk.Resource{Group: group, Version: version, Resource: resource}); kind != nil {
						kinds = append(kinds, kind)
					} else if resource == "*" {
						kinds = append(kinds, schemas.Lookup(gvk.Kind{Version: "v1", Kind: "ConfigMap"}))
					}
				}
			}
		}
	}
	return kinds
}

// simplest returns an object of a kind with only the fields that it must have.
func simplest(kind *schema.Kind) map[string]any {
	pod := func() map[string]any {
		container := func(name string) any { return map[string]any{"name": name, "image": "registry.example/" + name + ":1"} }
		return map[string]any{"containers": []any{container("witness"), container("other")}}
	}
	labels := map[string]any{"app": "witness"}
	template := map[string]any{"metadata": map[string]any{"labels": labels}, "spec": pod()}
	selector := map[string]any{"matchLabels": map[string]any{"app": "witness"}}
	object := map[string]any{"apiVersion": kind.APIVersion(), "kind": kind.Kind.Kind, "metadata": map[string]any{"name": "witness"}}
	switch kind.Kind.Kind {
	case "Pod":
		object["spec"] = pod()
	case "Deployment", "DaemonSet", "StatefulSet", "ReplicaSet":
		object["spec"] = map[string]any{"selector": selector, "template": template}
	case "ReplicationController":
		object["spec"] = map[string]any{"selector": map[string]any{"app": "witness"}, "template": template}
	case "Job":
		template["spec"].(map[string]any)["restartPolicy"] = "Never"
		object["spec"] = map[string]any{"template": template}
	case "CronJob":
		template["spec"].(map[string]any)["restartPolicy"] = "Never"
		object["spec"] = map[string]any{"schedule": "0 0 * * *", "jobTemplate": map[string]any{"spec": map[string]any{"template": template}}}
	}
	return object
}

func addLabels(object map[string]any, selector policy.Node) {
	for key, value := range selector.At("matchLabels").Object() {
		f := fact{[]string{"metadata", "labels", key}, value}
		for name, member := range f.of(object, nil) {
			object[name] = member
		}
	}
}

// of returns a copy of an object for which the fact holds.
func (f fact) of(object map[string]any, t *schema.Type) map[string]any {
	made, _ := with(object, f.path, f.value, t).(map[string]any)
	return made
}

// with returns a value with another value at a path.
func with(value any, path []string, leaf any, t *schema.Type) any {
	if len(path) == 0 {
		if leaf != present {
			return leaf
		}
		if value != nil {
			return value
		}
		return anyOf(t)
	}
	if index, err := strconv.Atoi(path[0]); err == nil {
		list, _ := value.([]any)
		list = slices.Clone(list)
		for len(list) <= index {
			list = append(list, map[string]any{"name": "witness"})
		}
		list[index] = with(list[index], path[1:], leaf, t.ItemType())
		return list
	}
	object, ok := value.(map[string]any)
	if value != nil && !ok {
		return value
	}
	copied := map[string]any{}
	for key, member := range object {
		copied[key] = member
	}
	copied[path[0]] = with(object[path[0]], path[1:], leaf, t.FieldType(path[0]))
	return copied
}

// anyOf returns some value of a type.
func anyOf(t *schema.Type) any {
	switch kindOfType(t) {
	case text:
		if t.Scalar == schema.Quantity {
			return "1"
		}
		return "witness"
	case number:
		return int64(1)
	case boolean:
		return true
	case list:
		return []any{anyOf(t.ItemType())} // an empty list is null to policies, or not valid
	case object:
		made := map[string]any{}
		for _, f := range t.Fields {
			if f.Required || f.Name == "name" || f.Name == "image" {
				made[f.Name] = anyOf(f.Type)
			}
		}
		return made
	}
	return "witness"
}
