package validation

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apimachinery/pkg/util/validation/field"
	limits "k8s.io/apiserver/pkg/apis/cel"
	values "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"

	"github.com/preadmit/preadmit/engine/internal/celenv"
)

// ruleNode has the rules (x-kubernetes-validations) of a node of a schema, and the nodes in it that
// have rules. The rules behave as those of k8s.io/apiextensions-apiserver v0.36.3
// (pkg/apiserver/schema/cel), which cannot be imported without the metrics of a server. They are
// compiled when an object first has a value for the node.
type ruleNode struct {
	// schema is the structural part of the schema. Its rules may come from an allOf.
	schema   *structural.Structural
	sources  []v1.ValidationRule
	declared *values.DeclType
	// visible is the schema with all fields that rules see.
	visible           *structural.Structural
	items, additional *ruleNode
	properties        map[string]*ruleNode
	allOf             []*ruleNode

	env  *celenv.Env
	once sync.Once
	// rules are the compiled sources, unless they have a failure.
	rules   []rule
	failure error
}

// rule is a compiled rule. condition is nil if the rule is empty or has an error.
type rule struct {
	v1.ValidationRule
	condition, message *celenv.Rule
	err                error
	// at is the path of its field, from the node.
	at string
}

// newRuleNode returns the rules of a schema, or nil if neither it nor a schema in it has rules. given has
// the rules, and may be part of an allOf; visible is the schema that rules see; declared is its type, or
// nil if rules cannot see such values.
func newRuleNode(env *celenv.Env, given, s, visible *structural.Structural, declared *values.DeclType) *ruleNode {
	n := &ruleNode{schema: s, sources: given.XValidations, declared: declared, visible: visible, env: env, properties: map[string]*ruleNode{}}
	var elem *values.DeclType
	if declared != nil {
		elem = declared.ElemType
	}
	if given.Items != nil && s.Items != nil {
		n.items = newRuleNode(env, given.Items, s.Items, visibleOf(s.Items), elem)
	}
	for name, property := range given.Properties {
		spine, ok := s.Properties[name]
		if !ok {
			continue
		}
		if t := propertyType(declared, name, &spine); t != nil {
			if child := newRuleNode(env, &property, &spine, visibleOf(&spine), t); child != nil {
				n.properties[name] = child
			}
		}
	}
	if a, b := given.AdditionalProperties, s.AdditionalProperties; a != nil && b != nil && a.Structural != nil && b.Structural != nil {
		n.additional = newRuleNode(env, a.Structural, b.Structural, visibleOf(b.Structural), elem)
	}
	if given.ValueValidation != nil {
		for i := range given.ValueValidation.AllOf {
			if child := newRuleNode(env, asStructural(&given.ValueValidation.AllOf[i]), s, visible, declared); child != nil {
				n.allOf = append(n.allOf, child)
			}
		}
	}
	if len(n.sources) == 0 && n.items == nil && n.additional == nil && len(n.properties) == 0 && len(n.allOf) == 0 {
		return nil
	}
	return n
}

// visibleOf returns the schema of a value in an object as rules see it.
func visibleOf(s *structural.Structural) *structural.Structural {
	if s.XEmbeddedResource {
		return model.WithTypeAndObjectMeta(s)
	}
	return s
}

// hasRules reports whether a schema has rules outside of allOf. Without them, a server evaluates none.
func hasRules(s *structural.Structural) bool {
	if s == nil {
		return false
	}
	for _, property := range s.Properties {
		if hasRules(&property) {
			return true
		}
	}
	return len(s.XValidations) > 0 || hasRules(s.Items) || s.AdditionalProperties != nil && hasRules(s.AdditionalProperties.Structural)
}

// propertyType returns the type of a property, or nil if rules cannot see it. A name that rules cannot
// write is not in the type of the object.
func propertyType(declared *values.DeclType, name string, s *structural.Structural) *values.DeclType {
	escaped, ok := values.Escape(name)
	if !ok {
		return model.SchemaDeclType(s, s.XEmbeddedResource)
	}
	if declared == nil || declared.Fields[escaped] == nil {
		return nil
	}
	return declared.Fields[escaped].Type
}

// asStructural returns what an allOf says about a value as a schema.
func asStructural(nested *structural.NestedValueValidation) *structural.Structural {
	if nested == nil {
		return nil
	}
	s := &structural.Structural{
		Items: asStructural(nested.Items), ValueValidation: &nested.ValueValidation, ValidationExtensions: nested.ValidationExtensions,
		Generic: nested.ForbiddenGenerics, Extensions: nested.ForbiddenExtensions, Properties: map[string]structural.Structural{},
	}
	for name, property := range nested.Properties {
		s.Properties[name] = *asStructural(&property)
	}
	return s
}

