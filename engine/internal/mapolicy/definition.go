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
func (d *definition) shared() **admissionpolicy.Policy { return &d.policy }

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
func (l *Language) definition(r *admissionpolicy.Reader) *definition {
	spec := r.Doc.Root.At("spec")
	d := &definition{policy: r.Policy(r.ParamKind)}
	d.mutations = readMutations(r, spec.At("mutations"), d.policy.Scope)
	d.reinvocable = readReinvocation(r, spec.At("reinvocationPolicy"))
	return d
}

func readReinvocation(r *admissionpolicy.Reader, n policy.Node) (ifNeeded bool) {
	switch n.Text() {
	case "":
		r.Doc.Unchosen(n, "Never", "IfNeeded")
	case "Never":
	case "IfNeeded":
		return true
	default:
		r.Doc.Unsupported(n, "IfNeeded", "Never")
	}
	return false
}

func readMutations(r *admissionpolicy.Reader, n policy.Node, scope *celenv.Scope) []mutation {
	if len(n.Items()) == 0 {
		r.Doc.Required(n, "mutations must contain at least one item")
	}
	var mutations []mutation
	for _, item := range n.Items() {
		mutations = append(mutations, readMutation(r, item, scope))
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

// readMutation reads a mutation in the form of servers.
func readMutation(r *admissionpolicy.Reader, item policy.Node, scope *celenv.Scope) mutation {
	patchType := item.At("patchType")
	m := mutation{patchType: patchType.Text(), at: r.Doc.Document.At(item.Path)}
	switch m.patchType {
	case "":
		r.Doc.Unchosen(patchType, applyConfiguration, jsonPatch)
	case applyConfiguration:
		m.program = readMember(r, item, "applyConfiguration", "jsonPatch", m.patchType, scope.ApplyConfiguration)
	case jsonPatch:
		m.program = readMember(r, item, "jsonPatch", "applyConfiguration", m.patchType, scope.JSONPatch)
	default:
		r.Doc.Unsupported(patchType, applyConfiguration, jsonPatch)
	}
	return m
}

// readMember reads the member of a mutation for its patchType; the other member must be absent.
func readMember(r *admissionpolicy.Reader, item policy.Node, member, other, patchType string, compile func(string) (*celenv.Program, error)) *celenv.Program {
	var program *celenv.Program
	switch expression := item.At(member).At("expression"); {
	case !item.At(member).Given():
		r.Doc.Required(item.At(member), "must be specified when patchType is "+patchType)
	case strings.TrimSpace(expression.Text()) == "":
		r.Doc.Required(expression, "")
	default:
		program = r.Doc.Expression(expression, compile)
	}
	if item.At(other).Given() {
		r.Doc.Invalid(item.At(other), "Invalid value: \"{%s}\": must not be specified when patchType is %s", other, patchType)
	}
	return program
}
