package editor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/internal/lazyregexp"
)

var (
	// query matches a line up to the cursor in a field of a rule that has JMESPath without braces.
	query = lazyregexp.New(`^ *(?:- +)*(?:list|jmesPath): +["']?(.*)$`)
	// chainedQuery matches an operand with a dot, and the beginning of the name after it.
	chainedQuery = lazyregexp.New(`([A-Za-z_]\w*(?:\.\w+|\."[^"]*"|\[[^\[\]]*\])*)\.(\w*)$`)
	// operandQuery matches a chain of names at the end of a text.
	operandQuery = lazyregexp.New(`([A-Za-z_]\w*(?:\.\w+|\."[^"]*"|\[[^\[\]]*\])*)$`)
	// patchPointer matches the beginning of a path in a text with JSON Patches.
	patchPointer = lazyregexp.New(`\b(?:path|from): +["']?(/[^"'\s]*)$`)
	// location matches the beginning of a location of Gatekeeper.
	location = lazyregexp.New(`^ *(?:- +)*(?:location|subPath): +["']?(.*)$`)
	// selection matches the part of a location that selects items of a list.
	selection = lazyregexp.New(`\[[^\]]*\]`)
)

// queryAt returns the expression in JMESPath up to the cursor, and where it begins on the line.
func (l *lines) queryAt() (before string, start int, ok bool) {
	switch kindOf(l.all[l.begin:l.end]).Group {
	case treeGroup:
		before, ok = l.after("(jp;")
		return before, len(l.before) - len(before), ok
	case "kyverno.io":
	default:
		return "", 0, false
	}
	if open := strings.LastIndex(l.before, "{{"); open >= 0 && !strings.Contains(l.before[open:], "}}") {
		return l.before[open+2:], open, true
	}
	if match := query().FindStringSubmatchIndex(l.before); match != nil {
		return l.before[match[2]:], match[2], true
	}
	return "", 0, false
}

// after returns the text of the line between the last sign before the cursor and the cursor.
func (l *lines) after(sign string) (before string, ok bool) {
	at := strings.LastIndex(l.before, sign)
	if at < 0 {
		return "", false
	}
	return l.before[at+len(sign):], true
}

// scopeOfQuery reads the rule at the cursor.
func (s *State) scopeOfQuery(l *lines, start int) *scope {
	before := l.before[:start]
	closing := ""
	for _, quote := range []string{`"`, "'"} {
		if strings.Count(before, quote)%2 == 1 {
			closing = quote
		}
	}
	return s.scopeOfRule(trail(l.read(before+cursorMark+closing), cursorMark))
}

// scopeOfRule returns what a rule can name. The mappings lead to the place of the cursor in its policy: the
// policy, its spec, the rule ….
func (s *State) scopeOfRule(mappings []map[string]any) *scope {
	sc := &scope{state: s, language: queryLanguage}
	if len(mappings) < 3 {
		return sc
	}
	apiVersion, _ := mappings[0]["apiVersion"].(string)
	sc.group = gvk.Parse(apiVersion, "").Group
	rule := mappings[2]
	for _, block := range blocksOf(rule["match"]) {
		if kind, ok := block["kind"].(string); ok { // of a mutation tree
			apiVersion, _ := block["apiVersion"].(string)
			sc.kinds = append(sc.kinds, gvk.Parse(apiVersion, kind))
		}
		kinds, _ := change.Keys("resources", "kinds").Get(block)
		list, _ := kinds.([]any)
		for _, name := range textsIn(list) {
			sc.kinds = append(sc.kinds, s.selectedBy(name)...)
		}
	}
	for _, m := range slices.Backward(mappings[2:]) { // the innermost context counts
		sc.variables = append(sc.variables, contextVariables(m["context"])...)
	}
	targets, _ := change.Keys("mutate", "targets").Get(rule)
	entries, _ := targets.([]any)
	for _, item := range entries {
		target, _ := item.(map[string]any)
		apiVersion, _ := target["apiVersion"].(string)
		kind, _ := target["kind"].(string)
		sc.targets = append(sc.targets, gvk.Parse(apiVersion, kind))
	}
	for _, m := range mappings[3:] {
		if list, ok := m["list"].(string); ok && list != cursorMark {
			sc.loops = append(sc.loops, engine.Local{Name: "element", Expression: list})
		}
	}
	return sc
}

// contextVariables returns the entries of a context.
func contextVariables(value any) (all []variable) {
	entries, _ := value.([]any)
	for _, item := range entries {
		entry, _ := item.(map[string]any)
		name, _ := entry["name"].(string)
		if name != "" && name != cursorMark {
			all = append(all, contextVariable(name, entry))
		}
	}
	return all
}

// contextVariable returns an entry of the context of a rule. Its expression leads to its value.
func contextVariable(name string, entry map[string]any) variable {
	v := variable{name: name}
	if of, ok := entry["variable"].(map[string]any); ok {
		v.expression, _ = of["jmesPath"].(string)
	}
	if of, ok := entry["configMap"].(map[string]any); ok {
		v.configMap, _ = of["name"].(string)
	}
	return v
}

// blocksOf returns the blocks of a match of Kyverno.
func blocksOf(value any) []map[string]any {
	match, _ := value.(map[string]any)
	blocks := []map[string]any{match}
	for _, name := range []string{"any", "all"} {
		list, _ := match[name].([]any)
		for _, item := range list {
			block, _ := item.(map[string]any)
			blocks = append(blocks, block)
		}
	}
	return blocks
}

