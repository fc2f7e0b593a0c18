package policydoc

import (
	"fmt"
	"slices"

	"github.com/preadmit/preadmit/engine/internal/celenv/expr"
	"github.com/preadmit/preadmit/engine/internal/jsonpatch"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// idle knows what every object that a policy changes has already. It decides only by the form of
// expressions: a patch of another form may change nothing, too.
type idle struct {
	variables map[string]expr.Expr
	// required are comparisons that hold for each of these objects.
	required requirements
	// own is the variable that is the object as the conditions found it; "" if no variable is.
	own string
	// writes counts the values that the patch writes.
	writes int
}

// checkIdle reports mutations that change no object: their patch is empty, or all that it writes is
// the object's own value, or the value that matchConditions require.
func (c *Checked) checkIdle(spec policy.Node, required requirements) (found []source.Diagnostic) {
	of := idle{variables: map[string]expr.Expr{}, own: "object", required: required}
	for _, item := range spec.At("variables").Items() {
		if x, err := expr.Parse(item.At("expression").Text()); err == nil {
			of.variables[item.At("name").Text()] = x
		}
	}
	if spec.At("targetMatchConstraints").Given() { // the conditions are about another object
		of.forget()
	}
	for i, item := range spec.At("mutations").Items() {
		of.writes = 0
		n, leaves := item.At("jsonPatch", "expression"), of.operations
		if item.At("patchType").Text() == "ApplyConfiguration" {
			n, leaves = item.At("applyConfiguration", "expression"), of.configuration
		}
		x, err := expr.Parse(n.Text())
		if err != nil || !of.always(x, leaves) {
			of.forget() // what follows may find a changed object
			continue
		}
		why := "its patch is always empty"
		if of.writes > 0 {
			why = "all that it writes is in every object that it reaches"
		}
		found = append(found, c.finding(n.Path, 0, "changes-nothing", fmt.Sprintf("mutations[%d] changes no object: %s", i, why), "write another value, or remove the mutation"))
	}
	return found
}

// forget drops what the conditions say about the object.
func (o *idle) forget() { o.own, o.required.first = "", nil }

// always reports whether a patch leaves every object, whichever branch of it is taken.
func (o *idle) always(x expr.Expr, leaves func(expr.Expr) bool) bool {
	x = o.resolved(x)
	if condition, yes, no, ok := x.AsCondition(); ok {
		holds, decided := o.required.decide(condition)
		return (decided && !holds || o.always(yes, leaves)) && (decided && holds || o.always(no, leaves))
	}
	return leaves(x)
}

// resolved returns the expression of a variable, and other expressions as they are.
func (o *idle) resolved(x expr.Expr) expr.Expr {
	for range o.variables {
		variable, keys, ok := x.AsField()
		if !ok || variable != "variables" || len(keys) != 1 || o.variables[keys[0]].IsZero() {
			break
		}
		x = o.variables[keys[0]]
	}
	return x
}

// operations reports whether a list of operations leaves the object.
func (o *idle) operations(x expr.Expr) bool {
	items, ok := x.Items()
	return ok && !slices.ContainsFunc(items, func(item expr.Expr) bool { return !o.operation(item) })
}

// operation reports whether an operation puts the value of a field in its place.
func (o *idle) operation(x expr.Expr) bool {
	name, fields := x.AsStruct()
	op, _ := fields["op"].Constant()
	path, _ := fields["path"].Constant()
	pointer, _ := path.(string)
	return name == "JSONPatch" && (op == "replace" || op == "add") && o.has(jsonpatch.Keys(pointer), fields["value"])
}

// configuration reports whether an ApplyConfiguration leaves the object.
func (o *idle) configuration(x expr.Expr) bool {
	name, fields := x.AsStruct()
	return name == "Object" && o.members(nil, fields)
}

func (o *idle) members(path []string, fields map[string]expr.Expr) bool {
	for key, value := range fields {
		at := append(slices.Clip(path), key)
		value = o.resolved(value)
		inner, ok := membersOf(value)
		if ok && (len(inner) == 0 || !o.members(at, inner)) || !ok && !o.has(at, value) {
			return false
		}
	}
	return true
}

// membersOf returns the members of a message or a map that is written out.
func membersOf(x expr.Expr) (members map[string]expr.Expr, ok bool) {
	if name, fields := x.AsStruct(); name != "" {
		return fields, true
	}
	entries, ok := x.AsMap()
	members = map[string]expr.Expr{}
	for _, e := range entries {
		key, _ := e.Key.Constant()
		name, isText := key.(string)
		ok = ok && isText && !e.Optional
		members[name] = e.Value
	}
	return members, ok
}

// has reports whether a value is that of the field at a path.
func (o *idle) has(path []string, x expr.Expr) bool {
	o.writes++
	x = o.resolved(x)
	if x.IsZero() || len(path) == 0 {
		return false
	}
	if variable, field, ok := x.AsField(); ok {
		return variable == o.own && slices.Equal(field, path)
	}
	value, ok := x.Constant()
	required, known := o.required.of(path)
	return ok && known && required.value == value
}
