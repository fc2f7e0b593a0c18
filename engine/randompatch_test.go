package engine

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/preadmit/preadmit/engine/manifest"
)

// mutation returns what a rule does.
func (s model) mutation() map[string]any {
	if s.r.chance(30) {
		var entries []any
		for range 1 + s.r.IntN(2)*s.r.IntN(2) {
			entries = append(entries, s.foreach())
		}
		return map[string]any{"foreach": entries}
	}
	return s.change()
}

// change returns a patch of one of the two kinds.
func (s model) change() map[string]any {
	if s.r.chance(35) {
		return map[string]any{"patchesJson6902": s.operations()}
	}
	return map[string]any{"patchStrategicMerge": s.topPatch()}
}

// foreach returns an entry of a foreach, which may have another foreach.
func (s model) foreach() map[string]any {
	list, element := s.list()
	entry := map[string]any{"list": list}
	if s.r.chance(30) {
		entry["order"] = oneOf(s.r, "Ascending", "Descending")
	}
	s.elements = append(slices.Clip(s.elements), element)
	if len(s.elements) < 3 && s.r.chance(s.odd/2) {
		entry["foreach"] = []any{s.foreach()}
		return entry
	}
	if s.r.chance(25) {
		entry["context"], s = s.context(fmt.Sprintf("item%d", len(s.elements)))
	}
	if s.r.chance(25) {
		conditions, isMap := s.conditions().(map[string]any)
		if isMap {
			entry["preconditions"] = conditions
		}
	}
	maps.Copy(entry, s.change())
	return entry
}

// list returns an expression of a list, and one of its items.
func (s model) list() (string, any) {
	for range 8 {
		if path, value := s.path(); s.r.chance(90) {
			switch value := value.(type) {
			case []any:
				if len(value) > 0 {
					return path + oneOf(s.r, "", " || `[]`", " || `[]`"), value[0]
				}
			case map[string]any:
				if s.r.chance(20) {
					return strings.ReplaceAll(oneOf(s.r, "sort(keys(%))", "items(%, 'key', 'value')"), "%", path), map[string]any{"key": "a", "value": "b"}
				}
			}
		}
	}
	return oneOf(s.r, "['a', 'b']", "`[1, 2]`", "`[{\"name\": \"a\", \"value\": \"1\"}, {\"name\": \"c0\"}]`", "request.object.spec.containers || `[]`", "'one'"), map[string]any{"name": "a"}
}

// path returns an expression of a random part of the object, and its value.
func (s model) path() (string, any) {
	path, value := "request.object", any(s.object)
	if n := len(s.elements); n > 0 && s.r.chance(60) {
		i := s.r.IntN(n)
		path, value = fmt.Sprintf("element%d", i), s.elements[i]
		if i == n-1 && s.r.chance(70) {
			path = "element"
		}
	}
	for range 1 + s.r.IntN(6) {
		switch known := value.(type) {
		case map[string]any:
			if len(known) == 0 {
				return path, value
			}
			key := oneOf(s.r, slices.Sorted(maps.Keys(known))...)
			if s.r.chance(s.odd / 10) {
				key = "missing"
			}
			if value = known[key]; strings.ContainsAny(key, "/.-") {
				key = strconv.Quote(key)
			}
			path += "." + key
		case []any:
			if len(known) == 0 {
				return path, value
			}
			path, value = path+oneOf(s.r, "[0]", "[0]", "[-1]", "[1]", "[?name=='c0'] | [0]"), known[0]
		default:
			return path, value
		}
	}
	return path, value
}

