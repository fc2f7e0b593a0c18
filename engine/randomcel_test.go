package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/manifest"
)

// namespacedMutatingPolicy returns a NamespacedMutatingPolicy of the namespace of the random manifests.
func (r random) namespacedMutatingPolicy(name string, of ingredients) string {
	return strings.NewReplacer("kind: MutatingPolicy", "kind: NamespacedMutatingPolicy", "  name: "+name+"\n", "  name: "+name+"\n  namespace: default\n").Replace(r.mutatingPolicy(name, of))
}

// mutatingPolicy returns a MutatingPolicy for a random kind. It does not do what only Kyverno's
// command does differently: it calculates with no number and reads no user.
func (r random) mutatingPolicy(name string, of ingredients) string {
	k := oneOf(r, of.kinds...)
	s := model{r: r, odd: of.odd, object: r.object(k)}
	spec := map[string]any{"failurePolicy": "Fail", "matchConstraints": r.constraints(k, of)}
	if r.chance(40) {
		spec["matchConditions"] = []any{map[string]any{"name": "c", "expression": s.sure(s.test)}}
	}
	spec["variables"] = []any{
		map[string]any{"name": "team", "expression": oneOf(r, `object.metadata.?labels[?"app"].orValue("none")`, `"a" + string(size(object.metadata.name))`, `object.metadata.name.replace("o", "0")`, s.sure(s.celText))},
	}
	if r.chance(15) {
		spec["evaluation"] = map[string]any{"useServerSideApply": r.chance(70)}
	}
	if r.chance(30) {
		spec["autogen"] = map[string]any{"podControllers": map[string]any{"controllers": oneOf(r, []any{}, []any{"deployments"}, []any{"cronjobs", "statefulsets"})}}
	}
	var mutations []any
	for range 1 + r.IntN(2) {
		patchType, field, make := "ApplyConfiguration", "applyConfiguration", func() string { return r.apply(k) }
		switch r.IntN(4) {
		case 0:
			make = func() string { return s.literal("Object", "", s.object) }
		case 1:
			patchType, field, make = "JSONPatch", "jsonPatch", func() string { return r.patch(k) }
		case 2:
			patchType, field, make = "JSONPatch", "jsonPatch", s.celPatch
		}
		mutations = append(mutations, map[string]any{"patchType": patchType, field: map[string]any{"expression": s.sure(make)}})
	}
	spec["mutations"] = mutations
	return string(manifest.YAML(map[string]any{"apiVersion": "policies.kyverno.io/v1", "kind": "MutatingPolicy", "metadata": map[string]any{"name": name}, "spec": spec}))
}

// sure returns an expression that Kyverno's command evaluates as a cluster does.
func (s model) sure(generate func() string) string {
	for {
		if text := generate(); !strings.Contains(text, "+ 1") && !strings.Contains(text, "userInfo") && !strings.Contains(text, "request.kind") && !strings.Contains(text, "namespaceObject") {
			return text
		}
	}
}

// constraints returns the matchConstraints of a policy for a kind.
func (r random) constraints(k randomKind, of ingredients) map[string]any {
	rule := func(k randomKind) map[string]any {
		version := k.apiVersion[strings.Index(k.apiVersion, "/")+1:]
		return map[string]any{
			"apiGroups": []any{oneOf(r, k.group, k.group, "*")}, "apiVersions": []any{oneOf(r, version, version, "*")},
			"operations": []any{oneOf(r, "CREATE", "CREATE", "*")}, "resources": []any{oneOf(r, k.resource, k.resource, k.resource, "*", k.resource+"/*")},
		}
	}
	rules := []any{rule(k)}
	if r.chance(20) {
		rules = append(rules, rule(oneOf(r, of.kinds...)))
	}
	constraints := map[string]any{"resourceRules": rules}
	for _, field := range filterFields {
		field.key = map[string]string{"selector": "objectSelector", "namespaceSelector": "namespaceSelector"}[field.key]
		value := oneOf(r, field.values...)
		text := fmt.Sprint(value)
		// The command has no server that compares labels before Kyverno, which takes the missing old object for
		// one without labels.
		isServers := field.key == "objectSelector" && (strings.Contains(text, "NotIn") || strings.Contains(text, "DoesNotExist"))
		if field.key != "" && r.chance(field.chance) && !strings.ContainsAny(text, "*?") && !isServers {
			constraints[field.key] = value
		}
	}
	if r.chance(8) {
		excluded := rule(k)
		excluded["resourceNames"] = []any{"m01", "m12", "m23", "m34"}
		constraints["excludeResourceRules"] = []any{excluded}
	}
	if r.chance(8) {
		rules[0].(map[string]any)["resourceNames"] = []any{"m02", "m11", "m13", "m31"}
	}
	return constraints
}

// celPath returns an expression of a random part of the object, and its value.
func (s model) celPath() (string, any) {
	path, value := "object", any(s.object)
	for range 1 + s.r.IntN(5) {
		switch known := value.(type) {
		case map[string]any:
			if len(known) == 0 {
				return path, value
			}
			key := oneOf(s.r, slices.Sorted(maps.Keys(known))...)
			if value = known[key]; strings.ContainsAny(key, "/.-") {
				path += fmt.Sprintf("[%q]", key)
			} else {
				path += "." + key
			}
		case []any:
			if len(known) == 0 {
				return path, value
			}
			path, value = path+"[0]", known[0]
		default:
			return path, value
		}
	}
	return path, value
}

