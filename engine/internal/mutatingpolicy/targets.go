package mutatingpolicy

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/celenv"
	"github.com/preadmit/preadmit/engine/internal/match"
	"github.com/preadmit/preadmit/engine/internal/policydoc"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// targets describes the objects that a policy with evaluation.mutateExisting changes after an
// object that it matches was admitted.
type targets struct {
	// isExplicit says that the policy has targetMatchConstraints: then it does not change the
	// objects that it matches.
	isExplicit bool
	// expression returns the targets; nil if rules select them.
	expression *celenv.Program
	at         source.Position
	rules      *match.Resources
	conditions []condition
}

// readTargets reads the targets of a policy; nil if it has no targets.
func readTargets(r *policydoc.Reader, spec policy.Node, scope *celenv.Scope) *targets {
	block := spec.At("targetMatchConstraints")
	t := &targets{isExplicit: block.Given(), at: r.Document.At(block.Path)}
	t.conditions = conditions(r, spec.At("targetMatchConditions"), scope)
	if !isTrue(spec.At("evaluation", "mutateExisting", "enabled"), false) && !t.isExplicit {
		return nil
	}
	if expression := block.At("expression"); expression.Text() != "" {
		t.at = r.Document.At(expression.Path)
		t.expression = r.Expression(expression, scope.Targets)
		return t
	}
	if len(block.At("resourceRules").Items()) == 0 {
		block = spec.At("matchConstraints")
	}
	// Only the resources and names in a rule count.
	var rules []any
	for _, rule := range block.At("resourceRules").Items() {
		copied := maps.Clone(rule.Object())
		copied["operations"] = []any{"*"}
		delete(copied, "scope")
		rules = append(rules, copied)
	}
	t.rules = resources(r, policy.Node{Path: block.Path, Value: map[string]any{
		"resourceRules": rules, "namespaceSelector": block.At("namespaceSelector").Value, "objectSelector": block.At("objectSelector").Value,
		"matchPolicy": "Exact",
	}})
	return t
}

func (t *targets) programs() []*celenv.Program {
	var all []*celenv.Program
	if t.expression != nil {
		all = append(all, t.expression)
	}
	for _, c := range t.conditions {
		all = append(all, c.program)
	}
	return all
}

// Existing implements policy.Program.
func (p *program) Existing() policy.Follower {
	if !slices.ContainsFunc(p.units, (*unit).isTrigger) {
		return nil
	}
	return p
}

// isTrigger reports whether an object that the unit matches triggers its policy. Units for pod
// controllers are not triggers.
func (u *unit) isTrigger() bool {
	return u.policy.targets != nil && u.policy.off == "" && u.autogen == ""
}

func (u *unit) triggers(r *policy.Request) bool {
	d := u.policy
	return u.isTrigger() && (d.namespace == "" || r.Kind.Namespaced && r.Namespace == d.namespace) && r.Covered(u.constraints)
}

// Triggers implements policy.Follower.
func (p *program) Triggers(r *policy.Request) bool {
	r = p.language.request(r)
	return slices.ContainsFunc(p.units, func(u *unit) bool { return u.triggers(r) })
}

// Follow implements policy.Follower.
func (p *program) Follow(r *policy.Request, found *policy.Targets) iter.Seq[policy.Followed] {
	return func(yield func(policy.Followed) bool) {
		request := p.language.request(r)
		for _, u := range p.units {
			if !u.triggers(request) {
				continue
			}
			for _, followed := range p.language.follow(u, request, found) {
				if !yield(followed) {
					return
				}
			}
		}
	}
}

// follow runs a policy on its targets. A step without a target belongs to the trigger.
func (l *Language) follow(u *unit, r *policy.Request, found *policy.Targets) []policy.Followed {
	d := u.policy
	about := func(step policy.Step) []policy.Followed { return []policy.Followed{{Target: -1, Step: step}} }
	e := &evaluation{language: l, unit: u, request: r, matched: r.Kind, kind: r.Kind, original: r.Object}
	decision := l.matches(d, u.constraints, r)
	switch {
	case decision.Err != nil:
		return about(e.failed(&stepError{err: decision.Err, at: d.at, mutation: -1}))
	case !decision.Matched:
		return about(e.skipped(d.at, policy.Unmatched{Block: "matchConstraints", Reason: decision.Reason}))
	}
	e.matched, e.kind = decision.Kind, decision.Kind
	e.world = newWorld(e)
	e.activation = d.scope.Activate(r.Context, e.input(e.object()))
	notMet, failed := e.meets(d.conditions)
	switch {
	case failed != nil:
		return about(e.failed(failed))
	case notMet != nil:
		return about(e.skipped(notMet.condition.at, policy.FalseCondition{Index: notMet.index, Name: notMet.condition.name}))
	}
	chosen, failed := e.choose(found)
	if failed != nil {
		return about(e.failed(failed))
	}
	if len(chosen) == 0 {
		return about(e.skipped(d.targets.at, policy.Text("no target is among the manifests")))
	}
	var all []policy.Followed
	for _, i := range chosen {
		target := &found.All[i]
		for _, step := range mutateTarget(e, target) {
			if step.Object != nil {
				target.Object = step.Object
			}
			all = append(all, policy.Followed{Target: i, Step: step})
		}
	}
	return all
}

