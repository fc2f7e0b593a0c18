package validation

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apimachinery/pkg/util/validation/field"
	limits "k8s.io/apiserver/pkg/apis/cel"

	"github.com/preadmit/preadmit/engine/internal/celenv"
)

// The limits of a server for the estimated costs of a rule and of all rules of a schema.
const (
	maxRuleCost  = 10_000_000
	maxTotalCost = 100_000_000
	// maxExpensive is how many rules a server names if all together cost too much, and leastExpensive the
	// cost from which on it does.
	maxExpensive, leastExpensive = 4, maxTotalCost / 100
)

// ruleScope is what is known about the rules of a schema.
type ruleScope struct {
	// schema is that of the scope; count is the largest number of its values in an object, if known.
	schema  *apiextensions.JSONSchemaProps
	count   uint64
	bounded bool
	total   *ruleCosts
}

// ruleCosts are the estimated costs of all rules.
type ruleCosts struct {
	total uint64
	// expensive are the most expensive rules, the most expensive first.
	expensive []ruleCost
}

type ruleCost struct {
	at   *field.Path
	cost uint64
}

// newScope returns the scope of the schema of an object.
func newScope(s *apiextensions.JSONSchemaProps) *ruleScope {
	return &ruleScope{schema: s, count: 1, bounded: true, total: &ruleCosts{}}
}

// child returns the scope of the properties or items of a schema. Without a scope it returns nil.
func (c *ruleScope) child(s *apiextensions.JSONSchemaProps) *ruleScope {
	if c == nil {
		return nil
	}
	child := &ruleScope{schema: s, total: c.total}
	most, bounded := mostElements(c.schema)
	if child.bounded = c.bounded && bounded; child.bounded {
		child.count = times(c.count, most)
	}
	return child
}

// mostElements returns how many values of its properties or items a value of a schema may have.
func mostElements(s *apiextensions.JSONSchemaProps) (most uint64, bounded bool) {
	var limit *int64
	switch {
	case s.Type == "array":
		limit = s.MaxItems
	case s.Type == "object" && s.AdditionalProperties != nil:
		limit = s.MaxProperties
	default:
		return 1, true
	}
	if limit == nil {
		return 0, false
	}
	return uint64(max(*limit, 0)), true
}

// times multiplies; too large a product is the largest number.
func times(a, b uint64) uint64 {
	if high, low := bits.Mul64(a, b); high == 0 {
		return low
	}
	return math.MaxUint64
}

func (c *ruleCosts) add(at *field.Path, cost uint64) {
	c.total += min(cost, math.MaxUint64-c.total)
	if cost < leastExpensive {
		return
	}
	c.expensive = append(c.expensive, ruleCost{at, cost})
	slices.SortStableFunc(c.expensive, func(a, b ruleCost) int { return cmp.Compare(b.cost, a.cost) })
	c.expensive = c.expensive[:min(len(c.expensive), maxExpensive)]
}

// checkTotal checks the cost of all rules of a schema.
func (c *ruleScope) checkTotal(at *field.Path) (problems field.ErrorList) {
	if c == nil || c.total.total <= maxTotalCost {
		return nil
	}
	for _, rule := range c.total.expensive {
		problems = append(problems, field.Forbidden(rule.at, "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"))
	}
	return append(problems, field.Forbidden(at, tooExpensive("x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema", c.total.total, maxTotalCost)))
}

// tooExpensive returns the text about an estimated cost.
func tooExpensive(what string, cost, limit uint64) string {
	var factor string
	switch exceeds := float64(cost) / float64(limit); {
	case exceeds > 100:
		factor = "more than 100x"
	case exceeds < 1.5:
		factor = fmt.Sprintf("%fx", exceeds)
	default:
		factor = fmt.Sprintf("%.1fx", exceeds)
	}
	return fmt.Sprintf("%s exceeds budget by factor of %s (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)", what, factor)
}

// reasons are the reasons of rules, sorted.
var reasons = []string{"FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"}

// checkRuleTexts checks the rules of a schema without compiling them.
func (n schemaNode) checkRuleTexts() (problems field.ErrorList) {
	for i, rule := range n.schema.XValidations {
		at := n.at.Child("x-kubernetes-validations").Index(i)
		problems = append(problems, n.checkMessage(&rule, at)...)
		if rule.MessageExpression != "" && strings.TrimSpace(rule.MessageExpression) == "" {
			problems = append(problems, field.Required(at.Child("messageExpression"), "messageExpression must be non-empty if specified"))
		}
		if rule.Reason != nil && !slices.Contains(reasons, string(*rule.Reason)) {
			problems = append(problems, field.NotSupported(at.Child("reason"), *rule.Reason, reasons))
		}
		problems = append(problems, n.checkFieldPath(rule.FieldPath, at.Child("fieldPath"))...)
	}
	return problems
}

