package kyverno

import (
	"errors"
	"slices"

	"github.com/preadmit/preadmit/engine/internal/kyverno/deviation"
	"github.com/preadmit/preadmit/engine/internal/wildcard"
	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// exception is a PolicyException.
type exception struct {
	document *manifest.Document
	name     string
	rules    []exceptedRules
	// matchNamespace is for Namespaces, for which an exception has no namespaceSelector.
	match, matchNamespace filter
	spec                  policy.Node
}

// exceptedRules are the rules of one policy to which an exception applies.
type exceptedRules struct {
	policy string
	names  []string
	node   policy.Node
}

// exception reads a PolicyException.
func (r *reader) exception() *exception {
	x := &exception{document: r.doc.Document, name: r.doc.Document.Name(), spec: r.doc.Root.At("spec")}
	r.doc.Fields(r.doc.Root, []string{"apiVersion", "kind", "metadata", "spec"})
	if !r.doc.Fields(x.spec, []string{"background", "match", "conditions", "exceptions", "podSecurity", "images", "values"}) {
		return x
	}
	for _, n := range r.doc.List(x.spec.At("exceptions")) {
		if r.doc.Fields(n, []string{"policyName", "ruleNames"}) {
			x.rules = append(x.rules, exceptedRules{n.At("policyName").Text(), r.doc.Strings(n.At("ruleNames")), n})
		}
	}
	r.filter(x.spec.At("match"), true)
	r.conforms(x.spec.At("match"), typeAt("rules", "match"))
	r.exceptionConditions(x.spec.At("conditions"))
	x.match, x.matchNamespace = readFilter(x.spec.At("match")), readFilter(x.spec.At("match"))
	for _, b := range slices.Concat(x.match.blocks(), x.matchNamespace.blocks()) {
		b.operations = nil // see operationsIgnored
	}
	for _, b := range x.matchNamespace.blocks() {
		b.nsSelector = nil
	}
	return x
}

// exceptionConditions checks the conditions of an exception, which have no deprecated forms.
func (r *reader) exceptionConditions(n policy.Node) {
	if !n.Given() || !r.doc.Fields(n, []string{"any", "all"}) {
		return
	}
	r.conditions(n)
	for _, item := range conditionsIn(n) {
		if operator := item.At("operator"); slices.Contains([]string{"Equal", "NotEqual", "In", "NotIn"}, operator.Text()) {
			r.doc.Advise(operator.Path, "policy-invalid", "an exception cannot have the operator "+operator.Text(), "expected "+operatorNames)
		}
	}
}

// unused reports policies and rules that an exception names but that are not in the input.
func (x *exception) unused(definitions []*definition) []source.Diagnostic {
	r := newReader(x.document)
	for _, named := range x.rules {
		found := matching(definitions, func(d *definition) bool { return d.key() == named.policy })
		if len(found) == 0 {
			r.noPolicy(named.node.At("policyName"), "exception-without-policy", "the exception has no effect", namesOf(definitions))
			continue
		}
		for _, name := range named.node.At("ruleNames").Items() {
			if !found[0].broken && !found[0].hasRule(name.Text()) {
				r.unknown(name, "exception-without-policy", "policy "+named.policy+" has no rule %q, so the exception has no effect", found[0].written)
			}
		}
	}
	return r.doc.Problems
}

// concerns reports whether the exception applies to a rule.
func (x *exception) concerns(r *rule) bool {
	for _, named := range x.rules {
		if named.policy == r.policy.key() && slices.ContainsFunc(named.names, func(name string) bool { return wildcard.Match(name, r.name) }) {
			return true
		}
	}
	return false
}

// check reports that Kyverno does not compare the operations of an exception.
func (x *exception) check() []source.Diagnostic {
	r := newReader(x.document)
	for _, n := range conditionsIn(x.spec.At("match")) {
		if operations := n.At("resources", "operations"); operations.Given() {
			r.doc.Note(operations, source.Warning, deviation.Code, operationsIgnored.String(), operationsIgnored.Advice)
		}
	}
	return r.doc.Problems
}

// excepted returns the name of an exception that prevents a rule, or "". An exception selects by the object before the
// policy, and does not apply if its conditions cannot be evaluated.
func (e *evaluation) excepted(r *rule, s *scope) (string, error) {
	candidate := e.candidate(e.original)
	for _, x := range e.program.exceptions {
		match := x.match
		if candidate.kind == namespaceKind {
			match = x.matchNamespace
		}
		if !x.concerns(r) || e.matchFilter(match, candidate, true) != "" {
			continue
		}
		switch reason, err := s.check(r, x.spec.At("conditions")); {
		case errors.As(err, new(crash)), errors.As(err, new(*limit.Error)), errors.As(err, new(*notGiven)):
			return "", err
		case err == nil && reason == "":
			return x.name, nil
		}
	}
	return "", nil
}