// celText returns an expression of a text.
func (s model) celText() string {
	path, value := s.celPath()
	if _, isText := value.(string); isText {
		return strings.ReplaceAll(oneOf(s.r, "%", "%.replace('e', 'x')", "%.split('-')[0]", "%.upperAscii()", "% + '-x'", "string(size(%))", "%.contains('w') ? 'yes' : 'no'", "sha256(%)", "dyn(%)"), "%", path)
	}
	return strings.ReplaceAll(oneOf(s.r, "string(has(object.metadata.labels))", "variables.team", "object.kind", "string(type(%) == string)", "object.?metadata.?labels.?app.orValue('none')", "request.operation"), "%", path)
}

// test returns an expression of a condition.
func (s model) test() string {
	path, value := s.celPath()
	templates := map[bool][]string{
		true:  {"% == '" + fmt.Sprint(value) + "'", "%.startsWith('w')", "% in ['web', 'm01', 'nginx']", "%.matches('^[a-m]')", "size(%) > 3"},
		false: {"has(object.spec)", "has(object.metadata.annotations) && object.metadata.annotations.size() > 0", "% == %", "object.?spec.?containers.orValue([]).exists(c, c.image.endsWith('latest'))", "variables.team != 'none'", s.r.condition(), "object.metadata.name in ['m01', 'm02'] || true"},
	}
	_, isText := value.(string)
	return strings.ReplaceAll(oneOf(s.r, templates[isText]...), "%", path)
}

// freeMaps are the fields with any keys.
var freeMaps = []string{"labels", "annotations", "data", "nodeSelector", "matchLabels", "limits", "requests"}

// literal returns an expression of some parts of a value.
func (s model) literal(typed, key string, value any) string {
	switch value := value.(type) {
	case map[string]any:
		isFree, fields := slices.Contains(freeMaps, key) || key == "selector" && typed == "Object.spec.selector" && s.object["kind"] == "Service", []string{}
		for _, field := range slices.Sorted(maps.Keys(value)) {
			switch {
			case typed == "Object" && (field == "apiVersion" || field == "kind") || typed == "Object.metadata" && field == "name" || !s.r.chance(60) && field != "name":
			case isFree:
				fields = append(fields, fmt.Sprintf("%q: %s", field, s.literal("", field, value[field])))
			default:
				fields = append(fields, field+": "+s.literal(typed+"."+field, field, value[field]))
			}
		}
		if isFree {
			typed = ""
		}
		return typed + "{" + strings.Join(fields, ", ") + "}"
	case []any:
		var items []string
		for _, item := range value[:min(len(value), 1+s.r.IntN(2))] {
			items = append(items, s.literal(typed, key, item))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case string:
		return oneOf(s.r, fmt.Sprintf("%q", value), fmt.Sprintf("%q", value), `"new"`, "variables.team", s.celText())
	case int64:
		return fmt.Sprint(value + int64(s.r.IntN(2)))
	case bool:
		return oneOf(s.r, "true", "false", s.test())
	case nil:
		return "null"
	}
	return fmt.Sprint(value)
}

// celPatch returns an expression of a JSON Patch.
func (s model) celPatch() string {
	var operations []string
	for range 1 + s.r.IntN(2)*s.r.IntN(3) {
		switch op, path := oneOf(s.r, "add", "add", "replace", "remove", "copy", "move", "test"), s.pointer(); op {
		case "remove":
			operations = append(operations, fmt.Sprintf(`JSONPatch{op: "remove", path: %q}`, path))
		case "copy", "move":
			operations = append(operations, fmt.Sprintf(`JSONPatch{op: %q, from: %q, path: %q}`, op, s.pointer(), path))
		default:
			from, value := s.celPath()
			operations = append(operations, fmt.Sprintf("JSONPatch{op: %q, path: %q, value: %s}", op, path, oneOf(s.r, from, s.celText(), dynamic(value), dynamic(value), "null", "[]", "{}", `"new"`)))
		}
	}
	return "[" + strings.Join(operations, ", ") + "]"
}

// dynamic returns a literal of a value whose parts have several types.
func dynamic(value any) string {
	var parts []string
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			parts = append(parts, fmt.Sprintf("%q: dyn(%s)", key, dynamic(value[key])))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		for _, item := range value {
			parts = append(parts, "dyn("+dynamic(item)+")")
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return string(manifest.JSON(value))
}

// policyException returns an exception for a CEL policy.
func (r random) policyException(name string, _ ingredients) string {
	return string(manifest.YAML(map[string]any{
		"apiVersion": "policies.kyverno.io/v1", "kind": "PolicyException", "metadata": map[string]any{"name": "x-" + name, "namespace": "default"},
		"spec": map[string]any{
			"policyRefs":      []any{map[string]any{"name": name, "kind": oneOf(r, "MutatingPolicy", "NamespacedMutatingPolicy")}},
			"matchConditions": []any{map[string]any{"name": "c", "expression": r.condition()}},
		},
	}))
}
