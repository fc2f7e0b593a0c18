package migrate

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/preadmit/preadmit/engine/internal/schema"
)

// kind is the known type of an expression's value.
type kind int

const (
	anything kind = iota
	text
	number
	boolean
	list
	object
)

// The precedence levels of CEL's operators; the tightest comes first.
const (
	primary = iota
	unary
	product
	sum
	relation
	conjunction
	disjunction
	choice
)

// code is a CEL expression.
type code struct {
	text  string
	level int
	kind  kind
	// types are the types of the value, one for each kind of object that a rule matches; empty
	// if one is not known.
	types []*schema.Type
	// path is the path of the value, if the value is a field of an object.
	path *path
	// maybe is the same expression with an optional value, if the value may be missing.
	maybe string
	// constant is the value of a literal. isConstant distinguishes null from no literal.
	constant   any
	isConstant bool
	// orEmpty returns the expression for a list that may be missing; nil if it is not available.
	orEmpty func() code
	// isNull says that a missing value is null, not an error: a patch drops nulls.
	isNull bool
	// ofKeys is the text of a map if the value is the list of its keys.
	ofKeys string
}

// in returns the text as an operand of an operator of a level.
func (c code) in(level int) string {
	if c.level > level {
		return "(" + c.text + ")"
	}
	return c.text
}

func operation(level int, kind kind, format string, args ...any) code {
	return code{text: fmt.Sprintf(format, args...), level: level, kind: kind}
}

// path is a chain of fields from a variable.
type path struct {
	root  string
	parts []part
	// sure is the number of parts that always exist.
	sure int
}

// part is a key of a map, the index of an item, or an expression for one of these.
type part struct {
	key      string
	index    int
	isIndex  bool
	computed string
}

func (p part) text() string {
	switch {
	case p.computed != "":
		return p.computed
	case p.isIndex:
		return strconv.Itoa(p.index)
	}
	return quote(p.key)
}

// step returns the text of a part. optional says that the value may be missing.
func (p part) step(optional bool) string {
	mark := ""
	if optional {
		mark = "?"
	}
	if p.computed == "" && !p.isIndex && isIdentifier(p.key) {
		return "." + mark + p.key
	}
	return "[" + mark + p.text() + "]"
}

func (p *path) write(n int, optional bool) string {
	var b strings.Builder
	b.WriteString(p.root)
	for i, part := range p.parts[:n] {
		b.WriteString(part.step(optional && i >= p.sure))
	}
	return b.String()
}

// then returns the path extended by a part.
func (p *path) then(part part, sure bool) *path {
	extended := &path{root: p.root, parts: append(slices.Clone(p.parts), part), sure: p.sure}
	if sure && p.sure == len(p.parts) {
		extended.sure++
	}
	return extended
}

// present returns an expression that tests whether the value exists; "" if it always exists.
func (p *path) present() string {
	n := len(p.parts)
	switch {
	case p.sure >= n:
		return ""
	case p.sure < n-1:
		return p.write(n, true) + ".hasValue()"
	}
	last, parent := p.parts[n-1], p.write(n-1, false)
	switch {
	case last.isIndex:
		return fmt.Sprintf("size(%s) > %s", parent, last.text())
	case last.computed == "" && isIdentifier(last.key):
		return "has(" + parent + last.step(false) + ")"
	}
	return last.text() + " in " + parent
}

// pointer returns an expression for the path below its root as a JSON Pointer.
func (p *path) pointer() string {
	var parts []string
	constant := ""
	for _, part := range p.parts {
		switch {
		case part.computed != "" && part.isIndex:
			parts = append(parts, quote(constant+"/"), "string("+part.computed+")")
			constant = ""
		case part.computed != "":
			parts = append(parts, quote(constant+"/"), "jsonpatch.escapeKey("+part.computed+")")
			constant = ""
		case part.isIndex:
			constant += "/" + strconv.Itoa(part.index)
		default:
			constant += "/" + escapePointer(part.key)
		}
	}
	if constant != "" || len(parts) == 0 {
		parts = append(parts, quote(constant))
	}
	return strings.Join(parts, " + ")
}

