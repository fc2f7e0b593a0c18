package mapolicy

import (
	"errors"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/admissionpolicy"
	"github.com/preadmit/preadmit/engine/internal/celenv"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// A draft is a policy in a proposed form that no server accepts:
//
//	KEP-3775        mutations[].expression with condition, message, reason and
//	                reinvocationPolicy, which gives JSONPatch, null, true or false
//	early KEP-3962  mutations[].patchType with expression beside it, paramKind with group
//	                and version, mutationValidationPolicy
//
// A document is a draft if its apiVersion is v1alpha1, as in the proposals, if it has at least
// one of these fields, and if a server would accept its other fields. Every other document is
// checked as servers check it: an unknown field is refused in the server's words, whatever else
// the document has.

// draftMutation has the parts of a mutation that only drafts have.
type draftMutation struct {
	// source is the expression as written; rewritten is the compiled expression.
	source    policy.Node
	rewritten rewriting
	// condition decides whether the mutation applies; nil if it always applies.
	condition     *celenv.Program
	conditionText string
	// message and reason describe the denial of a request by the mutation.
	message, reason string
}

// draftFields are the fields of mutations that only drafts have.
var draftFields = []string{"expression", "condition", "message", "reason", "reinvocationPolicy"}

// isDraft reports whether the document is a draft.
func (l *Language) isDraft(r *admissionpolicy.Reader) bool {
	kind := r.Doc.Document.Kind()
	if kind.Version != "v1alpha1" || kind.Kind != "MutatingAdmissionPolicy" {
		return false
	}
	object := r.Doc.Document.Object()
	found := false
	take := func(from map[string]any, names ...string) {
		for _, name := range names {
			if _, ok := from[name].(string); ok {
				delete(from, name)
				found = true
			}
		}
	}
	spec, _ := object["spec"].(map[string]any)
	take(spec, "mutationValidationPolicy")
	paramKind, _ := spec["paramKind"].(map[string]any)
	take(paramKind, "group", "version")
	mutations, _ := spec["mutations"].([]any)
	for _, item := range mutations {
		mutation, _ := item.(map[string]any)
		take(mutation, draftFields...)
	}
	return found && len(l.schemas.Lookup(kind).Type().Check(object)) == 0
}

// draftAdvice returns advice about a field that servers do not know, but that a draft may have.
func draftAdvice(path change.Path) string {
	if last := len(path) - 1; last == 3 && path[1].Key == "mutations" && path[last].Key == "expression" {
		return "servers want it in applyConfiguration or jsonPatch; it is the form of a proposal, which preadmit accepts in v1alpha1, if everything else is as servers require"
	}
	return ""
}

// proposal names the proposal whose form a draft has.
func proposal(r *admissionpolicy.Reader) string {
	for _, item := range r.Doc.Root.At("spec").At("mutations").Items() {
		if item.At("expression").Given() && !item.At("patchType").Given() {
			return "KEP-3775"
		}
	}
	return "an early version of KEP-3962"
}

// draft reads a draft.
func (l *Language) draft(r *admissionpolicy.Reader) *definition {
	spec := r.Doc.Root.At("spec")
	r.Doc.Problems = append(r.Doc.Problems, source.Warningf(r.Doc.Document.At(change.Keys("apiVersion")), "policy-draft",
		"%s is in the form of %s, which no API server accepts", source.Name(r.Doc.Subject), proposal(r)).
		With("preadmit convert prints it in the form of "+group+"/v1, where there is one"))

	d := &definition{policy: r.Policy(func(n policy.Node) gvk.Kind { return draftParamKind(r, n) })}
	d.reinvocable = draftReinvocation(r, spec.At("reinvocationPolicy"), false)
	d.replay = validationPolicy(r, spec.At("mutationValidationPolicy"))
	d.mutations = readDraftMutations(r, spec.At("mutations"), d)
	return d
}

// draftParamKind reads a paramKind of group, version and kind.
func draftParamKind(r *admissionpolicy.Reader, n policy.Node) gvk.Kind {
	version := n.At("version")
	if !version.Given() || n.At("apiVersion").Given() {
		if version.Given() || n.At("group").Given() {
			r.Doc.Invalid(n, "Invalid value: give either apiVersion and kind, or group, version and kind")
		}
		return r.ParamKind(n)
	}
	kind := gvk.Kind{Group: n.At("group").Text(), Version: version.Text(), Kind: n.At("kind").Text()}
	r.ParamKind(policy.Node{Path: n.Path, Value: map[string]any{"apiVersion": kind.APIVersion(), "kind": kind.Kind}})
	return kind
}

// draftReinvocation reads a reinvocationPolicy; inherited is its default.
func draftReinvocation(r *admissionpolicy.Reader, n policy.Node, inherited bool) bool {
	if n.Text() == "" {
		return inherited
	}
	return readReinvocation(r, n)
}

// validationPolicy reads what should happen if a draft changes its own output again.
func validationPolicy(r *admissionpolicy.Reader, n policy.Node) string {
	switch n.Text() {
	case "", "Fail", "Warn", "Skip":
		return strings.ToLower(n.Text())
	default:
		r.Doc.Unsupported(n, "Fail", "Warn", "Skip")
		return ""
	}
}

func readDraftMutations(r *admissionpolicy.Reader, n policy.Node, d *definition) []mutation {
	if len(n.Items()) == 0 {
		r.Doc.Required(n, "mutations must contain at least one item")
	}
	specWide := d.reinvocable
	var mutations []mutation
	for _, item := range n.Items() {
		var m mutation
		if item.At("expression").Given() {
			m = readDraftMutation(r, item, d.policy.Scope)
		} else {
			m = readMutation(r, item, d.policy.Scope)
		}
		m.once = !draftReinvocation(r, item.At("reinvocationPolicy"), specWide)
		d.reinvocable = d.reinvocable || !m.once
		mutations = append(mutations, m)
	}
	nameRules(mutations)
	return mutations
}

// readDraftMutation reads a mutation whose expression is next to its patchType.
func readDraftMutation(r *admissionpolicy.Reader, item policy.Node, scope *celenv.Scope) mutation {
	draft := &draftMutation{source: item.At("expression"), message: item.At("message").Text(), reason: item.At("reason").Text()}
	m := mutation{patchType: jsonPatch, at: r.Doc.Document.At(item.Path), draft: draft}
	compile := scope.DraftPatch
	switch patchType := item.At("patchType"); patchType.Text() {
	case "", jsonPatch:
	case applyConfiguration:
		m.patchType, compile = applyConfiguration, scope.DraftObject
	default:
		r.Doc.Unsupported(patchType, applyConfiguration, jsonPatch)
	}
	for _, member := range []string{"applyConfiguration", "jsonPatch"} {
		if item.At(member).Given() {
			r.Doc.Invalid(item.At(member), "Invalid value: must not be specified beside expression")
		}
	}
	if strings.TrimSpace(draft.source.Text()) == "" {
		r.Doc.Required(draft.source, "")
		return m
	}
	draft.rewritten, m.program = readDraftExpression(r, draft.source, compile)
	if condition := item.At("condition"); strings.TrimSpace(condition.Text()) != "" {
		draft.conditionText = condition.Text()
		draft.condition = r.Doc.Expression(condition, scope.Guard)
	}
	return m
}

// readDraftExpression compiles an expression in the form of servers. Positions of errors refer to
// the expression as written.
func readDraftExpression(r *admissionpolicy.Reader, n policy.Node, compile func(string) (*celenv.Program, error)) (rewriting, *celenv.Program) {
	rewritten := rewrite(n.Text())
	program, err := compile(rewritten.text)
	var e *celenv.CompileError
	if errors.As(err, &e) {
		moved := *e
		moved.Offset = rewritten.original(e.Offset)
		err = &moved
	}
	r.Doc.Compiled(n, err)
	return rewritten, program
}
