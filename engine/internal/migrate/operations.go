package migrate

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/celenv/expr"
	"github.com/preadmit/preadmit/engine/internal/jsonpatch"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
)

// operations converts a JSON Patch. Each operation becomes a separate mutation, because it sees
// the result of the one before. Kyverno creates the missing parents of what an operation adds.
func (c *converter) operations(s *scope, n policy.Node, l *loop) error {
	if strings.HasPrefix(strings.TrimSpace(n.Text()), "{{") {
		return c.refuse(n.Path, "a JSON Patch that an expression makes", "write its operations in CEL by hand")
	}
	patch, err := readPatchText(n.Text())
	if err != nil {
		return c.failed(n.Path, err)
	}
	earlier := len(c.mutations)
	var problems error
	for i, item := range (policy.Node{Value: patch.nested.Value()}).Items() {
		inputs, err := c.operation(s, item.Object(), l, func(value any) (any, error) {
			return patch.texts(value, item.At("value").Value, item.At("value").Path)
		})
		if err != nil {
			problems = errors.Join(problems, c.failed(n.Path, moved(within(err, change.Index(i)), func(e *noForm) {
				e.path, e.offset = nil, patch.offset(e.path, e.offset)
			})))
			continue
		}
		if len(placesRead(inputs...)) > 0 && areRead(writesOf(c.mutations[earlier:len(c.mutations)-1]), inputs...) {
			return c.refuse(n.Path, "an earlier operation changes what this one reads, and Kyverno computes the values of all before it changes the object", "make it a rule of its own, or write the earlier operation last")
		}
	}
	c.addCondition("values", expr.True, c.values)
	return problems
}

// patchText is a JSON Patch in a text.
type patchText struct {
	nested *manifest.Nested
	// inserted are the places of the bytes that the text does not have.
	inserted []int
}

// readPatchText reads a JSON Patch. It puts quotes around variables, so that a text with unquoted
// variables can be read as YAML.
func readPatchText(text string) (p patchText, err error) {
	var quoted strings.Builder
	insert := func(c byte) {
		p.inserted = append(p.inserted, quoted.Len())
		quoted.WriteByte(c)
	}
	for line := range strings.Lines(text) {
		key, rest, found := strings.Cut(line, ": ")
		rest, at := trimmed(rest, "")
		if !found || !strings.HasPrefix(rest, "{{") || !strings.HasSuffix(rest, "}}") {
			quoted.WriteString(line)
			continue
		}
		at += len(key) + len(": ")
		quoted.WriteString(line[:at])
		insert('"')
		for _, r := range rest {
			if r == '"' || r == '\\' {
				insert('\\')
			}
			quoted.WriteRune(r)
		}
		insert('"')
		quoted.WriteString(line[at+len(rest):])
	}
	p.nested, err = manifest.ReadNested(quoted.String())
	return p, err
}

// offset returns the place in the text of a byte of the string at a path in the patch.
func (p patchText) offset(path change.Path, offset int) int {
	at := p.nested.Offset(path, offset)
	before, _ := slices.BinarySearch(p.inserted, at)
	return at - before
}

// texts replaces the values in quotes, at a path of the patch, by texts: Kyverno puts values into the
// text of the patch, and reads it then.
func (p patchText) texts(value, written any, path change.Path) (any, error) {
	var problems error
	replace := func(below, written any, path change.Path) any {
		below, err := p.texts(below, written, path)
		problems = errors.Join(problems, err)
		return below
	}
	switch value := value.(type) {
	case code:
		if slices.Contains(p.inserted, p.nested.Offset(path, 0)-1) {
			return value, nil
		}
		text, err := value.inText()
		return text, within(err, path[2:]...)
	case int64, float64, bool: // a constant of the context
		if _, isText := written.(string); isText {
			return p.texts(literal(value), written, path)
		}
	case []any:
		for i := range value {
			value[i] = replace(value[i], written.([]any)[i], path.Index(i))
		}
	case keyed:
		object := written.(map[string]any)
		for i, key := range sortedKeys(object) {
			value[i].value = replace(value[i].value, object[key], path.Key(key))
		}
	}
	return value, problems
}

