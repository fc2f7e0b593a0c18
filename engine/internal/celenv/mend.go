package celenv

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/decls"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"github.com/preadmit/preadmit/engine/internal/celenv/syntax"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/lazyregexp"
)

// mender finds out what the writer of an expression that does not compile probably meant.
type mender struct {
	env      *cel.Env
	provider *provider
	text     string
	errors   []*common.Error
	parsed   *ast.AST
	nodes    map[int64]ast.Expr
	parts    []syntax.Part
}

// mend returns what was probably meant by an expression with issues.
func (c *compiler) mend(text string, issues *cel.Issues) source.Mend {
	if issues == nil || issues.Err() == nil {
		return source.Mend{}
	}
	env, err := c.complete()
	if err != nil {
		return source.Mend{}
	}
	return mendOf(env, c.provider, text, issues)
}

// mendOf returns the first change of an expression that leaves fewer errors. The provider may be nil.
func mendOf(env *cel.Env, p *provider, text string, issues *cel.Issues) source.Mend {
	m := newMender(env, p, text, issues)
	if m == nil {
		return grammatical(env, text, issues)
	}
	for _, e := range m.errors {
		if mend := m.mend(e); mend.Advice != "" {
			return mend
		}
	}
	return source.Mend{}
}

// newMender returns the mender of an expression; nil if its syntax is wrong.
func newMender(env *cel.Env, p *provider, text string, issues *cel.Issues) *mender {
	parsed, wrong := env.Parse(text)
	if wrong != nil && wrong.Err() != nil {
		return nil
	}
	m := &mender{env: env, provider: p, text: text, errors: issues.Errors(), parsed: parsed.NativeRep(), nodes: map[int64]ast.Expr{}, parts: syntax.Parts(text)}
	ast.PreOrderVisit(m.parsed.Expr(), ast.NewExprVisitor(func(e ast.Expr) { m.nodes[e.ID()] = e }))
	return m
}

// The messages of cel-go that a mend follows.
var (
	undeclaredName = lazyregexp.New(`^undeclared reference to '([\w.]+)'`)
	mixedTypes     = lazyregexp.New(`^expected type '.*' but found '.*'$`)
	undefinedPatch = lazyregexp.New(`^expected type of field '(\w+)' is ''`)
	mixedResults   = lazyregexp.New(`^found no matching overload for '_\?_:_' applied to '\(bool,`)
)

func (m *mender) mend(e *common.Error) source.Mend {
	if match := undeclaredName().FindStringSubmatch(e.Message); match != nil {
		name, _, _ := strings.Cut(match[1], ".")
		if name == match[1] {
			if mend := m.placed(e, name); mend.Advice != "" {
				return mend
			}
		}
		return m.rename(e, name, m.namesFor(e.ExprID, name))
	}
	if match := undefinedField().FindStringSubmatch(e.Message); match != nil && m.provider != nil {
		return m.rename(e, match[1], m.provider.missed[match[1]])
	}
	if match := undefinedPatch().FindStringSubmatch(e.Message); match != nil {
		return m.rename(e, match[1], slices.Collect(maps.Keys(structs["JSONPatch"])))
	}
	if mixedTypes().MatchString(e.Message) {
		if mend := m.patches(); mend.Advice != "" {
			return mend
		}
		return m.wrap(m.around(e.ExprID), "values")
	}
	if mixedResults().MatchString(e.Message) {
		return m.wrap(m.nodes[e.ExprID], "results")
	}
	if mend := m.retype(e); mend.Advice != "" {
		if _, errors := m.try(mend.Changes); len(errors) < len(m.errors) {
			return mend
		}
	}
	return source.Mend{}
}

// otherWords are words of other languages, with that of CEL.
var otherWords = map[string]string{
	"True": "true", "TRUE": "true", "False": "false", "FALSE": "false", "None": "null", "nil": "null", "NULL": "null", "undefined": "null",
	"len": "size", "length": "size", "count": "size", "any": "exists", "some": "exists", "every": "all", "includes": "contains", "has": "contains",
	"lower": "lowerAscii", "toLower": "lowerAscii", "toLowerCase": "lowerAscii", "upper": "upperAscii", "toUpper": "upperAscii", "toUpperCase": "upperAscii",
	"strip": "trim", "test": "matches", "match": "matches", "str": "string", "hasPrefix": "startsWith", "hasSuffix": "endsWith",
}

