package editor

import (
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/internal/lazyregexp"
)

// Places in expressions.
var (
	// inline matches a line up to the cursor in an expression that begins on the line.
	inline = lazyregexp.New(`^(?:.*[{,] *| *(?:- +)*)(expression|messageExpression|valueExpression): +["']?(.*)$`)
	// header matches a key whose value is on the following lines, or goes on there.
	header = lazyregexp.New(`^( *(?:- +)*)(expression|messageExpression|valueExpression): *(?:[|>][-+0-9]*|["']?(.*))$`)
	// chained matches an operand with a dot, and the beginning of the name after it.
	chained = lazyregexp.New(`([A-Za-z_]\w*(?:\.\??\w+|\[[^\[\]]*\])*)\.\??(\w*)$`)
	// word matches the beginning of a name.
	word = lazyregexp.New(`(?:^|[^\w."'/])(\w*)$`)
	// literal matches what is before the brace of an Object.
	literal = lazyregexp.New(`\b(Object(?:\.\w+)*|JSONPatch)\s*$`)
	// pointer matches the beginning of a path of a JSON Patch.
	pointer = lazyregexp.New(`\b(?:path|from)\s*:\s*["'](/[^"']*)$`)
	// element matches one name of a chain, with an index or a key in brackets.
	element = lazyregexp.New(`\w+|\["[^"]*"\]|\['[^']*'\]|\[[^\[\]]*\]`)
	// loop matches a macro that declares a name for the items of a list.
	loop = lazyregexp.New(`([A-Za-z_]\w*(?:\.\??\w+|\[[^\[\]]*\])*)\.(?:all|exists|exists_one|existsOne|map|filter|sortBy|transformList)\(\s*(\w+)\s*,`)
)

// expression is an expression in CEL up to the cursor.
type expression struct{ before string }