// operation converts one operation, of which written makes the final value. It returns the expressions
// that it reads values with.
func (c *converter) operation(s *scope, fields map[string]any, l *loop, written func(value any) (any, error)) (inputs []expr.Expr, err error) {
	inner, condition, err := c.element(s, l)
	if err != nil {
		return nil, err
	}
	pointer, _ := fields["path"].(string)
	op, _ := fields["op"].(string)
	at, err := c.pointed(inner, pointer, l, op)
	value, valueErr := inner.value(fields["value"])
	if valueErr == nil {
		value, valueErr = written(value)
	}
	err = errors.Join(within(err, change.Key("path")), within(valueErr, change.Key("value")), inner.unused(fields))
	if err != nil {
		return nil, err
	}
	if l != nil && op == "add" {
		at = c.created(at, l, condition)
	}
	x, err := c.carriedOut(inner, fields, value, at, l)
	if err != nil {
		return nil, err
	}
	inputs = []expr.Expr{exprOf(value)}
	for _, part := range at.path.parts {
		inputs = append(inputs, part.computed)
	}
	if l != nil {
		x = l.all(x, condition)
		inputs = []expr.Expr{eachOf(indexes(l.items()), "i", condition, exprOf(value))}
	}
	// If an operation adds or removes an item, the whole list counts.
	c.addPatch(x, expr.True, "", []effect{{at.path.place(), x, c.drops(at.path, value)}})
	return inputs, nil
}

// operands are the fields of operations besides their path.
var operands = map[string][]string{"add": {"value"}, "replace": {"value"}, "copy": {"from"}, "move": {"from"}}

// unused reports fields that an operation does not have, and whose variables may be errors to Kyverno.
func (s *scope) unused(fields map[string]any) error {
	op, _ := fields["op"].(string)
	_, err := collect(sortedKeys(fields), func(key string) (any, error) {
		if key == "path" || slices.Contains(operands[op], key) {
			return nil, nil
		}
		values, err := s.failing(fields[key])
		if err == nil && len(values) > 0 {
			const why = "the field %s of the operation %s, which has no use, and fails the rule if it has no value"
			err = noFormf("leave the field out", why, key, op)
		}
		return nil, within(err, change.Key(key))
	})
	return err
}

// drops reports whether a server drops a value at a path, or a part of it.
func (c *converter) drops(p *path, value any) bool {
	return slices.ContainsFunc(c.changed().types, func(t *schema.Type) bool {
		for _, part := range p.parts {
			switch {
			case part.isItem:
				t = t.ItemType()
			case lacks(t, part.key):
				return true
			default:
				t = t.FieldType(part.key)
			}
		}
		return holds(value, t, isUndeclared)
	})
}

// created creates the missing parents of what a foreach adds, if they do not belong to an element,
// because each element would create them. It returns the place with parents that exist.
func (c *converter) created(at code, l *loop, condition expr.Expr) code {
	some := someOf(l.items(), indexes(l.items()), "i", condition)
	p := at.path
	for n := p.sure + 1; n < len(p.parts) && !p.expr(n, false).Uses("i"); n++ {
		parent, empty := p.parent(n), any(keyed{})
		if p.parts[n].nulls() >= 0 {
			empty = []any{}
		}
		add := expr.List(operation("add", ofPath(parent, nil), exprOf(empty)))
		c.addPatch(add, expr.And(some, expr.Not(parent.present())), "", nil)
		p = &path{root: p.root, parts: p.parts, sure: n}
	}
	return ofPath(p, at.types)
}

