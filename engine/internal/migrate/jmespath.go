package migrate

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/celenv/expr"
	"github.com/preadmit/preadmit/engine/internal/jmespath"
	"github.com/preadmit/preadmit/engine/internal/kyverno"
	numbers "github.com/preadmit/preadmit/engine/internal/number"
	"github.com/preadmit/preadmit/internal/lazyregexp"
)

// scope resolves the names in the expressions of a part of a rule.
type scope struct {
	rule *converter
	vars map[string]code
	// current is the value that an expression is evaluated on; nil for the variables of the
	// rule.
	current *code
	// self is the meaning of @ in a patch; nil elsewhere.
	self *code
}

func (s *scope) with(name string, c code) *scope {
	child := *s
	child.vars = maps.Clone(s.vars)
	child.vars[name] = c
	return &child
}

func (s *scope) at(c code) *scope { return &scope{rule: s.rule, vars: s.vars, current: &c} }

var (
	innermost    = lazyregexp.New(`\{\{(?:\{[^{}]*\}|[^{}])*\}\}`)
	quotedInside = lazyregexp.New(`(["'])\{\{((?:\{[^{}]*\}|[^{}])*)\}\}(["'])`)
)

// value converts a value whose strings may contain variables. Strings with variables become
// code.
func (s *scope) value(value any) (any, error) {
	switch value := value.(type) {
	case string:
		c, err := s.text(value)
		if err == nil && c.isConstant {
			return c.constant, nil
		}
		return c, err
	case []any:
		items := make([]any, len(value))
		var problems error
		for i, item := range value {
			var err error
			items[i], err = s.value(item)
			if _, ok := isNull(items[i]); ok && err == nil {
				err = noFormf("give it a default with ||", "an item of a list that may be null")
			}
			problems = errors.Join(problems, within(err, change.Index(i)))
		}
		return items, problems
	case map[string]any:
		pairs, err := collect(sortedKeys(value), func(key string) (pair, error) {
			name, err := s.key(key)
			if err != nil {
				return pair{}, within(inKey(err), change.Key(key))
			}
			below, err := s.value(value[key])
			return pair{name, below}, within(err, change.Key(key))
		})
		return keyed(pairs), err
	}
	return value, nil
}

// failing returns the values of the variables in the texts of a value, as far as they may be errors.
func (s *scope) failing(value any) (found []code, err error) {
	add := func(below any, at func(code) code, path change.Element) {
		inner := *s
		if s.self != nil {
			self := at(*s.self)
			inner.self = &self
		}
		more, problem := inner.failing(below)
		found, err = append(found, more...), errors.Join(err, within(problem, path))
	}
	switch value := value.(type) {
	case string:
		if c, err := s.text(value); err != nil || s.rule.mayFail(c) {
			return []code{c}, err
		}
	case []any:
		for i, item := range value {
			add(item, func(c code) code { return c.item(i) }, change.Index(i))
		}
	case map[string]any:
		for _, key := range sortedKeys(value) {
			_, bare := kyverno.ParseAnchor(key)
			name, problem := s.failing(bare)
			found, err = append(found, name...), errors.Join(err, within(inKey(problem), change.Key(key)))
			add(value[key], func(c code) code { return c.field(bare) }, change.Key(key))
		}
	}
	return found, err
}

// key converts the key of a map.
func (s *scope) key(written string) (code, error) {
	name, err := s.text(written)
	if err != nil {
		return code{}, err
	}
	return name.inText()
}

// text converts a string with variables. A variable that is the whole string keeps its type.
func (s *scope) text(written string) (code, error) {
	switch {
	case strings.Contains(written, "$("):
		return code{}, noFormf("write the value in place of the reference", "CEL has no references to other fields of the policy: %s", written)
	case strings.Contains(written, `\{{`):
		return code{}, noFormf("", "a text with an escaped variable: %s", written)
	case !strings.Contains(written, "{{"):
		return literal(written), nil
	}
	written, original, s, err := s.quoted(written)
	if err != nil {
		return code{}, err
	}
	found := innermost().FindAllStringIndex(written, -1)
	if rest := innermost().ReplaceAllString(written, ""); strings.Contains(rest, "{{") {
		return code{}, noFormf("write the expression without variables within", "an expression that contains variables: %s", written)
	}
	c, err := s.joined(written, found)
	return c, moved(err, func(e *noForm) { e.offset = original(e.offset) })
}