// rename replaces a name that is not known by the nearest known one, wherever it has the same error.
func (m *mender) rename(e *common.Error, name string, known []string) source.Mend {
	slices.Sort(known)
	near := source.Nearest(name, known)
	if other := otherWords[name]; slices.Contains(known, other) {
		near = other
	}
	for _, of := range []string{"object.", "variables."} { // which is often forgotten
		if slices.Contains(known, of+name) {
			near = of + name
		}
	}
	if near == "" {
		return source.Mend{}
	}
	return m.replace(e, name, near, source.Meant(name, near).Text)
}

// replace replaces a name that is not known by a known one, wherever it has the same error.
func (m *mender) replace(e *common.Error, name, near, advice string) source.Mend {
	var changes []source.Change
	for _, other := range m.errors {
		if p, ok := m.nameAt(other, name); ok && other.Message == e.Message {
			changes = append(changes, source.Change{From: p.Start, To: p.End, New: near})
		}
	}
	slices.SortFunc(changes, func(a, b source.Change) int { return cmp.Compare(a.From, b.From) })
	changes = slices.Compact(changes)
	if _, errors := m.try(changes); len(errors) > len(m.errors) || slices.ContainsFunc(errors, func(message string) bool {
		return message == e.Message || !m.says(message) && !follows(message, near)
	}) {
		return source.Mend{}
	}
	return source.Mend{Advice: advice, Title: fmt.Sprintf("Replace %s with %s", name, near), Changes: changes}
}

// says reports whether the expression has an error before any change.
func (m *mender) says(message string) bool {
	return slices.ContainsFunc(m.errors, func(e *common.Error) bool { return e.Message == message })
}

// follows reports whether an error may be found only because the type of a name is known now.
func follows(message, name string) bool {
	function, isCall := strings.CutPrefix(message, "found no matching overload for '")
	return mixedTypes().MatchString(message) || isCall && !strings.HasPrefix(function, name+"'")
}

// nameAt returns the word of the expression that an error is about. Errors are at the word, at the dot before it, or
// at the bracket or colon after it.
func (m *mender) nameAt(e *common.Error, name string) (word syntax.Part, ok bool) {
	return wordAt(m.text, m.parts, offset(m.text, e.Location.Line(), e.Location.Column()), name)
}

// fieldAt is wordAt for a field. The error about a field in has() is at its bracket.
func fieldAt(text string, parts []syntax.Part, at int, name string) (word syntax.Part, ok bool) {
	if word, ok := wordAt(text, parts, at, name); ok {
		return word, true
	}
	for i, p := range parts {
		if i > 0 && p.Start > at && text[p.Start:p.End] == name && text[parts[i-1].Start] == '.' {
			return p, true
		}
	}
	return word, false
}

// wordAt returns the word with a name that is nearest to an offset of an expression, without words between them.
func wordAt(text string, parts []syntax.Part, at int, name string) (word syntax.Part, ok bool) {
	is := func(p syntax.Part) bool { return text[p.Start:p.End] == name }
	next, _ := slices.BinarySearchFunc(parts, at, func(p syntax.Part, at int) int { return cmp.Compare(p.Start, at) })
	for _, p := range parts[min(next, len(parts)):min(next+3, len(parts))] { // a dot and a question mark may come first
		if is(p) {
			return p, true
		}
	}
	for i := next - 1; i >= 0 && (parts[i].Class != syntax.Operator || text[parts[i].Start] == '.'); i-- {
		if is(parts[i]) {
			return parts[i], true
		}
	}
	return word, false
}

// try compiles the expression after changes, and returns the messages of its errors.
func (m *mender) try(changes []source.Change) (checked *ast.AST, errors []string) {
	defer func() {
		if problem := recover(); problem != nil {
			errors = append(errors, fmt.Sprint(problem), m.errors[0].Message) // see compiler.compile
		}
	}()
	compiled, issues := m.env.Compile(source.Changed(m.text, changes))
	for _, e := range issues.Errors() {
		errors = append(errors, e.Message)
	}
	return compiled.NativeRep(), errors
}

// namesFor returns what a name can be at a node.
func (m *mender) namesFor(id int64, name string) (known []string) {
	node := m.nodes[id]
	switch {
	case node == nil:
		return nil
	case node.Kind() == ast.StructKind:
		return []string{"JSONPatch", "Object"}
	case node.Kind() == ast.CallKind:
		return m.functions(node.AsCall())
	}
	for _, v := range m.env.Variables() {
		if v.Name() == "object" {
			known = append(known, "object.metadata", "object.spec", "object.data", "object.status")
		}
		if v.Type().Kind() != types.TypeKind || source.Misspelt(name, []string{v.Name()}) != "" { // types are rarely meant
			known = append(known, v.Name())
		}
	}
	if m.provider != nil {
		for variable := range m.provider.variables {
			known = append(known, "variables."+variable)
		}
	}
	if isLiteral := strings.Contains("true false null", otherWords[name]); isLiteral && otherWords[name] != "" {
		known = append(known, otherWords[name])
	}
	for _, n := range m.nodes {
		if n.Kind() == ast.ComprehensionKind {
			known = append(known, n.AsComprehension().IterVar(), n.AsComprehension().IterVar2(), n.AsComprehension().AccuVar())
		}
	}
	return slices.DeleteFunc(known, func(k string) bool { return k == "" || strings.Contains(k, ".") && !strings.HasSuffix(k, "."+name) })
}

