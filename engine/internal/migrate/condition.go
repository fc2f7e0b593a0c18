package migrate

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/celenv/expr"
	"github.com/preadmit/preadmit/engine/internal/kyverno"
	"github.com/preadmit/preadmit/engine/internal/wildcard"
	"github.com/preadmit/preadmit/engine/policy"
)

// condition is a condition of a policy, or a variable.
type condition struct {
	name string
	x    expr.Expr
	// mayFail says that a precondition may be an error, which denies the object.
	mayFail bool
}

func mayFail(c condition) bool { return c.mayFail }

// preconditions converts preconditions. Those in any become one condition. Kyverno evaluates conditions in
// their order, and errors of those that it evaluates count, but to CEL false is stronger than an error.
func (s *scope) preconditions(n policy.Node) ([]expr.Expr, error) {
	any, anyErr := collect(n.At("any").Items(), s.condition)
	all, err := collect(append(n.At("all").Items(), n.Items()...), s.condition)
	if one := firstOf(any); !expr.Equal(one.x, expr.True) {
		switch {
		case !slices.ContainsFunc(all, mayFail):
			all = append([]condition{one}, all...)
		case one.mayFail: // a list evaluates both
			both := expr.List(one.x, expr.And(inOrder(all)...))
			all = []condition{{x: both.Over("all", "holds", expr.Ident("holds")), mayFail: true}}
		default: // a false one must not hide the errors of the others
			all = append(all, one)
		}
	}
	return slices.DeleteFunc(inOrder(all), func(x expr.Expr) bool { return expr.Equal(x, expr.True) }), errors.Join(anyErr, err)
}

// firstOf returns the condition that one of several holds, of which those after it are not evaluated; true of
// none.
func firstOf(any []condition) condition {
	if len(any) == 0 {
		return condition{x: expr.True}
	}
	fails := slices.ContainsFunc(any, mayFail)
	if !slices.ContainsFunc(any[:len(any)-1], mayFail) {
		return condition{x: expr.Or(expressions(any)...), mayFail: fails}
	}
	x := any[len(any)-1].x
	for _, t := range slices.Backward(any[:len(any)-1]) {
		x = expr.If(t.x, expr.True, x)
	}
	return condition{x: x, mayFail: fails}
}

// inOrder returns conditions that all have to hold. Those after one that may fail are part of it.
func inOrder(all []condition) []expr.Expr {
	xs := expressions(all)
	i := slices.IndexFunc(all, mayFail)
	if i < 0 || i == len(all)-1 {
		return xs
	}
	x := xs[len(xs)-1]
	for _, condition := range slices.Backward(xs[i : len(xs)-1]) {
		x = expr.If(condition, x, expr.False)
	}
	return append(xs[:i], x)
}

// expressions returns the expressions of conditions.
func expressions(all []condition) []expr.Expr {
	xs := make([]expr.Expr, len(all))
	for i, c := range all {
		xs[i] = c.x
	}
	return xs
}

// collect returns what becomes of all items, or their errors.
func collect[T, R any](items []T, of func(T) (R, error)) (all []R, err error) {
	for _, item := range items {
		r, problem := of(item)
		all, err = append(all, r), errors.Join(err, problem)
	}
	if err != nil {
		return nil, err
	}
	return all, nil
}

