package mutatingpolicy

import (
	"fmt"
	"time"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/celenv"
	"github.com/preadmit/preadmit/engine/internal/policydoc"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// exception is a PolicyException.
type exception struct {
	name       string
	reader     *policydoc.Reader
	refs       []policyRef
	conditions []policy.Node
	// images and values are allowed by the exception; without both, the exception skips the
	// policy.
	images, values []string
	// expires is the end of the exception, as written.
	expires policy.Node
}

// policyRef names a policy, in any namespace.
type policyRef struct{ kind, name string }

// boundException is an exception from one policy. Its conditions are compiled with the variables
// of the policy.
type boundException struct {
	exception  *exception
	conditions []condition
	// usesVariables says that a condition uses variables of the policy.
	usesVariables bool
}

// readException reads a PolicyException, and returns its problems; it returns nil if the exception has errors.
func readException(r *policydoc.Reader) (*exception, []source.Diagnostic) {
	if !checkVersion(r) {
		return nil, r.Problems
	}
	checkFields(r)
	spec := r.Root.At("spec")
	refs := spec.At("policyRefs")
	if len(refs.Items()) == 0 && !source.HasErrors(r.Problems) {
		r.Invalid(refs, "Invalid value: null: must specify at least one policy ref")
	}
	x := &exception{
		name: r.Document.Name(), reader: r, conditions: spec.At("matchConditions").Items(),
		images: spec.At("images").Texts(), values: spec.At("allowedValues").Texts(), expires: spec.At("expiresAt"),
	}
	for _, ref := range refs.Items() {
		for _, part := range []string{"name", "kind"} {
			if ref.At(part).Given() && ref.At(part).Text() == "" {
				r.Invalid(ref.At(part), "Invalid value: \"\": must specify policy %s", part)
			}
		}
		x.refs = append(x.refs, policyRef{ref.At("kind").Text(), ref.At("name").Text()})
	}
	if source.HasErrors(r.Problems) {
		return nil, r.Problems
	}
	return x, r.Problems
}

// isPartial reports whether the policy runs despite the exception.
func (x *exception) isPartial() bool { return len(x.images)+len(x.values) > 0 }

func (x *exception) at() source.Position {
	return x.reader.Document.At(change.Keys("metadata", "name"))
}

// reason returns the reason why a policy does not change an object with the exception.
func (x *exception) reason() policy.Excepted {
	return policy.Excepted{Name: x.name, Passes: x.reader.Root.At("spec", "reportResult").Text() == "pass"}
}

// link binds exceptions to the policies that they name. They are compiled once for each policy.
// broken are the policies that have errors.
func link(definitions []*definition, exceptions []*exception, broken map[policyRef]bool) []source.Diagnostic {
	var diagnostics []source.Diagnostic
	for _, x := range exceptions {
		before := len(x.reader.Problems)
		for i, ref := range x.refs {
			diagnostics = append(diagnostics, x.bind(i, ref, definitions, broken[ref])...)
		}
		diagnostics = append(diagnostics, x.reader.Problems[before:]...)
	}
	return diagnostics
}

// bind binds the exception to the policies that a ref names. found says that it names a policy that
// is not among the definitions.
func (x *exception) bind(index int, ref policyRef, definitions []*definition, found bool) []source.Diagnostic {
	for _, d := range definitions {
		if d.kind != ref.kind || d.name != ref.name {
			continue
		}
		found = true
		bound := boundException{exception: x}
		for _, n := range x.conditions {
			expression := n.At("expression")
			program := x.reader.Expression(expression, d.scope.Condition)
			bound.usesVariables = bound.usesVariables || program != nil && program.Mentions("variables")
			bound.conditions = append(bound.conditions, condition{name: n.At("name").Text(), program: program, at: x.reader.Document.At(expression.Path)})
		}
		if !source.HasErrors(x.reader.Problems) {
			d.exceptions = append(d.exceptions, bound)
		}
	}
	at := x.reader.Root.At("spec", "policyRefs").Items()[index]
	switch {
	case found || ref.kind != clusterKind && ref.kind != namespacedKind:
		return nil
	default:
		w := source.Warningf(x.reader.Document.At(at.Path), "exception-without-policy", "there is no %s %q, so the exception does nothing for it", source.Name(ref.kind), source.Name(ref.name)).
			With("give the policy as well, or correct the name")
		w.Subject, w.Field = x.reader.Subject, at.Path.String()
		return []source.Diagnostic{w}
	}
}

// excepted returns an exception that skips the policy for the object, or nil and what partial
// exceptions allow. Conditions have no variables: see exceptionVariables. An error before the
// first full exception is an error of the policy.
func (e *evaluation) excepted() (full *exception, allowed celenv.Exceptions, failed *stepError) {
	d := e.unit.policy
	if len(d.exceptions) == 0 {
		return nil, allowed, nil
	}
	activation := d.scope.Activate(e.request.Context, e.input(e.seen(e.object())))
	activation.HideVariables()
	for _, bound := range d.exceptions {
		notMet, failed := meets(activation, bound.conditions)
		x := bound.exception
		if failed != nil {
			if bound.usesVariables {
				failed.deviation = exceptionVariables
			}
			return nil, allowed, failed
		}
		if notMet != nil || e.hasExpired(x) {
			continue
		}
		if !x.isPartial() {
			return x, celenv.Exceptions{}, nil
		}
		allowed.Images, allowed.Values = append(allowed.Images, x.images...), append(allowed.Values, x.values...)
	}
	return nil, allowed, nil
}

// hasExpired reports whether an exception has expired. The current time comes from the user's
// values, because there is no clock.
func (e *evaluation) hasExpired(x *exception) bool {
	if !x.expires.Given() {
		return false
	}
	if now, err := e.world.Now(); err == nil {
		end, _ := time.Parse(time.RFC3339, x.expires.Text())
		return now.After(end)
	}
	e.request.Warn(source.Warningf(x.reader.Document.At(x.expires.Path), "exception-expires",
		"the PolicyException %s is taken not to have expired: it does at %s", source.Name(x.name), x.expires.Text()).
		With(fmt.Sprintf("give the time in the values, as the global value %q, or leave the exception out", nowValue)))
	return false
}
