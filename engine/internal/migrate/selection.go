package migrate

import (
	"cmp"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/internal/celenv/expr"
	"github.com/preadmit/preadmit/engine/internal/jmespath"
	"github.com/preadmit/preadmit/engine/internal/schema"
)

// values converts a selection from the values of a map.
func (s *scope) values(n jmespath.Node) (code, error) {
	left, err := s.node(n.Children[0])
	if err != nil {
		return code{}, err
	}
	if !left.isRoot() || left.root() != imagesRoot || len(left.path.parts) != 1 || n.Children[1].Op != jmespath.OpField {
		return code{}, noFormf("", "the values of a map, in the order of their keys")
	}
	pod, err := s.rule.pod()
	if err != nil {
		return code{}, err
	}
	s.rule.doubt(anyImage, "check that all images are valid")
	containers := pod.field(left.path.parts[0].key)
	element := variableOf("c", itemTypes(containers.types))
	each, err := imagePart(element.field("image").x, n.Children[1].Name)
	return mapped(containers, "c", expr.True, each), err
}

// projection converts a selection from all items of a list.
func (s *scope) projection(n jmespath.Node) (code, error) {
	left, err := s.list(n.Children[0], "JMESPath selects nothing there; write a pipe before it: […] | [?…]", "a selection from a value that is no list")
	if err != nil {
		return code{}, err
	}
	name := elementName(left, s)
	inner := s.at(left.each(name))
	condition := expr.True
	if n.Op == jmespath.OpFilter {
		if condition, err = inner.truth(n.Children[2]); err != nil {
			return code{}, err
		}
	}
	each, err := inner.node(n.Children[1])
	if err != nil {
		return code{}, err
	}
	return mapped(left, name, condition, each), nil
}

// mapped returns a list with an expression for each item of another list. Missing values are
// left out.
func mapped(of code, name string, condition expr.Expr, each code) code {
	condition = expr.And(condition, each.present())
	isItem := expr.Equal(each.x, expr.Ident(name))
	return of.orNullIfMissing(func(of code) code {
		result := code{x: of.x, kind: list}
		switch always := expr.Equal(condition, expr.True); {
		case isItem && always:
		case isItem:
			result.x = of.x.Over("filter", name, condition)
		default:
			result.x = eachOf(of.x, name, condition, each.x)
		}
		if isItem {
			result.types, result.itemKind = of.types, of.itemKind
		} else {
			result.itemKind = each.kind
		}
		return result
	})
}

// orNullIfMissing returns what is made of a list: null, or something empty, if the list is missing.
func (c code) orNullIfMissing(made func(list code) code) code {
	result := made(c)
	if c.mayMiss() || c.orEmpty != nil {
		empty := made(c.orEmptyList())
		result.orEmpty, result.given, result.isNull = &empty, c.present(), true
	}
	return result
}

// flattened converts a list whose items that are lists are replaced by their items.
func (s *scope) flattened(n jmespath.Node) (code, error) {
	switch {
	case n.Op == jmespath.OpList:
		return s.concatenated(n)
	case n.Op == jmespath.OpSelect && n.Children[1].Op == jmespath.OpList:
		left, err := s.valued(n.Children[0])
		if err != nil || left.mayMiss() {
			return code{}, cmp.Or(err, noFormf("give it a default with ||", "a list of fields of a value that may be missing"))
		}
		return s.at(left).concatenated(n.Children[1])
	}
	c, err := s.list(n, "", "[] after a value that is no list")
	if err != nil {
		return code{}, err
	}
	if c.itemKind == list || slices.ContainsFunc(c.types, func(t *schema.Type) bool { return kindOfType(t.ItemType()) == list }) {
		return c.orNullIfMissing(func(c code) code { return computed(c.x.Call("flatten"), list) }), nil
	}
	return c.orNullIfMissing(func(c code) code { return c }), nil
}

// concatenated converts `[a, b][]` for lists.
func (s *scope) concatenated(n jmespath.Node) (code, error) {
	var types []*schema.Type
	lists, err := collect(n.Children, func(child jmespath.Node) (expr.Expr, error) {
		c, err := s.valued(child)
		if err == nil && c.kind != list {
			err = noFormf("", "[…][] with operands that are no lists")
		}
		if err != nil {
			return expr.Expr{}, err
		}
		types = c.types
		return c.orEmptyList().x, nil
	})
	if err != nil {
		return code{}, err
	}
	return code{x: expr.Plus(lists...), kind: list, types: types}, nil
}

// listOf converts `[a, b]`.
func (s *scope) listOf(n jmespath.Node) (code, error) {
	var kinds []kind
	items, err := collect(n.Children, func(child jmespath.Node) (any, error) {
		c, err := s.valued(child)
		kinds = append(kinds, c.kind)
		if err == nil && c.mayMiss() {
			err = noFormf("give each a default with ||", "a list of values that may be missing")
		}
		return c, err
	})
	if err != nil {
		return code{}, err
	}
	made := code{x: exprOf(items), kind: list, itemKind: kinds[0]}
	for _, k := range kinds[1:] {
		made.itemKind = common(made.itemKind, k)
	}
	return made, nil
}

// elementName returns an unused name for the items of a list.
func elementName(of code, s *scope) string {
	name := "x"
	if of.path != nil && len(of.path.parts) > 0 {
		if last := of.path.parts[len(of.path.parts)-1]; last.computed.IsZero() && expr.IsIdentifier(last.key) {
			name = strings.ToLower(last.key[:1])
		}
	} else if len(of.types) > 0 && of.types[0].ItemType() != nil && strings.HasSuffix(of.types[0].ItemType().Name, "Container") {
		name = "c"
	}
	for s.isTaken(name) {
		name += "x"
	}
	return name
}

// isTaken reports whether values in scope use a name.
func (s *scope) isTaken(name string) bool {
	for _, c := range s.vars {
		if !c.x.IsZero() && c.x.Uses(name) {
			return true
		}
	}
	return s.current != nil && !s.current.x.IsZero() && s.current.x.Uses(name) || s.self != nil && s.self.x.Uses(name)
}
