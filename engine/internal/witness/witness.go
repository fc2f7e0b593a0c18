// Package witness makes up objects that reach the branches of a policy in CEL: their fields have
// values with which the expressions of the policy compare them. Two forms of a policy that differ on
// such an object are not equivalent, and what a policy does wrong on all of them it does wrong always.
//
// The files in order: witness.go (facts in expressions, and objects for them), decisive.go (whether
// such objects decide what a policy does), need.go (what a rule asks of a field), goal.go (objects for what
// a rule asks).
package witness

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/celenv/expr"
	"github.com/preadmit/preadmit/engine/internal/jsonpatch"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/policy"
)

// fact is a value of a field that matters to an expression.
type fact struct {
	path  []string
	value any
}

// present is any value; absent says that the field is removed.
var present, absent any = new(struct{ present int }), new(struct{ absent int })

// factFinder finds facts. places are the places of variables in the object.
type factFinder struct {
	places expr.Places
	found  []fact
}

// factsOf returns the facts in an expression about the fields of the object.
func factsOf(x expr.Expr) []fact {
	f := factFinder{places: expr.InObject}
	f.find(x)
	return f.found
}

// note notes values of a field, unless it says what the object is.
func (f *factFinder) note(path []string, values ...any) {
	if len(path) == 0 || path[0] == "apiVersion" || path[0] == "kind" {
		return
	}
	for _, value := range values {
		f.found = append(f.found, fact{path, value})
	}
}

// noteList notes that a list has an item, or is missing.
func (f *factFinder) noteList(path []string) {
	f.note(append(slices.Clip(path), "0"), present)
	f.note(path, absent)
}

func (f *factFinder) find(x expr.Expr) {
	f.findPatch(x)
	if path, ok := f.pathOf(x); ok {
		f.note(path, present, absent)
		return
	}
	if over, _, name, args, ok := x.AsMacro(); ok {
		f.findMacro(over, name, args)
		return
	}
	if a, operator, b, ok := x.AsComparison(); ok {
		f.compared(a, operator, b)
		f.compared(b, operator, a)
	}
	switch function, target, args, ok := x.AsCall(); {
	case ok && !target.IsZero() && len(args) == 1:
		f.called(function, target, args[0])
	case ok && function == "size" && len(args) == 1:
		if path, isPath := f.pathOf(args[0]); isPath {
			f.noteList(path)
			return
		}
	}
	for _, child := range x.Children() {
		f.find(child)
	}
}

func (f *factFinder) findMacro(over expr.Expr, name string, args []expr.Expr) {
	places, lists := f.places.Inside(over, name)
	for _, list := range lists {
		f.noteList(pathOf(list))
	}
	if _, isPath := f.pathOf(over); !isPath {
		f.find(over)
	}
	inner := factFinder{places: places}
	for _, arg := range args {
		inner.find(arg)
	}
	f.found = append(f.found, inner.found...)
}

// findPatch notes that the place of a JSONPatch exists, or has the value for which it tests.
func (f *factFinder) findPatch(x expr.Expr) {
	name, fields := x.AsStruct()
	if name != "JSONPatch" {
		return
	}
	for _, member := range []string{"path", "from"} {
		pointer, _ := pointerOf(fields[member])
		if keys := jsonpatch.Keys(pointer); len(keys) > 1 {
			if last := len(keys) - 1; keys[last] == "-" {
				keys[last] = "0"
			}
			f.note(keys[:len(keys)-1], present)
			f.note(keys, present)
			if value, isConstant := fields["value"].Constant(); isConstant && value != nil {
				f.note(keys, value)
			}
		}
	}
}

// pointerOf returns a JSON Pointer, in which "x" is the last key if that is computed. ok is false if more
// of it is computed.
func pointerOf(x expr.Expr) (pointer string, ok bool) {
	if constant, isConstant := x.Constant(); isConstant {
		pointer, ok = constant.(string)
		return pointer, ok
	}
	if function, _, args, isCall := x.AsCall(); isCall && function == "_+_" {
		constant, _ := args[0].Constant()
		begin, _ := constant.(string)
		key, _, _, _ := args[1].AsCall()
		return begin + "x", strings.HasSuffix(begin, "/") && key == "escapeKey"
	}
	return "", x.IsZero()
}