// functions returns the names of functions and macros that are called like one. Those of a namespace, such as sets,
// have the name after it.
func (m *mender) functions(call ast.CallExpr) (known []string) {
	namespace := ""
	if call.IsMemberFunction() {
		namespace = chainOf(call.Target()) + "."
	}
	for name, f := range m.env.Functions() {
		if local, ok := strings.CutPrefix(name, namespace); ok && namespace != "" {
			known = append(known, local)
		}
		if isName(name) && slices.ContainsFunc(f.OverloadDecls(), func(o *decls.OverloadDecl) bool { return o.IsMemberFunction() == call.IsMemberFunction() }) {
			known = append(known, name)
		}
	}
	for _, macro := range m.env.Macros() {
		if macro.IsReceiverStyle() == call.IsMemberFunction() && isName(macro.Function()) {
			known = append(known, macro.Function())
		}
	}
	return known
}

// chainOf returns the names of a chain of fields that begins with a variable; "" for another expression.
func chainOf(e ast.Expr) string {
	switch e.Kind() {
	case ast.IdentKind:
		return e.AsIdent()
	case ast.SelectKind:
		if of := chainOf(e.AsSelect().Operand()); of != "" {
			return of + "." + e.AsSelect().FieldName()
		}
	}
	return ""
}

// around returns the list or the map that has a value.
func (m *mender) around(id int64) ast.Expr {
	is := func(v value) bool { return v.expr.ID() == id }
	for _, n := range m.nodes {
		if slices.ContainsFunc(valuesOf(n), is) {
			return n
		}
	}
	return nil
}

// value is a value of a list or a map. optional says that it may be missing.
type value struct {
	expr     ast.Expr
	optional bool
}

// valuesOf returns the values of a list, a map or an Object, or the results of a condition.
func valuesOf(e ast.Expr) (values []value) {
	switch {
	case e.Kind() == ast.ListKind:
		for i, item := range e.AsList().Elements() {
			values = append(values, value{item, e.AsList().IsOptional(int32(i))})
		}
	case e.Kind() == ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			values = append(values, value{entry.AsMapEntry().Value(), entry.AsMapEntry().IsOptional()})
		}
	case e.Kind() == ast.StructKind:
		for _, field := range e.AsStruct().Fields() {
			values = append(values, value{field.AsStructField().Value(), field.AsStructField().IsOptional()})
		}
	case isCallOf(e, operators.Conditional):
		for _, result := range e.AsCall().Args()[1:] {
			values = append(values, value{expr: result})
		}
	}
	return values
}

// The messages of cel-go about a value of another type than that of the field, or of what it is compared with.
var (
	otherField   = lazyregexp.New(`^expected type of field '\w+' is '(\w+)'`)
	otherCompare = lazyregexp.New(`no matching overload for '_(?:==|!=|<|<=|>|>=)_' applied to '\((\w+), (\w+)\)'`)
)

// retype quotes the literal that an error is about, or takes it out of its quotes, if it has the expected type then.
func (m *mender) retype(e *common.Error) source.Mend {
	if match := otherField().FindStringSubmatch(e.Message); match != nil {
		return m.literalAs(m.valueOf(e.ExprID), isOf(match[1]))
	}
	match, node := otherCompare().FindStringSubmatch(e.Message), m.nodes[e.ExprID]
	if match == nil || node == nil || node.Kind() != ast.CallKind || len(node.AsCall().Args()) != 2 {
		return source.Mend{}
	}
	args := node.AsCall().Args()
	if mend := m.literalAs(args[0], isOf(match[2])); mend.Advice != "" {
		return mend
	}
	return m.literalAs(args[1], isOf(match[1]))
}

// valueOf returns the value of an entry of an Object; nil if there is no such.
func (m *mender) valueOf(entry int64) ast.Expr {
	for _, n := range m.nodes {
		if n.Kind() != ast.StructKind {
			continue
		}
		for _, field := range n.AsStruct().Fields() {
			if field.ID() == entry {
				return field.AsStructField().Value()
			}
		}
	}
	return nil
}

