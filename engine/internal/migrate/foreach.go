package migrate

import (
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/celenv/expr"
	"github.com/preadmit/preadmit/engine/internal/jsonpatch"
	"github.com/preadmit/preadmit/engine/internal/kyverno"
	"github.com/preadmit/preadmit/engine/policy"
)

// loop is an entry of foreach whose elements are items of lists of the object.
type loop struct {
	entry policy.Node
	// list is the list of the entry.
	list code
	// scope is the scope around the entry.
	scope *scope
	// bound says that the patch changed the items themselves.
	bound bool
}

// foreach converts an entry of foreach.
func (c *converter) foreach(s *scope, entry policy.Node) error {
	elements, err := s.expression(entry.At("list").Text())
	if err != nil {
		return c.failed(entry.At("list").Path, err)
	}
	l := &loop{entry: entry, list: elements, scope: s}
	switch {
	case elements.isRoot() || elements.kind != list && elements.kind != mixed && elements.kind != anything:
		return c.refuse(entry.At("list").Path, "a foreach over a value that is no list", "write the patch without foreach, or put the value between [ ]")
	case entry.At("foreach").Given():
		return c.refuse(entry.At("foreach").Path, "a foreach within a foreach", "write the patch in CEL by hand, with one map() within another")
	case entry.At("patchesJson6902").Given():
		return c.operations(s, entry.At("patchesJson6902"), l)
	}
	return c.strategic(s, entry.At("patchStrategicMerge"), l)
}

// some returns a condition that holds if any element of a foreach meets its preconditions.
func (l *loop) some() (expr.Expr, error) {
	name := elementName(l.list, l.scope)
	_, condition, err := l.element(l.list.each(name))
	return someOf(l.items(), l.items(), name, condition), err
}

// someOf returns a test whether a condition holds for some of the elements of a list, which have a name.
func someOf(list, elements expr.Expr, name string, condition expr.Expr) expr.Expr {
	if condition.IsZero() || expr.Equal(condition, expr.True) {
		return expr.Compare(expr.Call("size", list), ">", expr.Literal(0))
	}
	return elements.Over("exists", name, condition)
}

// guard returns the condition of a patch in a foreach. all says that it is an error if any value of the
// patch is one, for an element that meets the preconditions.
func (l *loop) guard(condition expr.Expr, patch map[string]any, all bool) (expr.Expr, error) {
	if !l.bound {
		some, err := l.some()
		if err != nil {
			return condition, placed(err, l.entry.Path)
		}
		if l.scope.rule.mayFail(l.list) { // a false condition must not hide that the list is missing
			condition = expr.If(some, condition, expr.False)
		} else {
			condition = expr.And(some, condition)
		}
	}
	if !all {
		return condition, nil
	}
	name := elementName(l.list, l.scope)
	inner, meets, err := l.element(l.list.each(name))
	if err != nil {
		return condition, placed(err, l.entry.Path)
	}
	changed := l.scope.rule.changed()
	inner.self = &changed
	values, err := inner.failing(patch)
	if len(values) == 0 {
		return condition, err
	}
	each := l.items().Over("all", name, expr.If(meets, succeed(values), expr.True))
	return expr.If(each, condition, expr.False), err
}

// element returns the scope of a foreach for an element, and its preconditions.
func (l *loop) element(element code) (*scope, expr.Expr, error) {
	inner, err := l.inner(element)
	if err != nil {
		return nil, expr.Expr{}, err
	}
	all, err := inner.preconditions(l.entry.At("preconditions"))
	return inner, expr.And(all...), err
}

// inner returns the scope of a foreach for an element. Names of its context are their values.
func (l *loop) inner(element code) (*scope, error) {
	s := l.scope.with("element", element)
	for _, item := range l.entry.At("context").Items() {
		found, err := s.rule.entryOf(s, item)
		if err != nil {
			return nil, placed(err, item.Path)
		}
		if !found.isConstant && !found.isRoot() {
			found = found.required()
		}
		s = s.with(item.At("name").Text(), found)
	}
	return s, nil
}

// items returns the elements of a foreach: none if the list is null, an error if it is missing.
func (l *loop) items() expr.Expr {
	if l.list.isNull {
		return l.list.orEmptyList().x
	}
	return l.list.x
}

// all returns a list of operations for all elements of a foreach.
func (l *loop) all(list, condition expr.Expr) expr.Expr {
	all := indexes(l.items())
	if l.entry.At("order").Text() == "Descending" {
		all = all.Call("reverse")
	}
	return forEach(all, condition, list)
}