// functions are expressions around one of a type.
var functions = map[string][]string{
	"string": {
		"to_upper(%)", "length(%)", "split(%, '-')", "replace_all(%, 'e', '$1')", "regex_replace_all('[aeiou]', %, '<$0>')", "truncate(%, `3`)", "base64_encode(%)", "trim(%, 'w')", "starts_with(%, 'w')",
		"% == 'web'", "join('-', [%, 'a'])", "pattern_match('w*', %)", "to_number(%)", "contains(%, 'e')", "sha256(%)", "trim_prefix(%, 'w')", "regex_match('^[a-z]+$', %)", "path_canonicalize(%)",
		"equal_fold(%, 'WEB')", "image_normalize(%)", "parse_yaml(%)", "replace(%, 'e', 'x', `1`)", "regex_replace_all_literal('e', %, '$1')", "ends_with(%, 'b')", "compare(%, 'n')", "reverse(%)",
		"divide('1Gi', %)", "add(%, '1Gi')", "split(%, ':')[-1]", "% != 'web' && 'other' || 'same'",
	},
	"number": {
		"add(%, `2`)", "% > `2`", "subtract(%, `1`)", "multiply(%, `1.5`)", "divide(%, `4`)", "modulo(%, `3`)", "round(%, `0`)", "abs(%)", "ceil(%)", "sum([%, `1`])", "max([%, `3`])", "min([%, `3`])",
		"to_number(%)", "% == `80`", "floor(%)", "avg([%, `1`])", "truncate('abcdef', %)",
	},
	"list": {
		"length(%)", "sort(%)", "reverse(%)", "join(',', %)", "%[0]", "contains(%, 'a')", "sort_by(%, &name)[].name", "map(&name, %)", "max_by(%, &name)", "%[].{n: name}", "%[?name]", "%[*].name",
		"items(%, 'k', 'v')", "%[::-1]", "[%, %][]", "%[].*", "lookup(%, `0`)", "object_from_lists(%, %)", "%[?contains(to_string(@), 'c')] | length(@)",
	},
	"map": {
		"sort(keys(%))", "length(%)", "merge(%, {a: 'b'})", "lookup(%, 'app')", "items(%, 'k', 'v')", "label_match(%, %)", "not_null(%.x, 'none')", "keys(%) | contains(@, 'app')", "%.{a: app, n: name}", "%.[app, name]",
		"sort(values(%))",
	},
	"": {"to_string(%)", "type(%)", "% || 'none'", "not_null(%, 'none')", "to_array(%)", "!%", "% && 'yes'", "[%, 'x']", "{a: %}", "% | @", "to_string(%) | length(@)"},
}

// query returns a JMESPath expression.
func (s model) query() string {
	path, value := s.path()
	switch s.r.IntN(10) {
	case 0:
		path = oneOf(s.r, "request.operation", "request.namespace", "request.userInfo.username", "serviceAccountName", "request.object", "images.containers.c0.tag", "images.containers", "images.initContainers.*.path | [0]", "`3`", "'text'", "request.roles")
		value = "text"
	case 1, 2:
		if len(s.facts) > 0 {
			path, value = oneOf(s.r, s.facts...), "text"
		}
	case 3:
		if n := len(s.elements); n > 0 {
			path, value = oneOf(s.r, "elementIndex", "elementIndex", fmt.Sprintf("elementIndex%d", s.r.IntN(n))), int64(1)
		}
	}
	for s.r.chance(20 + s.odd/3) {
		of := "string"
		switch value.(type) {
		case int64, float64:
			of = "number"
		case []any:
			of = "list"
		case map[string]any:
			of = "map"
		}
		path, value = strings.ReplaceAll(oneOf(s.r, functions[oneOf(s.r, of, of, "")]...), "%", path), "text"
		if len(path) > 200 {
			break
		}
	}
	return path
}

// text returns a text with variables.
func (s model) text() string {
	query := s.query()
	switch choice := s.r.IntN(14); {
	case choice > 0 && !s.r.chance(s.odd):
	case choice == 0:
		return "a-{{ " + query + " }}-b"
	case choice == 1:
		return "{{" + query + "}}{{ " + s.query() + " }}"
	case choice == 2:
		return `\{{ ` + query + " }}"
	case choice == 3:
		return oneOf(s.r, "{{ @ }}", "{{ @ }}-x", "$(./../a)", "$(./../new)-{{ "+query+" }}", `\$(A)`, "$(A)", "$(/metadata/name)")
	case choice == 4:
		return "{{- " + query + " }}"
	case choice == 5:
		return "{{ request.object.metadata.labels.{{ " + query + " }} || '' }}"
	}
	return "{{ " + query + " }}"
}

// leaf returns a value in the place of another one.
func (s model) leaf(value any) any {
	switch choice := s.r.IntN(12); {
	case choice < 3:
		return s.text()
	case choice < 5 && !s.r.chance(s.odd):
	case choice == 3:
		return nil
	case choice == 4:
		return oneOf[any](s.r, map[string]any{}, []any{}, "", int64(0), false, "new", map[string]any{"a": s.text()}, []any{s.text()}, "on", "1e3", " x ")
	case choice < 6:
		return s.distorted(value)
	}
	return value
}

// distorted returns a value as it may be in a pattern.
func (s model) distorted(value any) any {
	switch value := value.(type) {
	case string:
		return oneOf(s.r, value, value, "*", "?*", value[:min(1, len(value))]+"*", "!"+value, value+" | x", "!x & "+value, ">1", "*"+value, ">=100m", "1-1000", "<1Gi", "")
	case int64:
		return oneOf[any](s.r, value, value, value+1, fmt.Sprint(value), fmt.Sprintf(">=%d", value), fmt.Sprintf("<%d", value), "1-100", "!3", float64(value)+0.5, "*", "90-100 | "+fmt.Sprint(value))
	case bool:
		return oneOf[any](s.r, value, value, !value, fmt.Sprint(value), "*", "!true")
	case nil:
		return oneOf[any](s.r, nil, "*", "", int64(0))
	}
	if s.r.chance(60) {
		return oneOf[any](s.r, value, "*", []any{"*"}, "?*")
	}
	return s.patch(value, true)
}

