package kyverno

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/strategicmerge"
	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// compile reads the match blocks of a checked rule.
func (r *rule) compile() {
	r.match, r.matchPath = readFilter(r.root.At("match")), r.root.At("match").Path
	r.exclude = readFilter(r.root.At("exclude"))
	r.mutation, r.context, r.preconditions = r.root.At("mutate"), r.root.At("context"), r.root.At("preconditions")
	r.foreach, r.patch = r.mutation.At("foreach"), readPatch(r.mutation)
	r.targets, r.others = r.mutation.At("targets").Items(), r.readOthers()
	r.asksOperation = r.match.asksOperation() || r.exclude.asksOperation() || asksOperation(r.preconditions.Value)
	r.idle = sync.OnceValue(func() policy.Step { return r.skipped(r.mutation.Path, policy.Text(ChangesNothing)) })
	r.patchAt = sync.OnceValue(func() source.Position { return r.at(r.patch.node.Path) })
}

// asksOperation reports whether a string in a value names the operation of the request.
func asksOperation(value any) bool {
	return anywhere(value, func(part any, isKey bool) bool {
		text, _ := part.(string)
		return !isKey && policy.AsksOperation(text)
	})
}

// covers reports whether the rule may apply to a request.
func (r *rule) covers(request *policy.Request) bool {
	return r.match.covers(request.Kind.Kind)
}

// Covers implements policy.Program.
func (p *program) Covers(r *policy.Request) bool {
	return !policy.IsHidden(r.Kind.Kind) && slices.ContainsFunc(p.definitions, func(d *definition) bool { return d.covers(r) })
}

// covers reports whether a rule of the policy may change the object of a request.
func (d *definition) covers(r *policy.Request) bool {
	return slices.ContainsFunc(d.rules, func(rule *rule) bool { return len(rule.targets) == 0 && rule.covers(r) })
}

// Plan implements policy.Program.
func (p *program) Plan(r *policy.Request) policy.Plan {
	if p.Covers(r) {
		return policy.Plan{Invocations: []policy.Invocation{webhook{p}}}
	}
	var plan policy.Plan
	if policy.IsHidden(r.Kind.Kind) {
		return plan
	}
	for _, d := range p.definitions {
		for _, rule := range d.rules {
			if len(rule.targets) > 0 && rule.covers(r) {
				continue // runs after all requests
			}
			plan.NotApplied = append(plan.NotApplied, policy.NotApplied{
				ID: rule.id(), At: rule.at(rule.root.At("match").Path),
				Reason: policy.OutOfScope("match: kinds does not select " + r.Kind.Kind.Kind),
			})
		}
	}
	return plan
}

// webhook runs the program as a cluster does: as one webhook with reinvocationPolicy IfNeeded.
// It implements policy.Invocation.
type webhook struct{ program *program }

// ID implements policy.Invocation.
func (webhook) ID() policy.ID { return policy.ID{Policy: "Kyverno"} }

// Reinvocable implements policy.Invocation.
func (webhook) Reinvocable() bool { return true }

// Conditions implements policy.Invocation.
func (webhook) Conditions(*policy.Request) (*policy.NotApplied, *policy.Failure) { return nil, nil }

// Shuffled implements policy.Shuffler.
func (w webhook) Shuffled(r *policy.Request) (ids []policy.ID) {
	for _, d := range w.program.definitions {
		if d.covers(r) {
			ids = append(ids, d.id())
		}
	}
	return ids
}

// InOrder implements policy.Shuffler: ClusterPolicies always run before Policies.
func (w webhook) InOrder(compare func(a, b policy.ID) int) policy.Invocation {
	p := *w.program
	p.definitions = slices.SortedStableFunc(slices.Values(w.program.definitions), func(a, b *definition) int {
		return cmp.Or(cmp.Compare(min(len(a.namespace), 1), min(len(b.namespace), 1)), compare(a.id(), b.id()))
	})
	return webhook{&p}
}

// Deny implements policy.Invocation.
func (w webhook) Deny(err error) policy.Failure {
	return policy.Failure{ID: w.ID(), Err: fmt.Errorf("the result of Kyverno's policies is not valid: %w", err)}
}