// compared notes values of a field that a comparison with a constant tells apart.
func (f *factFinder) compared(field expr.Expr, operator string, constant expr.Expr) {
	value, isConstant := constant.Constant()
	if list, isList := constant.Items(); isList && operator == "in" {
		for _, item := range list {
			f.compared(field, "==", item)
		}
		return
	}
	path, isPath := f.pathOf(field)
	switch number, isNumber := value.(int64); {
	case operator == "in" && isConstant: // the constant is a key or an item
		if owner, ok := f.pathOf(field); ok {
			f.note(owner, present)
			f.note(append(slices.Clip(owner), fmt.Sprint(value)), present)
			f.note(append(slices.Clip(owner), "0"), value)
		}
	case !isPath || !isConstant || value == nil:
	case isNumber:
		f.note(path, number, number+1, max(number-1, 0))
	default:
		f.note(path, value)
	}
}

// called notes values of a field for which a function holds.
func (f *factFinder) called(function string, target, arg expr.Expr) {
	path, ok := f.pathOf(target)
	text, isText := arg.Constant()
	s, isString := text.(string)
	if !ok || !isText || !isString {
		return
	}
	switch function {
	case "startsWith":
		f.note(path, s+"x")
	case "endsWith":
		f.note(path, "x"+s)
	case "contains":
		if s == "@" && path[len(path)-1] == "image" {
			s = "@sha256:" + strings.Repeat("a", 63)
		}
		f.note(path, "x"+strings.TrimPrefix(s+"a", "x"))
	}
}

// pathOf returns the path of a chain of fields, with or without a default.
func (f *factFinder) pathOf(x expr.Expr) ([]string, bool) {
	place, _, ok := f.places.Place(x)
	return pathOf(place), ok
}

// pathOf returns the keys of a place. It takes the first item of a list if the index is not known.
func pathOf(place []expr.Step) (path []string) {
	for _, step := range place {
		key := step.Key
		if !step.Index.IsZero() {
			index, _ := step.Index.Constant()
			if key = fmt.Sprint(index); index == nil {
				key = "0"
			}
		}
		path = append(path, key)
	}
	return path
}

// Objects returns objects that a policy in CEL may match: for each kind the simplest object, an object
// for all facts in the policy's expressions together, and objects for each of them. They can be ranged over
// again.
func Objects(root policy.Node, schemas *schema.Registry) iter.Seq[map[string]any] {
	const most = 40
	spec := root.At("spec")
	var facts []fact
	for _, text := range expressionsOf(spec) {
		if x, err := expr.Parse(text); err == nil {
			facts = append(facts, factsOf(x)...)
		}
	}
	facts = unequal(facts)
	facts = facts[:min(len(facts), most)]
	return func(yield func(map[string]any) bool) {
		for _, kind := range kindsOf(spec.At("matchConstraints"), schemas) {
			if !combined(facts, kind, spec.At("matchConstraints", "objectSelector"), yield) {
				return
			}
		}
	}
}

// Reads returns the paths that decide, with the kind of an object, what a decisive policy says about it.
func Reads(root policy.Node) (paths []change.Path) {
	spec := root.At("spec")
	for _, block := range []string{"matchConstraints", "matchResources"} {
		if selects := spec.At(block); selects.Has("objectSelector") || selects.Has("namespaceSelector") {
			paths = append(paths, change.Keys("metadata", "labels"))
		}
	}
	for _, text := range expressionsOf(spec) {
		x, err := expr.Parse(text)
		if err != nil {
			return []change.Path{nil}
		}
		for _, keys := range x.Fields("object") {
			paths = append(paths, change.Keys(keys...))
		}
		for _, keys := range x.Fields("request") {
			if len(keys) == 0 || keys[0] == "object" {
				paths = append(paths, change.Keys(keys[min(len(keys), 1):]...))
			}
		}
	}
	return paths
}