// condition converts one condition. To Kyverno, a condition about null is false.
func (s *scope) condition(n policy.Node) (condition, error) {
	given := expr.True
	operator := strings.ToLower(n.At("operator").Text())
	s.rule.at = n.Path
	sides, err := collect([]string{"key", "value"}, func(name string) (code, error) {
		c, err := s.operand(n.At(name).Value)
		if err == nil && s.rule.mayFail(c) {
			s.rule.needed = append(s.rule.needed, c.x)
		}
		if err == nil && c.isNull && c.mayMiss() {
			if name == "value" && strings.HasPrefix(operator, "notequal") {
				err = noFormf("give it a default with ||", "a comparison with a value that may be null")
			}
			given = expr.And(given, c.present())
		}
		return c, s.rule.failed(n.At(name).Path, err)
	})
	if err != nil {
		return condition{}, err
	}
	x, err := s.compare(operator, sides[0], sides[1])
	fails := slices.ContainsFunc(sides, s.rule.mayFail)
	if expr.Equal(x, expr.True) || expr.Equal(x, expr.False) { // the result does not depend on the values, but errors of these count
		x = expr.If(succeed(slices.DeleteFunc(sides, func(c code) bool { return !s.rule.mayFail(c) })), x, expr.False)
	}
	return condition{x: expr.And(given, x), mayFail: fails}, s.rule.failed(n.Path, err)
}

// not returns the opposite of a condition, unless there is an error.
func not(x expr.Expr, err error) (expr.Expr, error) {
	if err != nil {
		return expr.Expr{}, err
	}
	return expr.Not(x), nil
}

func (s *scope) compare(operator string, key, value code) (expr.Expr, error) {
	if key.isConstant && key.constant == nil {
		return expr.Expr{}, errNever
	}
	if isOld := operator == "in" || operator == "notin"; isOld && (key.kind == list || key.kind == anything || value.kind != list) {
		return expr.Expr{}, noFormf("write AnyIn, AllIn, AnyNotIn or AllNotIn, which the result can have", "the operators In and NotIn for other values than one text and a list")
	}
	switch operator {
	case "equal", "equals":
		return s.equals(key, value)
	case "notequal", "notequals":
		return not(s.equals(key, value))
	case "in", "anyin", "allin", "notin", "anynotin", "allnotin":
		return s.contains(operator, key, value)
	}
	return ordered(orders[strings.TrimPrefix(operator, "duration")], key, value)
}

// operand converts one side of a condition.
func (s *scope) operand(value any) (code, error) {
	made, err := s.value(value)
	if err != nil {
		return code{}, err
	}
	if c, ok := made.(code); ok {
		return c, nil
	}
	c := literal(made)
	if !isPlain(made) {
		c.isConstant = false
	}
	return c, nil
}

// isPlain reports whether a value contains no code.
func isPlain(value any) bool {
	switch value := value.(type) {
	case code:
		return false
	case []any:
		return !slices.ContainsFunc(value, func(item any) bool { return !isPlain(item) })
	case keyed:
		return !slices.ContainsFunc(value, func(p pair) bool { return !p.key.isConstant || !isPlain(p.value) })
	}
	return true
}

var errNever = noFormf("compare values of one type", "a condition that never holds, or always, because of the types of its values")

// equals returns a test whether two operands are equal as Kyverno compares them.
func (s *scope) equals(key, value code) (expr.Expr, error) {
	pattern, isText := value.constant.(string)
	switch {
	case key.isConstant && value.isConstant:
		return expr.Expr{}, errNever
	case key.isConstant && !wildcard.Has(fmt.Sprint(key.constant)):
		s.doubtPatterns(value)
		return s.equals(value, key)
	case !value.isConstant && (key.kind == value.kind || key.kind == anything || value.kind == anything) && !key.isConstant:
		if key.kind == text || key.kind == anything {
			s.doubtPatterns(value)
		}
		return expr.Is(key.x, value.x), nil
	case !value.isConstant:
		return expr.Expr{}, noFormf("", "a comparison of values of different types")
	case isText:
		if p := patternOf(pattern); key.kind == number && p.isNumber && !isInteger(pattern) {
			s.numbers()
		}
		return equalsText(key, pattern)
	case key.kind != value.kind && key.kind != anything:
		return expr.Expr{}, errNever
	}
	return expr.Is(key.x, value.x), nil
}

// isText returns a test whether a text is equal to a written one.
func (s *scope) isText(value code, written string) (expr.Expr, error) {
	wanted, err := s.text(written)
	if err != nil {
		return expr.Expr{}, err
	}
	return s.equals(withKind(value, text), wanted)
}