// isOf returns a function that reports whether a value has a type of CEL.
func isOf(name string) func(value any) bool {
	return func(value any) bool {
		switch value.(type) {
		case string:
			return name == "string"
		case int64:
			return name == "int"
		case bool:
			return name == "bool"
		}
		return false
	}
}

// literalAs quotes a literal, or takes it out of its quotes, if it fits then.
func (m *mender) literalAs(e ast.Expr, fits func(value any) bool) source.Mend {
	if e == nil || e.Kind() != ast.LiteralKind {
		return source.Mend{}
	}
	at := offsetOf(m.text, m.parsed, e)
	i, ok := slices.BinarySearchFunc(m.parts, at, func(p syntax.Part, at int) int { return cmp.Compare(p.Start, at) })
	if !ok {
		return source.Mend{}
	}
	word, literal := m.word(i), e.AsLiteral().Value()
	written, isText := literal.(string)
	advice := "write " + written + ", without quotes"
	meant := plainLiteral(written)
	if !isText {
		written = strconv.Quote(word)
		advice, meant = "write it in quotes: "+written, word
	}
	if meant == nil || !isText && word != fmt.Sprint(literal) || !fits(meant) {
		return source.Mend{}
	}
	return source.Mend{Advice: advice, Title: fmt.Sprintf("Replace %s with %s", word, written), Changes: []source.Change{{From: m.parts[i].Start, To: m.parts[i].End, New: written}}}
}

// plainLiteral returns the value of a text without its quotes: a whole number or a boolean, or else nil.
func plainLiteral(text string) any {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && strconv.FormatInt(n, 10) == text {
		return n
	}
	if b := text == "true"; b || text == "false" {
		return b
	}
	return nil
}

// wrap writes dyn() around those values of a list, a map or a condition that have a type.
func (m *mender) wrap(of ast.Expr, what string) source.Mend {
	if of == nil {
		return source.Mend{}
	}
	values, spans := valuesOf(of), m.spans(of)
	if len(values) != len(spans) {
		return source.Mend{}
	}
	var changes []source.Change
	for i, v := range values {
		if !v.optional && !isCallOf(v.expr, "dyn") {
			changes = append(changes, source.Change{From: spans[i].Start, To: spans[i].Start, New: "dyn("}, source.Change{From: spans[i].End, To: spans[i].End, New: ")"})
		}
	}
	checked, errors := m.try(changes)
	if len(errors) >= len(m.errors) {
		return source.Mend{}
	}
	if needed := m.typed(checked, changes); len(needed) < len(changes) {
		if _, left := m.try(needed); len(left) <= len(errors) {
			changes = needed
		}
	}
	return source.Mend{Advice: "write dyn() around the " + what + ", which are of several types", Title: "Write dyn() around the " + what, Changes: changes}
}

// spans returns where the text has the values of a list, a map or an Object, or the results of a condition. These are at their
// opening bracket, or at the question mark.
func (m *mender) spans(of ast.Expr) (spans []syntax.Part) {
	at := offsetOf(m.text, m.parsed, of)
	i, ok := slices.BinarySearchFunc(m.parts, at, func(p syntax.Part, at int) int { return cmp.Compare(p.Start, at) })
	if !ok {
		return nil
	}
	separator := ","
	if of.Kind() == ast.CallKind {
		separator = ":"
	}
	for i++; i < len(m.parts) && !isClosing(m.word(i)); i++ {
		if m.word(i) == "?" {
			i++ // an optional entry
		}
		if of.Kind() == ast.MapKind || of.Kind() == ast.StructKind {
			i = m.end(i, ":") + 1
		}
		end := m.end(i, separator)
		if i >= end {
			return nil
		}
		spans = append(spans, syntax.Part{Start: m.parts[i].Start, End: m.parts[end-1].End})
		if i = end; i < len(m.parts) && m.word(i) != separator {
			break
		}
	}
	return spans
}

// end returns the number of the first part, from one on, that is outside its brackets or that is a separator and in
// no other brackets.
func (m *mender) end(i int, separator string) int {
	depth, conditions := 0, 0
	for ; i < len(m.parts); i++ {
		switch word := m.word(i); {
		case depth == 0 && (isClosing(word) || word == "," || word == separator && conditions == 0):
			return i
		case isClosing(word):
			depth--
		case word == "(" || word == "[" || word == "{":
			depth++
		case depth == 0 && word == "?" && m.word(i-1) != ".":
			conditions++
		case depth == 0 && word == ":":
			conditions--
		}
	}
	return i
}

