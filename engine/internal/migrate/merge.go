package migrate

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/celenv/expr"
	"github.com/preadmit/preadmit/engine/policy"
)

// Rules of a policy run in order, and each sees the result of the one before. Policies in a
// cluster run in any order. So rules that depend on each other become one policy, in which the
// conditions of each rule are part of its mutations.

// effect is a place in the object that a policy writes to, and the value that it writes; zero for
// a list whose items change, and for a value that is removed.
type effect struct {
	at    []string
	value expr.Expr
	// isUndeclared says that a server drops the value, or a part of it.
	isUndeclared bool
}

const (
	// anyItem is an item of a list in a place; whichItems is which items there are.
	anyItem    = "[]"
	whichItems = "#"
)

// overlaps reports whether one place is part of the other.
func overlaps(a, b []string) bool {
	n := min(len(a), len(b))
	return slices.Equal(a[:n], b[:n])
}

// areRead reports whether expressions read a place with an effect.
func areRead(effects []effect, by ...expr.Expr) bool {
	places := placesRead(by...)
	return slices.ContainsFunc(effects, func(e effect) bool { return e.isIn(places) })
}

// isIn reports whether the place is among others, a part of one, or around one.
func (e effect) isIn(places [][]string) bool {
	return slices.ContainsFunc(places, func(place []string) bool { return overlaps(place, e.at) })
}

// placesRead returns the places that expressions read.
func placesRead(all ...expr.Expr) [][]string { return readIn(expr.InObject, all) }

// readIn returns the places that expressions read, of which some variables have a place.
func readIn(places expr.Places, all []expr.Expr) (found [][]string) {
	for _, x := range all {
		if x.IsZero() {
			continue
		}
		if over, _, name, args, isMacro := x.AsMacro(); isMacro {
			inner, _ := places.Inside(over, name)
			found, x = append(found, readIn(inner, args)...), expr.Call("size", over) // it reads which items there are
		}
		whole, part := partOf(x)
		place, parts, ok := places.Place(whole)
		if ok {
			found = append(found, append(keysOf(place), part...))
		} else {
			parts = x.Children()
		}
		found = append(found, readIn(places, parts)...)
	}
	return found
}

// partOf returns the list or map of which an expression reads only a part: a key, or which items it has. For other
// expressions, it returns the expression.
func partOf(x expr.Expr) (whole expr.Expr, part []string) {
	if key, operator, in, isComparison := x.AsComparison(); isComparison && operator == "in" {
		if text, isText := key.Constant(); isText {
			return in, []string{fmt.Sprint(text)}
		}
	}
	if function, _, args, _ := x.AsCall(); function == "size" && len(args) == 1 {
		return args[0], []string{whichItems}
	}
	return x, nil
}

// keysOf returns the keys of a place. Items of lists are not told apart.
func keysOf(place []expr.Step) (keys []string) {
	for _, step := range place {
		if step.Index.IsZero() {
			keys = append(keys, step.Key)
		} else {
			keys = append(keys, anyItem)
		}
	}
	return keys
}

// follows reports whether a rule must run after another one of the same policy, because of one of its
// effects.
func (c *converter) follows(written effect) bool {
	if c.reads(written) {
		return true
	}
	return slices.ContainsFunc(c.writes(), func(own effect) bool {
		same := slices.Equal(own.at, written.at) && !own.value.IsZero() && expr.Equal(own.value, written.value)
		return overlaps(own.at, written.at) && !same
	})
}

// writes returns the effects of the mutations.
func (c *converter) writes() []effect { return writesOf(c.mutations) }

func writesOf(mutations []mutation) (all []effect) {
	for _, m := range mutations {
		all = append(all, m.writes...)
	}
	return all
}

// reads reports whether the rule reads a place, other than to keep its value.
func (c *converter) reads(w effect) bool {
	read := c.placesRead()
	if w.isIn(read[0]) {
		return true
	}
	for i, m := range c.mutations {
		keeps := slices.ContainsFunc(m.writes, func(own effect) bool { return slices.Equal(own.at, w.at) })
		if !keeps && w.isIn(read[i+1]) {
			return true
		}
	}
	return false
}

