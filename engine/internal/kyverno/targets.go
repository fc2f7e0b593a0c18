package kyverno

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/jmespath"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/internal/wildcard"
	"github.com/preadmit/preadmit/engine/policy"
)

// follows reports whether any rule changes other objects.
func (p *program) follows() bool {
	return slices.ContainsFunc(p.definitions, func(d *definition) bool {
		return slices.ContainsFunc(d.rules, func(rule *rule) bool { return len(rule.targets) > 0 })
	})
}

// Triggers implements policy.Follower.
func (p *program) Triggers(r *policy.Request) bool {
	return !policy.IsHidden(r.Kind.Kind) && slices.ContainsFunc(p.definitions, func(d *definition) bool {
		return slices.ContainsFunc(d.rules, func(rule *rule) bool { return len(rule.targets) > 0 && rule.covers(r) })
	})
}

// Follow implements policy.Follower: it runs the rules with mutate.targets that the
// object of the request triggers.
func (p *program) Follow(r *policy.Request, targets *policy.Targets) iter.Seq[policy.Followed] {
	return func(yield func(policy.Followed) bool) {
		e := p.evaluate(r)
		for _, d := range p.definitions {
			for _, followed := range e.followAll(d, targets) {
				if !yield(followed) {
					return
				}
			}
		}
	}
}

// followAll runs the rules of a policy with targets. With applyRules One, Kyverno v1.19.0 stops after
// the first rule that counts, also one without targets: it runs these again on the stored trigger, of
// which it keeps nothing (mutate in pkg/engine/mutation.go). A rule that fails before it has a target
// stops it, too (filterRules in pkg/engine/background.go).
func (e *evaluation) followAll(d *definition, targets *policy.Targets) (all []policy.Followed) {
	e.original = e.request.Object
	e.matched, e.whole, e.oldWhole = true, true, true
	var begun []*rule
	stopped := false
	for _, rule := range d.rules {
		switch {
		case len(rule.targets) == 0 && d.one && !stopped:
			_, stopped, _ = e.run(nil, rule, e.request.Object)
		case len(rule.targets) == 0:
		case d.one && stopped:
			all = append(all, policy.Followed{Target: -1, Step: rule.skipped(rule.root.Path, policy.Text("applyRules is One, and Kyverno stopped at a rule before it"))})
		default:
			s, skipped := e.begin(rule, e.request.Object)
			if s == nil {
				all, stopped = append(all, policy.Followed{Target: -1, Step: skipped}), skipped.Failure != nil
				continue
			}
			begun = append(begun, rule)
			var followed []policy.Followed
			followed, stopped = s.follow(rule, targets)
			for _, f := range followed {
				if f.Step.Object != nil {
					targets.All[f.Target].Object = f.Step.Object
				}
			}
			all = append(all, followed...)
		}
	}
	if len(begun) > 1 && !d.one {
		e.warnAgain(begun, targets)
	}
	return all
}

// warnAgain warns of rules that change their targets again: see targetsAgain.
func (e *evaluation) warnAgain(rules []*rule, targets *policy.Targets) {
	for _, rule := range rules {
		s, _ := e.begin(rule, e.request.Object)
		if s == nil {
			continue
		}
		followed, _ := s.follow(rule, targets)
		for _, f := range followed {
			if f.Step.Object != nil {
				target := targets.All[f.Target]
				s.warn(targetsAgain, rule, rule.mutation.Path, change.Diff(target.Object, f.Step.Object, target.Kind.Type()))
				break
			}
		}
	}
}