// carriedOut returns a list of operations that has the effect of one operation in Kyverno.
func (c *converter) carriedOut(s *scope, fields map[string]any, value any, at code, l *loop) (list expr.Expr, err error) {
	op, _ := fields["op"].(string)
	switch op {
	case "add", "replace":
		if _, ok := isNull(value); ok {
			return expr.Expr{}, noFormf("give it a default with ||", "a value that may be null")
		}
		if slices.ContainsFunc(at.path.parts, func(p part) bool { return p.nulls() > maxNulls }) {
			return expr.Expr{}, noFormf("write /- for the end of the list", "an index over %d, up to which Kyverno fills a list that is missing with null", maxNulls)
		}
		return added(at, value, op), nil
	case "remove":
		if l != nil && l.isElement(at.path) && l.entry.At("order").Text() != "Descending" {
			return expr.Expr{}, noFormf("set order: Descending", "a foreach that removes its elements, the first one first: after that, the others have other places")
		}
		if l != nil && !at.path.pointer().Uses("i") {
			return expr.Expr{}, noFormf("write it as a rule without foreach", "a foreach that removes one value for each element")
		}
		return listIf(at.path.present(), expr.List(operation("remove", at, expr.Expr{}))), nil
	case "test":
		return expr.Expr{}, noFormf("write it as a precondition", "the operation test, which keeps only its own mutation from being carried out")
	}
	from, _ := fields["from"].(string)
	origin, err := c.pointed(s, from, l, map[string]string{"move": "remove"}[op])
	if err != nil {
		return expr.Expr{}, err
	}
	if op == "copy" { // CEL's patches take what is missing for null
		return expr.List(operation("add", at, origin.x)), nil
	}
	moved := expr.Struct("JSONPatch", expr.Entry{Name: "op", Value: expr.Literal(op)},
		expr.Entry{Name: "from", Value: origin.path.pointer()}, expr.Entry{Name: "path", Value: at.path.pointer()})
	return expr.List(moved), nil
}

// only returns the single operation of a list, and the condition that the list has one; false if it
// may have several.
func only(list expr.Expr) (condition, operation expr.Expr, ok bool) {
	if items, isWritten := list.Items(); isWritten {
		return expr.Literal(len(items) > 0), append(items, expr.Expr{})[0], len(items) < 2
	}
	first, yes, no, isChoice := list.AsCondition()
	if !isChoice {
		return expr.Expr{}, expr.Expr{}, false
	}
	isGiven, operation, ok := only(yes)
	rest, other, okToo := only(no)
	if ok = ok && okToo && expr.Equal(isGiven, expr.True); other.IsZero() {
		return first, operation, ok
	}
	return expr.Or(first, rest), expr.If(first, operation, other), ok
}

// element returns the scope of an operation. In a foreach it is the scope of the element with
// index i.
func (c *converter) element(s *scope, l *loop) (*scope, expr.Expr, error) {
	if l == nil {
		return s, expr.True, nil
	}
	i := expr.Ident("i")
	element := ofPath(&path{root: l.items().Index(i)}, itemTypes(l.list.types))
	if l.list.path != nil {
		element = ofPath(l.list.path.then(anyIndex, true).asSure(), itemTypes(l.list.types))
	}
	if element.types == nil {
		element.kind = l.list.itemKind
	}
	inner, condition, err := l.element(element)
	if err != nil {
		return nil, expr.Expr{}, err
	}
	return inner.with("elementIndex", computed(i, number)), condition, nil
}

// pointed returns the target of a JSON Pointer, which may contain variables. op is the operation on the target;
// "" for one that only reads it.
func (c *converter) pointed(s *scope, pointer string, l *loop, op string) (code, error) {
	at := c.changed()
	keys := splitPath(pointer)
	if keys[0].text != "" || len(keys) == 1 {
		return code{}, noFormf("begin it with /", "the path %q of an operation", pointer)
	}
	for i, key := range keys[1:] {
		if key.text == "" {
			return code{}, inText(noFormf("name a key", "an empty key, which Kyverno takes for null"), key.at)
		}
		var err error
		isLast, isNew := i == len(keys)-2, slices.Contains([]string{"add", "copy", "move"}, op)
		isRequired := func(t *schema.Type) bool { return t.Requires(key.text) }
		switch some, _ := writtenAsNull(at.types, key.text); {
		case some && !isLast:
			const why = "a path through %s, which a server writes as null if it is missing"
			err = noFormf("write the whole value, in a rule with a precondition", why, key.text)
		case isLast && op == "remove" && slices.ContainsFunc(at.types, isRequired):
			err = noFormf("leave the operation out", "the removal of %s, without which a server refuses the object", key.text)
		case l != nil && key.text == "-1" && at.kind == list && at.mayMiss() && !(isLast && isNew):
			err = noFormf("write it as a rule without foreach", "the last item of a list that may be missing, for each element")
		default:
			at, err = c.step(s, at, key.text, isLast, isNew)
		}
		if err != nil {
			return code{}, inText(err, key.at)
		}
		if l != nil && l.isElement(at.path) { // it exists
			at = ofPath(at.path.asSure(), at.types)
		}
	}
	return at, nil
}

