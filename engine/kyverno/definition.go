package kyverno

import (
	"cmp"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// definition is one ClusterPolicy or Policy.
type definition struct {
	document *manifest.Document
	name     string
	// namespace is that of a Policy, to which it is confined; empty for a
	// ClusterPolicy.
	namespace string
	rules     []*rule
	// ignore says that errors must not deny requests; one, that the first rule that
	// changes an object is the last.
	ignore, one bool
}

// key tells policies apart: "namespace/name" or "name".
func (d *definition) key() string {
	if d.namespace != "" {
		return d.namespace + "/" + d.name
	}
	return d.name
}

// rule is one mutate rule, written by the user or generated for pod controllers.
type rule struct {
	*definition
	name string
	// root is the rule as written; that of a generated rule has the path of the rule
	// it was generated from.
	root           node
	match, exclude filter
	targets        []node
}

func (r *rule) id() policy.ID { return policy.ID{Policy: r.key(), Rule: "rule " + r.name} }

// at is where something in the rule stands; for what was generated, what it was
// generated from.
func (r *rule) at(path change.Path) source.Position { return r.document.At(path) }

func (r *rule) mutate() node { return r.root.at("mutate") }

// definition reads a policy. namespace is that of a Policy that names none.
func (r *reader) definition(namespace string) *definition {
	d := &definition{document: r.document, name: r.document.Name()}
	if r.document.Kind().Kind == "Policy" {
		d.namespace = cmp.Or(r.document.Namespace(), namespace)
	}
	r.fields(r.root, []string{"apiVersion", "kind", "metadata", "spec", "status"})
	spec := r.root.at("spec")
	if !r.fields(spec, specFields) {
		return d
	}
	d.ignore = spec.at("failurePolicy").text() == "Ignore"
	d.one = spec.at("applyRules").text() == "One"
	r.choice(spec.at("failurePolicy"), "Ignore", "Fail")
	r.choice(spec.at("applyRules"), "All", "One")
	if conditions := spec.at("webhookConfiguration", "matchConditions"); len(conditions.items()) > 0 {
		r.advise(conditions.path, "policy-invalid", "conditions of the webhook in CEL are not evaluated", "say the same with match and preconditions of the rules")
	}
	written := r.rules(spec.at("rules"), d)
	for _, w := range written {
		r.rule(w)
	}
	if source.HasErrors(r.problems) {
		return d
	}
	if len(written) == 0 {
		r.note(spec.at("rules"), source.Warning, "policy-not-mutating", "policy "+d.key()+" has no mutate rule, so it changes nothing")
	}
	d.rules = autogen(d, spec, written)
	for _, compiled := range d.rules {
		compiled.compile()
	}
	return d
}

// rules reads the rules that mutate, and lists the others.
func (r *reader) rules(n node, d *definition) []*rule {
	var written []*rule
	names := map[string]bool{}
	for _, n := range r.list(n) {
		if !r.fields(n, ruleFields) {
			continue
		}
		name := r.string(n.at("name"))
		if name == "" {
			r.invalid(n.at("name"), "the field is required")
		} else if names[name] {
			r.invalid(n.at("name"), "there are two rules with this name")
		}
		names[name] = true
		if n.at("mutate").given() {
			written = append(written, &rule{definition: d, name: name, root: n})
		} else {
			r.notOurs(n, "rule "+name+" of policy "+d.key())
		}
	}
	return written
}

// choice reports a string that is none of those allowed.
func (r *reader) choice(n node, allowed ...string) {
	if n.given() && !slices.Contains(allowed, n.text()) {
		r.advise(n.path, "policy-invalid", "the value is not known", "expected "+strings.Join(allowed, " or "))
	}
}

// notOurs lists a rule that does not mutate.
func (r *reader) notOurs(n node, name string) {
	for _, kind := range []string{"validate", "generate", "verifyImages"} {
		if n.at(kind).given() {
			r.note(n, source.Info, "rule-not-mutating", name+" is a "+kind+" rule, which does not change the object, so it is left alone")
			return
		}
	}
	r.advise(n.path, "policy-invalid", name+" does nothing", "give it a mutate block")
}

// rule checks a rule as the user wrote it.
func (r *reader) rule(w *rule) {
	n := w.root
	r.filter(n.at("match"), true)
	if n.at("exclude").given() {
		r.filter(n.at("exclude"), false)
	}
	r.context(n.at("context"))
	r.conditions(n.at("preconditions"))
	m := n.at("mutate")
	if !r.fields(m, mutateFields) {
		return
	}
	for _, t := range r.list(m.at("targets")) {
		r.fields(t, targetFields)
		if t.at("kind").text() == "" {
			r.invalid(t.at("kind"), "the field is required")
		}
		r.context(t.at("context"))
		r.conditions(t.at("preconditions"))
		r.expressions(t)
	}
	given := 0
	for _, key := range []string{"foreach", "patchStrategicMerge", "patchesJson6902", "overlay", "patches"} {
		if m.at(key).given() {
			given++
		}
	}
	if given == 0 {
		r.advise(m.path, "policy-invalid", "the mutate block is empty", "give it patchStrategicMerge, patchesJson6902 or foreach")
	} else if given > 1 {
		r.advise(m.path, "policy-invalid", "the mutate block has more than one kind of patch, of which Kyverno would use one", "split the rule")
	}
	r.patches(m)
	for _, entry := range r.list(m.at("foreach")) {
		r.foreach(entry)
	}
}

// patches checks the patches of a mutate block or of an entry of foreach.
func (r *reader) patches(n node) {
	for _, key := range []string{"patchStrategicMerge", "overlay"} {
		patch := n.at(key)
		if !patch.given() {
			continue
		}
		if _, ok := patch.value.(map[string]any); !ok {
			r.invalid(patch, "expected a map")
			continue
		}
		r.anchors(patch, key == "overlay")
		r.expressions(patch)
	}
	for _, key := range []string{"patchesJson6902", "patches"} {
		r.jsonPatch(n.at(key))
	}
}

// foreach checks an entry of foreach.
func (r *reader) foreach(n node) {
	if !r.fields(n, foreachFields) {
		return
	}
	if n.at("list").text() == "" {
		r.advise(n.at("list").path, "policy-invalid", "expected a JMESPath expression", "for instance request.object.spec.containers")
	} else {
		r.expression(n.at("list"), n.at("list").text(), 0)
	}
	r.choice(n.at("order"), "Ascending", "Descending")
	r.context(n.at("context"))
	r.conditions(n.at("preconditions"))
	if _, isList := n.at("preconditions").value.([]any); isList {
		r.advise(n.at("preconditions").path, "policy-invalid", "a list is not possible here", "put the conditions below all:")
	}
	given := 0
	for _, key := range []string{"patchStrategicMerge", "patchesJson6902", "foreach"} {
		if n.at(key).given() {
			given++
		}
	}
	if given != 1 {
		r.advise(n.path, "policy-invalid", "expected exactly one of patchStrategicMerge, patchesJson6902 and foreach", "")
	}
	r.patches(n)
	for _, entry := range r.list(n.at("foreach")) {
		r.foreach(entry)
	}
}