// selectedBy returns the kinds of a name of a kind as Kyverno has it: Pod, apps/v1/Deployment, */Deployment.
func (s *State) selectedBy(name string) []gvk.Kind {
	group, version := "*", "*"
	parts := strings.Split(name, "/")
	at := slices.IndexFunc(parts, func(part string) bool { return part != "" && part[0] >= 'A' && part[0] <= 'Z' })
	switch {
	case at < 0:
		return nil
	case at == 1:
		version = parts[0]
	case at == 2:
		group, version = parts[0], parts[1]
	}
	return slices.DeleteFunc(s.Schemas.Selected([]string{group}, []string{version}, []string{"*"}), func(k gvk.Kind) bool { return k.Kind != parts[at] })
}

// queryRoots lists the variables of an expression in JMESPath.
func (sc *scope) queryRoots() []Item {
	if sc.group == treeGroup {
		return nil // it begins with a field of the value at its place
	}
	items := slices.Clone(ruleRoots)
	if sc.loop("element") != "" {
		items = append(items, elementRoots...)
	}
	if len(sc.targets) > 0 {
		items = append(items, Item{Kind: VariableItem, Name: "target", Detail: "object", Doc: "the existing object that the rule changes"})
	}
	for _, v := range sc.variables {
		items = append(items, Item{Kind: VariableItem, Name: v.name, Doc: v.expression})
	}
	return items
}

// ruleRoots are what an expression of any rule can begin with.
var ruleRoots = []Item{
	{Kind: VariableItem, Name: "request", Detail: "object", Doc: "the admission request"},
	{Kind: VariableItem, Name: "images", Detail: "object", Doc: "the images of the object, by the name of their list and of their container"},
	{Kind: VariableItem, Name: "serviceAccountName", Detail: "string", Doc: "the service account of the request"},
	{Kind: VariableItem, Name: "serviceAccountNamespace", Detail: "string", Doc: "the namespace of the service account of the request"},
}

// elementRoots are what an expression below foreach can begin with.
var elementRoots = []Item{
	{Kind: VariableItem, Name: "element", Doc: "the item of the list"},
	{Kind: VariableItem, Name: "elementIndex", Detail: "integer", Doc: "the index of the item, from 0"},
}

// completeQuery lists what can be written in an expression in JMESPath.
func (s *State) completeQuery(before string, sc *scope) Completion {
	if match := chainedQuery().FindStringSubmatch(before); match != nil {
		items := sc.known(sc.resolve(match[1]))
		for i := range items {
			if !IsIdentifier(items[i].Name) {
				items[i].Insert = `"` + items[i].Name + `"`
			}
		}
		return Completion{match[2], items}
	}
	match := word().FindStringSubmatch(before)
	if match == nil {
		return Completion{}
	}
	items := sc.queryRoots()
	for _, f := range s.Schemas.JMESPath(sc.group) {
		items = append(items, Item{Kind: FunctionItem, Name: f.Name, Detail: f.Signatures[0], Doc: f.Doc})
	}
	return Completion{match[1], items}
}

// completePointer lists what can follow the beginning of a path of a JSON Patch.
func (sc *scope) completePointer(before string) Completion {
	slash := strings.LastIndex(before, "/")
	return Completion{before[slash+1:], sc.pointers(before[:slash])}
}

// completeLocation lists the fields that can follow in a location of Gatekeeper.
func (s *State) completeLocation(l *lines, before string) Completion {
	if strings.HasSuffix(before, "]") {
		return Completion{} // a dot comes first
	}
	n := s.located(l, before)
	last := n.path[len(n.path)-1]
	n.path = n.path[:len(n.path)-1]
	items := (&scope{state: s}).known(n)
	for i := range items {
		if item := &items[i]; item.Detail == "list of objects" {
			item.Insert = item.Name + "[name:*]" // without a space it needs no quotes
		}
	}
	return Completion{last, items}
}

// located returns what the beginning of a location leads to.
func (s *State) located(l *lines, before string) named {
	return named{kinds: s.appliedTo(l.read("")), path: strings.Split(selection().ReplaceAllString(before, ""), ".")}
}

// describeLocation describes the field at the end of the beginning of a location.
func (s *State) describeLocation(l *lines, before string) string {
	sc, n := &scope{state: s}, s.located(l, before)
	if of := sc.typeOf(n); of != "" {
		return strings.TrimSpace(fmt.Sprintf("`%s`: %s\n\n%s", strings.Join(n.path, "."), of, sc.docOf("", n))) + s.examples(l, n)
	}
	return ""
}

// appliedTo returns the kinds that a mutator of Gatekeeper applies to; of AssignMetadata all that it matches
// have the same metadata.
func (s *State) appliedTo(object map[string]any) []gvk.Kind {
	entries, _ := change.Keys("spec", "applyTo").Get(object)
	list, _ := entries.([]any)
	var kinds []gvk.Kind
	for _, item := range list {
		fields, _ := item.(map[string]any)
		names := textsOf(fields["kinds"])
		for _, k := range s.Schemas.Selected(textsOf(fields["groups"]), textsOf(fields["versions"]), []string{"*"}) {
			if slices.Contains(names, k.Kind) {
				kinds = append(kinds, k)
			}
		}
	}
	if len(list) == 0 {
		return []gvk.Kind{namespaceKind}
	}
	return kinds
}

// textsOf returns the texts of a list; nil for another value.
func textsOf(value any) []string {
	list, _ := value.([]any)
	return textsIn(list)
}

// describeQuery describes the operand at the end of a part of an expression in JMESPath.
func (s *State) describeQuery(l *lines, before string, sc *scope) string {
	chain := operandQuery().FindString(before)
	if chain == "" {
		return ""
	}
	names := namesOf(chain)
	for _, f := range s.Schemas.JMESPath(sc.group) {
		if len(names) == 1 && f.Name == chain {
			return describeFunction("jmespath", f)
		}
	}
	return sc.describe(l, chain)
}
