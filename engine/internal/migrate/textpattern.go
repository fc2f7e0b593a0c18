package migrate

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/preadmit/preadmit/engine/internal/celenv/expr"
	"github.com/preadmit/preadmit/engine/internal/jmespath"
	numbers "github.com/preadmit/preadmit/engine/internal/number"
	"github.com/preadmit/preadmit/engine/internal/wildcard"
)

// textPattern is a constant text that Kyverno compares with values: as a duration if both are
// durations, else as a quantity if both are quantities, else as a text with wildcards.
type textPattern struct {
	text                             string
	isDuration, isQuantity, isNumber bool
	// number is the value as a number of a manifest, if the text is a number.
	number any
}

func patternOf(constant string) textPattern {
	p := textPattern{text: constant}
	_, err := time.ParseDuration(constant)
	p.isDuration = err == nil && constant != "0"
	_, p.isQuantity = jmespath.Quantity(constant)
	f, err := strconv.ParseFloat(constant, 64)
	if p.isNumber = err == nil && p.isQuantity; p.isNumber {
		p.number = numbers.Whole(f)
	}
	return p
}

// durationPattern matches the durations of Go that have a unit.
const durationPattern = `^[-+]?(([0-9]+[.]?[0-9]*|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+$`

func isDuration(x expr.Expr) expr.Expr { return x.Call("matches", expr.Literal(durationPattern)) }

func isQuantity(x expr.Expr) expr.Expr { return expr.Call("isQuantity", x) }

func (p textPattern) constant(function string) expr.Expr {
	return expr.Call(function, expr.Literal(p.text))
}

// compared returns a comparison of a text with the pattern as a duration or quantity.
func (p textPattern) compared(x expr.Expr, sign string) expr.Expr {
	asDuration := expr.Compare(expr.Call("duration", x), sign, p.constant("duration"))
	asQuantity := expr.Compare(expr.Call("quantity", x).Call("compareTo", p.constant("quantity")), sign, expr.Literal(0))
	switch {
	case p.isDuration && p.isQuantity:
		return expr.If(isDuration(x), asDuration, expr.And(isQuantity(x), asQuantity))
	case p.isDuration:
		return expr.And(isDuration(x), asDuration)
	}
	return expr.And(isQuantity(x), asQuantity)
}

// equals returns a test whether a text is equal to the pattern in a condition, where a quantity
// is only equal to quantities.
func (p textPattern) equals(x expr.Expr) expr.Expr {
	if wildcard.Has(p.text) && strings.Trim(p.text, "*?0123456789.+-eEnumkKMGTPi") == "" {
		return expr.And(expr.Not(isQuantity(x)), p.matches(x))
	}
	return p.matches(x)
}

// matches returns a test whether a text matches the pattern in an anchor.
func (p textPattern) matches(x expr.Expr) expr.Expr {
	if p.isDuration || p.isQuantity {
		return p.compared(x, "==")
	}
	return matchesWildcard(x, p.text)
}

// ordered returns a comparison of a value with the pattern.
func (p textPattern) ordered(sign string, key code) (expr.Expr, error) {
	switch {
	case key.kind == text && (p.isDuration || p.isQuantity):
		return p.compared(key.x, sign), nil
	case key.kind == number && p.isNumber:
		return expr.Compare(key.x, sign, exprOf(p.number)), nil
	case key.kind == number && p.isDuration && !p.isQuantity:
		seconds := expr.Call("duration", expr.Plus(expr.Call("string", key.x), expr.Literal("s")))
		return expr.Compare(seconds, sign, p.constant("duration")), nil
	}
	return expr.Expr{}, noFormf("", "a comparison with %q, which is no quantity or duration", p.text)
}

// matchesWildcard returns a test whether a text matches a pattern with wildcards.
func matchesWildcard(x expr.Expr, pattern string) expr.Expr {
	inner := expr.Literal(strings.Trim(pattern, "*"))
	starts, ends := strings.HasPrefix(pattern, "*"), strings.HasSuffix(pattern, "*")
	switch {
	case !wildcard.Has(pattern):
		return expr.Is(x, expr.Literal(pattern))
	case strings.Trim(pattern, "*") == "":
		return expr.True
	case pattern == "?*" || pattern == "*?":
		return expr.Compare(x, "!=", expr.Literal(""))
	case wildcard.Has(strings.Trim(pattern, "*")):
		expression := strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(pattern))
		return x.Call("matches", expr.Literal("(?s)^"+expression+"$"))
	case starts && ends:
		return x.Call("contains", inner)
	case starts:
		return x.Call("endsWith", inner)
	}
	return x.Call("startsWith", inner)
}