// joined converts a text with variables at some places.
func (s *scope) joined(written string, found [][]int) (code, error) {
	values, err := collect(found, func(at []int) (code, error) {
		c, err := s.expression(written[at[0]+2 : at[1]-2])
		if isWhole := at[0] == 0 && at[1] == len(written); err == nil && !isWhole {
			s.rule.needs(c)
			c, err = c.inText()
		}
		return c, inText(err, at[0]+2)
	})
	if err != nil || len(found) == 1 && found[0][0] == 0 && found[0][1] == len(written) {
		return append(values, code{})[0], err
	}
	var parts []expr.Expr
	end := 0
	for i, at := range append(found, []int{len(written), len(written)}) {
		if end < at[0] {
			parts = append(parts, expr.Literal(written[end:at[0]]))
		}
		if end = at[1]; i < len(values) {
			parts = append(parts, values[i].x)
		}
	}
	return computed(expr.Plus(parts...), text), nil
}

// Variables within quotes get names that begin so. In JMESPath, double quotes are for names.
const (
	quotedText = "quoted_text_"
	quotedName = "quoted_name_"
)

// quoted replaces variables that are the whole text of a string within an expression by names. It
// returns the text, a function from its places to those in written, and the scope with the names.
func (s *scope) quoted(written string) (text string, original func(int) int, with *scope, err error) {
	original = func(at int) int { return at }
	for n := 0; strings.Count(written, "{{") > 1; n++ { // a single variable is in a string, not in an expression
		at := quotedInside().FindStringSubmatchIndex(written)
		if at == nil || written[at[2]] != written[at[6]] {
			break
		}
		begin, end := at[0], at[1]
		c, err := s.expression(written[at[4]:at[5]])
		if err == nil {
			c, err = c.inText()
		}
		if err != nil {
			return "", nil, nil, inText(err, original(at[4]))
		}
		name := quotedText + strconv.Itoa(n) + "_"
		if written[begin] == '"' { // the name of a field
			name = quotedName + strconv.Itoa(n) + "_"
		}
		s = s.with(name, c)
		written = written[:begin] + name + written[end:]
		before := original
		original = func(at int) int {
			if at > begin {
				at += end - begin - len(name)
			}
			return before(at)
		}
	}
	return written, original, s, nil
}

// expression converts a JMESPath expression.
func (s *scope) expression(written string) (code, error) {
	inner, begin := trimmed(written, "-")
	c, err := s.converted(inner)
	return c, inText(err, begin)
}

// trimmed returns a text without blanks around it and without a prefix, and the place where the rest
// begins.
func trimmed(text, prefix string) (rest string, begin int) {
	rest = strings.TrimPrefix(strings.TrimLeftFunc(text, unicode.IsSpace), prefix)
	rest = strings.TrimLeftFunc(rest, unicode.IsSpace)
	return strings.TrimSpace(rest), len(text) - len(rest)
}

func (s *scope) converted(written string) (code, error) {
	if strings.Contains(written, "{{") {
		return code{}, noFormf("write the expression without variables within", "an expression that contains variables: %s", written)
	}
	node, err := jmespath.Parse(written)
	if err != nil {
		return code{}, err
	}
	c, err := s.node(node)
	switch {
	case err != nil:
		return code{}, err
	case c.x.IsZero():
		return code{}, noFormf("name the fields that matter", "%s as a whole", written)
	case c.unclear:
		return code{}, noFormf("give a default with ||", "%s, which is null or fails if it is missing, depending on what is missing", written)
	}
	return c, nil
}

// node converts a part of an expression. An error is at the innermost part.
func (s *scope) node(n jmespath.Node) (code, error) {
	c, err := s.part(n)
	if err == nil {
		err = s.rule.supports(c.x)
	}
	return c, atPart(err, n)
}

// valued converts a part of an expression that must have a value of its own.
func (s *scope) valued(n jmespath.Node) (code, error) {
	c, err := s.node(n)
	if err == nil && c.isRoot() {
		err = noFormf("name the fields that matter", "%s as a whole", c.root())
	}
	return c, err
}

// list converts a part of an expression that may be a list.
func (s *scope) list(n jmespath.Node, advice, otherwise string) (code, error) {
	c, err := s.valued(n)
	if err == nil && c.kind != list && c.kind != anything {
		err = noFormf(advice, "%s", otherwise)
	}
	return c, err
}

// atPart returns an error as an error in a part of an expression, unless it is in a part of this already.
func atPart(err error, n jmespath.Node) error {
	return moved(err, func(e *noForm) {
		if !e.isExact {
			e.offset, e.isExact = n.Offset, true
		}
	})
}