// isElement reports whether a path is that of the element of a foreach.
func (l *loop) isElement(p *path) bool {
	list := l.list.path
	if list == nil || len(p.parts) != len(list.parts)+1 || !p.parts[len(list.parts)].equal(anyIndex) {
		return false
	}
	return expr.Equal(p.root, list.root) && slices.EqualFunc(p.parts[:len(list.parts)], list.parts, part.equal)
}

// goesThrough reports whether the elements of a foreach are items of a list: the items of this
// list, some of them, or those of several lists together.
func (l *loop) goesThrough(list code) bool {
	return slices.ContainsFunc(l.items().Lists(), func(x expr.Expr) bool {
		return expr.Equal(x, list.x) || expr.Equal(x, list.orEmptyList().x)
	})
}

// addition is an operation of a JSON Patch in place of the part of a strategic merge patch at a path.
type addition struct {
	fields map[string]any
	path   change.Path
}

// additions returns the operations of a JSON Patch that does the same as a patch whose keys depend
// on the element of a foreach, and whose values are constants: then the order of the elements does
// not matter. It is nil for other patches.
func additions(patch map[string]any, at string, within change.Path) (all []addition) {
	for _, key := range sortedKeys(patch) {
		path, place := at+"/"+jsonpatch.Escape(key), append(slices.Clip(within), change.Key(key))
		anchor, _ := kyverno.ParseAnchor(key)
		text, isText := patch[key].(string)
		below, isMap := patch[key].(map[string]any)
		switch {
		case anchor == kyverno.NoAnchor && isText && strings.Contains(path, "{{") && !strings.Contains(text, "{{"):
			all = append(all, addition{map[string]any{"op": "add", "path": path, "value": text}, place})
			continue
		case anchor == kyverno.NoAnchor && isMap:
			if operations := additions(below, path, place); operations != nil {
				all = append(all, operations...)
				continue
			}
		}
		return nil
	}
	return all
}

// follow converts the targets of a rule.
func (c *converter) follow(s *scope, n policy.Node) error {
	if len(n.Items()) == 0 {
		return nil
	}
	if len(n.Items()) > 1 {
		return c.refuse(n.Path, "several targets", "write a rule for each")
	}
	target := n.Items()[0]
	own := &converter{rule: c.rule, schemas: c.schemas}
	err := own.selects(policy.Node{Value: kindOfTarget(target), Path: target.At("kind").Path})
	if c.problems = append(c.problems, own.problems...); err != nil {
		return err
	}
	c.target = own
	matched := &own.matched
	matched.rules = merged(matched.rules)
	for i := range matched.rules {
		matched.rules[i].operations = []string{"CREATE", "UPDATE"}
	}
	if err := c.identified(s, target); err != nil {
		return err
	}
	if selector := target.At("selector"); selector.Given() {
		matched.selector = selector.Object()
	}
	if target.At("context").Given() {
		return c.refuse(target.At("context").Path, "a context for each target", "write the values where they are used")
	}
	conditions, err := s.with("target", c.changed()).preconditions(target.At("preconditions"))
	matched.conditions = append(matched.conditions, namedAll("target", conditions)...)
	return c.failed(target.At("preconditions").Path, err)
}

// identified adds the conditions that a target has a name, a namespace and a UID.
func (c *converter) identified(s *scope, target policy.Node) error {
	matched := c.written()
	for _, key := range []string{"name", "namespace", "uid"} {
		field := target.At(key)
		isClustered := key == "namespace" && len(matched.kinds) > 0 && !matched.kinds[0].Namespaced && !matched.kinds[0].Unknown
		if !field.Given() || isClustered {
			continue
		}
		x, err := s.isText(c.changed().field("metadata").field(key), field.Text())
		if err != nil {
			return c.failed(field.Path, err)
		}
		matched.conditions = append(matched.conditions, condition{name: key, x: x})
	}
	return nil
}

// namedAll returns conditions with one name.
func namedAll(name string, all []expr.Expr) (conditions []condition) {
	for _, x := range all {
		conditions = append(conditions, condition{name: name, x: x})
	}
	return conditions
}

// kindOfTarget returns the kind of a target in the form of an entry of kinds.
func kindOfTarget(n policy.Node) string {
	version := n.At("apiVersion").Text()
	if version == "" {
		return n.At("kind").Text()
	}
	return version + "/" + n.At("kind").Text()
}