// expressionAt returns the expression at the cursor.
func (l *lines) expressionAt() (expression, bool) {
	if match := inline().FindStringSubmatch(l.before); match != nil {
		return expression{match[2]}, true
	}
	indent := indentOf(l.before)
	if strings.TrimSpace(l.before) == "" {
		indent = len(l.before)
	}
	before := l.before
	for i := l.line - 1; i >= l.begin; i-- {
		line := l.all[i]
		if strings.TrimSpace(line) == "" || indentOf(line) >= indent {
			before = line + "\n" + before
			continue
		}
		line = strings.TrimRight(line, " \r")
		if match := header().FindStringSubmatch(line); match != nil {
			return expression{match[3] + "\n" + before}, true
		}
		if match := entry().FindStringSubmatch(line); match != nil && (match[3] == "" || strings.ContainsAny(match[3][:1], "#|>")) || strings.HasPrefix(strings.TrimSpace(line), "- ") {
			return expression{}, false // the parent of what is at the cursor, or another text
		}
		indent, before = indentOf(line), line+"\n"+before
	}
	return expression{}, false
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// scope is what the expressions of a policy can name.
type scope struct {
	state *State
	// kinds are the kinds that the policy matches, and param is the kind of its params.
	kinds     []gvk.Kind
	param     gvk.Kind
	variables []variable
	// loops are the names that macros declare.
	loops map[string]string
}

type variable struct{ name, expression string }

// scopeOf reads the policy at the cursor. Where its text cannot be read, the line at the cursor may be
// why, and is left out.
func (s *State) scopeOf(l *lines) *scope {
	own := slices.Clone(l.all[l.begin:l.end])
	stream, problems := manifest.Read("", []byte(strings.Join(own, "\n")))
	if len(problems) > 0 && l.line < l.end { // the cursor may be on a separator
		line := &own[l.line-l.begin]
		if match := entry().FindStringSubmatch(*line); match != nil {
			*line = match[1] + match[2] + ":"
		} else {
			*line = ""
		}
		stream, _ = manifest.Read("", []byte(strings.Join(own, "\n")))
	}
	sc := &scope{state: s, loops: map[string]string{}}
	for _, d := range stream.Documents() {
		sc.read(d.Object())
	}
	return sc
}

// read reads a policy.
func (sc *scope) read(object map[string]any) {
	rules, _ := change.Keys("spec", "matchConstraints", "resourceRules").Get(object)
	list, _ := rules.([]any)
	for _, rule := range list {
		fields, _ := rule.(map[string]any)
		sc.kinds = append(sc.kinds, sc.state.Schemas.Selected(textsIn(fields["apiGroups"]), textsIn(fields["apiVersions"]), textsIn(fields["resources"]))...)
	}
	param, _ := change.Keys("spec", "paramKind").Get(object)
	if fields, ok := param.(map[string]any); ok {
		apiVersion, _ := fields["apiVersion"].(string)
		kind, _ := fields["kind"].(string)
		sc.param = gvk.Parse(apiVersion, kind)
	}
	declared, _ := change.Keys("spec", "variables").Get(object)
	list, _ = declared.([]any)
	for _, item := range list {
		fields, _ := item.(map[string]any)
		name, _ := fields["name"].(string)
		text, _ := fields["expression"].(string)
		if name != "" {
			sc.variables = append(sc.variables, variable{name, strings.TrimSpace(text)})
		}
	}
}

func textsIn(value any) (texts []string) {
	list, _ := value.([]any)
	for _, item := range list {
		if text, ok := item.(string); ok {
			texts = append(texts, text)
		}
	}
	return texts
}

// declare notes the names that macros before the cursor declare.
func (sc *scope) declare(before string) {
	for _, match := range loop().FindAllStringSubmatch(before, -1) {
		sc.loops[match[2]] = match[1]
	}
}

// named is a value that a chain of names leads to: fields of kinds at a path, or a table.
type named struct {
	kinds []gvk.Kind
	path  []string
	// table lists the fields of a value that is not an object of a kind.
	table []Item
}

// requestFields are the fields of an admission request, by the path below request.
var requestFields = map[string][]Item{
	"": {
		{FieldItem, "dryRun", "boolean", ""},
		{FieldItem, "kind", "object", ""},
		{FieldItem, "name", "string", ""},
		{FieldItem, "namespace", "string", ""},
		{FieldItem, "operation", "string", "CREATE, UPDATE, DELETE or CONNECT"},
		{FieldItem, "options", "any value", ""},
		{FieldItem, "requestKind", "object", ""},
		{FieldItem, "requestResource", "object", ""},
		{FieldItem, "requestSubResource", "string", ""},
		{FieldItem, "resource", "object", ""},
		{FieldItem, "subResource", "string", ""},
		{FieldItem, "userInfo", "object", ""},
	},
	"kind":            {{FieldItem, "group", "string", ""}, {FieldItem, "kind", "string", ""}, {FieldItem, "version", "string", ""}},
	"requestKind":     {{FieldItem, "group", "string", ""}, {FieldItem, "kind", "string", ""}, {FieldItem, "version", "string", ""}},
	"resource":        {{FieldItem, "group", "string", ""}, {FieldItem, "resource", "string", ""}, {FieldItem, "version", "string", ""}},
	"requestResource": {{FieldItem, "group", "string", ""}, {FieldItem, "resource", "string", ""}, {FieldItem, "version", "string", ""}},
	"userInfo":        {{FieldItem, "extra", "map of lists", ""}, {FieldItem, "groups", "list of strings", ""}, {FieldItem, "uid", "string", ""}, {FieldItem, "username", "string", ""}},
}

// maxSteps bounds how many variables and macros lead from one to the next.
const maxSteps = 20

// resolve returns what a chain of names leads to.
func (sc *scope) resolve(chain string) named { return sc.follow(namesOf(chain), maxSteps) }

// namesOf splits a chain into its names. Indexes are left out: the items of a list are at its path.
func namesOf(chain string) []string {
	var names []string
	for _, name := range element().FindAllString(chain, -1) {
		if strings.HasPrefix(name, "[") {
			name = strings.Trim(name, "[]")
			if unquoted := strings.Trim(name, `"'`); unquoted != name {
				names = append(names, unquoted)
			}
			continue
		}
		names = append(names, name)
	}
	return names
}

func (sc *scope) follow(names []string, steps int) named {
	if len(names) == 0 || steps == 0 {
		return named{}
	}
	rest := names[1:]
	if of, ok := sc.loops[names[0]]; ok {
		return sc.follow(append(namesOf(of), rest...), steps-1)
	}
	switch names[0] {
	case "object", "oldObject":
		return named{kinds: sc.kinds, path: rest}
	case "params":
		return named{kinds: []gvk.Kind{sc.param}, path: rest}
	case "namespaceObject":
		return named{kinds: []gvk.Kind{{Version: "v1", Kind: "Namespace"}}, path: rest}
	case "request":
		return named{table: requestFields[strings.Join(rest, ".")]}
	case "variables":
		if len(rest) == 0 {
			var items []Item
			for _, v := range sc.variables {
				items = append(items, Item{VariableItem, v.name, "", v.expression})
			}
			return named{table: items}
		}
		for _, v := range sc.variables {
			if v.name == rest[0] && chained().FindString(v.expression+".") == v.expression+"." {
				return sc.follow(append(namesOf(v.expression), rest[1:]...), steps-1)
			}
		}
	}
	return named{}
}

// fields lists the fields of a value.
func (sc *scope) fields(n named) []Item {
	items := slices.Clone(n.table)
	seen := map[string]bool{}
	for _, kind := range n.kinds {
		for _, f := range sc.state.Schemas.Fields(kind, n.path...) {
			if !seen[f.Name] {
				items = append(items, Item{Kind: FieldItem, Name: f.Name, Detail: f.Type})
			}
			seen[f.Name] = true
		}
	}
	return items
}

// completeExpression lists what can be written in an expression.
func (s *State) completeExpression(l *lines, e expression) []Item {
	sc := s.scopeOf(l)
	sc.declare(e.before)
	if match := pointer().FindStringSubmatch(e.before); match != nil {
		parts := strings.Split(match[1], "/")
		return sc.fields(named{kinds: sc.kinds, path: withoutIndexes(parts[1 : len(parts)-1])})
	}
	if match := chained().FindStringSubmatch(e.before); match != nil {
		items := sc.fields(sc.resolve(match[1]))
		return append(items, s.functionItems(func(member bool) bool { return member })...)
	}
	if of, ok := openLiteral(e.before); ok {
		if of == "JSONPatch" {
			return []Item{{FieldItem, "from", "string", ""}, {FieldItem, "op", "string", "add, remove, replace, move, copy or test"}, {FieldItem, "path", "string", ""}, {FieldItem, "value", "any value", ""}}
		}
		return sc.fields(named{kinds: sc.kinds, path: strings.Split(of, ".")[1:]})
	}
	if word().FindStringSubmatch(e.before) == nil {
		return nil
	}
	items := []Item{
		{VariableItem, "object", "object", "the object of the request"},
		{VariableItem, "oldObject", "object", "the object before an update; null for CREATE"},
		{VariableItem, "request", "object", "the admission request"},
		{VariableItem, "namespaceObject", "object", "the namespace of the object"},
		{VariableItem, "variables", "object", "the variables of the policy"},
		{VariableItem, "authorizer", "object", "asks whether a user may do something"},
	}
	if sc.param != (gvk.Kind{}) {
		items = append(items, Item{VariableItem, "params", "object", "the " + sc.param.Kind + " that the binding names"})
	}
	for name := range sc.loops {
		items = append(items, Item{VariableItem, name, "", "an item of " + sc.loops[name]})
	}
	items = append(items, Item{FunctionItem, "Object", "", "an object with the fields to merge"}, Item{FunctionItem, "JSONPatch", "", "an operation of a JSON Patch"})
	slices.SortStableFunc(items, func(a, b Item) int { return strings.Compare(a.Name, b.Name) })
	return append(items, s.functionItems(func(member bool) bool { return !member })...)
}

// withoutIndexes returns the names in a path that are not indexes of lists.
func withoutIndexes(parts []string) []string {
	return slices.DeleteFunc(slices.Clone(parts), func(part string) bool { return part == "-" || strings.Trim(part, "0123456789") == "" })
}

// openLiteral returns the type of the Object or JSONPatch whose next field is at the end of a text.
func openLiteral(before string) (string, bool) {
	depth := 0
	fresh := true // there is only a name between the end and the last comma or brace
	for i := len(before) - 1; i >= 0; i-- {
		switch char := before[i]; {
		case strings.IndexByte(")]}", char) >= 0:
			depth++
		case char == '{' && depth == 0:
			match := literal().FindStringSubmatch(before[:i])
			if match == nil || !fresh {
				return "", false
			}
			return match[1], true
		case strings.IndexByte("([{", char) >= 0:
			if depth--; depth < 0 {
				return "", false
			}
		case char == ':' && depth == 0 && !strings.Contains(before[i:], ","):
			fresh = false
		}
	}
	return "", false
}

// functionItems lists the functions, those of objects or the others.
func (s *State) functionItems(wants func(member bool) bool) []Item {
	var items []Item
	for _, f := range s.celFunctions() {
		if wants(f.Member) {
			items = append(items, Item{FunctionItem, f.Name, f.Signatures[0], strings.TrimSpace(f.Doc + "\n" + strings.Join(f.Signatures[1:], "\n"))})
		}
	}
	for _, m := range macros {
		if wants(strings.HasPrefix(m.Detail, "list.")) {
			items = append(items, m)
		}
	}
	return items
}

// macros are the macros of CEL, which are not functions.
var macros = []Item{
	{FunctionItem, "has", "has(object.field) -> bool", "whether a field is set"},
	{FunctionItem, "all", "list.all(item, condition) -> bool", "whether the condition is true for all items"},
	{FunctionItem, "exists", "list.exists(item, condition) -> bool", "whether the condition is true for an item"},
	{FunctionItem, "exists_one", "list.exists_one(item, condition) -> bool", "whether the condition is true for exactly one item"},
	{FunctionItem, "map", "list.map(item, value) -> list", "the values for all items"},
	{FunctionItem, "filter", "list.filter(item, condition) -> list", "the items for which the condition is true"},
}