// choose returns the indexes of the targets.
func (e *evaluation) choose(found *policy.Targets) ([]int, *stepError) {
	t := e.unit.policy.targets
	if t.expression != nil {
		return e.chosenByExpression(found)
	}
	var chosen []int
	for _, i := range t.candidates(found) {
		target := &found.All[i]
		namespace := e.unit.policy.namespace
		request := *e.request
		request.Kind, request.Namespace, request.Name, request.Object, request.OldObject = target.Kind, target.Namespace, target.Name, target.Object, nil
		if (namespace == "" || target.Namespace == namespace) && request.Covered(t.rules) && e.language.matches(e.unit.policy, t.rules, &request).Matched {
			chosen = append(chosen, i)
		}
	}
	return chosen, nil
}

// candidates returns the indexes of the targets that the rules may select.
func (t *targets) candidates(found *policy.Targets) []int {
	if names := t.rules.ObjectNames(); names != nil {
		return found.Named(append(names, "")...)
	}
	return found.OfKinds(t.rules.CoversKind)
}

// chosenByExpression returns the manifests that an expression selects.
func (e *evaluation) chosenByExpression(found *policy.Targets) ([]int, *stepError) {
	t := e.unit.policy.targets
	e.activation.HideNamespace()
	object, err := e.activation.Targets(t.expression)
	if err != nil {
		return nil, &stepError{err: err, at: t.at, mutation: -1}
	}
	objects := []any{object}
	if items, ok := object["items"].([]any); ok {
		objects = items
	} else if object == nil {
		return nil, nil
	}
	var chosen []int
	for _, item := range objects {
		n := policy.Node{Value: item}
		named := found.Named(n.At("metadata", "name").Text())
		i := slices.IndexFunc(named, func(i int) bool {
			target := &found.All[i]
			return target.Kind.APIVersion() == n.At("apiVersion").Text() && target.Kind.Kind.Kind == n.At("kind").Text() &&
				target.Namespace == n.At("metadata", "namespace").Text()
		})
		if i >= 0 {
			chosen = append(chosen, named[i])
		}
	}
	return chosen, nil
}

// mutateTarget runs the policy on one target. It returns the steps, or one step with the reason
// why there are no others.
func mutateTarget(trigger *evaluation, target *policy.Target) []policy.Step {
	d := trigger.unit.policy
	e := &evaluation{
		language: trigger.language, unit: trigger.unit, request: trigger.request, matched: trigger.matched, original: trigger.original,
		kind: target.Kind, target: target,
	}
	e.world = newWorld(e)
	x, allowed, failed := e.excepted()
	switch {
	case failed != nil:
		return []policy.Step{e.failed(failed)}
	case x != nil:
		return []policy.Step{e.skipped(x.at(), x.reason())}
	}
	e.allowed = allowed
	e.activation = d.scope.Activate(e.request.Context, e.input(target.Object))
	// matchConditions do not count, even if the policy has no targetMatchConstraints: see
	// selfTargets.
	notMet, failed := e.meets(d.targets.conditions)
	switch {
	case failed != nil:
		return []policy.Step{e.failed(failed)}
	case notMet != nil:
		return []policy.Step{e.skipped(notMet.condition.at, policy.Text(fmt.Sprintf("targetMatchConditions[%d] %q is false", notMet.index, notMet.condition.name)))}
	}
	steps, failed := e.mutate()
	if failed != nil {
		return []policy.Step{e.failed(failed)}
	}
	before := target.Object
	for i := range steps {
		steps[i].ID.Instance = e.triggeredBy()
		if steps[i].Object != nil && change.Equal(steps[i].Object, before) {
			steps[i] = e.skipped(steps[i].At, policy.Text("the patch changes nothing"))
		} else if steps[i].Object != nil {
			before = steps[i].Object
		}
	}
	return steps
}

// triggeredBy names the object that triggered the policy.
func (e *evaluation) triggeredBy() string {
	return fmt.Sprintf("triggered by %s %s", e.request.Kind.Kind.Kind, e.request.Name)
}

// failed returns the step of a policy that fails.
func (e *evaluation) failed(err *stepError) policy.Step {
	failure := e.failure(err)
	return policy.Step{ID: failure.ID, At: failure.At, Failure: &failure}
}

// skipped returns the step of a policy that does not change an object.
func (e *evaluation) skipped(at source.Position, reason fmt.Stringer) policy.Step {
	id := e.unit.policy.id()
	return policy.Step{ID: id, At: at, NotApplied: &policy.NotApplied{ID: id, At: at, Reason: reason}}
}
