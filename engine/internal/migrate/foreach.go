package migrate

import (
	"fmt"

	"github.com/preadmit/preadmit/engine/internal/celenv/expr"
	"github.com/preadmit/preadmit/engine/policy"
)

// foreach converts an entry of foreach.
func (c *converter) foreach(s *scope, entry policy.Node) error {
	list, err := s.expression(entry.At("list").Text())
	if err != nil {
		return c.failed(entry.At("list").Path, err)
	}
	l := &loop{entry: entry, list: list, scope: s}
	switch {
	case entry.At("foreach").Given():
		return c.refuse(entry.At("foreach").Path, "a foreach within a foreach", "write the patch in CEL by hand, with one map() within another")
	case entry.At("patchesJson6902").Given():
		return c.operations(s, entry.At("patchesJson6902"), l)
	}
	return c.strategic(s, entry.At("patchStrategicMerge"), l)
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
	matched.conditions = append(matched.conditions, numbered("target", conditions)...)
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
		said, err := s.text(field.Text())
		if err != nil {
			return c.failed(field.Path, err)
		}
		x, err := s.equals(withKind(c.changed().field("metadata").field(key), text), said)
		if err != nil {
			return c.failed(field.Path, err)
		}
		matched.conditions = append(matched.conditions, condition{key, x})
	}
	return nil
}

// numbered returns conditions with names: name-1, name-2 …
func numbered(name string, all []expr.Expr) (conditions []condition) {
	for i, x := range all {
		conditions = append(conditions, condition{fmt.Sprintf("%s-%d", name, i+1), x})
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
