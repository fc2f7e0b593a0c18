package migrate

import (
	"fmt"
	"maps"
	"slices"

	"github.com/preadmit/preadmit/engine/internal/celenv/expr"
	"github.com/preadmit/preadmit/engine/internal/jmespath"
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
	// mixed is a list or a map, or a value of another kind.
	mixed
)

// code is a CEL expression with what is known about its value.
type code struct {
	// x fails if the value is missing. It is zero for request and images, which have no value of
	// their own.
	x    expr.Expr
	kind kind
	// types are the types of the value, one for each kind of object that a rule matches; empty
	// if one is not known.
	types []*schema.Type
	// path is the path of the value, if the value is a field of an object.
	path *path
	// maybe is the same expression with an optional value, if the value may be missing.
	maybe expr.Expr
	// isNull says that a missing value is null to Kyverno, not an error.
	isNull bool
	// constant is the value of a literal. isConstant distinguishes null from no literal.
	constant   any
	isConstant bool
	// orEmpty is the list that is empty if the value is missing; nil if there is no such
	// expression.
	orEmpty *code
	// given is the condition that the value of a selection is not null; zero if it never is.
	given expr.Expr
	// keysOf is a map if the value is the list of its keys.
	keysOf expr.Expr
	// unclear says that a missing value is null or an error to Kyverno, depending on which part of
	// its path is missing.
	unclear bool
	// isFilled says that a server leaves out the list if it is empty.
	isFilled bool
	// itemKind is the kind of the items of a list, if they have no types.
	itemKind kind
}

// ofPath returns the code of a path.
func ofPath(p *path, types []*schema.Type) code {
	c := code{x: p.expr(len(p.parts), false), types: types, path: p, kind: kindOf(types)}
	if !p.isSure() {
		c.maybe = p.expr(len(p.parts), true)
	}
	return c
}

// variableOf returns the code of a variable of the policy's own, or of a macro.
func variableOf(name string, types []*schema.Type) code {
	return ofPath(&path{root: expr.Ident(name)}, types)
}

// each returns the code of an item of a list that has a name.
func (c code) each(name string) code {
	item := variableOf(name, itemTypes(c.types))
	if item.types == nil {
		item.kind = c.itemKind
	}
	return item
}

// computed returns the code of an expression that always has a value.
func computed(x expr.Expr, k kind) code { return code{x: x, kind: k} }