// placesRead returns the places that the conditions read, and then those that each mutation reads.
func (c *converter) placesRead() [][][]string {
	if c.read == nil { // once, because the rule is compared with earlier ones
		c.read = [][][]string{placesRead(c.conditions()...)}
		for _, m := range c.mutations {
			c.read = append(c.read, placesRead(m.expression))
		}
	}
	return c.read
}

// conditions returns the conditions and variables of the rule.
func (c *converter) conditions() []expr.Expr {
	all := slices.Concat(c.matched.conditions, c.variables)
	if c.matched.selector != nil {
		all = append(all, c.selected())
	}
	return expressions(all)
}

// selected returns the selector of the policy as a condition.
func (c *converter) selected() condition {
	return condition{name: "labels", x: c.labels(policy.Node{Value: c.matched.selector})}
}

// canJoin reports whether two rules can become one policy.
func (c *converter) canJoin(other *converter) bool {
	return reflect.DeepEqual(c.matched.rules, other.matched.rules) && change.Equal(c.matched.namespaces, other.matched.namespaces) &&
		c.target == nil && other.target == nil
}

// join appends the mutations of another rule to the mutations of this rule. It reports rules
// that need more than one mutation, and whose conditions see the result of the first one.
func (c *converter) join(other *converter) error {
	for _, v := range other.variables {
		if i := slices.IndexFunc(c.variables, func(own condition) bool { return own.name == v.name }); i < 0 {
			c.variables = append(c.variables, v)
		} else if !expr.Equal(c.variables[i].x, v.x) || areRead(c.writes(), v.x) {
			return noFormf("give one of the variables another name", "the rules use the name %s for different things, and become one policy", v.name)
		}
	}
	if c.isNarrowerThan(other) || other.isNarrowerThan(c) || other.isAffectedBy(c) {
		for _, rule := range []*converter{c, other} {
			if err := rule.guardMutations(); err != nil {
				return err
			}
		}
	}
	c.mutations, c.read = append(c.mutations, other.mutations...), nil
	c.replacesAtomics = c.replacesAtomics || other.replacesAtomics
	c.problems = append(c.problems, other.problems...)
	c.joined = append(c.joined, other)
	return nil
}

// isNarrowerThan reports whether the rule has other conditions than another rule.
func (c *converter) isNarrowerThan(other *converter) bool {
	return !slices.EqualFunc(c.matched.conditions, other.matched.conditions, func(a, b condition) bool { return expr.Equal(a.x, b.x) }) ||
		!change.Equal(c.matched.selector, other.matched.selector)
}

// isAffectedBy reports whether the rule's conditions see the changes of another rule.
func (c *converter) isAffectedBy(earlier *converter) bool {
	return areRead(earlier.writes(), c.conditions()...)
}

// guardMutations moves the conditions and the selector of the policy into its mutations.
func (c *converter) guardMutations() error {
	conditions := c.matched.conditions
	if c.matched.selector != nil {
		conditions = append([]condition{c.selected()}, conditions...)
	}
	guard := join(conditions)
	if expr.Equal(guard, expr.True) {
		return nil
	}
	for i, m := range c.mutations {
		none := expr.List()
		if m.patchType == applyConfiguration {
			none = expr.Struct("Object")
		}
		c.mutations[i].expression = expr.If(guard, m.expression, none)
		if i < len(c.mutations)-1 && areRead(m.writes, guard) {
			return noFormf("make it a policy of its own", "a rule that depends on another rule, and that needs several mutations, of which the first changes what its conditions read")
		}
	}
	c.matched.conditions, c.matched.selector, c.read = nil, nil, nil
	return nil
}

