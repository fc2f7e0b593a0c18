package mutatingpolicy

import (
	"cmp"
	"maps"
	"sync"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/celenv"
	"github.com/preadmit/preadmit/engine/internal/match"
	"github.com/preadmit/preadmit/engine/internal/policydoc"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// definition is a compiled policy.
type definition struct {
	kind, name string
	// namespace is the namespace of a NamespacedMutatingPolicy, which applies only there.
	namespace string
	document  *manifest.Document
	words     func() source.Words // of the document
	at        source.Position

	// off is the reason why the policy does nothing; "" if it does something.
	off    string
	ignore bool // failurePolicy Ignore
	// serverSideApply says that an ApplyConfiguration may replace atomic values.
	serverSideApply bool
	constraints     *match.Resources
	scope           *celenv.Scope
	conditions      []condition
	mutations       []mutation
	annotations     []annotation
	exceptions      []boundException
	targets         *targets // nil: it changes only what it matches
	// units are the kinds that the policy matches, and the controllers to which Kyverno extends
	// it.
	units []*unit
	// inServer are the conditions, if the API server evaluates them and they use namespaceObject.
	inServer []condition
	// selectors identifies a webhook that several policies share; "" if the policy has its own
	// webhook. twice says that the webhook is called twice: see runsTwice.
	selectors string
	twice     bool
}

// key identifies a policy: "namespace/name" or "name".
func (d *definition) key() string {
	if d.namespace != "" {
		return d.namespace + "/" + d.name
	}
	return d.name
}

func (d *definition) id() policy.ID { return policy.ID{Kind: d.kind, Policy: d.key()} }

type condition struct {
	name    string
	program *celenv.Program
	at      source.Position
	// asksOperation: see policy.FalseCondition.
	asksOperation bool
}

type mutation struct {
	index     int
	patchType string
	program   *celenv.Program
	at        source.Position
}

// annotation is an audit annotation, which can make its policy fail.
type annotation struct {
	key     string
	program *celenv.Program
	at      source.Position
}

// The values of patchType.
const (
	applyConfiguration = "ApplyConfiguration"
	jsonPatch          = "JSONPatch"
)

// unlinked returns a copy of a policy, to which exceptions can be bound.
func (d *definition) unlinked() *definition {
	one := *d
	one.units = make([]*unit, len(d.units))
	for i, u := range d.units {
		copied := *u
		if copied.policy = &one; u.runs == d {
			copied.runs = &one
		}
		one.units[i] = &copied
	}
	return &one
}

// definition reads a policy; it returns nil if the policy has errors.
func (l *Language) definition(r *policydoc.Reader) *definition {
	checkFields(r)
	if source.HasErrors(r.Problems) {
		return nil
	}
	var err error
	spec := r.Root.At("spec")
	d := &definition{kind: r.Document.Kind().Kind, name: r.Name(), document: r.Document}
	d.words = sync.OnceValue(func() source.Words { return source.WordsOf(d.document.Object()) })
	d.at = r.Document.At(r.Root.At("metadata", "name").Path)
	if d.kind == namespacedKind {
		d.namespace = cmp.Or(r.Document.Namespace(), l.namespace)
	}
	d.ignore = spec.At("failurePolicy").Text() == "Ignore"
	d.serverSideApply = isTrue(spec.At("evaluation", "useServerSideApply"), false)
	checkReinvocation(r, spec.At("reinvocationPolicy"))
	d.constraints = constraints(r, spec.At("matchConstraints"))
	d.scope = l.environment(d.kind).Scope(false)
	d.variables(r, spec.At("variables"))
	d.conditions = conditions(r, spec.At("matchConditions"), d.scope)
	d.targets = readTargets(r, spec, d.scope)
	d.annotations = annotations(r, spec.At("auditAnnotations"), d.scope)
	d.mutations = mutations(r, spec.At("mutations"), d.scope)
	if !source.HasErrors(r.Problems) {
		d.off = d.disabled(r, spec)
	}
	if source.HasErrors(r.Problems) {
		return nil
	}
	if d.units, err = l.makeUnits(d, spec); err != nil && d.off == "" {
		d.off = "Kyverno cannot compile its version for controllers, and has no policy then: " + err.Error()
		r.Note(spec.At("mutations"), source.Warning, "policy-not-mutating", "the policy changes nothing: "+d.off, autogenTexts.Advice)
	}
	l.webhook(d, spec)
	r.Problems = append(r.Problems, d.refusedByKyverno(spec)...)
	return d
}

func isTrue(n policy.Node, byDefault bool) bool {
	if value, ok := n.Value.(bool); ok {
		return value
	}
	return byDefault
}

// checkReinvocation checks the reinvocationPolicy, which has no effect: see settingsIgnored.
func checkReinvocation(r *policydoc.Reader, n policy.Node) {
	if n.Given() && n.Text() != "" && n.Text() != "IfNeeded" && n.Text() != "Never" {
		r.Unsupported(n, "IfNeeded", "Never")
	}
}

// constraints reads a match block. Kyverno requires it to have rules. matchPolicy has no effect: see
// settingsIgnored.
func constraints(r *policydoc.Reader, n policy.Node) *match.Resources {
	if len(n.At("resourceRules").Items()) == 0 {
		r.Required(n, "a matchConstraints with at least one resource rule is required")
		return nil
	}
	if resources(r, n) == nil {
		return nil
	}
	equivalent := maps.Clone(n.Object())
	delete(equivalent, "matchPolicy")
	return resources(r, policy.Node{Value: equivalent, Path: n.Path})
}

func resources(r *policydoc.Reader, n policy.Node) *match.Resources {
	resources, problems := match.Kyverno.Parse(n.Value)
	r.Matched(n, problems)
	return resources
}

func (d *definition) variables(r *policydoc.Reader, n policy.Node) {
	for _, item := range n.Items() {
		expression := item.At("expression")
		r.Compiled(expression, d.scope.Variable(item.At("name").Text(), expression.Text()))
	}
}

func conditions(r *policydoc.Reader, n policy.Node, scope *celenv.Scope) []condition {
	var read []condition
	for _, item := range n.Items() {
		expression := item.At("expression")
		read = append(read, condition{item.At("name").Text(), r.Expression(expression, scope.Condition), r.Document.At(expression.Path), policy.AsksOperation(expression.Text())})
	}
	return read
}

func annotations(r *policydoc.Reader, n policy.Node, scope *celenv.Scope) []annotation {
	var read []annotation
	for _, item := range n.Items() {
		expression := item.At("valueExpression")
		read = append(read, annotation{item.At("key").Text(), r.Expression(expression, scope.Annotation), r.Document.At(expression.Path)})
	}
	return read
}

// mutations reads mutations. Kyverno ignores a mutation with an unknown patchType, and one
// without the member for its patchType.
func mutations(r *policydoc.Reader, n policy.Node, scope *celenv.Scope) []mutation {
	var read []mutation
	for i, item := range n.Items() {
		m := mutation{index: i, patchType: item.At("patchType").Text(), at: r.Document.At(item.Path)}
		switch m.patchType {
		case applyConfiguration:
			m.program = patch(r, item, "applyConfiguration", m.patchType, scope.ApplyConfiguration)
		case jsonPatch:
			m.program = patch(r, item, "jsonPatch", m.patchType, scope.JSONPatch)
		default:
			r.Unsupported(item.At("patchType"), applyConfiguration, jsonPatch)
		}
		read = append(read, m)
	}
	return read
}

func patch(r *policydoc.Reader, item policy.Node, member, patchType string, compile func(string) (*celenv.Program, error)) *celenv.Program {
	expression := item.At(member, "expression")
	if expression.Text() == "" {
		r.Required(expression, "must be specified when patchType is "+patchType)
		return nil
	}
	return r.Expression(expression, compile)
}

// disabled returns the reason why the policy does nothing, and reports it.
func (d *definition) disabled(r *policydoc.Reader, spec policy.Node) string {
	evaluation := spec.At("evaluation")
	existing := isTrue(evaluation.At("mutateExisting", "enabled"), false)
	why, at := "", evaluation.At("admission", "enabled")
	switch {
	case isTrue(r.Root.At("status", "generated"), false):
		why, at = "its status says that a MutatingAdmissionPolicy has taken its place", r.Root.At("status", "generated")
	case !isTrue(at, true) && !existing:
		r.Advise(evaluation.Path, "policy-invalid", "Forbidden: disabling both admission and mutateExisting evaluation modes is not allowed", "")
		return ""
	case !isTrue(at, true):
		why = "evaluation.admission is not enabled"
	case spec.At("targetMatchConstraints").Given() && !existing:
		why, at = "it has targetMatchConstraints, but evaluation.mutateExisting is not enabled", spec.At("targetMatchConstraints")
	case len(d.mutations) == 0:
		why, at = "it has no mutations", spec.At("mutations")
	default:
		return ""
	}
	r.Note(at, source.Warning, "policy-not-mutating", "the policy changes nothing: "+why, "")
	return why
}

// refusedByKyverno warns about a policy that Kyverno accepts only with a command-line flag.
func (d *definition) refusedByKyverno(spec policy.Node) []source.Diagnostic {
	if d.namespace == "" || !d.usesHTTP() {
		return nil
	}
	w := source.Warningf(d.document.At(spec.Path), "policy-needs-flag", "http.* is not allowed in namespaced policies; set --allowHTTPInNamespacedPolicies to enable").
		With("that is a flag of Kyverno's admission controller; without it Kyverno refuses the policy")
	w.Subject, w.Field = d.kind+" "+d.key(), spec.Path.String()
	return []source.Diagnostic{w}
}

// programs returns all programs of the policy.
func (d *definition) programs() []*celenv.Program {
	var all []*celenv.Program
	for _, c := range d.conditions {
		all = append(all, c.program)
	}
	for _, m := range d.mutations {
		all = append(all, m.program)
	}
	for _, a := range d.annotations {
		all = append(all, a.program)
	}
	if d.targets != nil {
		all = append(all, d.targets.programs()...)
	}
	return append(all, d.scope.Variables()...)
}

func (d *definition) mentions(name string) bool {
	for _, p := range d.programs() {
		if p.Mentions(name) {
			return true
		}
	}
	return false
}

// reads returns what the functions of the policy look up.
func (d *definition) reads() []policy.Read {
	var reads []policy.Read
	for _, p := range d.programs() {
		for _, c := range p.Calls("resource") {
			read := policy.Read{Kind: policy.AnyKind, By: d.id(), At: d.at}
			if text := c.Literals(4); (c.Function == "Get" || c.Function == "List") && text[0] != "" && text[1] != "" {
				kind := gvk.Parse(text[0], "")
				read.Resource = gvk.Resource{Group: kind.Group, Version: kind.Version, Resource: text[1]}
				if read.Namespace = cmp.Or(d.namespace, text[2]); c.Function == "Get" {
					read.Name = text[3]
				}
			}
			reads = append(reads, read)
		}
		for _, c := range p.Calls("globalContext") {
			for _, version := range entryVersions {
				reads = append(reads, policy.Read{Kind: gvk.Kind{Group: entryGroup, Version: version, Kind: entryKind}, Name: c.Literals(1)[0], By: d.id(), At: d.at})
			}
			reads = append(reads, policy.Read{Kind: policy.AnyKind, By: d.id(), At: d.at})
		}
		if len(p.Calls("resource")) == 0 && p.Mentions("resource") { // such as a variable with its name
			reads = append(reads, policy.Read{Kind: policy.AnyKind, By: d.id(), At: d.at})
		}
	}
	return reads
}

func (d *definition) usesHTTP() bool { return d.mentions("http") }
