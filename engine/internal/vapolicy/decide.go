package vapolicy

import (
	"errors"
	"fmt"
	"strings"

	"github.com/preadmit/preadmit/engine/internal/admissionpolicy"
	"github.com/preadmit/preadmit/engine/internal/celenv"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// decision is that a validation does not hold, or that something failed.
type decision struct {
	// rule and index name the validation; index is zero if no single validation decides.
	rule            string
	index           int
	at              source.Position
	message, reason string
	// err is the error, if there was one.
	err error
	// failed means that an expression had an error, which the failurePolicy may ignore.
	failed bool
	// final means that the request is refused whatever the actions of the binding.
	final bool
}

// evaluation is the evaluation of an invocation on a request.
type evaluation struct {
	definition *definition
	to         *admissionpolicy.Application
	request    *policy.Request
	// object and old are the objects of the request in the version in which the policy matched.
	object, old map[string]any
	// reads notes what expressions read; it is usually nil.
	reads *celenv.Reads
}

// decide evaluates a policy. The result has the decisions that do not admit the object, in order,
// and the audit annotations of the policy.
func (i *invocation) decide(r *policy.Request) ([]decision, []policy.Annotation) {
	if _, failed := i.to.Decide(r); failed != nil {
		return []decision{failure("", 0, failed.At, failed.Err)}, nil
	}
	e, err := i.evaluation(r)
	if err != nil {
		d := failure("", 0, i.to.Policy.At, err)
		d.final = true
		return []decision{d}, nil
	}
	decisions, budget, exceeded := e.validate()
	if exceeded {
		return decisions, nil
	}
	decisions = e.compose(decisions, &budget)
	annotations, failures, exceeded := e.annotate()
	if exceeded {
		return failures, nil
	}
	return append(decisions, failures...), annotations
}

// evaluation prepares the evaluation of an invocation.
func (i *invocation) evaluation(r *policy.Request) (*evaluation, error) {
	object, err := convert(r.Object, r.Kind, i.to.Kind)
	old, oldErr := convert(r.OldObject, r.Kind, i.to.Kind)
	return &evaluation{definition: i.definition, to: i.to, request: r, object: object, old: old}, errors.Join(err, oldErr)
}

// failure returns the decision for an error.
func failure(rule string, index int, at source.Position, err error) decision {
	return decision{rule: rule, index: index, at: at, message: err.Error(), err: err, reason: reasons[0], failed: true}
}

// activate prepares the evaluation of a list of expressions. Each list evaluates variables anew.
func (e *evaluation) activate(unauthorized bool) *celenv.Activation {
	r := e.request
	input := e.to.Input(r, func() map[string]any {
		namespace, known, _ := r.NamespaceObject() // an error ends the request: see snapshot.Reader
		if !known {
			r.WarnAssumed(r.Namespace, e.to.Policy.At, "policy "+e.to.Policy.Name+" reads namespaceObject")
		}
		return namespace
	})
	input.Object, input.OldObject, input.Unauthorized, input.Reads = e.object, e.old, unauthorized, e.reads
	input.GoTypes = e.to.GoTypes(e.to.Reads(r, celenv.AsGo))
	return e.to.Policy.Scope.Activate(r.Context, input)
}

// validate evaluates all validations. The decisions have no messages yet. If the cost exceeds the
// budget, that is the only decision.
func (e *evaluation) validate() (decisions []decision, budget int64, exceeded bool) {
	activation := e.activate(false)
	budget = celenv.ValidationsBudget
	for n, v := range e.definition.validations {
		holds, err := activation.Bool(v.program, &budget)
		switch {
		case errors.Is(err, celenv.ErrBudget):
			return []decision{failure(v.rule, 0, v.at, err)}, 0, true
		case err != nil:
			decisions = append(decisions, failure(v.rule, n, v.at, err))
		case !holds:
			decisions = append(decisions, decision{rule: v.rule, index: n, at: v.at, reason: v.reason})
		}
	}
	return decisions, budget, false
}

// compose evaluates all messageExpressions, whether or not their validations hold, and fills in
// the messages of the decisions. If the cost exceeds the budget, every validation that did not
// fail counts as failed.
func (e *evaluation) compose(decisions []decision, budget *int64) []decision {
	composed := make([]string, len(e.definition.validations))
	var activation *celenv.Activation
	for n, v := range e.definition.validations {
		if v.compose == nil {
			continue
		}
		if activation == nil {
			activation = e.activate(true)
		}
		text, _, err := activation.Text(v.compose, budget)
		if errors.Is(err, celenv.ErrBudget) {
			return e.withoutMessages(decisions, fmt.Errorf("failed messageExpression: %w", err))
		}
		composed[n] = text // empty if it failed
	}
	for n := range decisions {
		if d := &decisions[n]; !d.failed {
			d.message = e.definition.validations[d.index].text(composed[d.index])
		}
	}
	return decisions
}

// withoutMessages returns the decisions if the messages exceed the budget.
func (e *evaluation) withoutMessages(decisions []decision, err error) []decision {
	failed := map[int]decision{}
	for _, d := range decisions {
		if d.failed {
			failed[d.index] = d
		}
	}
	var all []decision
	for n, v := range e.definition.validations {
		d, ok := failed[n]
		if !ok {
			d = failure(v.rule, n, v.at, err)
		}
		all = append(all, d)
	}
	return all
}

// maxMessage is the largest size of a composed message in bytes.
const maxMessage = 5 << 10

// text returns the message of a validation that does not hold. composed is the result of its
// messageExpression.
func (v *validation) text(composed string) string {
	composed = strings.TrimSpace(composed)
	switch {
	case composed != "" && len(composed) <= maxMessage && !strings.Contains(composed, "\n"):
		return composed
	case v.message != "":
		return v.message
	}
	return "failed expression: " + strings.TrimSpace(v.expression)
}

// annotate evaluates the audit annotations. If the cost exceeds the budget, that is the only
// decision of the policy.
func (e *evaluation) annotate() (annotations []policy.Annotation, failures []decision, exceeded bool) {
	if len(e.definition.annotations) == 0 {
		return nil, nil, false
	}
	activation := e.activate(true)
	budget := celenv.AnnotationsBudget
	for _, a := range e.definition.annotations {
		text, _, err := activation.Text(a.program, &budget)
		switch text = strings.TrimSpace(text); {
		case errors.Is(err, celenv.ErrBudget):
			return nil, []decision{failure(a.rule, 0, a.at, err)}, true
		case err != nil:
			d := failure(a.rule, 0, a.at, err)
			d.final = true
			failures = append(failures, d)
		case text != "":
			annotations = append(annotations, policy.Annotation{Key: a.key, Rule: a.rule, At: a.at, Value: text[:min(len(text), maxAnnotation)], Origin: e.to.Policy.Words().Origin(text), Combine: policy.JoinValues})
		}
	}
	return annotations, failures, false
}

// maxAnnotation is the largest size of an audit annotation in bytes; the rest is cut.
const maxAnnotation = 10 << 10