// Steps implements policy.Invocation. There is a step for each rule, or for each element of its
// foreach that changes the object. Each rule sees the result of the one before.
func (w webhook) Steps(r *policy.Request) iter.Seq[policy.Step] {
	return func(yield func(policy.Step) bool) {
		e := w.program.evaluate(r)
		begun := r.Object
		object, seen := begun, begun // they differ if Kyverno has dropped changes that it still sees
		for _, d := range w.program.definitions {
			before := seen
			var steps []policy.Step
			steps, seen = e.runAll(d, seen)
			for _, step := range steps {
				if step.Object != nil {
					after := step.Object
					step = rebase(step, object, before)
					object, before = step.Object, after
				}
				if !yield(step) {
					return
				}
				if stops(step) && !change.Same(object, begun) {
					object = begun
					if !yield(policy.Step{ID: step.ID, At: step.At, Object: object}) {
						return
					}
				}
			}
			e.empty = e.empty || seen == nil
			e.matched = e.matched || d.covers(r)
		}
	}
}

// stops reports whether Kyverno crashes in a step, and the server ignores it: then the server has no
// patches of the policies before, either.
func stops(step policy.Step) bool {
	return step.Failure != nil && step.Failure.Ignored && errors.As(step.Failure.Err, new(crash))
}

// rebase returns a step whose object is a given object with the changes that the step has made to
// the object before it. A server applies Kyverno's patches like this.
func rebase(step policy.Step, object, before map[string]any) policy.Step {
	if change.Same(object, before) {
		return step
	}
	changes := change.Diff(before, step.Object, nil)
	changed := change.CloneObject(object)
	err := fit(changed, changes)
	if err == nil {
		err = change.Apply(changed, changes)
	}
	if err != nil {
		err = source.Messagef("a server cannot apply the patch of %s, which builds on changes that Kyverno drops because a rule before it fails: %v", step.ID.OfPolicy(), err)
		return policy.Step{ID: step.ID, At: step.At, Failure: &policy.Failure{ID: step.ID, At: step.At, Err: err, Abort: true}}
	}
	step.Object = changed
	return step
}

// fit reports the first change of which an object lacks the value, or the map or list around it.
func fit(object map[string]any, changes []change.Change) error {
	for _, c := range changes {
		path := c.Path
		if c.Op == change.Add {
			path = path[:len(path)-1]
		}
		if _, found := path.Get(object); !found {
			return source.Messagef("there is no %s", path)
		}
	}
	return nil
}

// runAll runs the rules of a policy. If a rule fails, Kyverno drops the changes of the policy. seen
// is the object that policies after it see, with the changes that were dropped. It is nil after a
// patch that fails: then later rules and policies see no object (see nothingAfterFailure).
func (e *evaluation) runAll(d *definition, object map[string]any) (steps []policy.Step, seen map[string]any) {
	e.original, seen = object, object
	applied, failed := false, false
	steps = e.steps[:0]
	for _, rule := range d.rules {
		ran := len(steps)
		e.whole = e.matched
		if applied && d.one && len(rule.targets) == 0 {
			steps = append(steps, rule.skipped(rule.root.Path, policy.Text("applyRules is One, and a rule before it changed the object")))
			continue
		}
		var counts, lost bool
		steps, counts, lost = e.run(steps, rule, seen)
		applied = applied || counts
		for _, step := range steps[ran:] {
			if step.Object != nil {
				seen = step.Object
			}
			failed = failed || step.Failure != nil && step.Failure.Ignored
		}
		if lost && failed {
			seen = nil
			break
		}
	}
	e.steps = steps
	for i, step := range steps {
		if failed && step.Object != nil {
			steps[i] = policy.Step{ID: step.ID, At: step.At, NotApplied: &policy.NotApplied{ID: step.ID, At: step.At, Reason: policy.Text("a rule of the policy fails, so Kyverno drops its changes")}}
		}
	}
	return steps, seen
}