func (s *scope) part(n jmespath.Node) (code, error) {
	switch n.Op {
	case jmespath.OpField:
		return s.name(n.Name)
	case jmespath.OpCurrent:
		switch {
		case s.current != nil:
			return *s.current, nil
		case s.self != nil:
			return *s.self, nil
		}
		return code{}, noFormf("", "@ outside of a selection or a patch")
	case jmespath.OpLiteral:
		return literal(numbers.Wholes(n.Value)), nil
	case jmespath.OpSelect, jmespath.OpPipe:
		return s.selected(n)
	case jmespath.OpIndex:
		return s.indexed(n)
	case jmespath.OpOr:
		return s.either(n)
	case jmespath.OpAnd, jmespath.OpNot:
		return s.logic(n)
	case jmespath.OpCompare:
		x, err := s.comparison(n)
		return computed(x, boolean), err
	case jmespath.OpCall:
		return s.call(n)
	case jmespath.OpProjection, jmespath.OpFilter:
		return s.projection(n)
	case jmespath.OpFlatten:
		return s.flattened(n.Children[0])
	case jmespath.OpValues:
		return s.values(n)
	case jmespath.OpList:
		return s.listOf(n)
	}
	return code{}, noFormf("write it in CEL by hand", "%s in JMESPath", cmp.Or(unsupported[n.Op], "an operation"))
}

// unsupported are the operations without an equivalent.
var unsupported = map[jmespath.Op]string{
	jmespath.OpHash: "a map made with { }", jmespath.OpSlice: "a slice [ : ]", jmespath.OpReference: "a reference & outside of sort_by() and its relatives",
}

// The names of values that have no CEL expression of their own.
const (
	requestRoot = "request"
	imagesRoot  = "images"
)

// ofRequest returns a field of the request.
func ofRequest(key string) expr.Expr { return expr.Ident(requestRoot).Select(key) }

// isRoot reports whether a value is request or images, or a part of images.
func (c code) isRoot() bool { return c.x.IsZero() && c.path != nil }

// root returns the name of a root.
func (c code) root() string {
	if c.isImageData() {
		return "the data of an image"
	}
	name, _, _ := c.path.root.AsChain()
	return name
}

// isImageData reports whether a value is what a registry says about an image, or a part of it.
func (c code) isImageData() bool {
	return c.isRoot() && !expr.Equal(c.path.root, expr.Ident(requestRoot)) && !expr.Equal(c.path.root, expr.Ident(imagesRoot))
}

// name returns the value of a name.
func (s *scope) name(name string) (code, error) {
	quoted, isQuoted := s.vars[name]
	switch {
	case isQuoted && strings.HasPrefix(name, quotedText):
		return quoted, nil
	case isQuoted && strings.HasPrefix(name, quotedName):
		return s.named(quoted)
	case s.current != nil && s.current.isImageData():
		return s.current.imageData(name)
	case s.current != nil:
		if s.current.isScalar() || s.current.kind == list {
			return code{}, noFormf("", "the field %s of a value that has no fields", name)
		}
		return s.current.field(name), nil
	case name == "": // "" is a quoted identifier in JMESPath, although users mean the empty string
		return literal(""), nil
	}
	if c, ok := s.vars[name]; ok {
		return c, nil
	}
	switch name {
	case requestRoot, imagesRoot:
		return code{path: &path{root: expr.Ident(name)}}, nil
	case "serviceAccountName":
		return computed(serviceAccount("Name"), text), nil
	case "serviceAccountNamespace":
		return computed(serviceAccount("Namespace"), text), nil
	}
	return s.rule.entry(s, name)
}

// named returns the field of the current value whose name another value is.
func (s *scope) named(name code) (code, error) {
	if s.current == nil || s.current.kind != object && s.current.kind != anything {
		return code{}, noFormf("write the expression without variables within", "a name that comes from a variable")
	}
	key, err := name.asText()
	if err != nil {
		return code{}, err
	}
	return s.current.part(part{computed: key.x}, s.current.elementTypes(), false), nil
}

func serviceAccount(part string) expr.Expr {
	return expr.Call("parseServiceAccount", ofRequest("userInfo").Select("username")).Select(part)
}