// word returns the text of a part.
func (m *mender) word(i int) string { return m.text[m.parts[i].Start:m.parts[i].End] }

func isClosing(word string) bool { return word == ")" || word == "]" || word == "}" }

// Unnested returns the mend of an expression with an Object in a list or a map of a JSONPatch, on which servers crash:
// maps in place of the Objects there.
func (e *Env) Unnested(expression string) source.Mend {
	parsed := e.syntax().Parse(common.NewTextSource(expression))
	if parsed == nil {
		return source.Mend{}
	}
	m := &mender{text: expression, parsed: parsed, parts: syntax.Parts(expression)}
	var changes []source.Change
	ast.PreOrderVisit(parsed.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.StructKind || e.AsStruct().TypeName() != patchType.TypeName() {
			return
		}
		for _, field := range e.AsStruct().Fields() {
			if value := field.AsStructField().Value(); field.AsStructField().Name() == "value" && value.Kind() != ast.StructKind {
				ast.PreOrderVisit(value, ast.NewExprVisitor(func(e ast.Expr) { changes = append(changes, m.asMap(e)...) }))
			}
		}
	}))
	if len(changes) == 0 {
		return source.Mend{}
	}
	slices.SortStableFunc(changes, func(a, b source.Change) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	joined := changes[:1]
	for _, c := range changes[1:] {
		if last := &joined[len(joined)-1]; last.To == c.From {
			last.To, last.New = c.To, last.New+c.New
		} else {
			joined = append(joined, c)
		}
	}
	return source.Mend{Advice: "write maps in place of the Objects", Title: "Write maps in place of the Objects", Changes: joined}
}

// asMap returns the changes that make a map of an Object: its type is left out, its names are texts, and its values
// are dynamic, so that maps with different values have one type.
func (m *mender) asMap(of ast.Expr) (changes []source.Change) {
	values, spans := valuesOf(of), m.spans(of)
	if of.Kind() != ast.StructKind || !isObject(of.AsStruct().TypeName()) || len(values) != len(spans) {
		return nil
	}
	brace := offsetOf(m.text, m.parsed, of)
	i, _ := slices.BinarySearchFunc(m.parts, brace, func(p syntax.Part, at int) int { return cmp.Compare(p.Start, at) })
	first := i
	for first > 0 && (m.parts[first-1].Class == syntax.Type || m.word(first-1) == ".") {
		first--
	}
	changes = append(changes, source.Change{From: m.parts[first].Start, To: brace})
	for i, field := range of.AsStruct().Fields() {
		name := field.AsStructField().Name()
		word, ok := wordAt(m.text, m.parts, offsetOfID(m.text, m.parsed, field.ID()), name)
		if !ok {
			return nil
		}
		changes = append(changes, source.Change{From: word.Start, To: word.End, New: strconv.Quote(name)})
		if variable, _, _ := strings.Cut(chainOf(values[i].expr), "."); variable != "object" && variable != "params" && !isCallOf(values[i].expr, "dyn") {
			changes = append(changes, source.Change{From: spans[i].Start, To: spans[i].Start, New: "dyn("}, source.Change{From: spans[i].End, To: spans[i].End, New: ")"})
		}
	}
	return changes
}

// typed leaves out the changes that write dyn() around what is dynamic without it.
func (m *mender) typed(checked *ast.AST, changes []source.Change) (needed []source.Change) {
	if checked == nil {
		return changes
	}
	dynamic := map[int]bool{}
	after := source.Changed(m.text, changes)
	ast.PreOrderVisit(checked.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if isCallOf(e, "dyn") && checked.GetType(e.AsCall().Args()[0].ID()).Kind() == types.DynKind {
			dynamic[offsetOf(after, checked, e)] = true
		}
	}))
	by := 0
	for i := 0; i+1 < len(changes); i += 2 {
		by += len(changes[i].New)
		if !dynamic[changes[i].From+by-1] { // a call is at its bracket
			needed = append(needed, changes[i], changes[i+1])
		}
		by += len(changes[i+1].New)
	}
	return needed
}

// isName reports whether a function has a name, unlike operators.
func isName(function string) bool {
	return !strings.ContainsFunc(function, func(c rune) bool { return c != '_' && !unicode.IsLetter(c) && !unicode.IsDigit(c) }) && function[0] != '_'
}

func isCallOf(e ast.Expr, function string) bool {
	return e.Kind() == ast.CallKind && e.AsCall().FunctionName() == function
}
