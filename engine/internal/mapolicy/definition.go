package mapolicy

import (
	"fmt"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/admissionpolicy"
	"github.com/preadmit/preadmit/engine/internal/celenv"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// definition is a compiled MutatingAdmissionPolicy.
type definition struct {
	policy      *admissionpolicy.Policy
	reinvocable bool // reinvocationPolicy IfNeeded
	// replay is the mutationValidationPolicy of a draft, in lower case.
	replay    string
	mutations []mutation
}

// shared returns the part of a definition that all policies have.
func (d *definition) shared() *admissionpolicy.Policy { return d.policy }

type mutation struct {
	// rule is the name of the mutation in the policy.
	rule      string
	patchType string
	program   *celenv.Program
	at        source.Position
	// once says that the mutation of a draft does not run again with its policy.
	once  bool
	draft *draftMutation // nil for a mutation in the form of servers
	// leaves are the facts that the mutation does not change an object, by the view of its forms.
	leaves [celenv.Views]change.Fact
}

// The values of patchType.
const (
	applyConfiguration = "ApplyConfiguration"
	jsonPatch          = "JSONPatch"
)

// definition reads a policy, in the order in which the server checks it.
func (l *Language) definition(r *reader) *definition {
	spec := r.Root.At("spec")
	d := &definition{policy: r.Policy(r.ParamKind)}
	d.mutations = r.mutations(spec.At("mutations"), d.policy.Scope)
	d.reinvocable = r.reinvocationPolicy(spec.At("reinvocationPolicy"))
	return d
}

func (r *reader) reinvocationPolicy(n policy.Node) (ifNeeded bool) {
	switch n.Text() {
	case "":
		r.Required(n, "")
	case "Never":
	case "IfNeeded":
		return true
	default:
		r.Unsupported(n, "IfNeeded", "Never")
	}
	return false
}

func (r *reader) mutations(n policy.Node, scope *celenv.Scope) []mutation {
	if len(n.Items()) == 0 {
		r.Required(n, "mutations must contain at least one item")
	}
	var mutations []mutation
	for _, item := range n.Items() {
		mutations = append(mutations, r.serverMutation(item, scope))
	}
	nameRules(mutations)
	return mutations
}

// nameRules names mutations by their indexes.
func nameRules(mutations []mutation) {
	for n := range mutations {
		mutations[n].rule = fmt.Sprintf("mutations[%d]", n)
	}
}

// serverMutation reads a mutation in the form of servers.
func (r *reader) serverMutation(item policy.Node, scope *celenv.Scope) mutation {
	patchType := item.At("patchType")
	m := mutation{patchType: patchType.Text(), at: r.Document.At(item.Path)}
	switch m.patchType {
	case "":
		r.Required(patchType, "")
	case applyConfiguration:
		m.program = r.mutation(item, "applyConfiguration", "jsonPatch", m.patchType, scope.ApplyConfiguration)
	case jsonPatch:
		m.program = r.mutation(item, "jsonPatch", "applyConfiguration", m.patchType, scope.JSONPatch)
	default:
		r.Unsupported(patchType, applyConfiguration, jsonPatch)
	}
	return m
}

// mutation reads the member of a mutation for its patchType; the other member must be absent.
func (r *reader) mutation(item policy.Node, member, other, patchType string, compile func(string) (*celenv.Program, error)) *celenv.Program {
	var program *celenv.Program
	switch expression := item.At(member).At("expression"); {
	case !item.At(member).Given():
		r.Required(item.At(member), "must be specified when patchType is "+patchType)
	case strings.TrimSpace(expression.Text()) == "":
		r.Required(expression, "")
	default:
		program = r.Expression(expression, compile)
	}
	if item.At(other).Given() {
		r.Invalid(item.At(other), "Invalid value: \"{%s}\": must not be specified when patchType is %s", other, patchType)
	}
	return program
}
