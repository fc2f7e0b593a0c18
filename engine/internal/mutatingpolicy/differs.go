package mutatingpolicy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/validate/content"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/lazyregexp"
	"github.com/preadmit/preadmit/engine/internal/match"
	"github.com/preadmit/preadmit/engine/internal/policydoc"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// The effects of Kyverno v1.19.0's deviations depend on the object. Where one is possible,
// Kyverno's way is evaluated as well, and the results are compared.

// differences are the possible deviations of Kyverno v1.19.0 for a policy.
type differences struct {
	// rewritten returns the policies that Kyverno's autogen generates for controllers.
	rewritten func() (map[string]*unit, error)
	// equivalent are the constraints of the webhook for a policy with matchPolicy Exact; nil if
	// they do not differ from the policy's.
	equivalent *match.Resources
	// inServer are the conditions, if the API server evaluates them and they use
	// namespaceObject.
	inServer []condition
	// selectors identifies a webhook that several policies share; "" if the policy has its own
	// webhook. twice says that the webhook is called twice.
	selectors string
	twice     bool
	// strict says that the policy is Kyverno's version of another policy: what fails in v1.19.0
	// is an error.
	strict bool
}

// differences finds the possible deviations of Kyverno v1.19.0 for a policy.
func (l *Language) differences(d *definition, spec policy.Node) differences {
	var found differences
	if len(d.units) > 1 {
		found.rewritten = sync.OnceValues(func() (map[string]*unit, error) { return l.rewrite(d, spec) })
	}
	block := spec.At("matchConstraints")
	exact := block.At("matchPolicy").Text() == "Exact"
	if exact {
		equivalent := maps.Clone(block.Object())
		delete(equivalent, "matchPolicy")
		found.equivalent, _ = match.Kyverno.Parse(equivalent)
	}
	own := exact || spec.At("webhookConfiguration", "timeoutSeconds").Given()
	if inServer := l.inServer(d, spec.At("matchConditions")); inServer != nil {
		own = true
		if slices.ContainsFunc(d.conditions, func(c condition) bool { return c.program.Mentions("namespaceObject") }) {
			found.inServer = inServer
		}
	}
	if !own {
		found.selectors = fmt.Sprintf("%s %s %s", d.kind, manifest.JSON(block.At("namespaceSelector").Value), manifest.JSON(block.At("objectSelector").Value))
	}
	return found
}

// inServer compiles conditions as an API server does for webhooks. It returns nil if there are
// no conditions, or if the server would reject one: then Kyverno evaluates them.
func (l *Language) inServer(d *definition, n policy.Node) []condition {
	var compiled []condition
	scope := l.server.Scope(false)
	for i, item := range n.Items() {
		program, err := scope.Condition(item.At("expression").Text())
		if err != nil || len(content.IsLabelKey(item.At("name").Text())) > 0 {
			return nil
		}
		compiled = append(compiled, condition{name: item.At("name").Text(), program: program, at: d.conditions[i].at})
	}
	return compiled
}

// markShared finds policies that share a webhook with policies of the other failurePolicy.
// Kyverno calls that webhook twice, once for Fail and once for Ignore, and runs all its policies
// each time.
func markShared(definitions []*definition) {
	ignoring := map[string]map[bool]bool{}
	for _, d := range definitions {
		if d.differs.selectors != "" {
			if ignoring[d.differs.selectors] == nil {
				ignoring[d.differs.selectors] = map[bool]bool{}
			}
			ignoring[d.differs.selectors][d.ignore] = true
		}
	}
	for _, d := range definitions {
		d.differs.twice = len(ignoring[d.differs.selectors]) > 1
	}
}

// differ warns that Kyverno v1.19.0 deviates.
func differ(d *definition, r *policy.Request, at source.Position, does, instead, advice string) {
	r.Warn(source.Warningf(at, "kyverno-differs", "policy %s: %s; Kyverno 1.19.0 %s", d.key(), does, instead).With(advice))
}

func (e *evaluation) differ(at source.Position, does, instead, advice string) {
	differ(e.unit.policy, e.request, at, does, instead, advice)
}

// fails describes the effect of an error in Kyverno v1.19.0.
func (d *definition) fails(err error) string {
	if d.ignore {
		return "fails, and does not change the object: " + err.Error()
	}
	return "fails, and denies the request: " + err.Error()
}

// compareExact warns if matchPolicy Exact excludes a request that Kyverno v1.19.0 accepts.
func (l *Language) compareExact(d *definition, r *policy.Request) {
	if d.differs.equivalent == nil {
		return
	}
	if decision := l.matches(d, d.differs.equivalent, r); decision.Matched && decision.Kind != r.Kind {
		differ(d, r, d.at, "matchPolicy Exact keeps it from objects of "+r.Kind.APIVersion(), "lets it have them, converted to "+decision.Kind.APIVersion(), "")
	}
}