// checkMessage checks a rule and its message.
func (n schemaNode) checkMessage(rule *apiextensions.ValidationRule, at *field.Path) field.ErrorList {
	text, message := strings.TrimSpace(rule.Rule), strings.TrimSpace(rule.Message)
	switch {
	case text == "":
		return field.ErrorList{field.Required(at.Child("rule"), "rule is not specified")}
	case rule.Message != "" && message == "":
		return field.ErrorList{field.Invalid(at.Child("message"), rule.Message, "must be non-empty if specified")}
	case hasLineBreaks(message):
		return field.ErrorList{field.Invalid(at.Child("message"), rule.Message, "must not contain line breaks")}
	case hasLineBreaks(text) && message == "":
		return field.ErrorList{field.Required(at.Child("message"), "message must be specified if rule contains line breaks")}
	}
	return nil
}

// checkFieldPath checks the path of the field that a rule is about.
func (n schemaNode) checkFieldPath(path string, at *field.Path) (problems field.ErrorList) {
	if path == "" {
		return nil
	}
	invalid := func(text string) {
		problems = append(problems, field.Invalid(at, path, text))
	}
	if strings.TrimSpace(path) == "" {
		invalid("must be non-empty if specified")
	}
	if hasLineBreaks(path) {
		invalid("must not contain line breaks")
	}
	if s, err := structural.NewStructural(n.schema); err == nil {
		if _, found := fieldPath(path, s); found == nil {
			invalid("must be a valid path")
		}
	}
	return problems
}

func hasLineBreaks(text string) bool { return strings.ContainsAny(text, "\n\r") }

// checkRules compiles the rules of a schema, and estimates what they cost.
func (n schemaNode) checkRules() (problems field.ErrorList) {
	if n.rules == nil || len(n.schema.XValidations) == 0 {
		return nil
	}
	s, err := structural.NewStructural(n.schema)
	if err != nil {
		return nil
	}
	declared := model.SchemaDeclType(s, n.isRoot || n.schema.XEmbeddedResource)
	if declared == nil {
		return nil
	}
	compiler, err := n.definition.server.cel.Rules(declared)
	if err != nil {
		return nil
	}
	count := n.rules.count
	if !n.rules.bounded {
		count = uint64(limits.MaxRequestSizeBytes / (declared.MinSerializedSize + 1)) // with a comma
	}
	for i := range n.schema.XValidations {
		problems = append(problems, n.checkRule(i, compiler, count)...)
	}
	return problems
}

// checkRule compiles a rule, of which an object may have as many values as count says.
func (n schemaNode) checkRule(i int, compiler *celenv.RuleScope, count uint64) (problems field.ErrorList) {
	rule, at := n.schema.XValidations[i], n.at.Child("x-kubernetes-validations").Index(i)
	optional := rule.OptionalOldSelf != nil && *rule.OptionalOldSelf
	compiled, err := compiler.Condition(rule.Rule, optional)
	cost := times(compiler.Cost(rule.Rule, optional), count)
	if err != nil {
		cost = 0
	}
	if cost > maxRuleCost {
		problems = append(problems, field.Forbidden(at.Child("rule"), tooExpensive("estimated rule cost", cost, maxRuleCost)))
	}
	n.rules.total.add(at.Child("rule"), cost)
	if err != nil {
		problems = append(problems, field.Invalid(at.Child("rule"), rule, err.Error()))
	} else if rule.MessageExpression != "" {
		problems = append(problems, n.checkMessageExpression(&rule, at.Child("messageExpression"), compiler)...)
	}
	switch readsOld := err == nil && compiled.ReadsOld; {
	case readsOld && n.uncorrelated != nil:
		problems = append(problems, field.Invalid(at.Child("rule"), rule.Rule, fmt.Sprintf("oldSelf cannot be used on the uncorrelatable portion of the schema within %v", n.uncorrelated)))
	case !readsOld && rule.OptionalOldSelf != nil:
		problems = append(problems, field.Invalid(at.Child("optionalOldSelf"), *rule.OptionalOldSelf, "may not be set if oldSelf is not used in rule"))
	}
	return problems
}

// checkMessageExpression compiles the expression of a message.
func (n schemaNode) checkMessageExpression(rule *apiextensions.ValidationRule, at *field.Path, compiler *celenv.RuleScope) (problems field.ErrorList) {
	optional := rule.OptionalOldSelf != nil && *rule.OptionalOldSelf
	if _, err := compiler.Message(rule.MessageExpression, optional); err != nil {
		return field.ErrorList{field.Invalid(at, *rule, err.Error())}
	}
	cost := compiler.Cost(rule.MessageExpression, optional)
	if cost > maxRuleCost {
		problems = append(problems, field.Forbidden(at, tooExpensive("estimated messageExpression cost", cost, maxRuleCost)))
	}
	n.rules.total.add(at, cost)
	return problems
}