// unequal returns the facts without repetitions.
func unequal(facts []fact) []fact {
	var kept []fact
	for _, f := range facts {
		if !slices.ContainsFunc(kept, func(other fact) bool { return slices.Equal(f.path, other.path) && f.value == other.value }) {
			kept = append(kept, f)
		}
	}
	return kept
}

// combined yields different objects of a kind: with no fact, all facts, all that do not remove a field,
// each fact alone and with the others.
func combined(facts []fact, kind *schema.Kind, selector policy.Node, yield func(map[string]any) bool) bool {
	base := simplest(kind)
	addLabels(base, selector)
	complete, present := base, base
	for _, f := range facts {
		if complete = f.of(complete, kind.Type()); f.value != absent {
			present = f.of(present, kind.Type())
		}
	}
	var last map[string]any
	made := func(object map[string]any) bool {
		same := last != nil && change.Equal(last, object)
		last = object
		return same || yield(object)
	}
	if !made(base) || !made(present) || !made(complete) {
		return false
	}
	for i, f := range facts {
		others := base
		for j, other := range facts {
			if i != j {
				others = other.of(others, kind.Type())
			}
		}
		if !made(f.of(base, kind.Type())) || !made(f.of(present, kind.Type())) || !made(others) || !made(f.of(others, kind.Type())) {
			return false
		}
	}
	return true
}

// expressionsOf returns all expressions in a value.
func expressionsOf(n policy.Node) []string {
	var texts []string
	for _, key := range slices.Sorted(maps.Keys(n.Object())) {
		if key == "expression" {
			texts = append(texts, n.At(key).Text())
		}
		texts = append(texts, expressionsOf(n.At(key))...)
	}
	for _, item := range n.Items() {
		texts = append(texts, expressionsOf(item)...)
	}
	return texts
}

// kindsOf returns some of the kinds that rules select, without those that a server answers and does not store.
func kindsOf(block policy.Node, schemas *schema.Registry) []*schema.Kind {
	var kinds []*schema.Kind
	for _, rule := range block.At("resourceRules").Items() {
		for _, group := range rule.At("apiGroups").Texts() {
			for _, version := range rule.At("apiVersions").Texts() {
				for _, resource := range rule.At("resources").Texts() {
					switch kind := schemas.LookupResource(gvk.Resource{Group: group, Version: version, Resource: resource}); {
					case kind != nil && (kind.Minor == 0 || kind.GoType() != nil):
						kinds = append(kinds, kind)
					case kind == nil && resource == "*":
						kinds = append(kinds, schemas.Lookup(gvk.Kind{Version: "v1", Kind: "ConfigMap"}))
					}
				}
			}
		}
	}
	return kinds
}

// simplest returns an object of a kind with only the fields that it must have.
func simplest(kind *schema.Kind) map[string]any {
	pod := func() map[string]any {
		container := func(name string) any { return map[string]any{"name": name, "image": "registry.example/" + name + ":1"} }
		return map[string]any{"containers": []any{container("example"), container("other")}}
	}
	labels := map[string]any{"app": "example"}
	template := map[string]any{"metadata": map[string]any{"labels": labels}, "spec": pod()}
	selector := map[string]any{"matchLabels": map[string]any{"app": "example"}}
	object := map[string]any{"apiVersion": kind.APIVersion(), "kind": kind.Kind.Kind, "metadata": map[string]any{"name": "example"}}
	switch kind.Kind.Kind {
	case "Pod":
		object["spec"] = pod()
	case "Deployment", "DaemonSet", "StatefulSet", "ReplicaSet":
		object["spec"] = map[string]any{"selector": selector, "template": template}
	case "ReplicationController":
		object["spec"] = map[string]any{"selector": map[string]any{"app": "example"}, "template": template}
	case "Job":
		template["spec"].(map[string]any)["restartPolicy"] = "Never"
		object["spec"] = map[string]any{"template": template}
	case "CronJob":
		template["spec"].(map[string]any)["restartPolicy"] = "Never"
		object["spec"] = map[string]any{"schedule": "0 0 * * *", "jobTemplate": map[string]any{"spec": map[string]any{"template": template}}}
	}
	return object
}