// compareConditions compares conditions with their results in an API server, which has no
// namespaceObject for conditions of webhooks.
func (e *evaluation) compareConditions(notMet *unmet, failed *stepError) {
	d := e.unit.policy
	if d.differs.inServer == nil {
		return
	}
	input := e.input(e.seen(e.object()))
	input.Namespace = nil
	_, theirs := meets(e.language.server.Scope(false).Activate(e.request.Context, input), d.differs.inServer)
	if theirs != nil && failed == nil {
		does := "its matchConditions are true"
		if notMet != nil {
			does = fmt.Sprintf("matchConditions[%d] is false", notMet.index)
		}
		e.differ(theirs.at, does, "has the API server evaluate them, where namespaceObject is null: it "+d.fails(theirs.err),
			"use a namespaceSelector, or a variable in the condition, which keeps it from the API server")
	}
}

// compareException compares an exception with its effect in Kyverno v1.19.0, which evaluates its
// conditions without the variables of the policy.
func (e *evaluation) compareException(x boundException, notMet *unmet, failed *stepError) {
	d := e.unit.policy
	if d.differs.strict {
		return
	}
	activation := d.scope.Activate(e.request.Context, e.input(e.standIn(d, nil).seen(e.object())))
	activation.HideVariables()
	if _, theirs := meets(activation, x.conditions); theirs != nil && failed == nil {
		does := "PolicyException " + x.exception.name + " applies"
		if notMet != nil {
			does = "PolicyException " + x.exception.name + " does not apply"
		}
		e.differ(theirs.at, does, d.fails(theirs.err), "say the same in the condition without variables")
	}
}

// differNull warns about an audit annotation that is null.
func (e *evaluation) differNull(a annotation) *stepError {
	err := fmt.Errorf("failed to convert auditAnnotation %q expression: unsupported type conversion to 'string'", a.key)
	if e.unit.policy.differs.strict {
		return &stepError{err: err, at: a.at, mutation: -1}
	}
	e.differ(a.at, fmt.Sprintf("the audit annotation %q is null and left out", a.key), e.unit.policy.fails(err), `give "" in place of null`)
	return nil
}

// compareNeedless warns about errors in arguments of orValue that are not needed.
func (e *evaluation) compareNeedless() *stepError {
	d := e.unit.policy
	if len(e.world.needless) == 0 {
		return nil
	}
	err := e.world.needless[0]
	if d.differs.strict {
		return &stepError{err: err, at: d.at, mutation: -1}
	}
	e.differ(d.at, "the argument of orValue is not needed", "evaluates it anyway: it "+d.fails(err), "write a condition: x.hasValue() ? x.value() : y")
	return nil
}

// compareSelf warns if conditions exclude a target and the policy has no targetMatchConstraints:
// Kyverno v1.19.0 does not evaluate the conditions for targets.
func (e *evaluation) compareSelf() {
	d := e.unit.policy
	theirs := e.standIn(d.plain(), e.unit.template)
	theirs.activation = d.scope.Activate(e.request.Context, theirs.input(e.object()))
	result, failed := theirs.result()
	if failed == nil && !change.Equal(result, e.object()) {
		e.differ(d.at, "its matchConditions keep it from the target", "does not look at them for targets, and changes it", "say the same in targetMatchConditions")
	}
}

// plain returns a copy of the policy without differences.
func (d *definition) plain() *definition {
	copied := *d
	copied.differs = differences{strict: true}
	return &copied
}

// standIn returns an evaluation of another policy on the same object.
func (e *evaluation) standIn(d *definition, template []string) *evaluation {
	copied := *e
	copied.unit = &unit{policy: d, constraints: e.unit.constraints, autogen: e.unit.autogen, template: template}
	copied.world = newWorld(&copied)
	return &copied
}

// result returns the object after the mutations.
func (e *evaluation) result() (map[string]any, *stepError) {
	object := e.object()
	steps, failed := e.mutate()
	for _, step := range steps {
		if step.Object != nil {
			object = step.Object
		}
	}
	return object, failed
}

// decided returns the object after the policy, including its conditions.
func (e *evaluation) decided() (map[string]any, *stepError) {
	notApplied, failed := e.applies()
	if failed != nil || notApplied != nil {
		return e.object(), failed
	}
	return e.result()
}

// compare compares the result of the policy with the result of Kyverno v1.19.0.
func (e *evaluation) compare(result map[string]any, failed *stepError) {
	d := e.unit.policy
	if d.differs.rewritten != nil {
		e.compareRewritten(result, failed)
	}
	if d.differs.twice && failed == nil && !change.Equal(result, e.object()) {
		e.compareTwice(result)
	}
}