// selected returns what the second operand selects from the first. After a pipe, a missing value
// is null.
func (s *scope) selected(n jmespath.Node) (code, error) {
	left, err := s.node(n.Children[0])
	if err != nil {
		return code{}, err
	}
	right := n.Children[1]
	if left.isRoot() {
		c, err := s.ofRoot(left, right)
		return c, atPart(err, right)
	}
	if n.Op == jmespath.OpPipe && left.mayMiss() {
		left.isNull, left.unclear = true, false
	}
	return s.at(left).node(right)
}

// indexed returns an item of the current list.
func (s *scope) indexed(n jmespath.Node) (code, error) {
	index, _ := n.Value.(int)
	if s.current == nil || s.current.isRoot() || s.current.kind != list && s.current.kind != anything {
		return code{}, noFormf("", "an index without a list")
	}
	return s.current.item(index), nil
}

// ofRoot returns a field of the request, or of the variable images.
func (s *scope) ofRoot(left code, right jmespath.Node) (code, error) {
	if right.Op != jmespath.OpField {
		return code{}, noFormf("name the fields that matter", "%s as a whole", left.root())
	}
	switch {
	case left.isImageData():
		return left.imageData(right.Name)
	case left.root() == imagesRoot:
		return s.image(left, right.Name)
	}
	request := expr.Ident(requestRoot)
	switch right.Name {
	case "object":
		return s.rule.object(), nil
	case "oldObject":
		return variableOf("oldObject", s.rule.types), nil
	case "operation":
		return computed(request.Select(right.Name), text), nil
	case "dryRun":
		return computed(request.Select(right.Name), boolean), nil
	case "namespace", "name":
		return withKind(ofPath(&path{root: request, parts: []part{{key: right.Name}}}, nil), text), nil
	case "userInfo", "kind", "resource", "requestKind", "requestResource":
		return withKind(ofPath(&path{root: request, parts: []part{{key: right.Name}}, sure: 1}, nil), object), nil
	}
	return code{}, noFormf("Kyverno looks up roles in the bindings of the cluster; name users or groups in their place", "request.%s", right.Name)
}

func withKind(c code, k kind) code {
	c.kind = k
	return c
}

// either converts `a || b`: b if a is missing, null or empty.
func (s *scope) either(n jmespath.Node) (code, error) {
	first := n.Children[0]
	var condition expr.Expr
	if first.Op == jmespath.OpAnd && !isCondition(first) { // a && b || c
		var err error
		if condition, err = s.truth(first.Children[0]); err != nil {
			return code{}, err
		}
		first = first.Children[1]
	}
	operands, err := collect([]jmespath.Node{first, n.Children[1]}, s.valued)
	if err != nil {
		return code{}, err
	}
	left, right := operands[0], operands[1]
	if right.isConstant && right.constant == nil {
		return code{}, noFormf("give another default", "null in place of a value")
	}
	if condition.IsZero() {
		return left.or(right), nil
	}
	chosen, other := left.or(right), right
	if chosen.mayMiss() || other.mayMiss() {
		return code{}, noFormf("give a default with ||", "a choice between values that may be missing")
	}
	return code{x: expr.If(condition, chosen.x, other.x), kind: common(chosen.kind, other.kind)}, nil
}

// isCondition reports whether an expression has a boolean value.
func isCondition(n jmespath.Node) bool {
	switch n.Op {
	case jmespath.OpCompare, jmespath.OpNot:
		return true
	case jmespath.OpAnd, jmespath.OpOr:
		return isCondition(n.Children[0]) && isCondition(n.Children[1])
	}
	return false
}

// common returns the kind of a value that is one of two others.
func common(a, b kind) kind {
	holds := func(k kind) bool { return k == list || k == object || k == mixed }
	switch {
	case a == b:
		return a
	case holds(a) || holds(b):
		return mixed
	}
	return anything
}

// or returns the value, or another one if it is missing, null or empty.
func (c code) or(other code) code {
	isBoth := func(k kind) bool { return c.kind == k && other.kind == k }
	isEmpty := other.isConstant && isFalse(other.constant) && common(c.kind, other.kind) == c.kind
	switch {
	case c.isConstant && isFalse(c.constant):
		return other
	case c.isConstant, c.isOperation(), c.kind == number && !c.mayMiss():
		return c
	case isBoth(boolean) && !c.mayMiss() && !other.mayMiss():
		return computed(expr.Or(c.x, other.x), boolean)
	case isBoth(list) && isEmpty:
		return c.orEmptyList()
	case other.mayMiss():
		return c.orMaybe(other)
	case c.kind == number, isEmpty && c.kind != anything:
		return c.orValue(other)
	case c.kind != other.kind:
		other.x = expr.Call("dyn", other.x)
	}
	return code{x: expr.If(c.truth(), c.x, other.x), kind: common(c.kind, other.kind)}
}

