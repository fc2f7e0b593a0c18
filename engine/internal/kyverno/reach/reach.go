// Package reach says which objects reach the changes that Kyverno's rules make. It knows only rules that
// ask nothing but the object: what it cannot read in a rule may decide, so it leaves the rule out.
//
// The files in order: reach.go (rules, match blocks and preconditions), patch.go (patches and foreach),
// pattern.go (values for patterns), expression.go (the fields that expressions read).
package reach

import (
	"maps"
	"slices"

	"github.com/preadmit/preadmit/engine/internal/kyverno"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/internal/witness"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// mostWays is how many ways to its change a rule may have that is tried.
const mostWays = 24

// Rules returns the rules of a sound document, with a goal for each of its blocks, of the conditions of
// which any must hold, and of its entries of foreach.
func Rules(l *kyverno.Language, d *manifest.Document, schemas *schema.Registry) (rules []witness.Rule) {
	read, problems := l.Rules(d)
	if source.HasErrors(problems) {
		return nil
	}
	for _, r := range read {
		rules = append(rules, witness.Rule{ID: r.ID(), Document: d, At: r.At(r.Root.At("mutate").Path), Program: l.Alone(r), Goals: goals(r, schemas)})
	}
	return rules
}

func goals(r kyverno.Rule, schemas *schema.Registry) (goals []witness.Goal) {
	mutate := r.Root.At("mutate")
	if r.Generated || r.AsksOperation() || mutate.At("targets").Given() {
		return nil
	}
	kinds, all := r.Kinds(schemas)
	if !all || len(kinds) == 0 || len(kinds) > witness.MostKinds {
		return nil
	}
	ways, clear := waysOf(r, kinds)
	if !clear || len(ways) > mostWays {
		return nil
	}
	for _, needs := range ways {
		goals = append(goals, witness.Goal{Kinds: kinds, Needs: needs})
	}
	return goals
}

// waysOf returns the needs of each way to reach the change of a rule. clear is false if it cannot read a
// part of the rule.
func waysOf(r kyverno.Rule, kinds []*schema.Kind) (ways [][]witness.Need, clear bool) {
	for _, block := range kyverno.Alternatives(r.Root.At("match")) {
		for _, condition := range orOne(r.Root.At("preconditions", "any").Items()) {
			for _, entry := range orOne(r.Root.At("mutate", "foreach").Items()) {
				w := wishes{kinds: kinds}
				for _, part := range block {
					w.match(part.At("resources"))
				}
				matched := w.needs
				w.conditions(r.Root.At("preconditions"), condition)
				if entry.Given() {
					w.foreach(entry)
				} else {
					w.patch(r.Root.At("mutate"))
				}
				w.others(r.Root)
				switch {
				case w.never:
					ways = append(ways, matched)
				case w.unclear || r.Root.At("context").Given():
					return nil, false
				default:
					ways = append(ways, w.needs)
				}
			}
		}
	}
	return ways, true
}

// others adds what the variables of a rule ask outside its patch and its conditions: a rule fails if one of
// them has no value.
func (w *wishes) others(rule policy.Node) {
	for _, n := range rule.Below() {
		isRead := slices.Contains([]string{"match", "exclude", "preconditions", "mutate"}, n.Key())
		w.unclear = w.unclear || !isRead && kyverno.HasSubstitutions(n.Value)
	}
}

// orOne returns a list with at least one node.
func orOne(nodes []policy.Node) []policy.Node {
	if len(nodes) == 0 {
		return []policy.Node{{}}
	}
	return nodes
}

// wishes collects what one way asks of an object.
type wishes struct {
	kinds []*schema.Kind
	needs []witness.Need
	// unclear says that a part of the rule cannot be read.
	unclear bool
	// never says that a condition compares constants, and is false, or that no kind has the list of a
	// foreach. Then nothing else matters.
	never bool
	// elements are the paths of the elements of the foreach around.
	elements [][]string
}

// need adds a need of a field, and of the same field in the second elements of a foreach: objects may have
// two, and a rule fails if one of them fails.
func (w *wishes) need(n witness.Need) {
	paths := [][]string{slices.Clone(n.Path)}
	for _, e := range w.elements {
		if len(n.Path) < len(e) || !slices.Equal(n.Path[:len(e)], e) {
			continue
		}
		for _, p := range slices.Clone(paths) {
			second := slices.Clone(p)
			second[len(e)-1] = "1"
			paths = append(paths, second)
		}
	}
	for _, p := range paths {
		w.needs = append(w.needs, witness.Need{Path: p, Values: n.Values, Holds: n.Holds})
	}
}

func anything(any) bool { return true }

// match adds the names, labels and annotations that a match block selects. An object that does not match
// for another reason shows nothing.
func (w *wishes) match(resources policy.Node) {
	one := func(patterns []string, path ...string) {
		if len(patterns) > 0 {
			w.need(witness.OneOf(path, patterns))
		}
	}
	one(resources.At("names").Texts(), "metadata", "name")
	if name := resources.At("name").Text(); name != "" {
		one([]string{name}, "metadata", "name")
	}
	one(resources.At("namespaces").Texts(), "metadata", "namespace")
	annotations := resources.At("annotations")
	for _, key := range slices.Sorted(maps.Keys(annotations.Object())) {
		one([]string{annotations.At(key).Text()}, "metadata", "annotations", witness.TextFor(key))
	}
	for _, n := range witness.Selected(resources.At("selector"), "metadata", "labels") {
		w.need(n)
	}
}

// conditions adds what preconditions ask: all of them, and one of those of which any must hold.
func (w *wishes) conditions(n, one policy.Node) {
	for _, item := range append(slices.Clone(n.Items()), n.At("all").Items()...) {
		w.condition(item)
	}
	if one.Given() {
		w.condition(one)
	}
}

// condition adds what a condition asks.
func (w *wishes) condition(n policy.Node) {
	key, value, operator := n.At("key").Value, n.At("value").Value, n.At("operator").Text()
	if !kyverno.HasSubstitutions(key) && !kyverno.HasSubstitutions(value) {
		w.never = w.never || !kyverno.Holds(operator, key, value)
		return
	}
	field, ok := w.fieldOf(key)
	if !ok || kyverno.HasSubstitutions(value) {
		w.unclear = true
		return
	}
	w.need(witness.Need{Path: field.path, Values: append(valuesFor(value), "example", true, false, int64(1), witness.Absent), Holds: func(given any) bool {
		if given == nil {
			given = field.or
		}
		return kyverno.Holds(operator, given, value)
	}})
}