// kindOf returns the kind that all types have in common.
func kindOf(types []*schema.Type) kind {
	if len(types) == 0 {
		return anything
	}
	found := kindOfType(types[0])
	for _, t := range types[1:] {
		found = common(found, kindOfType(t))
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
	types, sure := fieldTypes(c.types, key)
	sure = sure || c.path != nil && len(c.path.parts) == 0 && slices.Contains([]string{"apiVersion", "kind", "metadata"}, key)
	next := c.part(part{key: key}, types, sure)
	next.isNull, next.unclear = c.isNull && sure, c.unclear || c.isNull && c.mayMiss() && !sure
	next.isFilled = len(types) > 0 && !slices.ContainsFunc(c.types, func(t *schema.Type) bool { return !omitsEmpty(t, key) })
	if some, always := writtenAsNull(c.types, key); some {
		next.unclear = next.unclear || !always || c.mayMiss() && !c.isNull
		return next.nullable()
	}
	return next
}

// nullable returns the value of a field that may be null.
func (c code) nullable() code {
	c.isNull, c.given = true, expr.Compare(c.orValue(literal(nil)).x, "!=", expr.Literal(nil))
	c.maybe = optionalIf(c.given, c.x)
	if c.kind == list {
		c.orEmpty = &code{x: expr.If(c.given, c.x, expr.List()), kind: list, types: c.types}
	}
	return c
}

// part returns the code of a part of a value, which is there if it is sure and the value is there.
func (c code) part(p part, types []*schema.Type, sure bool) code {
	if c.path != nil {
		return ofPath(c.path.then(p, sure), types)
	}
	from := c.x
	if !c.maybe.IsZero() {
		from = c.maybe
	}
	return code{x: p.of(c.x, false), maybe: p.of(from, true), types: types, kind: kindOf(types)}
}

// item returns the code of an item of a list. To Kyverno, a missing item is null.
func (c code) item(index int) code {
	types := itemTypes(c.types)
	hasItem := c.isFilled && (index == 0 || index == -1)
	unclear := c.unclear || c.mayMiss() && !c.isNull && !hasItem
	if c.path != nil && c.given.IsZero() && index >= 0 {
		next := ofPath(c.path.then(atIndex(expr.Literal(index)), index == 0 && isNeverEmpty(c)), types)
		next.isNull, next.unclear = c.path.isSure() || c.isNull, unclear
		return next
	}
	from := c.orEmptyList()
	at := expr.Literal(index)
	if index < 0 {
		at = expr.Minus(expr.Call("size", from.x), expr.Literal(-index))
	}
	next := code{
		x: c.x.Index(at), maybe: from.x.OptIndex(at), types: types, kind: kindOf(types),
		isNull: c.maybe.IsZero() || c.isNull || !c.given.IsZero(), unclear: unclear,
	}
	if types == nil {
		next.kind = c.itemKind
	}
	return next
}

// isNeverEmpty reports whether validation requires an item in a list.
func isNeverEmpty(c code) bool {
	last := len(c.path.parts) - 1
	return last > 0 && c.path.parts[last-1].key != "" && c.path.parts[last].key == "containers" && c.path.parts[last-1].key == "spec" && c.kind == list
}

// below returns what a function returns for each type; nil if it has nothing for one of them.
func below(types []*schema.Type, of func(*schema.Type) *schema.Type) (all []*schema.Type) {
	for _, t := range types {
		b := of(t)
		if b == nil {
			return nil
		}
		all = append(all, b)
	}
	return all
}

// fieldTypes returns the types of a field, of the types that have it; sure says that all types require it.
func fieldTypes(types []*schema.Type, key string) (fields []*schema.Type, sure bool) {
	having := slices.DeleteFunc(slices.Clone(types), func(t *schema.Type) bool { return lacks(t, key) })
	fields = below(having, func(t *schema.Type) *schema.Type { return t.FieldType(key) })
	return fields, fields != nil && !slices.ContainsFunc(types, func(t *schema.Type) bool { return !t.Requires(key) })
}

// writtenAsNull reports whether a field may be null in the objects of a server, such as the rules of a Role;
// always says that it is never missing instead.
func writtenAsNull(types []*schema.Type, key string) (some, always bool) {
	always = true
	for _, t := range types {
		field := t.Declared(key)
		isWritten := field != nil && field.Zero == schema.NilWritten && !field.Required
		some = some || isWritten || field != nil && field.Nullable
		always = always && (isWritten || t.Requires(key))
	}
	return some, always
}

// omitsEmpty reports whether a server leaves out a field that is an empty list.
func omitsEmpty(t *schema.Type, key string) bool {
	field := t.Declared(key)
	return lacks(t, key) || field != nil && field.Zero == schema.ZeroOmitted
}

// elementTypes returns the types of the values of a map, if all have one type.
func (c code) elementTypes() []*schema.Type {
	return below(c.types, func(t *schema.Type) *schema.Type {
		if t == nil || t.IsList {
			return nil
		}
		return t.Elem
	})
}

func itemTypes(types []*schema.Type) []*schema.Type { return below(types, (*schema.Type).ItemType) }

// mayMiss reports whether the value may be missing, or null.
func (c code) mayMiss() bool { return !c.maybe.IsZero() || !c.given.IsZero() }

// isScalar reports whether the value is surely no list and no map.
func (c code) isScalar() bool { return c.kind == text || c.kind == number || c.kind == boolean }

// present returns a condition that the value exists and is not null.
func (c code) present() expr.Expr {
	switch {
	case !c.given.IsZero():
		return c.given
	case c.maybe.IsZero():
		return expr.True
	case c.path != nil:
		return c.path.present()
	}
	return c.maybe.Call("hasValue")
}

// optional returns the optional value. CEL does not know the type of an optional item.
func (c code) optional() expr.Expr {
	if c.maybe.IsZero() || c.maybe.IsOptionalItem() {
		return optionalIf(c.present(), c.x)
	}
	return c.maybe
}

// optionalIf returns the optional value that an expression has if a condition holds.
func optionalIf(condition, x expr.Expr) expr.Expr {
	return expr.If(condition, expr.Call("optional.of", x), expr.Call("optional.none"))
}

// orValue returns the value, or another value if it is missing.
func (c code) orValue(other code) code {
	if c.maybe.IsZero() {
		return c
	}
	result := code{x: c.maybe.OrValue(other.x), kind: c.kind, types: c.types}
	if other.kind != c.kind {
		result.kind, result.types = common(c.kind, other.kind), nil
	}
	return result
}

// orEmptyList returns a list that is empty if the value is missing.
func (c code) orEmptyList() code {
	switch {
	case c.orEmpty != nil:
		return *c.orEmpty
	case c.maybe.IsZero():
		return c
	}
	return code{x: c.maybe.OrValue(expr.List()), kind: list, types: c.types}
}

// inText returns the value as part of a text.
func (c code) inText() (code, error) {
	if c.isNull && c.mayMiss() {
		return code{}, noFormf("give a default with ||", "a value as part of a text that may be null")
	}
	return c.asText()
}

// asText returns the value as a text.
func (c code) asText() (code, error) {
	switch {
	case c.isConstant:
		switch c.constant.(type) {
		case string, int64, bool:
			return literal(jmespath.Text(c.constant)), nil
		}
		return code{}, noFormf("write its text", "null, a list, a map or a fraction as part of a text")
	case c.kind == text:
		return c, nil
	case c.kind == list || c.kind == object || c.kind == mixed:
		return code{}, noFormf("select the field that matters", "a list or a map as part of a text, as JSON")
	}
	return code{x: expr.Call("string", c.x), kind: text}, nil
}

// literal returns the code of a constant.
func literal(value any) code {
	return code{x: exprOf(value), constant: value, isConstant: true, kind: kindOfValue(value)}
}

func kindOfValue(value any) kind {
	switch value.(type) {
	case string:
		return text
	case int64, float64:
		return number
	case bool:
		return boolean
	case []any:
		return list
	case map[string]any, keyed:
		return object
	}
	return anything
}

// write returns the expression of a value that may contain code; typ identifies its CEL type.
func write(value any) (x expr.Expr, typ string) {
	switch value := value.(type) {
	case nil, string, bool, int64, float64:
		return expr.Literal(value), fmt.Sprintf("%T", value)
	case code:
		if value.isConstant {
			return write(value.constant)
		}
		return value.x, staticType(value.x)
	case keyed:
		return writeKeyed(value)
	case []any:
		var items []expr.Expr
		var types []string
		for _, item := range value {
			x, typ := write(item)
			items, types = append(items, x), append(types, typ)
		}
		typ = unify(items, types)
		return expr.List(items...), "list(" + typ + ")"
	case map[string]any:
		var pairs keyed
		for _, key := range slices.Sorted(maps.Keys(value)) {
			pairs = append(pairs, pair{literal(key), value[key]})
		}
		return writeKeyed(pairs)
	}
	panic("a value that is no value of a manifest")
}

// unknownType is a type of which CEL may know more than we do.
const unknownType = "?"

// requestTexts are the fields of a request that are texts to CEL.
var requestTexts = []string{"namespace", "name", "operation", "uid", "username", "group", "version", "resource", "subResource"}

// staticType returns the type that CEL's checker gives an expression. It does not know the types
// of fields.
func staticType(x expr.Expr) string {
	if value, ok := x.Constant(); ok {
		_, typ := write(value)
		return typ
	}
	if variable, steps, ok := x.AsChain(); ok && variable != "variables" && len(steps) > 0 {
		last := steps[len(steps)-1].Key
		switch {
		case variable != requestRoot, steps[0].Key == "object":
			return "dyn"
		case slices.Contains(requestTexts, last):
			return "string"
		}
		return unknownType
	}
	switch function, target, args, _ := x.AsCall(); {
	case function == "orValue" && target.IsOptionalItem(): // an item of a value without a type takes any type
		return staticType(args[0])
	case function == "value" && target.IsOptionalItem():
		return unknownType
	case function == "orValue", function == "value":
		if t := staticType(target); t != unknownType {
			return t
		}
		return "dyn"
	case function == "dyn":
		return "dyn"
	case function == "string" && target.IsZero():
		return "string"
	case function == "_+_":
		if staticType(args[0]) == "string" || staticType(args[1]) == "string" {
			return "string"
		}
	}
	return unknownType
}

// exprOf returns the expression of a value that may contain code.
func exprOf(value any) expr.Expr {
	x, _ := write(value)
	return x
}

// keyed is a map in the order of its keys, which may be expressions.
type keyed []pair

type pair struct {
	key   code
	value any
}

// name returns the key; "" if it is computed.
func (p pair) name() string {
	name, _ := p.key.constant.(string)
	return name
}

// isNull reports whether a value may be null, so that a patch leaves it out.
func isNull(value any) (code, bool) {
	c, ok := value.(code)
	return c, ok && c.isNull && c.mayMiss()
}

func writeKeyed(pairs keyed) (x expr.Expr, typ string) {
	var values []expr.Expr
	var types []string
	for _, p := range pairs {
		value, typ := write(p.value)
		values, types = append(values, value), append(types, typ)
	}
	typ = unify(values, types)
	entries := make([]expr.Entry, len(pairs))
	for i, p := range pairs {
		entries[i] = expr.Entry{Key: p.key.x, Value: values[i]}
		if c, ok := isNull(p.value); ok {
			entries[i].Value, entries[i].Optional = c.optional(), true
		}
	}
	return expr.Map(entries...), "map(" + typ + ")"
}

// unify converts the elements of a literal to one type, as CEL in Kubernetes requires.
func unify(values []expr.Expr, types []string) string {
	for _, typ := range types {
		if typ == types[0] && (typ != unknownType || len(types) == 1) {
			continue
		}
		for i := range values {
			if types[i] != "dyn" {
				values[i] = expr.Call("dyn", values[i])
			}
		}
		return "dyn"
	}
	if len(types) == 0 {
		return "dyn"
	}
	return types[0]
}