// compile compiles the rules, once.
func (n *ruleNode) compile() {
	if len(n.sources) == 0 {
		return
	}
	if n.declared == nil {
		n.failure = fmt.Errorf("failed to convert to declType for CEL validation rules")
		return
	}
	scope, err := n.env.Rules(n.declared)
	if err != nil {
		n.failure = err
		return
	}
	for _, source := range n.sources {
		r := rule{ValidationRule: source}
		r.at, _ = fieldPath(source.FieldPath, n.schema)
		optional := source.OptionalOldSelf != nil && *source.OptionalOldSelf
		if strings.TrimSpace(source.Rule) != "" {
			r.condition, r.err = scope.Condition(source.Rule, optional)
		}
		if r.condition != nil && source.MessageExpression != "" {
			r.message, _ = scope.Message(source.MessageExpression, optional) // without it, there is the message
		}
		n.rules = append(n.rules, r)
	}
}

// ruleRun is the evaluation of the rules of an object. They share a budget, and the run ends when it is
// used up.
type ruleRun struct {
	ctx      context.Context
	budget   int64
	ended    bool
	problems field.ErrorList
	// warnings are the errors of rules about values that are as they were before an update.
	warnings []string
}

// evaluate evaluates all rules about a value and the values in it, in the order of their keys; a server
// has a random order. old is the value before an update, or nil.
func (r *ruleRun) evaluate(n *ruleNode, at *field.Path, value, old any, was correlation) {
	if n == nil || value == nil || r.ended {
		return
	}
	r.evaluateRules(n, at, value, old, was)
	for _, child := range n.allOf {
		r.evaluate(child, at, value, old, correlation{parent: was.parent})
	}
	switch value := value.(type) {
	case []any:
		before, _ := old.([]any)
		list := common.MakeMapList(&model.Structural{Structural: n.schema}, before)
		for i, item := range value {
			r.evaluate(n.items, at.Index(i), item, list.Get(item), was.index(i))
		}
	case map[string]any:
		before, _ := old.(map[string]any)
		keys := slices.Sorted(maps.Keys(value))
		for _, key := range keys {
			r.evaluate(n.additional, at.Key(key), value[key], before[key], was.key(key))
		}
		for _, key := range keys {
			r.evaluate(n.properties[key], at.Child(key), value[key], before[key], was.key(key))
		}
	}
}

// evaluateRules evaluates the rules of one node.
func (r *ruleRun) evaluateRules(n *ruleNode, at *field.Path, value, old any, was correlation) {
	n.once.Do(n.compile)
	switch {
	case n.failure != nil:
		r.invalid(at, n, fmt.Sprintf("rule compiler initialization error: %v", n.failure))
		return
	case len(n.rules) == 0:
		return
	case r.budget <= 0:
		r.end(at, n, celenv.ErrBudget.Error())
		return
	}
	input := celenv.NewRuleInput(&model.Structural{Structural: n.visible}, value, old)
	optional := input.Optional()
	for i := range n.rules {
		rule, in := &n.rules[i], input
		if rule.OptionalOldSelf != nil && *rule.OptionalOldSelf {
			in = optional
		}
		switch {
		case r.ended:
			return
		case rule.err != nil:
			r.invalid(at, n, fmt.Sprintf("rule compile error: %v", rule.err))
		case rule.condition == nil, rule.condition.ReadsOld && old == nil && in != optional:
		default:
			r.apply(n, rule, in, at, value, was)
		}
	}
}

// apply evaluates one rule.
func (r *ruleRun) apply(n *ruleNode, rule *rule, in *celenv.RuleInput, at *field.Path, value any, was correlation) {
	holds, cost, err := rule.condition.Holds(r.ctx, in)
	if r.budget -= cost; r.budget < 0 {
		r.end(at, n, celenv.ErrBudget.Error())
		return
	}
	switch {
	case err != nil && strings.HasPrefix(err.Error(), "no such overload"):
		r.invalid(at, n, fmt.Sprintf("'%v': call arguments did not match a supported operator, function or macro signature for rule: %s", err, rule.words()))
	case err != nil && strings.HasPrefix(err.Error(), limitExceeded):
		r.end(at, n, fmt.Sprintf("'%v': no further validation rules will be run due to call cost exceeds limit for rule: %s", err, rule.words()))
	case err != nil:
		r.invalid(at, n, fmt.Sprintf("%v evaluating rule: %s", err, rule.words()))
	case !holds:
		if rule.at != "" {
			at = at.Child(rule.at)
		}
		detail, final := r.detail(rule, in)
		problem := field.Invalid(at, n.schema.Type, detail)
		if !final {
			problem = n.violation(at, value, detail, rule)
		}
		if !rule.condition.ReadsOld && was.unchanged() {
			r.warnings = append(r.warnings, problem.Error())
		} else {
			r.problems = append(r.problems, problem)
		}
		r.ended = final
	}
}

