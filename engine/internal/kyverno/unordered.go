package kyverno

import (
	"maps"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/jmespath"
	"github.com/preadmit/preadmit/engine/internal/jsonpatch"
	"github.com/preadmit/preadmit/engine/internal/wildcard"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// This file finds the parts of a rule whose effect depends on the order of Go's maps, so that it
// varies from run to run in Kyverno 1.19.0. Here, keys are in alphabetical order. TestKyvernoUnordered
// has two answers of Kyverno for each kind of part.

const (
	randomKeys      = "Kyverno gives keys(), values() and .* in random order, and the result depends on it: preadmit takes the order of the keys"
	randomElements  = "Kyverno takes the elements in random order, and the result depends on it: preadmit takes the order of the keys"
	randomReference = "the reference leads to a map, of which Kyverno takes a random key: preadmit takes the last one"
	randomWildcard  = "if several keys of an object match, Kyverno compares a random one of them: preadmit compares the first one"
	randomSelector  = "if this key and another one select the same label, Kyverno uses a random one of them: preadmit uses both"
	randomRefusal   = "Kyverno checks the labels of the object or those of the pod template, at random, and refuses the policy if they are no texts: preadmit checks those of the object"
	randomEqual     = "two keys become the same: Kyverno writes the value of a random one, and preadmit that of the last one"

	adviceSort  = "sort the list with sort()"
	adviceExact = "write the key without wildcards"
	adviceQuote = "write the value in quotes"
)

// unordered collects the parts of a rule whose effect varies, with what Kyverno does and what to write.
type unordered struct {
	rule  *rule
	found []source.Diagnostic
}

func (u *unordered) add(path change.Path, does, advice string) {
	u.found = append(u.found, u.rule.warning(u.rule.at(path), path, source.CodeOrderDependent, does, advice))
}

// varying reports the parts of the rule whose effect varies.
func (r *rule) varying() []source.Diagnostic {
	u := &unordered{rule: r}
	for _, resources := range resourcesOf(r.root.At("match"), r.root.At("exclude")) {
		u.selector(resources.At("selector", "matchLabels"))
		u.selector(resources.At("namespaceSelector", "matchLabels"))
	}
	known := contextOrders(nil, r.context)
	u.conditions(r.preconditions, known)
	for _, target := range r.targets {
		for _, key := range []string{"apiVersion", "kind", "namespace", "name", "uid", "selector"} {
			u.texts(target.At(key), known)
		}
		known = contextOrders(known, target.At("context"))
		u.conditions(target.At("preconditions"), known)
	}
	u.patches(r.mutation, r.root, known)
	_, other := r.labelled()
	for _, n := range noTexts(other) {
		u.add(n.Path, randomRefusal, adviceQuote)
	}
	return u.found
}

// contextOrders returns the orders of variables, and of those that the entries of a context define.
func contextOrders(known map[string]jmespath.Order, context policy.Node) map[string]jmespath.Order {
	all := map[string]jmespath.Order{}
	maps.Copy(all, known)
	for _, item := range context.Items() {
		v := item.At("variable")
		order := orderOf(v.At("value").Value, all)
		for _, body := range []policy.Node{v, item.At("apiCall"), item.At("globalReference")} {
			switch n, err := jmespath.Parse(body.At("jmesPath").Text()); {
			case err != nil:
			case v.Given() && !v.At("value").Given():
				order = n.Order(all)
			default:
				order = n.OrderBelow(order)
			}
		}
		all[item.At("name").Text()] = max(order, orderOf(v.At("default").Value, all))
	}
	return all
}

// orderOf returns the order of a value after its variables are replaced.
func orderOf(value any, known map[string]jmespath.Order) (order jmespath.Order) {
	walkTexts(policy.Node{Value: value}, func(n policy.Node, text string) {
		for _, m := range findVariables(text) {
			expression := strings.TrimPrefix(strings.TrimSpace(text[m[4]+2:m[5]-2]), "-")
			parsed, err := jmespath.Parse(strings.TrimSpace(expression))
			if err != nil {
				continue
			}
			of := parsed.Order(known)
			if isAll := m[4] == 0 && m[5] == len(text) && len(n.Path) == 0; of != jmespath.Fixed && !isAll {
				of = jmespath.Random
			}
			order = max(order, of)
		}
	})
	return order
}

// texts checks the variables in a value that is written.
func (u *unordered) texts(n policy.Node, known map[string]jmespath.Order) {
	walkTexts(n, func(n policy.Node, text string) {
		if orderOf(text, known) != jmespath.Fixed {
			u.add(n.Path, randomKeys, adviceSort)
		}
	})
}

// conditions checks preconditions. Operators on lists ignore the order of their operands.
func (u *unordered) conditions(n policy.Node, known map[string]jmespath.Order) {
	for _, item := range conditionsIn(n) {
		operator := item.At("operator").Text()
		allowed := jmespath.Fixed
		if strings.HasSuffix(operator, "In") {
			allowed = jmespath.Shuffled
		}
		for _, key := range []string{"key", "value"} {
			if operand := item.At(key); orderOf(operand.Value, known) > allowed {
				u.add(operand.Path, randomKeys, adviceSort)
			}
		}
	}
}

// patches checks the patches of a mutate block or of an entry of foreach. References are relative to
// root.
func (u *unordered) patches(n, root policy.Node, known map[string]jmespath.Order) {
	patch := patchOf(n)
	if len(patch.Path) > len(n.Path) {
		u.texts(patch, known)
		u.wildcards(patch)
		walkTexts(patch, func(n policy.Node, text string) {
			at := substitution{root: root.Value, path: pathOfText(n, text), base: root.Path}
			for _, m := range referencePattern().FindAllStringSubmatch(text, -1) {
				if value := (policy.Node{Value: at.find(strings.Trim(m[2], "$()"))}); len(value.Object()) > 1 {
					u.add(n.Path, randomReference, "write the path of a text")
				}
			}
		})
	}
	for _, entry := range n.At("foreach").Items() {
		below := maps.Clone(known)
		list, _ := jmespath.Parse(entry.At("list").Text())
		switch order := list.Order(known); {
		case order == jmespath.Random:
			u.add(entry.At("list").Path, randomKeys, adviceSort)
		case order == jmespath.Shuffled && !isByElement(patchOf(entry)):
			u.add(entry.At("list").Path, randomElements, adviceSort)
		case order == jmespath.Shuffled:
			below["elementIndex"] = jmespath.Random
		}
		below = contextOrders(below, entry.At("context"))
		u.conditions(entry.At("preconditions"), below)
		u.patches(entry, policy.Node{Value: entry.Value, Path: entry.Path}, below)
	}
}

// isByElement reports whether the patch of an entry of foreach writes only below keys with
// variables, so that elements write to different places.
func isByElement(patch policy.Node) bool {
	if text, isText := patch.Value.(string); isText {
		operations, err := parseJSONPatch(withoutVariables(text))
		return patch.Key() == "patchesJson6902" && err == nil && !slices.ContainsFunc(operations, func(o jsonpatch.Operation) bool {
			return !strings.Contains(o.Path, anyValue) || strings.HasSuffix(o.Path, "/-")
		})
	}
	return patch.Object() != nil && !slices.ContainsFunc(patch.Below(), func(n policy.Node) bool {
		return !hasVariables(n.Key()) && !isByElement(n)
	})
}

// wildcards checks the conditions of a strategic merge patch: see expandMetadata.
func (u *unordered) wildcards(patch policy.Node) {
	for _, below := range patch.Below() {
		if isConditionKey(below.Key()) {
			u.pattern(below)
		} else {
			u.wildcards(below)
		}
	}
}

func (u *unordered) pattern(n policy.Node) {
	for _, below := range n.Below() {
		if _, bare := ParseAnchor(below.Key()); bare == "metadata" {
			u.metadata(below)
		}
		u.pattern(below)
	}
}

// metadata checks the labels and annotations of a pattern.
func (u *unordered) metadata(n policy.Node) {
	for _, part := range n.Below() {
		if _, bare := ParseAnchor(part.Key()); bare != "labels" && bare != "annotations" {
			continue
		}
		for _, value := range part.Below() {
			a, bare := ParseAnchor(value.Key())
			varies := a != Negation && value.Text() != "" && value.Text() != "*"
			if wildcard.Has(bare) && (varies || selectsOther(part, value.Key())) {
				u.add(value.Path, randomWildcard, adviceExact)
			}
		}
	}
}

// selector checks the matchLabels of a selector.
func (u *unordered) selector(labels policy.Node) {
	for _, n := range labels.Below() {
		if selectsOther(labels, n.Key()) {
			u.add(n.Path, randomSelector, adviceExact)
		}
	}
}

// selectsOther reports whether a key with wildcards matches another key of a map.
func selectsOther(labels policy.Node, key string) bool {
	_, pattern := ParseAnchor(key)
	return wildcard.Has(pattern) && slices.ContainsFunc(sortedKeys(labels.Object()), func(other string) bool {
		_, bare := ParseAnchor(other)
		return key != other && wildcard.Match(pattern, bare)
	})
}

// Varying implements policy.Varying.
func (p *program) Varying(id policy.ID) (found []source.Diagnostic) {
	for _, r := range p.written()[id.OfRule()] {
		found = append(found, r.varying()...)
	}
	return found
}

// writtenRules returns the rules as their policies have them, by the rules that run: themselves and those
// that are generated from them.
func writtenRules(definitions []*definition) map[policy.ID][]*rule {
	written := map[policy.ID][]*rule{}
	for _, d := range definitions {
		sources := map[string]*rule{}
		for _, r := range d.rules {
			if !r.generated {
				sources[r.root.Path.String()] = r
			}
		}
		for _, r := range d.rules {
			if of := sources[r.root.Path.String()]; of != nil && !slices.Contains(written[r.id()], of) {
				written[r.id()] = append(written[r.id()], of)
			}
		}
	}
	return written
}