// follow runs a rule on its targets. A step without a target belongs to the trigger. counts says that
// Kyverno runs no other rule after it, if applyRules is One.
func (s *scope) follow(r *rule, targets *policy.Targets) (all []policy.Followed, counts bool) {
	changed := map[int]map[string]any{}
	for _, n := range r.targets {
		selector, err := s.selector(n)
		if err != nil {
			all = append(all, policy.Followed{Target: -1, Step: r.failed(err)})
			continue
		}
		found := false
		for _, i := range selector.candidates(targets) {
			target := targets.All[i]
			if object := changed[i]; object != nil {
				target.Object = object
			}
			if !selector.selects(&target, r) {
				continue
			}
			found = true
			steps, applied := s.child().mutateTarget(r, n, &target)
			counts = counts || applied
			for _, step := range steps {
				if step.Object != nil {
					changed[i] = step.Object
				}
				all = append(all, policy.Followed{Target: i, Step: step})
			}
		}
		if !found {
			all = append(all, policy.Followed{Target: -1, Step: r.skipped(n.Path, policy.Text("the target "+describeTarget(n)+" is not in the input"))})
		}
	}
	return all, counts
}

// targetSelector selects the objects of a target.
type targetSelector struct {
	kinds                KindPattern
	namespace, name, uid string
	labels               map[string]any
}

// describeTarget names a target in the words of the policy.
func describeTarget(n policy.Node) string {
	text := n.At("kind").Text()
	for _, key := range []string{"namespace", "name"} {
		if part := n.At(key).Text(); part != "" {
			text += " " + part
		}
	}
	return text
}

// selector reads a target, which may contain variables.
func (s *scope) selector(n policy.Node) (targetSelector, error) {
	texts, at := map[string]string{}, alone(n)
	for _, key := range []string{"apiVersion", "kind", "namespace", "name", "uid"} {
		at.path = n.At(key).Path
		value, err := s.substitute(n.At(key).Value, at)
		if err != nil {
			return targetSelector{}, err
		}
		if value != nil {
			texts[key] = jmespath.Text(value)
		}
	}
	t := targetSelector{namespace: texts["namespace"], name: texts["name"], uid: texts["uid"]}
	kind, _ := ParseKind(texts["kind"])
	t.kinds = KindPattern{Group: "*", Version: "*", Kind: kind.Kind}
	if texts["apiVersion"] != "" {
		parsed := gvk.Parse(texts["apiVersion"], kind.Kind)
		t.kinds.Group, t.kinds.Version = parsed.Group, parsed.Version
	}
	at.path = n.At("selector").Path
	labels, err := s.substitute(n.At("selector").Value, at)
	t.labels, _ = labels.(map[string]any)
	return t, err
}

// candidates returns the targets that the selector may select.
func (t targetSelector) candidates(targets *policy.Targets) []int {
	if t.name != "" && !wildcard.Has(t.name) {
		return targets.Named(t.name)
	}
	return targets.OfKinds(func(kind *schema.Kind) bool { return t.kinds.matches(kind.Kind) })
}

// selects reports whether the selector selects a target. A Policy can only change objects of its
// own namespace; a selector without a name selects all objects of its kind.
func (t targetSelector) selects(target *policy.Target, r *rule) bool {
	namespace := cmp.Or(r.policy.namespace, t.namespace)
	metadata, _ := target.Object["metadata"].(map[string]any)
	return t.kinds.matches(target.Kind.Kind) &&
		(namespace == "" || wildcard.Match(namespace, target.Namespace)) &&
		(t.name == "" || wildcard.Match(t.name, target.Name)) &&
		(t.uid == "" || metadata["uid"] == t.uid) &&
		(t.labels == nil || matchesSelector(t.labels, metadata["labels"]))
}

// mutateTarget runs the patches of a rule on one target. applied: see run.
func (s *scope) mutateTarget(r *rule, n policy.Node, target *policy.Target) (steps []policy.Step, applied bool) {
	s.variables()["target"] = jmespath.Whole(target.Object)
	s.addContext(r, n.At("context"))
	reason, err := s.check(r, n.At("preconditions"))
	if err != nil {
		return []policy.Step{r.failed(err)}, false
	}
	if reason != "" {
		return []policy.Step{r.skipped(n.At("preconditions").Path, policy.Text(reason))}, false
	}
	o, err := s.mutate(r, target.Object, target.Kind.Type())
	return r.steps(nil, o, err, fmt.Sprintf("triggered by %s %s", s.evaluation.request.Kind.Kind.Kind, nameOf(s.evaluation.request.Object))), o.applied
}