// numbers warns that the rule depends on whether the numbers of the object are integers.
func (s *scope) numbers() { s.rule.documented(kyverno.NumbersWhole(s.rule.at)) }

// isInteger reports whether a text is an integer, written as in JSON.
func isInteger(text string) bool {
	i, err := strconv.ParseInt(text, 10, 64)
	return err == nil && strconv.FormatInt(i, 10) == text
}

// doubtPatterns warns of patterns in a value that comes from an object.
func (s *scope) doubtPatterns(value code) {
	if value.kind != text && value.kind != anything || isPlainName(value.x) {
		return
	}
	s.rule.doubt("a comparison with "+value.x.String()+": in Kyverno, * and ? in this value match any text, and quantities are compared as numbers", "check that no value has these")
}

// isPlainName reports whether validation excludes wildcards in a value.
func isPlainName(x expr.Expr) bool {
	_, steps, ok := x.AsChain()
	return ok && len(steps) > 0 && slices.Contains([]string{"name", "namespace", "kind", "operation", "uid", "generateName", "serviceAccountName"}, steps[len(steps)-1].Key)
}

// equalsText compares a value with a constant text, which may have wildcards.
func equalsText(key code, constant string) (expr.Expr, error) {
	p := patternOf(constant)
	switch key.kind {
	case text:
		return p.equals(key.x), nil
	case number:
		if !p.isNumber {
			return expr.Expr{}, errNever
		}
		return expr.Is(key.x, expr.Literal(p.number)), nil
	case anything:
		if p.isDuration || wildcard.Has(constant) {
			return expr.Expr{}, noFormf("give the CustomResourceDefinition of the kind with --context", "a comparison with %q of a value whose type is not known", constant)
		}
		if p.isQuantity {
			return p.equals(expr.Call("string", key.x)), nil
		}
		return expr.Is(key.x, expr.Literal(constant)), nil
	}
	return expr.Expr{}, errNever
}

// contains converts the list operators.
func (s *scope) contains(operator string, key, value code) (expr.Expr, error) {
	items := value.constant
	if written, ok := items.(string); ok && json.Valid([]byte(written)) {
		var texts []any
		if json.Unmarshal([]byte(written), &texts) != nil {
			return expr.Expr{}, errNever
		}
		value = literal(texts)
	}
	if _, isText := value.constant.(string); value.isConstant && !isText && value.kind != list && (key.kind != list || !strings.HasPrefix(operator, "any")) {
		return expr.Expr{}, errNever
	}
	isNegative, isSome := strings.HasSuffix(operator, "notin"), operator == "anyin" || operator == "anynotin"
	if key.kind != list {
		if key.isConstant && (value.isConstant || wildcard.Has(fmt.Sprint(key.constant))) || key.kind == object {
			return expr.Expr{}, errNever
		}
		if isNegative {
			return not(s.among(key, value))
		}
		return s.among(key, value)
	}
	x, err := s.among(key.each("k"), value)
	switch {
	case err != nil:
		return expr.Expr{}, err
	case operator == "notin":
		return expr.Not(key.x.Over("all", "k", x)), nil
	case isNegative:
		x = expr.Not(x)
	}
	if isSome {
		return key.x.Over("exists", "k", x), nil
	}
	return key.x.Over("all", "k", x), nil
}

