package expr

import (
	"maps"
	"slices"
)

// Places are where the values of variables are in an object. The index of an item in a macro is not known, and
// is the name of the item.
type Places map[string][]Step

// InObject are the places of the variables that every expression knows.
var InObject = Places{"object": {}}

// Place returns the place of a chain of fields, with or without a default, and the expressions that are part of
// the chain: indexes and the default.
func (p Places) Place(x Expr) (place []Step, parts []Expr, ok bool) {
	function, target, args, _ := x.AsCall()
	if !target.IsZero() && (function == "orValue" || function == "hasValue") {
		place, parts, ok = p.Place(target)
		return place, append(parts, args...), ok
	}
	variable, steps, ok := x.AsChain()
	place, known := p[variable]
	if variable == "request" && len(steps) > 0 {
		switch steps[0].Key {
		case "object":
			steps, known = steps[1:], true
		case "namespace":
			place, known = []Step{{Key: "metadata"}}, true
		}
	}
	if !ok || !known {
		return nil, nil, false
	}
	for _, step := range steps {
		if !step.Index.IsZero() {
			parts = append(parts, step.Index)
		}
	}
	return append(slices.Clip(place), steps...), parts, true
}

// Inside returns the places for the arguments of a macro over the items of lists, which have a name, and the
// places of the lists.
func (p Places) Inside(over Expr, name string) (inner Places, lists [][]Step) {
	inner = maps.Clone(p)
	delete(inner, name)
	for _, from := range over.Lists() {
		if place, _, ok := p.Place(from); ok {
			inner[name], lists = append(slices.Clip(place), Step{Index: Ident(name)}), append(lists, place)
		}
	}
	return inner, lists
}