func addLabels(object map[string]any, selector policy.Node) {
	for key, value := range selector.At("matchLabels").Object() {
		f := fact{[]string{"metadata", "labels", key}, value}
		for name, member := range f.of(object, nil) {
			object[name] = member
		}
	}
}

// of returns a copy of an object for which the fact holds.
func (f fact) of(object map[string]any, t *schema.Type) map[string]any {
	made, _ := with(object, f.path, f.value, t).(map[string]any)
	return made
}

// with returns a value with another value at a path.
func with(value any, path []string, leaf any, t *schema.Type) any {
	if len(path) == 0 {
		switch {
		case leaf != present:
			return leaf
		case value != nil:
			return value
		}
		return anyOf(t)
	}
	if index, err := strconv.Atoi(path[0]); err == nil && (isOpen(t) || t.IsList) {
		return withItem(value, max(index, 0), path, leaf, t)
	}
	object, ok := value.(map[string]any)
	isLast := len(path) == 1
	isEmpty := leaf == absent || leaf == ""
	if value != nil && !ok || leaf == absent && object[path[0]] == nil || isLast && isEmpty && isRequired(t, path[0]) {
		return value
	}
	copied := maps.Clone(object)
	if leaf == absent && isLast {
		delete(copied, path[0])
		return copied
	}
	if copied == nil {
		copied = map[string]any{}
	}
	copied[path[0]] = with(object[path[0]], path[1:], leaf, t.FieldType(path[0]))
	return copied
}

// isOpen reports whether a type does not say what its values are.
func isOpen(t *schema.Type) bool {
	return t == nil || t.Scalar == schema.Untyped || t.Scalar == schema.NotScalar && !t.IsList && t.Elem == nil && len(t.Fields) == 0
}

// isRequired reports whether objects of a type are not valid without a field.
func isRequired(t *schema.Type, key string) bool {
	declared := t.Declared(key)
	return t.Requires(key) || declared != nil && (key == "name" || key == "image" && declared.Type.Scalar == schema.String)
}

// withItem is with for an item of a list.
func withItem(value any, index int, path []string, leaf any, t *schema.Type) any {
	list, _ := value.([]any)
	list = slices.Clone(list)
	if leaf == absent && (len(path) == 1 || index >= len(list)) {
		return value
	}
	for len(list) <= index {
		var item any = map[string]any{"name": "example"}
		if t.ItemType() != nil {
			item = anyOf(t.ItemType())
		}
		if object, isMap := item.(map[string]any); isMap && object["name"] != nil && len(list) > 0 { // two items of one name are not valid
			object["name"] = fmt.Sprint("example-", len(list))
		}
		list = append(list, item)
	}
	list[index] = with(list[index], path[1:], leaf, t.ItemType())
	return list
}

// Example returns an object of a kind that has only the fields without which it is not valid.
func Example(k *schema.Kind) map[string]any {
	object, _ := anyOf(k.Type()).(map[string]any)
	if object == nil {
		object = map[string]any{}
	}
	object["apiVersion"], object["kind"] = k.APIVersion(), k.Kind.Kind
	return object
}

// anyOf returns some value of a type.
func anyOf(t *schema.Type) any {
	switch {
	case t == nil:
		return "example"
	case t.IsList:
		return []any{anyOf(t.ItemType())} // an empty list is null to policies, or not valid
	}
	switch t.Format {
	case "byte":
		return "ZXhhbXBsZQ=="
	case "date-time":
		return "2026-01-01T00:00:00Z"
	}
	switch t.Scalar {
	case schema.Quantity:
		return "1"
	case schema.Integer, schema.Number:
		return int64(1)
	case schema.Boolean:
		return true
	case schema.NotScalar:
		made := map[string]any{}
		for _, f := range t.Fields {
			if isRequired(t, f.Name) {
				made[f.Name] = anyOf(f.Type)
			}
		}
		return made
	}
	return "example"
}