// among returns a test whether a single value is among others, which Kyverno compares as texts.
func (s *scope) among(key, value code) (expr.Expr, error) {
	items, isList := value.constant.([]any)
	switch {
	case value.isConstant && isList:
	case value.isConstant && value.kind != object:
		items = []any{value.constant}
		if written, ok := value.constant.(string); ok && ranged(written) {
			return expr.Expr{}, noFormf("compare with two conditions", "the range %q", written)
		}
	case value.isConstant || value.kind == object || value.kind == boolean || value.kind == number:
		return expr.Expr{}, errNever
	case key.kind != text:
		return expr.Expr{}, noFormf("convert it with to_string()", "a search for a value that may be no text")
	case !value.keysOf.IsZero():
		return expr.In(key.x, value.keysOf), nil
	case value.kind == text:
		s.doubtPatterns(value)
		return expr.Is(key.x, value.x), nil
	case value.kind == list:
		if value.each("x").kind != text {
			return expr.Expr{}, noFormf("", "a comparison with a list of values that may not be texts")
		}
		s.doubt("* and ? in the items of " + value.x.String() + " match any text")
		return expr.In(key.x, value.x), nil
	default:
		return expr.Expr{}, noFormf("give the CustomResourceDefinition of the kind with --context", "a search in a value whose type is not known")
	}
	return amongTexts(key, items)
}

func (s *scope) doubt(what string) {
	s.rule.doubt("in Kyverno, "+what, "check that no value has these")
}

func ranged(written string) bool {
	operator, _ := kyverno.Compares(written)
	return operator == "-" || operator == "!-"
}

// amongTexts returns a test whether a value is among constants, which may have wildcards.
func amongTexts(key code, items []any) (expr.Expr, error) {
	if key.kind == object || key.kind == list || key.kind == mixed {
		return expr.Expr{}, noFormf("select the field that matters", "a list or a map among texts, as JSON")
	}
	var plain []any
	var others []expr.Expr
	for _, item := range items {
		written, err := literal(item).asText()
		if err != nil {
			return expr.Expr{}, err
		}
		constant := written.constant.(string)
		p := patternOf(constant)
		switch {
		case key.kind == number && (wildcard.Has(constant) || p.isNumber && !isInteger(constant)):
			return expr.Expr{}, noFormf("write the number as an integer", "a comparison of a number with the text %q", constant)
		case key.kind == number && p.isNumber:
			plain = append(plain, p.number)
		case key.kind == boolean:
			plain = append(plain, booleansLike(constant)...)
		case key.kind == text && wildcard.Has(constant):
			others = append(others, matchesWildcard(key.x, constant))
		case key.kind == text:
			plain = append(plain, constant)
		case key.kind == anything && !wildcard.Has(constant):
			plain = append(plain, constant)
		case key.kind == anything:
			others = append(others, matchesWildcard(expr.Call("string", key.x), constant))
		}
	}
	x := key.x
	if key.kind == anything && len(plain) > 0 {
		x = expr.Call("string", key.x)
	}
	if len(plain) > 0 {
		others = append([]expr.Expr{oneOf(x, plain)}, others...)
	}
	return expr.Or(others...), nil
}

// booleansLike returns the booleans whose texts match a pattern.
func booleansLike(pattern string) (found []any) {
	for _, b := range []bool{true, false} {
		if wildcard.Match(pattern, strconv.FormatBool(b)) {
			found = append(found, b)
		}
	}
	return found
}

var orders = map[string]string{"greaterthan": ">", "greaterthanorequals": ">=", "lessthan": "<", "lessthanorequals": "<="}

// mirrored are the operators for exchanged operands.
var mirrored = map[string]string{">": "<", ">=": "<=", "<": ">", "<=": ">="}

// ordered converts a comparison of numbers, quantities or durations. Any other comparison is
// false.
func ordered(sign string, key, value code) (expr.Expr, error) {
	if key.isConstant && !value.isConstant {
		return ordered(mirrored[sign], value, key)
	}
	if key.kind != number && key.kind != text {
		return expr.Expr{}, noFormf("convert it with to_number() or to_string()", "an order of values whose types are not known")
	}
	constant, isText := value.constant.(string)
	switch {
	case key.isConstant:
		return expr.Expr{}, errNever
	case isText:
		return patternOf(constant).ordered(sign, key)
	case value.kind == number && key.kind == number:
		return expr.Compare(key.x, sign, value.x), nil
	case value.kind == text && key.kind == text:
		return orderedTexts(sign, key.x, value.x), nil
	case value.kind == number && value.isConstant:
		asNumber := expr.And(key.x.Call("matches", expr.Literal(decimal)), expr.Compare(expr.Call("double", key.x), sign, expr.Call("double", value.x)))
		seconds := expr.Call("duration", expr.Literal(fmt.Sprintf("%vs", value.constant)))
		return expr.Or(asNumber, expr.And(isDuration(key.x), expr.Compare(expr.Call("duration", key.x), sign, seconds))), nil
	}
	return expr.Expr{}, noFormf("convert both with to_number() or to_string()", "an order of values of different types")
}