// compareTwice runs the policy on its own result.
func (e *evaluation) compareTwice(result map[string]any) {
	d := e.unit.policy
	again := e.standIn(d.plain(), e.unit.template)
	request := *e.request
	request.Object = result
	again.request = &request
	if twice, failed := again.decided(); failed == nil && !change.Equal(twice, result) {
		paths := change.Diff(result, twice, e.kind.Type())
		e.differ(d.at, "it runs once", "runs it once for policies with failurePolicy Fail, and again for those with Ignore: after that, "+change.Summary(paths),
			"give all policies with these selectors the same failurePolicy, or make the patch of a kind that changes nothing the second time")
	}
}

// compareRewritten compares policies that Kyverno extends to controllers.
func (e *evaluation) compareRewritten(result map[string]any, failed *stepError) {
	d := e.unit.policy
	const advice = "write a policy of its own for the controllers, and set autogen.podControllers.controllers to []"
	units, err := d.differs.rewritten()
	if err != nil {
		if failed == nil && !change.Equal(result, e.object()) {
			e.differ(d.at, "it changes the object", "does not run it at all, because it cannot compile its version for controllers: "+err.Error(), advice)
		}
		return
	}
	if e.unit.autogen == "" {
		return
	}
	theirs, theirFailure := e.standIn(units[e.unit.autogen].policy, nil).decided()
	what := "it also applies to pod controllers"
	switch {
	case theirFailure != nil && failed == nil:
		e.differ(theirFailure.at, what, "replaces texts in its expressions, and "+d.fails(theirFailure.err), advice)
	case theirFailure == nil && failed != nil:
		e.differ(failed.at, what, "replaces texts in its expressions, and does not fail", advice)
	case theirFailure == nil && !change.Equal(theirs, result):
		changes := change.Diff(result, theirs, e.kind.Type())
		e.differ(d.at, what, "replaces texts in its expressions, and makes another object: "+change.Summary(changes), advice)
	}
}

// rewrite returns the policies that Kyverno v1.19.0 generates for controllers.
func (l *Language) rewrite(d *definition, spec policy.Node) (map[string]*unit, error) {
	units := map[string]*unit{}
	for _, u := range d.units {
		if u.autogen == "" {
			continue
		}
		copied := d.plain()
		r := policydoc.New(d.document)
		copied.scope = l.environment(d.kind).Scope(false)
		copied.variables(r, spec.At("variables"))
		copied.conditions = conditions(r, rewriteTexts(spec.At("matchConditions"), u.template, "expression"), copied.scope)
		copied.mutations = mutations(r, rewriteTexts(spec.At("mutations"), u.template, "applyConfiguration", "expression"), copied.scope)
		copied.annotations = annotations(r, spec.At("auditAnnotations"), copied.scope)
		if len(r.Problems) > 0 {
			first, _, _ := strings.Cut(r.Problems[0].Message, "\n")
			return nil, fmt.Errorf("%s: %s", r.Problems[0].Field, first)
		}
		units[u.autogen] = &unit{policy: copied, constraints: u.constraints, autogen: u.autogen}
	}
	return units, nil
}

// rewriteTexts returns a list in whose items the text at a path is rewritten.
func rewriteTexts(n policy.Node, template []string, path ...string) policy.Node {
	list, _ := change.Clone(n.Value).([]any)
	for _, item := range list {
		of, _ := item.(map[string]any)
		of = at(of, path[:len(path)-1])
		last := path[len(path)-1]
		if text, ok := of[last].(string); ok {
			of[last] = rewriteText(text, template)
		}
	}
	return policy.Node{Value: list, Path: n.Path}
}

var (
	specText     = lazyregexp.New(`\b(object|oldObject|Object)\.spec`)
	metadataText = lazyregexp.New(`\b(object|oldObject|Object)\.metadata\.(labels|annotations)`)
)

// rewriteText rewrites an expression as Kyverno v1.19.0 does for pod controllers.
func rewriteText(text string, template []string) string {
	path := strings.Join(template, ".")
	text = specText().ReplaceAllString(text, "${1}."+path+".spec")
	text = metadataText().ReplaceAllString(text, "${1}."+path+".metadata.${2}")
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), "Object")
	rest, isLiteral := strings.CutPrefix(strings.TrimLeft(rest, " \t\r\n"), "{")
	end := closingBrace(rest)
	if !ok || !isLiteral || end <= 0 {
		return text
	}
	open, name := "Object{", "Object"
	for _, part := range template {
		name += "." + part
		open += part + ": " + name + "{"
	}
	return open + rest[:end] + strings.Repeat("}", len(template)+1) + rest[end+1:]
}

// closingBrace returns the index of the closing brace for an opening brace before the text. It
// only counts braces.
func closingBrace(text string) int {
	depth := 1
	for i, c := range text {
		switch c {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return 0
}
