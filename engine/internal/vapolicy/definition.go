package vapolicy

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"

	"github.com/preadmit/preadmit/engine/internal/admissionpolicy"
	"github.com/preadmit/preadmit/engine/internal/celenv"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// definition is a compiled ValidatingAdmissionPolicy.
type definition struct {
	policy      *admissionpolicy.Policy
	validations []validation
	annotations []annotation
}

// shared returns the part of a definition that all policies have.
func (d *definition) shared() **admissionpolicy.Policy { return &d.policy }

type validation struct {
	node policy.Node
	// rule is the name of the validation in the policy.
	rule       string
	expression string
	program    *celenv.Program
	message    string
	// compose is the compiled messageExpression, or nil without one.
	compose *celenv.Program
	reason  string
	at      source.Position
}

type annotation struct {
	rule, key, expression string
	program               *celenv.Program
	at                    source.Position
}

const (
	maxAnnotations = 20
	maxValueBytes  = 5 << 10
	neither        = "validations or auditAnnotations must contain at least one item"
)

// reasons are the reasons of a refusal. The first is the default.
var reasons = []string{"Invalid", "Forbidden", "RequestEntityTooLarge"}

// readDefinition reads a policy, in the order in which the server checks it.
func readDefinition(r *admissionpolicy.Reader) *definition {
	spec := r.Doc.Root.At("spec")
	d := &definition{policy: r.Policy(r.ParamKind)}
	validations, annotations := spec.At("validations"), spec.At("auditAnnotations")
	if len(validations.Items()) == 0 && len(annotations.Items()) == 0 {
		r.Doc.Required(validations, neither)
		r.Doc.Required(annotations, neither)
		return d
	}
	for i, item := range validations.Items() {
		d.validations = append(d.validations, readValidation(r, item, fmt.Sprintf("validations[%d]", i), d.policy.Scope))
	}
	d.readAnnotations(r, annotations)
	return d
}

func readValidation(r *admissionpolicy.Reader, n policy.Node, rule string, scope *celenv.Scope) validation {
	expression, message, compose, reason := n.At("expression"), n.At("message"), n.At("messageExpression"), n.At("reason")
	v := validation{node: n, rule: rule, expression: expression.Text(), message: strings.TrimSpace(message.Text()), reason: reasons[0], at: r.Doc.Document.At(n.Path)}
	if strings.TrimSpace(v.expression) == "" {
		r.Doc.Required(expression, "expression is not specified")
	} else {
		v.program = r.Doc.Expression(expression, scope.Validation)
	}
	if text := compose.Text(); text != "" && strings.TrimSpace(text) == "" {
		r.Doc.Invalid(compose, "Invalid value: %q: must be non-empty if specified", text)
	} else if text != "" {
		v.compose = r.Doc.Expression(compose, scope.Message)
	}
	switch text := message.Text(); {
	case text != "" && v.message == "":
		r.Doc.Invalid(message, "Invalid value: %q: must be non-empty if specified", text)
	case strings.Contains(v.message, "\n"):
		r.Doc.Invalid(message, "Invalid value: %q: must not contain line breaks", text)
	}
	if reason.Given() {
		if v.reason = reason.Text(); !slices.Contains(reasons, v.reason) {
			r.Doc.Unsupported(reason, "Forbidden", "Invalid", "RequestEntityTooLarge")
		}
	}
	return v
}

func (d *definition) readAnnotations(r *admissionpolicy.Reader, n policy.Node) {
	items := n.Items()
	if len(items) > maxAnnotations {
		r.Doc.Invalid(n, "Invalid value: %s: must not have more than %d auditAnnotations", listed(items), maxAnnotations)
	}
	seen := map[string]bool{}
	for i, item := range items {
		key, value := item.At("key"), item.At("valueExpression")
		a := annotation{rule: fmt.Sprintf("auditAnnotations[%d]", i), key: d.policy.Name + "/" + key.Text(), expression: value.Text(), at: r.Doc.Document.At(item.Path)}
		for _, problem := range content.IsLabelKey(a.key) {
			r.Doc.Invalid(key, "Invalid value: %q: %s", a.key, problem)
		}
		if seen[key.Text()] {
			r.Doc.Invalid(key, "Duplicate value: %q", key.Text())
		}
		seen[key.Text()] = true
		switch text := value.Text(); {
		case strings.TrimSpace(text) == "":
			r.Doc.Required(value, "valueExpression is not specified")
		case len(text) > maxValueBytes:
			r.Doc.Required(value, fmt.Sprintf("must not exceed %d bytes in length", maxValueBytes))
		default:
			a.program = r.Doc.Expression(value, d.policy.Scope.AuditAnnotation)
		}
		d.annotations = append(d.annotations, a)
	}
}

// listed returns annotations as the server prints them in errors.
func listed(items []policy.Node) string {
	var texts []string
	for _, item := range items {
		texts = append(texts, fmt.Sprintf(`{"Key":%q,"ValueExpression":%q}`, item.At("key").Text(), item.At("valueExpression").Text()))
	}
	return "[" + strings.Join(texts, ",") + "]"
}