// run runs one rule on the object of the request, and adds its steps. applied says that the rule
// counts for applyRules: One, lost that a patch has failed.
func (e *evaluation) run(steps []policy.Step, r *rule, object map[string]any) (all []policy.Step, applied, lost bool) {
	switch {
	case len(r.targets) > 0:
		return steps, false, false // runs after all requests
	case e.empty:
		return append(steps, r.skipped(r.root.Path, policy.Text("a policy before it fails, after which Kyverno gives an empty object to policies"))), false, false
	}
	s, skipped := e.begin(r, object)
	if s == nil {
		return append(steps, skipped), false, false
	}
	o, err := s.mutate(r, object, e.request.Kind.Type())
	return r.steps(steps, o, err, ""), o.applied, err != nil
}

// steps adds the steps of a rule. trigger names the object that triggered the rule; "" if it is the
// object itself.
func (r *rule) steps(steps []policy.Step, o outcome, err error, trigger string) []policy.Step {
	switch {
	case err != nil:
		return append(steps, r.failed(err))
	case len(o.results) == 0 && o.reason == ChangesNothing:
		return append(steps, r.idle())
	case len(o.results) == 0:
		return append(steps, r.skipped(r.mutation.Path, policy.Text(o.reason)))
	}
	for _, result := range o.results {
		step := policy.Step{ID: r.id(), Object: result.object}
		if result.at == nil {
			step.At = r.patchAt()
		} else {
			step.At = r.at(result.at)
		}
		step.ID.Instance = cmp.Or(result.element, trigger)
		if result.element != "" && trigger != "" {
			step.ID.Instance += ", " + trigger
		}
		steps = append(steps, step)
	}
	return steps
}

// begin decides whether a rule applies to an object. It returns the scope of the rule, or nil and
// the step that says why it does not apply.
func (e *evaluation) begin(r *rule, object map[string]any) (*scope, policy.Step) {
	e.rule = r
	e.operation = r.operation(e.program.values, nameOf(object), string(e.request.Operation))
	c := e.candidate(object)
	if reason := e.matchRule(r, c); reason != "" {
		return nil, r.unmatched(reason)
	}
	e.matched = true
	s := e.newScope(r, object)
	s.addContext(r, r.context)
	reason, err := s.check(r, r.preconditions)
	if err != nil {
		return nil, r.failed(err)
	}
	if reason != "" {
		return nil, r.skipped(r.preconditions.Path, policy.Text(reason))
	}
	name, err := e.excepted(r, s)
	if err != nil {
		return nil, r.failed(err)
	}
	if name != "" {
		return nil, r.skipped(r.root.Path, policy.Excepted{Name: name})
	}
	return s, policy.Step{}
}

// unmatched returns the step of a rule that does not match. The reason is often that of the object
// before.
func (r *rule) unmatched(reason string) policy.Step {
	last := r.outside.Load()
	if last == nil || last.reason != reason {
		last = &unmatched{reason, r.skipped(r.matchPath, policy.OutOfScope(reason))}
		r.outside.Store(last)
	}
	return last.step
}

// skipped returns the step of a rule that does not change the object.
func (r *rule) skipped(path change.Path, reason fmt.Stringer) policy.Step {
	id, at := r.id(), r.at(path)
	skipped := policy.NotApplied{ID: id, At: at, Reason: reason}
	if r.asksOperation {
		skipped.Reason = policy.ByOperation{Stringer: skipped.Reason}
	}
	return policy.Step{ID: id, At: at, NotApplied: &skipped}
}

// failed returns the step of a rule that fails.
func (r *rule) failed(err error) policy.Step {
	path := r.mutation.Path
	if placed := (*placeError)(nil); errors.As(err, &placed) {
		path = placed.path
		switch {
		case placed.substituting:
			err = fmt.Errorf("%s: %w", below(path, r), err)
		case errors.As(err, new(*strategicmerge.Error)):
			err = fmt.Errorf("the patch does not fit the object: %w", err)
		}
	}
	id, at := r.id(), r.at(path)
	failure := &policy.Failure{ID: id, At: at, Err: source.Messagef("policy %s, rule %s: %v", source.Name(r.policy.key()), source.Name(r.name), err), Ignored: r.policy.ignore && !errors.As(err, new(*limit.Error))}
	return policy.Step{ID: id, At: at, Failure: failure}
}