// topPatch returns a strategic merge patch of an object.
func (s model) topPatch() map[string]any {
	for {
		patch := s.patch(s.object, false).(map[string]any)
		delete(patch, "apiVersion") // a server refuses changes of these
		delete(patch, "kind")
		if metadata, isMap := patch["metadata"].(map[string]any); isMap {
			delete(metadata, "name")
		}
		if len(patch) > 0 {
			return patch
		}
	}
}

// patch returns a patch, or the pattern of a condition: some parts of a value, with anchors and others.
func (s model) patch(value any, isPattern bool) any {
	switch value := value.(type) {
	case map[string]any:
		patch := map[string]any{}
		for _, key := range slices.Sorted(maps.Keys(value)) {
			if s.r.chance(45) {
				anchor := s.anchor()
				patch[fmt.Sprintf(anchor, key)] = s.patch(value[key], isPattern || anchor == "(%s)" || anchor == "<(%s)")
			}
		}
		if s.r.chance(25) {
			key := oneOf(s.r, "new", "name", "a/b", "z-{{ request.object.metadata.name }}", "app")
			if _, known := value[key]; !known { // a key with +( ) and without is refused, and Kyverno takes one of them
				patch[fmt.Sprintf(s.anchor(), key)] = s.leaf("new")
			}
		}
		if s.r.chance(s.odd / 20) {
			patch["$patch"] = oneOf(s.r, "delete", "replace", "merge")
		}
		return patch
	case []any:
		if len(value) == 0 || s.r.chance(5) {
			return s.leaf(value)
		}
		var list []any
		for range 1 + s.r.IntN(2)*s.r.IntN(2) {
			list = append(list, s.patch(oneOf(s.r, value...), isPattern))
		}
		if s.r.chance(s.odd / 20) {
			list = append(list, map[string]any{"$patch": "replace"})
		}
		return list
	}
	if isPattern {
		return s.distorted(value)
	}
	return s.leaf(value)
}

// anchor returns the format of a key.
func (s model) anchor() string {
	switch choice := s.r.IntN(14); {
	case choice < 3:
		return "+(%s)"
	case choice < 5:
		return "(%s)"
	case choice == 5 && s.r.chance(50):
		return "<(%s)"
	case choice == 5 && s.r.chance(s.odd):
		return oneOf(s.r, "=(%s)", "X(%s)", "^(%s)")
	}
	return "%s"
}

// operations returns a JSON Patch.
func (s model) operations() string {
	var b strings.Builder
	for range 1 + s.r.IntN(2)*s.r.IntN(3) {
		op, path := oneOf(s.r, "add", "add", "replace", "remove"), s.pointer()
		if s.r.chance(s.odd) {
			op = oneOf(s.r, "add", "copy", "move", "test")
		}
		operation := map[string]any{"op": op, "path": path}
		switch op {
		case "copy", "move":
			operation["from"] = s.pointer()
		case "remove":
		default:
			_, value := s.path()
			operation["value"] = s.leaf(value)
		}
		b.WriteString("- " + string(manifest.JSON(operation)) + "\n")
	}
	if s.r.chance(5) {
		return "[" + strings.ReplaceAll(strings.TrimPrefix(strings.TrimSpace(b.String()), "- "), "\n- ", ", ") + "]"
	}
	return b.String()
}

// pointer returns a JSON pointer to a part of the object, or to one that it lacks.
func (s model) pointer() string {
	pointer, value := "", any(s.object)
	for range 1 + s.r.IntN(6) {
		switch known := value.(type) {
		case map[string]any:
			if len(known) == 0 {
				break
			}
			key := oneOf(s.r, slices.Sorted(maps.Keys(known))...)
			if pointer == "" && (key == "apiVersion" || key == "kind") || pointer == "/metadata" && key == "name" {
				continue
			}
			value, pointer = known[key], pointer+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
		case []any:
			index := "0"
			if len(s.elements) > 0 && s.r.chance(60) {
				index = "{{ elementIndex }}"
			}
			if value = nil; len(known) > 0 {
				value = known[0]
			}
			pointer += "/" + oneOf(s.r, index, index, index, "1", "-", "-1")
		}
	}
	if len(pointer) <= len("/metadata") {
		pointer = "/metadata/labels"
	}
	if s.r.chance(10 + s.odd/3) {
		pointer += oneOf(s.r, "/new", "/-", "/0", "/a~1b", "/new/0/x", "/{{ request.object.metadata.name }}", "/new/-", "/5", "/")
	}
	return pointer
}