// isOperation reports whether a value is the operation of the request, which is never empty.
func (c code) isOperation() bool { return expr.Equal(c.x, ofRequest("operation")) }

// orMaybe returns the value or another one, which may be missing, too. Then the result is null.
func (c code) orMaybe(other code) code {
	both := expr.If(c.truth(), c.optional(), other.optional())
	if c.kind == number || c.kind == object && other.kind == object {
		both = c.optional().Call("or", other.optional())
	}
	return code{x: both.Call("value"), maybe: both, kind: common(c.kind, other.kind), types: c.types, isNull: true}
}

// isFalse reports whether JMESPath takes a value for false.
func isFalse(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case bool:
		return !value
	case string:
		return value == ""
	case []any:
		return len(value) == 0
	case map[string]any:
		return len(value) == 0
	case keyed:
		return len(value) == 0
	}
	return false
}

// truth converts an expression to a condition: missing and empty values are false.
func (s *scope) truth(n jmespath.Node) (expr.Expr, error) {
	switch n.Op {
	case jmespath.OpAnd, jmespath.OpOr:
		both, err := collect(n.Children, s.truth)
		if n.Op == jmespath.OpAnd {
			return expr.And(both...), err
		}
		return expr.Or(both...), err
	case jmespath.OpNot:
		return not(s.truth(n.Children[0]))
	case jmespath.OpCompare:
		return s.comparison(n)
	}
	c, err := s.valued(n)
	if err != nil {
		return expr.Expr{}, err
	}
	return c.truth(), nil
}

func (c code) truth() expr.Expr {
	switch {
	case c.isConstant:
		return expr.Literal(!isFalse(c.constant))
	case c.kind == boolean:
		return c.orValue(literal(false)).x
	case c.kind == text:
		return expr.Compare(c.orValue(literal("")).x, "!=", expr.Literal(""))
	case c.kind == list:
		return expr.Compare(expr.Call("size", c.orEmptyList().x), ">", expr.Literal(0))
	case c.kind == number:
		return c.present()
	case c.kind == object:
		return expr.Compare(expr.Call("size", c.orValue(literal(keyed{})).x), ">", expr.Literal(0))
	}
	var none []expr.Expr
	for _, value := range []any{nil, "", false, []any{}, keyed{}} {
		none = append(none, expr.Call("dyn", exprOf(value)))
	}
	return expr.Not(expr.In(c.orValue(literal(nil)).x, expr.List(none...)))
}

// logic converts `&&` and `!` to a boolean value.
func (s *scope) logic(n jmespath.Node) (code, error) {
	if n.Op == jmespath.OpAnd && !isCondition(n) {
		both, err := collect(n.Children, s.node)
		if err != nil {
			return code{}, err
		}
		if slices.ContainsFunc(both, func(c code) bool { return c.kind != boolean || c.mayMiss() }) {
			return code{}, noFormf("write a condition for each, or a comparison", "the value of && for operands that are no conditions")
		}
	}
	x, err := s.truth(n)
	return computed(x, boolean), err
}

// comparison converts a comparison. A missing operand is null.
func (s *scope) comparison(n jmespath.Node) (expr.Expr, error) {
	operands, err := collect(n.Children, func(child jmespath.Node) (code, error) {
		c, err := s.valued(child)
		if err == nil && !c.given.IsZero() && c.maybe.IsZero() {
			err = noFormf("give a default with ||", "a comparison with a selection that may be null")
		}
		return c, err
	})
	if err != nil {
		return expr.Expr{}, err
	}
	a, b := operands[0], operands[1]
	if a.isNumber() != b.isNumber() || n.Name != "==" && n.Name != "!=" {
		s.numbers()
	}
	if n.Name == "==" || n.Name == "!=" {
		return expr.Compare(a.orValue(literal(nil)).x, n.Name, b.orValue(literal(nil)).x), nil
	}
	if a.kind != number || b.kind != number {
		return expr.Expr{}, noFormf("convert both to numbers with to_number()", "an order of values that may not be numbers")
	}
	return expr.And(a.present(), b.present(), expr.Compare(a.x, n.Name, b.x)), nil
}

// isNumber reports whether a value is a number that an expression has, and not the object.
func (c code) isNumber() bool { return c.kind == number && c.path == nil }
