package policydoc

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/celenv"
	"github.com/preadmit/preadmit/engine/internal/celenv/expr"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// requirement is that a field has a value, because a part of a condition asks for it.
type requirement struct {
	path  []string
	value any
	part  expr.Expr
}

// requirements are what the matchConditions of a policy require of all objects that they let through.
type requirements struct {
	scope *celenv.Scope
	// first are the first requirements of fields, by the fields' JSON Pointers.
	first map[string]requirement
}

// requirements returns the parts of the matchConditions that compare a field with a constant, and a part
// that is false for every object which has these values.
func (c *Checked) requirements(spec policy.Node) (required requirements, contradictions []source.Diagnostic) {
	required = requirements{c.Scope, map[string]requirement{}}
	type placed struct {
		path change.Path
		part expr.Expr
	}
	var parts []placed
	for _, item := range spec.At("matchConditions").Items() {
		n := item.At("expression")
		if x, err := expr.Parse(n.Text()); err == nil {
			for _, part := range x.Conjuncts() {
				required.add(part)
				parts = append(parts, placed{n.Path, part})
			}
		}
	}
	for _, p := range parts {
		reasons := required.about(p.part)
		if reasons == "" || reasons == p.part.String() {
			continue
		}
		if holds, decided := required.decide(p.part); decided && !holds {
			text := fmt.Sprintf("no object meets all conditions: %s contradicts %s", p.part, reasons)
			return required, []source.Diagnostic{c.finding(p.path, 0, celenv.NeverTrue, text, "correct one of the conditions, or remove the policy")}
		}
	}
	return required, nil
}

// add adds what a part of a condition requires.
func (r *requirements) add(part expr.Expr) {
	a, operator, b, ok := part.AsComparison()
	if !ok || operator != "==" {
		return
	}
	for _, sides := range [][2]expr.Expr{{a, b}, {b, a}} {
		variable, path, isField := sides[0].AsField()
		if value, isConstant := sides[1].Constant(); isField && variable == "object" && len(path) > 0 && isConstant && value != nil {
			if _, known := r.of(path); !known {
				r.first[change.Keys(path...).Pointer()] = requirement{path, value, part}
			}
		}
	}
}

// of returns the requirement of a field.
func (r *requirements) of(path []string) (required requirement, ok bool) {
	required, ok = r.first[change.Keys(path...).Pointer()]
	return required, ok
}

// about returns the requirements of the fields that an expression reads.
func (r *requirements) about(x expr.Expr) string {
	var parts []string
	for _, path := range x.Fields("object") {
		if one, ok := r.of(path); ok && !slices.Contains(parts, one.part.String()) {
			parts = append(parts, one.part.String())
		}
	}
	return strings.Join(parts, " && ")
}

// decide returns the result of a condition that reads nothing but fields whose values are required.
func (r *requirements) decide(x expr.Expr) (holds, decided bool) {
	if !x.IsTotal() {
		return false, false
	}
	for part := range x.All() {
		_, _, _, _, isMacro := part.AsMacro()
		if variable, _, isChain := part.AsChain(); isMacro || isChain && variable != "object" {
			return false, false
		}
	}
	object := map[string]any{}
	for _, path := range x.Fields("object") {
		required, ok := r.of(path)
		if !ok {
			return false, false
		}
		required.set(object)
	}
	program, err := r.scope.Condition(x.String())
	if err != nil {
		return false, false
	}
	holds, err = r.scope.Activate(context.Background(), celenv.Input{Object: object}).Bool(program, nil)
	return holds, err == nil
}

// set gives an object the required value.
func (r requirement) set(object map[string]any) {
	last := len(r.path) - 1
	for _, key := range r.path[:last] {
		child, _ := object[key].(map[string]any)
		if child == nil {
			child = map[string]any{}
			object[key] = child
		}
		object = child
	}
	object[r.path[last]] = r.value
}
