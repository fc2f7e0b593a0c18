package editor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/internal/lazyregexp"
)

// Places in expressions.
var (
	// inline matches a line up to the cursor in an expression that begins on the line.
	inline = lazyregexp.New(`^(?:.*[{,] *| *(?:- +)*)(?:expression|messageExpression|valueExpression): +(["']?)(.*)$`)
	// header matches a key whose value is on the following lines, or goes on there.
	header = lazyregexp.New(`^( *(?:- +)*)(?:expression|messageExpression|valueExpression): *(?:[|>][-+0-9]*|(["']?)(.*))$`)
	// member matches a dot, and the beginning of the name after it.
	member = lazyregexp.New(`\.\??(\w*)$`)
	// word matches the beginning of a name.
	word = lazyregexp.New(`(?:^|[^\w."'/])(\w*)$`)
	// element matches one name of a chain, with an index or a key in brackets.
	element = lazyregexp.New(`\w+|\["[^"]*"\]|\['[^']*'\]|\[[^\[\]]*\]`)
	// macro matches a macro that declares a name, or two names, for what it goes over.
	macro = lazyregexp.New(`(?s)^(.*)\.(?:(?:all|exists|exists_one|existsOne|map|filter|sortBy|optMap|optFlatMap)|(transform(?:List|Map|MapEntry)))$`)
	// declaring matches the names that a macro declares.
	declaring = lazyregexp.New(`^\s*([A-Za-z_]\w*)\s*,(?:\s*([A-Za-z_]\w*)\s*,)?`)
)

// expression is an expression in CEL up to the cursor.
type expression struct{ before string }

// expressionAt returns the expression at the cursor.
func (l *lines) expressionAt() (expression, bool) {
	if kindOf(l.all[l.begin:l.end]).Group == treeGroup {
		before, ok := l.after("(cel;")
		return expression{before}, ok
	}
	if match := inline().FindStringSubmatch(l.before); match != nil {
		return expression{unquoted(match[1], match[2])}, true
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
			return expression{unquoted(match[2], match[3]+"\n"+before)}, indent > len(match[1]) // or else it is a key beside it
		}
		if match := entry().FindStringSubmatch(line); match != nil && (match[3] == "" || strings.ContainsAny(match[3][:1], "#|>")) || strings.HasPrefix(strings.TrimSpace(line), "- ") {
			return expression{}, false // the parent of what is at the cursor, or another text
		}
		indent, before = indentOf(line), line+"\n"+before
	}
	return expression{}, false
}