const limitExceeded = "operation cancelled: actual cost limit exceeded"

// detail returns the message for a rule that does not hold. final says that no further rules are
// evaluated, because the message costs too much.
func (r *ruleRun) detail(rule *rule, in *celenv.RuleInput) (text string, final bool) {
	if rule.message != nil {
		text, cost, err := rule.message.Text(r.ctx, in)
		if cost > r.budget {
			return "messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run", true
		}
		if err != nil && strings.HasPrefix(err.Error(), limitExceeded) {
			return fmt.Sprintf("no further validation rules will be run due to call cost exceeds limit for messageExpression: %q", rule.MessageExpression), true
		}
		r.budget -= cost
		if text = strings.TrimSpace(text); err == nil && text != "" && len(text) <= limits.MaxEvaluatedMessageExpressionSizeBytes && !strings.Contains(text, "\n") {
			return text, false
		}
	}
	if rule.Message == "" {
		return "failed rule: " + rule.words(), false
	}
	return rule.words(), false
}

// words returns the text that names a rule in errors.
func (r *rule) words() string { return strings.TrimSpace(cmp.Or(r.Message, r.Rule)) }

// violation returns the error for a rule that does not hold.
func (n *ruleNode) violation(at *field.Path, value any, detail string, rule *rule) *field.Error {
	if n.schema.Type == "object" || n.schema.Type == "array" {
		value = field.OmitValueType{}
	}
	if rule.Reason == nil {
		return field.Invalid(at, value, detail)
	}
	switch *rule.Reason {
	case v1.FieldValueForbidden:
		return field.Forbidden(at, detail)
	case v1.FieldValueRequired:
		return field.Required(at, detail)
	case v1.FieldValueDuplicate:
		return field.Duplicate(at, value)
	}
	return field.Invalid(at, value, detail)
}

func (r *ruleRun) invalid(at *field.Path, n *ruleNode, text string) {
	r.problems = append(r.problems, field.Invalid(at, n.schema.Type, text))
}

func (r *ruleRun) end(at *field.Path, n *ruleNode, text string) {
	r.invalid(at, n, text)
	r.ended = true
}

// correlation says what a value was before an update: value is nil if that is not known, and parent is
// the nearest value around it for which it is.
type correlation struct{ value, parent *common.CorrelatedObject }

func (c correlation) key(name string) correlation {
	switch {
	case c.value == nil:
		return c
	case c.parent == nil && (name == "apiVersion" || name == "kind"):
		return correlation{} // both objects are converted to the same version
	}
	return correlation{c.value.Key(name), c.value}
}

func (c correlation) index(i int) correlation {
	if c.value == nil {
		return c
	}
	return correlation{c.value.Index(i), c.value}
}

// unchanged reports whether an error about a value is only a warning.
func (c correlation) unchanged() bool { return cmp.Or(c.value, c.parent).CachedDeepEqual() }

// fieldPath returns the field of a rule as errors show it, with its schema: .m['a.b'] is m[a.b]. It is empty
// if the field is not one of the schema; a server refuses such a definition.
func fieldPath(text string, s *structural.Structural) (string, *structural.Structural) {
	if text == "" {
		return "", nil
	}
	var at *field.Path
	for text != "" {
		var name string
		switch {
		case strings.HasPrefix(text, "."):
			end := strings.IndexAny(text[1:], ".[") + 1
			if end == 0 {
				end = len(text)
			}
			name, text = text[1:end], text[end:]
		case strings.HasPrefix(text, "['"):
			if name, text = quoted(text[2:]); !strings.HasPrefix(text, "]") {
				return "", nil
			}
			text = text[1:]
		default:
			return "", nil
		}
		property, ok := s.Properties[name]
		switch {
		case ok:
			s, at = &property, at.Child(name)
		case s.Properties == nil && s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil:
			s, at = s.AdditionalProperties.Structural, at.Key(name)
		default:
			return "", nil
		}
	}
	return at.String(), s
}

// quoted returns a text up to a quote, without its escapes, and what follows the quote.
func quoted(text string) (unquoted, rest string) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\'':
			return b.String(), text[i+1:]
		case text[i] == '\\' && i+1 < len(text):
			i++
			if c := strings.IndexByte("abfnrtv", text[i]); c >= 0 {
				b.WriteByte("\a\b\f\n\r\t\v"[c])
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return "", ""
}