// orderedTexts compares two texts as durations, quantities or versions.
func orderedTexts(sign string, a, b expr.Expr) expr.Expr {
	both := func(is func(expr.Expr) expr.Expr) expr.Expr { return expr.And(is(a), is(b)) }
	by := func(function string) expr.Expr {
		return expr.Compare(expr.Call(function, a).Call("compareTo", expr.Call(function, b)), sign, expr.Literal(0))
	}
	isVersion := func(x expr.Expr) expr.Expr { return expr.Call("isSemver", x) }
	return expr.If(both(isDuration), expr.Compare(expr.Call("duration", a), sign, expr.Call("duration", b)),
		expr.If(both(isQuantity), by("quantity"), expr.And(both(isVersion), by("semver"))))
}

// pattern returns a test whether a value matches a pattern, as conditions in a patch have it.
func (s *scope) pattern(value code, pattern any) (expr.Expr, error) {
	switch pattern := pattern.(type) {
	case map[string]any:
		if value.kind != object && value.kind != anything {
			return expr.Expr{}, errNever
		}
		return s.mapPattern(value, pattern)
	case []any:
		return s.listPattern(value, pattern)
	case string:
		if strings.Contains(pattern, "{{") || strings.Contains(pattern, "$(") {
			other, err := s.text(pattern)
			if _, maybe := isNull(other); err == nil && maybe {
				err = noFormf("give it a default with ||", "a condition with a value that may be null")
			}
			if err != nil {
				return expr.Expr{}, err
			}
			if other.kind == text || other.kind == anything {
				s.doubt("operators and wildcards in the value of " + other.x.String() + " count")
			}
			return expr.Is(value.x, other.x), nil
		}
	}
	return s.scalarPattern(value, pattern)
}

// scalarPattern compares a value, or all items of a list, with a scalar.
func (s *scope) scalarPattern(value code, pattern any) (expr.Expr, error) {
	if value.kind == list {
		name := elementName(value, s)
		item := value.each(name)
		if item.kind == list {
			return expr.Expr{}, errNever
		}
		x, err := s.scalarPattern(item, pattern)
		if err != nil {
			return expr.Expr{}, err
		}
		return value.x.Over("all", name, x), nil
	}
	switch pattern := pattern.(type) {
	case string:
		return alternatives(value, pattern)
	case nil:
		return expr.In(value.x, expr.List(expr.Call("dyn", expr.Literal(nil)), expr.Call("dyn", expr.Literal("")), expr.Call("dyn", expr.Literal(0)), expr.Call("dyn", expr.False))), nil
	}
	if k := kindOfValue(pattern); value.kind != k && value.kind != anything || value.kind == anything && k == number {
		return expr.Expr{}, noFormf("", "a comparison with %v of a value that may be of another type", pattern)
	}
	return expr.Is(value.x, exprOf(pattern)), nil
}

// listPattern requires each item to match.
func (s *scope) listPattern(value code, pattern []any) (expr.Expr, error) {
	if len(pattern) != 1 || kyverno.HasAnchors(pattern) {
		return expr.Expr{}, noFormf("", "a condition about a list with anchors, or several items, in it")
	}
	if _, isList := pattern[0].([]any); isList || value.kind != list && value.kind != anything {
		return expr.Expr{}, noFormf("", "a condition about a list of lists, or about a value that is no list")
	}
	if _, isMap := pattern[0].(map[string]any); !isMap {
		return s.scalarPattern(withKind(value, list), pattern[0])
	}
	name := elementName(value, s)
	x, err := s.pattern(value.each(name), pattern[0])
	if err != nil {
		return expr.Expr{}, err
	}
	return value.orEmptyList().x.Over("all", name, x), nil
}