func escapePointer(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

// ofPath returns the code of a path.
func ofPath(p *path, types []*schema.Type) code {
	c := code{text: p.write(len(p.parts), false), types: types, path: p, kind: kindOf(types)}
	if p.sure < len(p.parts) {
		c.maybe = p.write(len(p.parts), true)
	}
	return c
}

// kindOf returns the kind that all types have in common.
func kindOf(types []*schema.Type) kind {
	found := anything
	for i, t := range types {
		k := kindOfType(t)
		if i > 0 && k != found {
			return anything
		}
		found = k
	}
	return found
}

func kindOfType(t *schema.Type) kind {
	switch {
	case t == nil:
		return anything
	case t.IsList:
		return list
	}
	switch t.Scalar {
	case schema.NotScalar:
		return object
	case schema.String, schema.Quantity:
		return text
	case schema.Integer, schema.Number:
		return number
	case schema.Boolean:
		return boolean
	}
	return anything
}

// field returns the code of a field of a value.
func (c code) field(key string) code {
	if c.path != nil {
		types, sure := fieldTypes(c.types, key)
		if len(c.path.parts) == 0 && (key == "metadata" || key == "spec" && isWorkload(c.types)) {
			sure = true
		}
		return ofPath(c.path.then(part{key: key}, sure), types)
	}
	step := part{key: key}
	next := code{text: c.in(primary) + step.step(false), maybe: c.in(primary) + step.step(true)}
	if c.maybe != "" {
		next.maybe = c.maybe + step.step(true)
	}
	next.types, _ = fieldTypes(c.types, key)
	next.kind = kindOf(next.types)
	return next
}

// item returns the code of an item of a list.
func (c code) item(index int) code {
	types := itemTypes(c.types)
	if c.path != nil && index >= 0 {
		return ofPath(c.path.then(part{index: index, isIndex: true}, false), types)
	}
	at := strconv.Itoa(index)
	if index < 0 {
		at = fmt.Sprintf("size(%s) - %d", c.text, -index)
	}
	return code{text: c.in(primary) + "[" + at + "]", maybe: c.in(primary) + "[?" + at + "]", types: types, kind: kindOf(types)}
}

// fieldTypes returns the types of a field; sure says that all types require it.
func fieldTypes(types []*schema.Type, key string) (below []*schema.Type, sure bool) {
	sure = len(types) > 0
	for _, t := range types {
		f := t.FieldType(key)
		if f == nil {
			return nil, false
		}
		below = append(below, f)
		declared := t.Declared(key)
		required := declared != nil && declared.Required
		// Validation requires these fields although the schema does not.
		switch {
		case key == "spec" && (strings.HasSuffix(t.Name, ".PodTemplateSpec") || strings.HasSuffix(t.Name, ".JobTemplateSpec")),
			key == "template" && (strings.HasSuffix(t.Name, ".ReplicaSetSpec") || strings.HasSuffix(t.Name, ".ReplicationControllerSpec")):
			required = true
		}
		sure = sure && required
	}
	return below, sure
}

func itemTypes(types []*schema.Type) []*schema.Type {
	var items []*schema.Type
	for _, t := range types {
		item := t.ItemType()
		if item == nil {
			return nil
		}
		items = append(items, item)
	}
	return items
}

// isWorkload reports whether all types are pods or pod controllers, which have a spec.
func isWorkload(types []*schema.Type) bool {
	for _, t := range types {
		spec := t.FieldType("spec")
		if spec == nil {
			return false
		}
		switch spec.Name[strings.LastIndexByte(spec.Name, '.')+1:] {
		case "PodSpec", "DeploymentSpec", "DaemonSetSpec", "StatefulSetSpec", "ReplicaSetSpec", "ReplicationControllerSpec", "JobSpec", "CronJobSpec":
		default:
			return false
		}
	}
	return len(types) > 0
}

// orValue returns the value, or another value if it is missing.
func (c code) orValue(other code) code {
	if c.maybe == "" {
		return c
	}
	result := code{text: c.maybe + ".orValue(" + other.text + ")", kind: c.kind, types: c.types}
	if result.kind == anything {
		result.kind = other.kind
	}
	return result
}

// orEmptyList returns a list that is empty if the value is missing.
func (c code) orEmptyList() code {
	switch {
	case c.orEmpty != nil:
		return c.orEmpty()
	case c.maybe == "":
		return c
	}
	return code{text: c.maybe + ".orValue([])", kind: list, types: c.types}
}

// asText returns the value converted to a string.
func (c code) asText() code {
	if c.isConstant {
		if s, ok := c.constant.(string); ok {
			return literal(s)
		}
		return literal(fmt.Sprint(c.constant))
	}
	if c.kind == text {
		return c
	}
	return code{text: "string(" + c.text + ")", kind: text}
}

// literal returns the code of a constant.
func literal(value any) code {
	c := code{constant: value, isConstant: true}
	c.text, _ = write(value)
	switch value := value.(type) {
	case string:
		c.kind = text
	case int64, float64:
		c.kind = number
		if strings.HasPrefix(c.text, "-") {
			c.level = unary
		}
	case bool:
		c.kind = boolean
	case []any:
		c.kind = list
		_ = value
	case map[string]any:
		c.kind = object
	}
	return c
}

// write returns the text of a value that may contain code; typ identifies its CEL type.
func write(value any) (written, typ string) {
	switch value := value.(type) {
	case nil:
		return "null", "null"
	case string:
		return quote(value), "string"
	case bool:
		return strconv.FormatBool(value), "bool"
	case int64:
		return strconv.FormatInt(value, 10), "int"
	case int:
		return strconv.Itoa(value), "int"
	case float64:
		s := strconv.FormatFloat(value, 'f', -1, 64)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s, "double"
	case code:
		return value.text, celType(value)
	case keyed:
		return writeKeyed(value)
	case []any:
		var items, types []string
		for _, item := range value {
			written, typ := write(item)
			items, types = append(items, written), append(types, typ)
		}
		typ = unify(items, types)
		return "[" + strings.Join(items, ", ") + "]", "list(" + typ + ")"
	case map[string]any:
		var pairs keyed
		for _, key := range slices.Sorted(maps.Keys(value)) {
			pairs = append(pairs, pair{literal(key), value[key]})
		}
		return writeKeyed(pairs)
	}
	return fmt.Sprint(value), "dyn"
}

func celType(c code) string {
	if c.isConstant {
		_, typ := write(c.constant)
		return typ
	}
	return "dyn" // CEL does not know the type, even if we do
}

// keyed is a map in the order of its keys, which may be expressions.
type keyed []pair

type pair struct {
	key   code
	value any
}

// text returns the text of a pair with its written value. It leaves out nulls.
func (p pair) text(value string) string {
	if c, ok := p.value.(code); ok && c.isNull {
		return "?" + p.key.asText().text + ": " + c.maybe
	}
	return p.key.asText().text + ": " + value
}

func writeKeyed(pairs keyed) (written, typ string) {
	var values, types []string
	for _, p := range pairs {
		written, typ := write(p.value)
		values, types = append(values, written), append(types, typ)
	}
	typ = unify(values, types)
	items := make([]string, len(pairs))
	for i, p := range pairs {
		items[i] = p.text(values[i])
	}
	return "{" + strings.Join(items, ", ") + "}", "map(" + typ + ")"
}

// unify converts the elements of a literal to one type, as CEL in Kubernetes requires.
func unify(values, types []string) string {
	for _, typ := range types {
		if typ == types[0] {
			continue
		}
		for i := range values {
			if types[i] != "dyn" {
				values[i] = "dyn(" + values[i] + ")"
			}
		}
		return "dyn"
	}
	if len(types) == 0 {
		return "dyn"
	}
	return types[0]
}

func quote(s string) string {
	if strings.Contains(s, "\\") && !strings.ContainsAny(s, "'\n\r\t") {
		return "r'" + s + "'"
	}
	return strconv.Quote(s)
}

// isIdentifier reports whether CEL allows a key after a dot.
func isIdentifier(key string) bool {
	if key == "" || '0' <= key[0] && key[0] <= '9' || slices.Contains([]string{"in", "true", "false", "null"}, key) {
		return false
	}
	for _, c := range key {
		if c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}

// and joins conditions that must all hold.
func and(conditions ...string) string { return connected(conditions, "true", "false", " && ", " || ") }

// or joins conditions of which one must hold.
func or(conditions ...string) string { return connected(conditions, "false", "true", " || ", " && ") }

// connected joins conditions with an operator. A neutral condition is dropped, and a decisive
// condition replaces them all; other is the operator that needs brackets.
func connected(conditions []string, neutral, decisive, operator, other string) string {
	if slices.Contains(conditions, decisive) {
		return decisive
	}
	var all []string
	for _, c := range conditions {
		if c != "" && c != neutral && !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	switch len(all) {
	case 0:
		return neutral
	case 1:
		return all[0]
	}
	for i, c := range all {
		all[i] = bracket(c, other, " ? ")
	}
	return strings.Join(all, operator)
}

func not(condition string) string {
	switch {
	case condition == "true":
		return "false"
	case condition == "false":
		return "true"
	case isPrimary(condition):
		return "!" + condition
	}
	if left, right, ok := strings.Cut(condition, " == "); ok && isPrimary(left) && isPrimary(right) {
		return left + " != " + right
	}
	if rest, ok := strings.CutPrefix(condition, "!"); ok && isPrimary(rest) {
		return rest
	}
	return "!(" + condition + ")"
}

// bracket puts brackets around a condition if it has one of the operators outside of brackets
// and quotes.
func bracket(condition string, operators ...string) string {
	for _, operator := range operators {
		if hasOutside(condition, operator) {
			return "(" + condition + ")"
		}
	}
	return condition
}

// isPrimary reports whether an expression is a single operand.
func isPrimary(condition string) bool {
	return !hasOutside(condition, " ") && !strings.HasPrefix(condition, "!")
}

// hasOutside reports whether an expression has a text outside of brackets and quotes.
func hasOutside(expression, found string) bool {
	depth := 0
	for i := 0; i < len(expression); i++ {
		switch c := expression[i]; c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case '"', '\'':
			raw := i > 0 && expression[i-1] == 'r'
			for i++; i < len(expression) && expression[i] != c; i++ {
				if expression[i] == '\\' && !raw {
					i++
				}
			}
		}
		if depth == 0 && i < len(expression) && strings.HasPrefix(expression[i:], found) {
			return true
		}
	}
	return false
}
