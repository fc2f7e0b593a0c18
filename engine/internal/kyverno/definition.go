package kyverno

import (
	"cmp"
	"slices"
	"sync/atomic"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/policydoc"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// definition is one ClusterPolicy or Policy.
type definition struct {
	document *manifest.Document
	name     string
	// namespace is the namespace of a Policy, which applies only there; empty for a
	// ClusterPolicy.
	namespace string
	rules     []*rule
	// written are the names of all rules that the user wrote, including rules that do not
	// mutate.
	written []string
	// ignore says that errors do not deny requests. one says that only the first rule that
	// changes an object counts.
	ignore, one bool
	// expressions are those of the rules that the user wrote.
	expressions []compiledExpression
	// broken says that the policy has errors, so it has no rules and perhaps not all names.
	broken bool
	spec   policy.Node
}

// key identifies a policy: "namespace/name" or "name".
func (d *definition) key() string {
	if d.namespace != "" {
		return d.namespace + "/" + d.name
	}
	return d.name
}

func (d *definition) id() policy.ID { return policy.ID{Kind: d.document.Kind().Kind, Policy: d.key()} }

// rule is one mutate rule, written by the user or generated for pod controllers.
type rule struct {
	policy *definition
	name   string
	ident  policy.ID
	// root is the rule as written. A generated rule has the path of the rule from which it was
	// generated.
	root policy.Node
	// generated says that the rule was generated for pod controllers.
	generated      bool
	match, exclude filter
	matchPath      change.Path
	// mutation, context and preconditions are parts of root; foreach and patch are parts of mutation.
	mutation, context, preconditions, foreach policy.Node
	patch                                     patch
	targets                                   []policy.Node
	// others are the parts outside the patch whose variables Kyverno replaces with those of the patch.
	others []policy.Node
	// asksOperation says that the operation may decide whether the rule applies.
	asksOperation bool
	// idle returns the step of a patch that changes nothing, and patchAt the position of the patch.
	idle    func() policy.Step
	patchAt func() source.Position
	// outside is the last step that was skipped because the rule does not match.
	outside atomic.Pointer[unmatched]
}

// unmatched is the step of a rule that does not match, for a reason.
type unmatched struct {
	reason string
	step   policy.Step
}

// newRule returns a rule of a policy, which is not compiled.
func newRule(d *definition, name string, root policy.Node) *rule {
	r := &rule{policy: d, name: name, root: root, ident: d.id()}
	r.ident.Rule = "rule " + name
	return r
}

func (r *rule) id() policy.ID { return r.ident }

// at returns the position of a part of the rule. A generated part has the position of the part
// it was generated from.
func (r *rule) at(path change.Path) source.Position { return r.policy.document.At(path) }

// definition reads a policy. namespace is the default namespace of a Policy.
func (r *reader) definition(namespace string) *definition {
	d := &definition{document: r.doc.Document, name: r.doc.Name()}
	if r.doc.Document.Kind().Kind == "Policy" {
		d.namespace = cmp.Or(r.doc.Document.Namespace(), namespace)
	}
	spec := r.doc.Root.At("spec")
	d.ignore = r.failurePolicy(spec).Text() == "Ignore"
	d.one = spec.At("applyRules").Text() == "One"
	d.spec = spec
	written := r.rules(spec.At("rules"), d)
	for _, w := range written {
		r.rule(w)
	}
	t := policydoc.MutatingType()
	if slices.ContainsFunc(spec.At("rules").Items(), isOther) {
		t = policydoc.TypeOf("ClusterPolicy")
	}
	r.conforms(r.doc.Root, t)
	if source.HasErrors(r.doc.Problems) {
		return d
	}
	if len(written) == 0 {
		r.doc.Note(spec.At("rules"), source.Info, "policy-not-mutating", "the policy has no mutate rule, so it changes nothing", "")
		return d
	}
	d.rules, d.expressions = autogen(d, spec, written), r.compiled
	for _, compiled := range d.rules {
		compiled.compile()
	}
	r.refused(d, spec)
	return d
}

// failurePolicy returns the failure policy: the field in webhookConfiguration wins over the
// older field.
func (r *reader) failurePolicy(spec policy.Node) policy.Node {
	found := spec.At("failurePolicy")
	webhook := spec.At("webhookConfiguration")
	if conditions := webhook.At("matchConditions"); len(conditions.Items()) > 0 {
		r.doc.Advise(conditions.Path, "policy-invalid", "conditions of the webhook in CEL are not evaluated", "say the same with match and preconditions of the rules")
	}
	if own := webhook.At("failurePolicy"); own.Given() {
		return own
	}
	return found
}

// rules reads the rules that mutate, and reports the others.
func (r *reader) rules(n policy.Node, d *definition) []*rule {
	var written []*rule
	var others []policy.Node
	names := map[string]bool{}
	for _, n := range n.Items() {
		name := r.doc.String(n.At("name"))
		if name == "" {
			r.doc.Missing(n.At("name"), "the field is required", "")
		} else if names[name] {
			r.doc.Invalid(n.At("name"), "there are two rules with this name")
		}
		names[name] = true
		d.written = append(d.written, name)
		if n.At("mutate").Given() {
			written = append(written, newRule(d, name, n))
		} else if otherKind(n) != "" {
			others = append(others, n)
		} else {
			r.idle(n, "rule "+name+" of policy "+d.key()+" does nothing")
		}
	}
	if len(written) == 0 { // the policy is reported as a whole
		return nil
	}
	for _, n := range others {
		r.doc.Report(source.Notef(r.doc.Document.At(n.Path), "rule-not-mutating", "rule %s of policy %s is a %s rule, which does not change objects, so it is ignored",
			source.Name(n.At("name").Text()), source.Name(d.key()), source.Literal(otherKind(n))), n.Path)
	}
	return written
}

// idle reports a rule that does nothing. It may have misspelt its block.
func (r *reader) idle(n policy.Node, text string) {
	const advice = "give it a mutate block"
	d := source.Diagnostic{Severity: source.Error, Code: "policy-invalid", Message: text, Advice: advice}
	d.At = r.doc.Document.At(n.Path)
	for _, key := range sortedKeys(n.Object()) {
		if near := source.Misspelt(key, []string{"mutate", "validate", "generate", "verifyImages"}); near != "" {
			meant := source.Meant(key, near)
			meant.Text += " Or " + advice
			d = d.AdvisedAt(r.doc.Document.Key(n.Path.Key(key)), meant)
		}
	}
	r.doc.Report(d, n.Path)
}

// otherKind returns the kind of a rule that does not mutate; "" if it has none.
func otherKind(n policy.Node) string {
	for _, kind := range []string{"validate", "generate", "verifyImages"} {
		if n.At(kind).Given() {
			return kind
		}
	}
	return ""
}

// rule checks a rule as the user wrote it.
func (r *reader) rule(w *rule) {
	n := w.root
	r.filter(n.At("match"), true)
	r.filter(n.At("exclude"), false)
	r.context(n.At("context"))
	r.conditions(n.At("preconditions"))
	m := n.At("mutate")
	for _, t := range m.At("targets").Items() {
		if t.At("kind").Text() == "" {
			r.doc.Invalid(t.At("kind"), "the field is required")
		}
		r.context(t.At("context"))
		r.conditions(t.At("preconditions"))
		r.expressions(t)
	}
	switch count(m, "foreach", "patchStrategicMerge", "patchesJson6902", "overlay", "patches") {
	case 0:
		r.doc.Advise(m.Path, "policy-invalid", "the mutate block is empty", "give it patchStrategicMerge, patchesJson6902 or foreach")
	case 1:
	default:
		r.doc.Advise(m.Path, "policy-invalid", "the mutate block has more than one kind of patch, of which Kyverno would use one", "split the rule")
	}
	r.patches(m)
	for _, entry := range withEntries(m)[1:] {
		r.foreach(entry)
	}
}

// count returns how many of some fields are given.
func count(n policy.Node, keys ...string) int {
	given := 0
	for _, key := range keys {
		if n.Has(key) {
			given++
		}
	}
	return given
}

// patches checks the patches of a mutate block or of an entry of foreach.
func (r *reader) patches(n policy.Node) {
	for _, key := range []string{"patchStrategicMerge", "overlay"} {
		patch := n.At(key)
		if !patch.Given() {
			continue
		}
		if _, ok := patch.Value.(map[string]any); !ok {
			r.doc.Invalid(patch, "expected a map")
			continue
		}
		r.anchors(patch, key == "overlay")
		r.expressions(patch)
	}
	for _, key := range []string{"patchesJson6902", "patches"} {
		r.jsonPatch(n.At(key))
	}
}

// foreach checks an entry of foreach.
func (r *reader) foreach(n policy.Node) {
	if n.At("list").Text() == "" {
		r.doc.Advise(n.At("list").Path, "policy-invalid", "expected a JMESPath expression", "for instance request.object.spec.containers")
	} else {
		r.expression(n.At("list"), n.At("list").Text(), 0)
	}
	r.context(n.At("context"))
	r.conditions(n.At("preconditions"))
	if _, isList := n.At("preconditions").Value.([]any); isList {
		r.doc.Advise(n.At("preconditions").Path, "policy-invalid", "a list is not possible here", "put the conditions below all:")
	}
	if count(n, "patchStrategicMerge", "patchesJson6902", "foreach") != 1 {
		r.doc.Advise(n.Path, "policy-invalid", "expected exactly one of patchStrategicMerge, patchesJson6902 and foreach", "")
	}
	r.patches(n)
	r.doc.List(n.At("foreach"))
	r.conforms(n, typeAt("rules", "mutate", "foreach")) // which it does not describe in another one
}