// pathKey is a part of a JSON Pointer or of the path of a URL, with its place in the text.
type pathKey struct {
	text string
	at   int
}

// splitPath splits a path at the slashes that are not in variables.
func splitPath(path string) (keys []pathKey) {
	depth, start := 0, 0
	for i := 0; i < len(path); i++ {
		switch {
		case strings.HasPrefix(path[i:], "{{"):
			depth++
			i++
		case strings.HasPrefix(path[i:], "}}"):
			depth--
			i++
		case path[i] == '/' && depth == 0:
			keys = append(keys, pathKey{path[start:i], start})
			start = i + 1
		}
	}
	return append(keys, pathKey{path[start:], start})
}

// step returns the code of one part of a pointer.
func (c *converter) step(s *scope, at code, key string, isLast, isNew bool) (code, error) {
	isList := at.kind == list || at.kind == anything
	if at.kind == mixed {
		return code{}, noFormf("write a rule for each kind", "a path through %s, which may be a list or a map", at.x)
	}
	if strings.Contains(key, "{{") {
		x, err := s.text(jsonpatch.Unescape(key))
		if err != nil {
			return code{}, inText(err, len(key)-len(jsonpatch.Unescape(key)))
		}
		if x.kind == number && isList {
			return ofPath(at.path.then(atIndex(x.x), false), itemTypes(at.types)), nil
		}
		if at.kind == list {
			return code{}, noFormf("", "the place %s in a list, which may be no number", key)
		}
		if x, err = x.inText(); err != nil {
			return code{}, err
		}
		if slices.ContainsFunc(x.x.Lists(), func(part expr.Expr) bool { _, isConstant := part.Constant(); return !isConstant && !isPlainName(part) }) {
			s.rule.doubt("a key from "+x.x.String()+": in Kyverno, a / in it separates keys", "check that no value has a /")
		}
		return ofPath(at.path.then(part{computed: x.x}, false), nil), nil
	}
	index, err := strconv.Atoi(key)
	switch {
	case key == "-" && isList && !isLast:
		return code{}, noFormf("write the index of an item", "the end of a list in the middle of a path")
	case key == "-" && isList, err == nil && isList && index == -1 && isLast && isNew:
		return ofPath(at.path.then(end, true), itemTypes(at.types)), nil
	case err == nil && isList && index == -1:
		last := expr.Minus(expr.Call("size", at.orEmptyList().x), expr.Literal(1))
		return ofPath(at.path.then(atIndex(last), true), itemTypes(at.types)), nil
	case err == nil && index >= 0 && isList:
		return at.item(index), nil
	case at.kind == list:
		return code{}, noFormf("", "the place %q in a list", key)
	}
	return at.field(jsonpatch.Unescape(key)), nil
}

// added returns a list with the operation that adds a value, or creates the missing parents with it.
func added(at code, value any, op string) expr.Expr {
	p := at.path
	add := expr.List(operation("add", at, exprOf(value)))
	if op == "replace" {
		if p.isSure() || p.parts[len(p.parts)-1].isItem {
			return expr.List(operation("replace", at, exprOf(value)))
		}
		// Kyverno fails if there is nothing to replace. CEL's patches fail if there is nothing to
		// remove.
		return expr.Plus(expr.List(operation("remove", at, expr.Expr{})), add)
	}
	for n := len(p.parts) - 1; n > 0; n-- {
		value = p.parts[n].around(value)
		if parent := p.parent(n); !parent.isSure() {
			add = expr.If(expr.Not(parent.present()), expr.List(operation("add", ofPath(parent, nil), exprOf(value))), add)
		}
	}
	return add
}