// mergedRules merges rules that depend on each other. Generated rules stay separate, because
// they match other kinds. A rule that cannot be merged
// is refused.
func mergedRules(rules []*converter) (policies []*converter, refused *converter) {
	written := &placeEffects{map[string][]policyEffect{}, map[string][]policyEffect{}}
	for _, rule := range rules {
		into := -1
		for _, i := range written.before(rule, policies) {
			if earlier := policies[i]; into >= 0 || !earlier.canJoin(rule) {
				_ = rule.refuse(rule.rule.Root.Path, fmt.Sprintf("rule %s depends on what rule %s does before it, and a cluster runs MutatingPolicies in any order", rule.rule.Name, earlier.rule.Name),
					"give both the same kinds and operations, then they become one policy")
				return nil, rule
			}
			into = i
		}
		effects := rule.writes()
		if into < 0 {
			into, policies = len(policies), append(policies, rule)
		} else if err := policies[into].join(rule); err != nil {
			_ = rule.failed(rule.rule.Root.Path, err)
			return nil, rule
		}
		for _, e := range effects {
			written.add(policyEffect{into, e})
		}
	}
	for _, c := range policies {
		if i := slices.IndexFunc(policies, c.spoils); i >= 0 {
			_ = c.refuse(c.rule.Root.Path, fmt.Sprintf("the rule writes a field that a server drops, with which the ApplyConfiguration of rule %s fails", policies[i].rule.Name), "leave the field out")
			return nil, c
		}
	}
	return policies, nil
}

// spoils reports whether a rule writes a field that no server has, and another one has an ApplyConfiguration
// that may follow.
func (c *converter) spoils(other *converter) bool {
	from := slices.IndexFunc(c.mutations, func(m mutation) bool {
		return slices.ContainsFunc(m.writes, func(e effect) bool { return e.isUndeclared })
	})
	if from < 0 || !c.meets(other) {
		return false
	}
	if other != c {
		from = 0
	}
	return slices.ContainsFunc(other.mutations[from:], func(m mutation) bool { return m.patchType == applyConfiguration })
}

// placeEffects are the effects of policies by their places, so that a rule is compared only with effects on
// places that it reads or writes.
type placeEffects struct {
	// at are the effects on a place itself, within those on the place and on its parts.
	at, within map[string][]policyEffect
}

// policyEffect is an effect of the policy with an index.
type policyEffect struct {
	policy int
	effect effect
}

func (w *placeEffects) add(by policyEffect) {
	for n := range len(by.effect.at) + 1 {
		key := placeKey(by.effect.at[:n])
		w.within[key] = append(w.within[key], by)
	}
	key := placeKey(by.effect.at)
	w.at[key] = append(w.at[key], by)
}

// placeKey returns a text that no other place has.
func placeKey(place []string) string { return fmt.Sprintf("%q", place) }

// overlapping returns the effects on places that overlap a place.
func (w *placeEffects) overlapping(place []string) (all []policyEffect) {
	for n := range len(place) {
		all = append(all, w.at[placeKey(place[:n])]...)
	}
	return append(all, w.within[placeKey(place)]...)
}

// before returns the indexes, in order, of the policies that a rule must follow.
func (w *placeEffects) before(rule *converter, policies []*converter) (indexes []int) {
	var places [][]string
	for _, own := range rule.writes() {
		places = append(places, own.at)
	}
	follows := map[int]bool{}
	for _, place := range slices.Concat(places, slices.Concat(rule.placesRead()...)) {
		for _, by := range w.overlapping(place) {
			if !follows[by.policy] && rule.meets(policies[by.policy]) && rule.follows(by.effect) {
				follows[by.policy] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(follows))
}

// meets reports whether both rules may match the same object.
func (c *converter) meets(other *converter) bool {
	if c.target != nil || other.target != nil || areDisjoint(c.matched.namespaces, other.matched.namespaces) {
		return false
	}
	for _, k := range c.matched.kinds {
		for _, o := range other.matched.kinds {
			if k.Kind.Kind == "*" || o.Kind.Kind == "*" || k.Kind == o.Kind {
				return true
			}
		}
	}
	return false
}

// areDisjoint reports whether no object meets both label selectors, because they name different
// values of a label.
func areDisjoint(a, b map[string]any) bool {
	own, _ := a["matchLabels"].(map[string]any)
	others, _ := b["matchLabels"].(map[string]any)
	for key, value := range own {
		if other, both := others[key]; both && other != value {
			return true
		}
	}
	return false
}