func (s *scope) mapPattern(value code, pattern map[string]any) (expr.Expr, error) {
	all, err := collect(sortedKeys(pattern), func(key string) (expr.Expr, error) {
		x, err := s.memberPattern(value, key, pattern[key])
		return x, within(err, change.Key(key))
	})
	return expr.And(all...), err
}

// memberPattern returns a test whether a field of a value matches a pattern.
func (s *scope) memberPattern(value code, key string, pattern any) (expr.Expr, error) {
	anchor, bare := kyverno.ParseAnchor(key)
	if wildcard.Has(bare) {
		return expr.Expr{}, inKey(noFormf("", "a condition about keys with wildcards"))
	}
	member := value.field(bare)
	has := member.present()
	if anchor == kyverno.Negation {
		return expr.Not(has), nil
	}
	below, err := s.pattern(member, pattern)
	switch {
	case err != nil:
		return expr.Expr{}, err
	case anchor == kyverno.Equality, anchor == kyverno.Global, anchor == kyverno.NoAnchor && kyverno.Matches(nil, pattern): // a missing value matches
		return expr.Or(expr.Not(has), below), nil
	case anchor == kyverno.Condition, anchor == kyverno.NoAnchor:
		return expr.And(has, below), nil
	}
	return expr.Expr{}, inKey(noFormf("", "the anchor %s( ) in a condition", anchor))
}

// alternatives converts patterns like "a | >1 & <5".
func alternatives(value code, pattern string) (expr.Expr, error) {
	any, err := collect(strings.Split(pattern, "|"), func(alternative string) (expr.Expr, error) {
		all, err := collect(strings.Split(strings.Trim(alternative, " "), "&"), func(part string) (expr.Expr, error) {
			return compares(value, strings.Trim(part, " "))
		})
		return expr.And(all...), err
	})
	return expr.Or(any...), err
}

// compares converts one comparison of a pattern.
func compares(value code, pattern string) (expr.Expr, error) {
	operator, operand := kyverno.Compares(pattern)
	if from, to, ok := kyverno.Range(pattern); ok {
		return inRange(value, from, to, operator == "!-")
	}
	p := patternOf(operand)
	x := value.x
	switch {
	case value.kind == object || value.kind == list:
		return expr.Expr{}, errNever
	case value.kind != text && strings.Trim(operand, "*") == "" && operand != "" && (operator == "" || operator == "!"):
		return expr.Literal(operator == ""), nil
	case value.kind == boolean && (operand == "true" || operand == "false") && (operator == "" || operator == "!"):
		x = expr.Is(x, expr.Literal(operand == "true"))
	case value.kind == number && p.isNumber:
		if operator == "" || operator == "!" {
			x = expr.Is(x, expr.Literal(p.number))
			break
		}
		return expr.Compare(x, operator, expr.Literal(p.number)), nil
	case value.kind == boolean || value.kind == number || value.kind == anything && p.isDuration:
		return expr.Expr{}, noFormf("", "a comparison with %q of a value that is no text", pattern)
	case value.kind == anything:
		return compares(computed(expr.Call("string", x), text), pattern)
	case operator == "" || operator == "!":
		x = p.matches(x)
	default:
		return p.ordered(operator, value)
	}
	if operator == "!" {
		x = expr.Not(x)
	}
	return x, nil
}

func inRange(value code, from, to string, outside bool) (expr.Expr, error) {
	if outside {
		return alternatives(value, "<"+from+" | >"+to)
	}
	return alternatives(value, ">="+from+" & <="+to)
}