// unquoted returns the beginning of a text that is written in quotes.
func unquoted(quote, text string) string {
	switch quote {
	case `"`:
		return strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(text)
	case "'":
		return strings.ReplaceAll(text, "''", "'")
	}
	return text
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// scope is what the expressions of a policy can name.
type scope struct {
	state *State
	// group is the group of the policy.
	group    string
	language *language
	// kinds are the kinds that the policy matches, and param is the kind of its params.
	kinds []gvk.Kind
	param gvk.Kind
	// targets are the kinds of the existing objects that a rule of Kyverno changes.
	targets   []gvk.Kind
	variables []variable
	// loops are the names that macros declare, the innermost last, each with what it is an item of.
	loops []engine.Local
}

// language is what the names of expressions mean.
type language struct {
	// follow returns what the first name of a chain leads to, with the names after it.
	follow func(sc *scope, names []string, steps int) named
	// roots lists the variables that an expression can begin with.
	roots func(sc *scope) []Item
}

// The languages of expressions.
var (
	celLanguage   = &language{(*scope).followCEL, (*scope).celRoots}
	queryLanguage = &language{(*scope).followQuery, (*scope).queryRoots}
)

// variable is a variable of a policy, or an entry of the context of a rule of Kyverno, which may be a
// ConfigMap.
type variable struct{ name, expression, configMap string }

// scopeOf reads the policy at the cursor, without the value on the line of the cursor.
func (s *State) scopeOf(l *lines) *scope {
	here := ""
	if match := entry().FindStringSubmatch(l.all[l.line]); match != nil {
		here = match[1] + match[2] + ":"
	}
	sc := &scope{state: s, language: celLanguage, group: kindOf(l.all[l.begin:l.end]).Group}
	sc.read(l.read(here))
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
			sc.variables = append(sc.variables, variable{name: name, expression: strings.TrimSpace(text)})
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

// declare notes the names that macros around the end of a part of an expression declare.
func (sc *scope) declare(before string) {
	for _, b := range openBraces(before) {
		call, names := macro().FindStringSubmatch(b.operand), declaring().FindStringSubmatch(b.text)
		switch {
		case b.opening != '(' || call == nil || names == nil:
		case call[2] == "":
			sc.loops = append(sc.loops, engine.Local{Name: names[1], Expression: call[1]})
		case names[2] != "":
			for _, name := range names[1:] { // the first one is the index or the key
				list := fmt.Sprintf("%s.transformList(%s, %s, %s)", call[1], names[1], names[2], name)
				sc.loops = append(sc.loops, engine.Local{Name: name, Expression: list})
			}
		}
	}
}

// loop returns what a name that a macro declares is an item of; "" if none does.
func (sc *scope) loop(name string) string {
	for _, l := range slices.Backward(sc.loops) {
		if l.Name == name {
			return l.Expression
		}
	}
	return ""
}

// maxKinds is how many kinds of a policy are asked for what a part of an expression is.
const maxKinds = 10

// value returns what is known about a part of an expression in CEL, with the fields of all kinds that the policy
// matches; ok is false if that depends on the object. A type has no value.
func (sc *scope) value(text string) (v engine.Value, ok bool) {
	if text == "" || literal().MatchString(text) || sc.language != celLanguage || sc.group == treeGroup {
		return v, false
	}
	at := engine.Place{Group: sc.group, Param: sc.param, Loops: sc.loops}
	for _, variable := range sc.variables {
		at.Variables = append(at.Variables, engine.Local{Name: variable.name, Expression: variable.expression})
	}
	for _, at.Kind = range sc.kinds[:min(len(sc.kinds), maxKinds)] {
		of, isKnown := sc.state.Schemas.Value(at, text)
		if !ok {
			v, ok = of, isKnown
			continue
		}
		v.Fields = append(v.Fields, of.Fields...)
	}
	if len(sc.kinds) == 0 {
		return sc.state.Schemas.Value(at, text)
	}
	slices.SortStableFunc(v.Fields, func(a, b engine.Field) int { return strings.Compare(a.Name, b.Name) })
	v.Fields = slices.CompactFunc(v.Fields, func(a, b engine.Field) bool { return a.Name == b.Name })
	return v, ok
}

// named is a value that a chain of names leads to: fields of kinds at a path, or a table.
type named struct {
	kinds []gvk.Kind
	path  []string
	// table lists the fields of a value that is not an object of a kind.
	table []Item
	// name is the name of the object, or "" for any one.
	name string
	// isParam says that the value is in a param or a ConfigMap that the policy names.
	isParam bool
}

// requestFields are the fields of an admission request, by the path below request.
var requestFields = map[string][]Item{
	"": {
		{Kind: FieldItem, Name: "dryRun", Detail: "boolean"},
		{Kind: FieldItem, Name: "kind", Detail: "object"},
		{Kind: FieldItem, Name: "name", Detail: "string"},
		{Kind: FieldItem, Name: "namespace", Detail: "string"},
		{Kind: FieldItem, Name: "operation", Detail: "string", Doc: "CREATE, UPDATE, DELETE or CONNECT"},
		{Kind: FieldItem, Name: "options", Detail: "any value"},
		{Kind: FieldItem, Name: "requestKind", Detail: "object"},
		{Kind: FieldItem, Name: "requestResource", Detail: "object"},
		{Kind: FieldItem, Name: "requestSubResource", Detail: "string"},
		{Kind: FieldItem, Name: "resource", Detail: "object"},
		{Kind: FieldItem, Name: "subResource", Detail: "string"},
		{Kind: FieldItem, Name: "userInfo", Detail: "object"},
	},
	"kind":            {{Kind: FieldItem, Name: "group", Detail: "string"}, {Kind: FieldItem, Name: "kind", Detail: "string"}, {Kind: FieldItem, Name: "version", Detail: "string"}},
	"requestKind":     {{Kind: FieldItem, Name: "group", Detail: "string"}, {Kind: FieldItem, Name: "kind", Detail: "string"}, {Kind: FieldItem, Name: "version", Detail: "string"}},
	"resource":        {{Kind: FieldItem, Name: "group", Detail: "string"}, {Kind: FieldItem, Name: "resource", Detail: "string"}, {Kind: FieldItem, Name: "version", Detail: "string"}},
	"requestResource": {{Kind: FieldItem, Name: "group", Detail: "string"}, {Kind: FieldItem, Name: "resource", Detail: "string"}, {Kind: FieldItem, Name: "version", Detail: "string"}},
	"userInfo":        {{Kind: FieldItem, Name: "extra", Detail: "map of lists"}, {Kind: FieldItem, Name: "groups", Detail: "list of strings"}, {Kind: FieldItem, Name: "uid", Detail: "string"}, {Kind: FieldItem, Name: "username", Detail: "string"}},
}

// maxSteps bounds how many variables and macros lead from one to the next.
const maxSteps = 20

// resolve returns what a chain of names leads to; nothing for other expressions.
func (sc *scope) resolve(chain string) named {
	if !isChain(chain) {
		return named{}
	}
	return sc.follow(namesOf(chain), maxSteps)
}

// isChain reports whether an expression in CEL or JMESPath has only names, indexes and keys.
func isChain(text string) bool {
	return operand().FindString(text) == text || operandQuery().FindString(text) == text
}

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
	if of := sc.loop(names[0]); of != "" {
		if !isChain(of) {
			return named{}
		}
		return sc.follow(append(namesOf(of), names[1:]...), steps-1)
	}
	return sc.language.follow(sc, names, steps)
}

// followCEL is follow for the names of CEL.
func (sc *scope) followCEL(names []string, steps int) named {
	rest := names[1:]
	switch names[0] {
	case "object", "oldObject":
		return named{kinds: sc.kinds, path: rest}
	case "Object":
		return named{kinds: sc.kinds, path: rest}
	case "params":
		return named{kinds: []gvk.Kind{sc.param}, path: rest, isParam: true}
	case "namespaceObject":
		return named{kinds: []gvk.Kind{namespaceKind}, path: rest}
	case "request":
		return sc.request(rest, sc.group == kyvernoGroup)
	case "exceptions":
		if len(rest) == 0 && sc.group == kyvernoGroup {
			return named{table: exceptionFields}
		}
	case "variables":
		if len(rest) == 0 {
			var items []Item
			for _, v := range sc.variables {
				items = append(items, Item{Kind: VariableItem, Name: v.name, Doc: v.expression})
			}
			return named{table: items}
		}
		for _, v := range sc.variables {
			if v.name == rest[0] && isChain(v.expression) {
				return sc.follow(append(namesOf(v.expression), rest[1:]...), steps-1)
			}
		}
	}
	return named{}
}

// request returns what is below request. Only Kyverno has the objects there.
func (sc *scope) request(path []string, hasObjects bool) named {
	if !hasObjects || len(path) > 0 && path[0] != "object" && path[0] != "oldObject" {
		return named{table: requestFields[strings.Join(path, ".")]}
	}
	if len(path) == 0 {
		return named{table: slices.Concat(requestFields[""], objectFields)}
	}
	return named{kinds: sc.kinds, path: path[1:]}
}

// exceptionFields are the fields of exceptions in Kyverno.
var exceptionFields = []Item{
	{Kind: FieldItem, Name: "allowedImages", Detail: "list of strings", Doc: "the images that the exceptions for the object allow"},
	{Kind: FieldItem, Name: "allowedValues", Detail: "list of strings", Doc: "the values that the exceptions for the object allow"},
}

// roleFields are the fields of an admission request that only Kyverno's rules have.
var roleFields = []Item{
	{Kind: FieldItem, Name: "clusterRoles", Detail: "list of strings", Doc: "the ClusterRoles of the user"},
	{Kind: FieldItem, Name: "roles", Detail: "list of strings", Doc: "the Roles of the user, as namespace:name"},
}

// objectFields are the fields of an admission request that only Kyverno has below request.
var objectFields = []Item{{Kind: FieldItem, Name: "object", Detail: "object"}, {Kind: FieldItem, Name: "oldObject", Detail: "object"}}

// configMap is the kind of the params of rules.
var configMap = gvk.Kind{Version: "v1", Kind: "ConfigMap"}

// followQuery is follow for the names of JMESPath in rules of Kyverno.
func (sc *scope) followQuery(names []string, steps int) named {
	rest := names[1:]
	switch names[0] {
	case "request":
		n := sc.request(rest, true)
		if len(rest) == 0 {
			n.table = append(n.table, roleFields...)
		}
		return n
	case "target":
		return named{kinds: sc.targets, path: rest}
	case "images":
		return named{table: imageTables[min(len(rest), len(imageTables)-1)]}
	}
	for _, v := range sc.variables {
		switch {
		case v.name != names[0]:
		case v.configMap != "":
			return named{kinds: []gvk.Kind{configMap}, name: v.configMap, path: rest, isParam: true}
		case operandQuery().FindString(v.expression) == v.expression:
			return sc.follow(append(namesOf(v.expression), rest...), steps-1)
		}
	}
	return named{}
}

// imageTables are the fields of images: the lists, the names of containers, which are those of the object, and
// the parts of an image.
var imageTables = [][]Item{
	{{Kind: FieldItem, Name: "containers", Detail: "object"}, {Kind: FieldItem, Name: "ephemeralContainers", Detail: "object"}, {Kind: FieldItem, Name: "initContainers", Detail: "object"}},
	nil,
	{
		{Kind: FieldItem, Name: "digest", Detail: "string"},
		{Kind: FieldItem, Name: "name", Detail: "string"},
		{Kind: FieldItem, Name: "path", Detail: "string"},
		{Kind: FieldItem, Name: "reference", Detail: "string"},
		{Kind: FieldItem, Name: "referenceWithTag", Detail: "string"},
		{Kind: FieldItem, Name: "registry", Detail: "string"},
		{Kind: FieldItem, Name: "tag", Detail: "string"},
	},
	nil,
}

// patched are the kinds that the patches of a rule change.
func (sc *scope) patched() []gvk.Kind {
	if len(sc.targets) > 0 {
		return sc.targets
	}
	return sc.kinds
}

// fields lists the fields of a value.
func (sc *scope) fields(n named) []Item {
	items := slices.Clone(n.table)
	seen := map[string]bool{}
	for _, kind := range n.kinds {
		for _, f := range sc.state.Schemas.Fields(kind, n.path...) {
			if !seen[f.Name] {
				items = append(items, Item{Kind: FieldItem, Name: f.Name, Detail: f.Type, Doc: f.Doc})
			}
			seen[f.Name] = true
		}
	}
	return items
}

// keys lists the keys that a map has in the workspace.
func (sc *scope) keys(n named) []Item {
	found := map[string]string{}
	for _, o := range sc.state.objects(n.kinds, n.name) {
		for _, value := range valuesAt(o.document.Object(), n.path) {
			object, _ := value.(map[string]any)
			for key, field := range object {
				found[key] = typeName(field)
			}
		}
	}
	var items []Item
	for _, key := range slices.Sorted(maps.Keys(found)) {
		items = append(items, Item{Kind: FieldItem, Name: key, Detail: found[key]})
	}
	return items
}

// typeName returns the type of a value in the words of engine.Field.
func typeName(value any) string {
	switch value.(type) {
	case map[string]any:
		return "object"
	case []any:
		return "list of values"
	case string:
		return "string"
	case bool:
		return "boolean"
	}
	return "any value"
}

// known lists the fields of a value; if it is a map, the keys that it has in the workspace.
func (sc *scope) known(n named) []Item {
	if items := sc.fields(n); len(items) > 0 {
		return items
	}
	return sc.keys(n)
}

// typeOf returns the type of a value, in the words of engine.Field.
func (sc *scope) typeOf(n named) string {
	for _, kind := range n.kinds {
		if t := sc.state.Schemas.TypeAt(kind, n.path...); t != "" {
			return t
		}
	}
	return ""
}

// docOf says what the field is that an operand ends with; "" if that is not known.
func (sc *scope) docOf(chain string, n named) string {
	for _, kind := range n.kinds {
		if doc := sc.state.Schemas.DocAt(kind, n.path...); doc != "" {
			return doc
		}
	}
	if match := member().FindStringSubmatchIndex(chain); match != nil {
		v, _ := sc.value(chain[:match[0]])
		for _, f := range v.Fields {
			if f.Name == chain[match[2]:] {
				return f.Doc
			}
		}
	}
	return ""
}

// completeExpression lists what can be written in an expression.
func (s *State) completeExpression(l *lines, e expression) Completion {
	sc := s.scopeOf(l)
	sc.declare(e.before)
	open := openBraces(e.before)
	b := open[len(open)-1]
	if b.quote != "" {
		return sc.completeText(open)
	}
	if match := member().FindStringSubmatchIndex(e.before); match != nil {
		if of := operandBefore(e.before[:match[0]]); of != "" {
			return Completion{e.before[match[2]:], sc.members(of)}
		}
	}
	match := word().FindStringSubmatch(e.before)
	isNew := b.opening == '(' && strings.TrimSpace(b.tail) == strings.TrimSpace(b.text) && macro().MatchString(b.operand)
	if match == nil || isNew { // a name that a macro declares
		return Completion{}
	}
	isStart := strings.TrimSpace(b.tail) == match[1]
	switch {
	case b.of == "JSONPatch" && b.field == "" && isStart:
		return Completion{match[1], l.withColons(slices.Clone(patchFields))}
	case b.of != "" && b.field == "" && isStart:
		return Completion{match[1], l.withBraces(sc.known(named{kinds: sc.kinds, path: strings.Split(b.of, ".")[1:]}))}
	case b.of != "" && b.field != "" && isStart:
		return Completion{match[1], append(sc.fieldValues(b), sc.general()...)}
	}
	return Completion{match[1], sc.general()}
}

// members lists what can follow an operand and a dot.
func (sc *scope) members(of string) []Item {
	n := sc.resolve(of)
	if of == "Object" || strings.HasPrefix(of, "Object.") {
		return onlyObjects(sc.fields(n))
	}
	if own := sc.functions(func(f engine.Function) bool { return strings.HasPrefix(f.Name, of+".") }); len(own) > 0 {
		items := functionItems(own)
		for i := range items {
			items[i].Name = strings.TrimPrefix(items[i].Name, of+".")
		}
		return items
	}
	v, ok := sc.value(of)
	items := slices.Clone(n.table)
	for _, f := range v.Fields {
		if i := slices.IndexFunc(items, func(item Item) bool { return item.Name == f.Name }); i >= 0 {
			items[i].Detail = f.Type
			continue
		}
		items = append(items, Item{Kind: FieldItem, Name: f.Name, Detail: f.Type, Doc: f.Doc})
	}
	switch {
	case !ok:
		items = sc.known(n)
	case strings.HasPrefix(v.Type, "map of "):
		items = append(items, sc.keys(n)...)
	}
	items = slices.DeleteFunc(items, func(item Item) bool { return !IsIdentifier(item.Name) })
	items = append(items, functionItems(v.Functions)...)
	for _, m := range memberMacros {
		of, _, _ := strings.Cut(m.Detail, ".")
		if !ok || strings.HasPrefix(v.Type, of+" ") || of == "list" && strings.HasPrefix(v.Type, "map of ") {
			items = append(items, m)
		}
	}
	return items
}

// functions returns the functions that someone wants.
func (sc *scope) functions(wants func(f engine.Function) bool) []engine.Function {
	return slices.DeleteFunc(slices.Clone(sc.state.celFunctions(sc.group)), func(f engine.Function) bool { return !wants(f) })
}

// onlyObjects leaves the fields whose values have fields, or items with fields.
func onlyObjects(items []Item) []Item {
	return slices.DeleteFunc(items, func(item Item) bool {
		return isInline(item.Detail) || strings.HasPrefix(item.Detail, "list of ") && item.Detail != "list of objects"
	})
}

// general lists what an expression can begin with.
func (sc *scope) general() []Item {
	functions := sc.functions(func(f engine.Function) bool { return !f.Member })
	return append(append(sc.language.roots(sc), functionItems(functions)...), hasMacro)
}

// The groups of the CEL policies of Kyverno, and of mutation trees.
const (
	kyvernoGroup = "policies.kyverno.io"
	treeGroup    = "json.preadmit.dev"
)

// celRoots lists the variables of an expression in CEL, the innermost first, and the types of objects.
func (sc *scope) celRoots() []Item {
	var items []Item
	for _, l := range slices.Backward(sc.loops) {
		items = append(items, Item{Kind: VariableItem, Name: l.Name, Doc: "an item of " + l.Expression})
	}
	if sc.param != (gvk.Kind{}) {
		items = append(items, Item{Kind: VariableItem, Name: "params", Detail: "object", Doc: "the " + sc.param.Kind + " that the binding names"})
	}
	switch sc.group {
	case kyvernoGroup:
		return slices.Concat(items, roots, kyvernoRoots)
	case treeGroup:
		return slices.Concat(items, treeRoots)
	}
	return slices.Concat(items, roots, serverRoots)
}

// roots are what an expression of any policy can begin with.
var roots = []Item{
	{Kind: VariableItem, Name: "object", Detail: "object", Doc: "the object of the request"},
	{Kind: VariableItem, Name: "variables", Detail: "object", Doc: "the variables of the policy"},
	{Kind: VariableItem, Name: "request", Detail: "object", Doc: "the admission request"},
	{Kind: VariableItem, Name: "namespaceObject", Detail: "object", Doc: "the namespace of the object"},
	{Kind: VariableItem, Name: "oldObject", Detail: "object", Doc: "the object before an update; null for CREATE"},
	{Kind: FunctionItem, Name: "Object", Insert: "Object{", Doc: "an object with the fields to merge"},
	{Kind: FunctionItem, Name: "JSONPatch", Insert: "JSONPatch{", Doc: "an operation of a JSON Patch"},
}

// serverRoots are the variables that only policies of the API server have.
var serverRoots = []Item{
	{Kind: VariableItem, Name: "authorizer", Detail: "object", Doc: "asks whether a user may do something"},
}

// treeRoots are the variables of mutation trees.
var treeRoots = []Item{
	{Kind: VariableItem, Name: "bindings", Detail: "object", Doc: "the bindings of the rule, and of what is around the place"},
	{Kind: VariableItem, Name: "object", Detail: "any value", Doc: "the value at the place of the expression"},
}

// kyvernoRoots are the variables that only policies of Kyverno have.
var kyvernoRoots = []Item{
	{Kind: VariableItem, Name: "exceptions", Detail: "object", Doc: "what the exceptions for the object allow"},
	{Kind: VariableItem, Name: "globalContext", Detail: "object", Doc: "the values of GlobalContextEntries: globalContext.Get(name, projection)"},
	{Kind: VariableItem, Name: "http", Detail: "object", Doc: "asks other services: http.Get(url), http.Post(url, body)"},
	{Kind: VariableItem, Name: "image", Detail: "object", Doc: "the metadata of images in their registries: image.GetMetadata(reference)"},
	{Kind: VariableItem, Name: "json", Detail: "object", Doc: "reads and writes JSON: json.unmarshal(text), json.marshal(value)"},
	{Kind: VariableItem, Name: "resource", Detail: "object", Doc: "the objects of the cluster: resource.Get(apiVersion, plural, namespace, name), resource.List(apiVersion, plural, namespace)"},
	{Kind: VariableItem, Name: "yaml", Detail: "object", Doc: "reads YAML: yaml.parse(text)"},
}

// functionItems lists functions.
func functionItems(functions []engine.Function) []Item {
	var items []Item
	for _, f := range functions {
		doc := strings.TrimSpace(f.Doc + "\n" + strings.Join(f.Signatures[1:], "\n"))
		items = append(items, Item{Kind: FunctionItem, Name: f.Name, Detail: f.Signatures[0], Doc: doc})
	}
	return items
}

// hasMacro is the macro that is called of nothing.
var hasMacro = Item{Kind: FunctionItem, Name: "has", Detail: "has(object.field) -> bool", Doc: "whether a field is set"}

// memberMacros are the macros of CEL that are called of a value, which are not functions.
var memberMacros = []Item{
	{Kind: FunctionItem, Name: "all", Detail: "list.all(item, condition) -> bool", Doc: "whether the condition is true for all items"},
	{Kind: FunctionItem, Name: "exists", Detail: "list.exists(item, condition) -> bool", Doc: "whether the condition is true for an item"},
	{Kind: FunctionItem, Name: "exists_one", Detail: "list.exists_one(item, condition) -> bool", Doc: "whether the condition is true for exactly one item"},
	{Kind: FunctionItem, Name: "map", Detail: "list.map(item, value) -> list", Doc: "the values for all items"},
	{Kind: FunctionItem, Name: "filter", Detail: "list.filter(item, condition) -> list", Doc: "the items for which the condition is true"},
	{Kind: FunctionItem, Name: "optMap", Detail: "optional.optMap(item, value) -> optional", Doc: "a value made of what is there"},
	{
		Kind: FunctionItem, Name: "optFlatMap", Detail: "optional.optFlatMap(item, optional) -> optional",
		Doc: "an optional value made of what is there",
	},
}
