package witness

import (
	"slices"

	"github.com/preadmit/preadmit/engine/internal/celenv/expr"
	"github.com/preadmit/preadmit/engine/policy"
)

// IsDecisive reports whether what a policy does depends only on the object and on values that Objects
// makes: the policy has no params, asks nothing but the object and its request, and calls no function
// that needs special values. matchConditions get no namespaceObject in a cluster; elsewhere the
// Namespace decides.
func IsDecisive(root policy.Node) bool {
	spec := root.At("spec")
	if spec.At("paramKind").Given() {
		return false
	}
	for key := range spec.Object() {
		known := []string{"object", "variables", "request", "jsonpatch"}
		if key == "matchConditions" {
			known = append(known, "namespaceObject")
		}
		if createsOnly(spec) { // then it is null
			known = append(known, "oldObject")
		}
		for _, text := range expressionsOf(spec.At(key)) {
			if x, err := expr.Parse(text); err != nil || !x.IsTotal("string", "escapeKey", "exists_one", "existsOne") || !isDecisive(x, known) {
				return false
			}
		}
	}
	return true
}

// createsOnly reports whether a policy matches only requests that create an object.
func createsOnly(spec policy.Node) bool {
	rules := spec.At("matchConstraints", "resourceRules").Items()
	return len(rules) > 0 && !slices.ContainsFunc(rules, func(rule policy.Node) bool { return !slices.Equal(rule.At("operations").Texts(), []string{"CREATE"}) })
}

// ofRequest are the fields of a request that depend only on the object.
var ofRequest = []string{"object", "name", "namespace", "kind", "resource", "requestKind", "requestResource", "operation", "dryRun"}

// isDecisive reports whether an expression that cannot fail depends only on known variables, and on what
// Objects makes.
func isDecisive(x expr.Expr, known []string) bool {
	if over, _, name, args, ok := x.AsMacro(); ok {
		inner := append(slices.Clip(known), name)
		return isDecisive(over, known) && !slices.ContainsFunc(args, func(arg expr.Expr) bool { return !isDecisive(arg, inner) })
	}
	if name, fields := x.AsStruct(); name == "JSONPatch" {
		_, path := pointerOf(fields["path"])
		if _, from := pointerOf(fields["from"]); !path || !from {
			return false
		}
	}
	variable, steps, ok := x.AsChain()
	asksOthers := variable == "request" && len(steps) > 0 && !slices.Contains(ofRequest, steps[0].Key)
	hasNoItem := func(s expr.Step) bool { // Objects makes the item if its key is written out
		_, isConstant := s.Index.Constant()
		return !s.Index.IsZero() && !isConstant
	}
	if function, _, _, _ := x.AsCall(); function == "split" || ok && (!slices.Contains(known, variable) || asksOthers || slices.ContainsFunc(steps, hasNoItem)) {
		return false
	}
	return !slices.ContainsFunc(x.Children(), func(child expr.Expr) bool { return !isDecisive(child, known) })
}
