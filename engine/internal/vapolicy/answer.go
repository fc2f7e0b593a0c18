package vapolicy

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"github.com/preadmit/preadmit/engine/internal/celenv"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// Steps implements policy.Invocation: one step for each decision, and one for the annotations of
// the policy. If every validation holds, there is one step without a result.
func (i *invocation) Steps(r *policy.Request) iter.Seq[policy.Step] {
	return func(yield func(policy.Step) bool) {
		decisions, annotations := i.decide(r)
		said := policy.Step{ID: i.to.ID, At: i.definition.policy.At, Annotations: annotations}
		if !yield(said) {
			return
		}
		for _, d := range decisions {
			if !yield(i.answer(r, d)) {
				return
			}
		}
	}
}

// answer returns what the actions of the binding make of a decision.
func (i *invocation) answer(r *policy.Request, d decision) policy.Step {
	step := policy.Step{ID: i.to.ID, At: d.at}
	step.ID.Rule = d.rule
	refuse := func(ignored bool) {
		err := d.err
		if err == nil {
			err = policy.FalseError(d.message)
		}
		f := refused(r, i.to.Deny(err), d.reason)
		f.ID, f.At, f.Ignored = step.ID, d.at, ignored
		step.Failure = &f
	}
	if d.failed && i.definition.policy.Ignore {
		refuse(true)
		return step
	}
	if d.final || slices.Contains(i.actions, deny) {
		refuse(false)
	}
	if d.final {
		return step
	}
	if slices.Contains(i.actions, warn) {
		text := fmt.Sprintf("Validation failed for ValidatingAdmissionPolicy '%s' with binding '%s': %s", i.to.ID.Policy, i.to.ID.Binding, d.message)
		step.Warnings = []source.Span{{Text: text, Origin: i.to.Policy.Words().Origin(d.message)}}
	}
	if slices.Contains(i.actions, audit) {
		step.Annotations = []policy.Annotation{i.audit(d)}
	}
	return step
}

// Evidence implements policy.Witness.
func (i *invocation) Evidence(r *policy.Request, rule string) policy.Evidence {
	e, err := i.evaluation(r)
	if err != nil {
		return policy.Evidence{}
	}
	e.reads = &celenv.Reads{}
	for _, v := range i.definition.validations {
		if v.rule == rule {
			_, _ = e.activate(false).Bool(v.program, nil) // its result is known
			return policy.Evidence{Expression: v.expression, Reads: e.reads.Values()}
		}
	}
	for _, a := range i.definition.annotations {
		if a.rule == rule {
			_, _, _ = e.activate(true).Text(a.program, nil) // its result is known
			return policy.Evidence{Expression: a.expression, Reads: e.reads.Values()}
		}
	}
	return policy.Evidence{}
}

// audit returns the annotation for a validation that does not hold.
func (i *invocation) audit(d decision) policy.Annotation {
	value, _ := json.Marshal([]struct { // its fields always have a JSON form
		Message           string   `json:"message"`
		Policy            string   `json:"policy"`
		Binding           string   `json:"binding"`
		ExpressionIndex   int      `json:"expressionIndex"`
		ValidationActions []string `json:"validationActions"`
	}{{d.message, i.to.ID.Policy, i.to.ID.Binding, d.index, i.actions}})
	a := policy.Annotation{Key: "validation.policy.admission.k8s.io/validation_failure", Rule: d.rule, At: d.at, Value: string(value), Origin: i.to.Policy.Words().Origin(d.message)}
	if i.minor >= listsFailuresSince {
		a.Combine = policy.JoinLists
	}
	return a
}

// listsFailuresSince is the first minor version whose servers annotate all failures of a request;
// before, they annotate the first.
const listsFailuresSince = 37

// refused returns a failure with the words in which a server names the object.
func refused(r *policy.Request, f policy.Failure, reason string) policy.Failure {
	resource := r.Kind.Resource
	if r.Kind.Group != "" {
		resource += "." + r.Kind.Group
	}
	f.Err, f.Status = source.Messagef("%s %q is forbidden: %v", source.Name(resource), source.Name(r.Name), f.Err), reason
	return f
}
