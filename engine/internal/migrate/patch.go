package migrate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/kyverno"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/policy"
)

// node is the change of a value by a strategic merge patch: a tree without anchors.
type node struct {
	// at is the value in the object.
	at code
	// One of these is set: fields of a map, items of a list, a value, or that the value is
	// removed.
	fields []field
	items  *items
	value  any
	isLeaf bool
	gone   bool
	// union says that value already includes the items of the list.
	union bool
}

// field is a field that a patch changes.
type field struct {
	key code
	// add says that the field is written only if it is missing.
	add  bool
	node *node
}

// items are the changes to the items of a list.
type items struct {
	// keys identify the items; empty if items have no key.
	keys []string
	// plain are items that the list has afterwards; each are changes to existing items.
	plain []plainItem
	each  []each
}

// plainItem is an item that the list has afterwards.
type plainItem struct {
	// key is the value that identifies the item; empty if it has no key.
	key code
	// value is the whole item; of returns the change of the existing item with the key.
	value any
	of    func(item code) (*node, error)
}

// each is a change to the items of a list that meet a condition.
type each struct {
	// of returns the condition and the change, for an item with a name.
	of func(item code) (condition string, body *node, err error)
	// loop is the foreach whose elements are the items; nil without a foreach.
	loop *loop
}

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

// builder converts a strategic merge patch to a node.
type builder struct {
	c    *converter
	loop *loop
	path change.Path
}

// strategic converts a strategic merge patch.
func (c *converter) strategic(s *scope, n policy.Node, l *loop) error {
	pattern := n.Object()
	b := &builder{c: c, loop: l, path: n.Path}
	var conditions []string
	root, err := b.fields(s, place{c.changed(), c.changed()}, pattern, &conditions)
	if err != nil {
		return c.failed(n.Path, err)
	}
	guard := and(conditions...)
	if l != nil && !l.bound {
		some, err := l.some()
		if err != nil {
			return c.failed(l.entry.Path, err)
		}
		guard = and(some, guard)
	}
	if l == nil && c.targets == nil && guard != "true" {
		c.matched.conditions = append(c.matched.conditions, condition{"anchors", guard})
		guard = "true"
	} else if l == nil && guard != "true" {
		c.targets.conditions = append(c.targets.conditions, condition{"anchors", guard})
		guard = "true"
	}
	return c.failed(n.Path, c.write(root, guard))
}

// some returns a condition that holds if any element of a foreach meets its preconditions.
func (l *loop) some() (string, error) {
	name := elementName(l.list, l.scope)
	condition, err := l.condition(ofPath(&path{root: name}, itemTypes(l.list.types)))
	if err != nil {
		return "", err
	}
	if condition == "true" {
		return "size(" + l.list.text + ") > 0", nil
	}
	return fmt.Sprintf("%s.exists(%s, %s)", l.list.in(primary), name, condition), nil
}

// condition converts the preconditions of a foreach for an element.
func (l *loop) condition(element code) (string, error) {
	all, err := l.inner(element).preconditions(l.entry.At("preconditions"))
	return and(all...), err
}

// inner returns the scope of a foreach for an element.
func (l *loop) inner(element code) *scope { return l.scope.with("element", element) }

// place is the place that a part of a patch changes.
type place struct {
	// at is the value in the object. self is the meaning of @: in a list, the item with the same
	// index as in the patch, even if the patch changes another item.
	at, self code
}

func (p place) field(key string) place { return place{p.at.field(key), p.self.field(key)} }

// fields returns the node of a map. It appends conditions to conditions.
func (b *builder) fields(s *scope, at place, pattern map[string]any, conditions *[]string) (*node, error) {
	n := &node{at: at.at}
	switch pattern["$patch"] {
	case "delete":
		n.gone = true
		return n, nil
	case "replace":
		rest := change.Clone(pattern).(map[string]any)
		delete(rest, "$patch")
		value, err := b.scope(s, at).value(rest)
		n.value, n.isLeaf = value, true
		return n, err
	}
	for _, key := range sortedKeys(pattern) {
		if key == "$patch" {
			continue
		}
		anchor, bare := kyverno.ParseAnchor(key)
		name, err := s.text(bare)
		if err != nil {
			return nil, err
		}
		member := at.field(bare)
		if !name.isConstant {
			member.at = ofPath(at.at.path.then(part{computed: name.asText().text}, false), nil)
		}
		if anchor == kyverno.Condition || anchor == kyverno.Global {
			if err := b.condition(s, n, member, name, pattern[key], conditions); err != nil {
				return nil, err
			}
			continue
		}
		child, err := b.node(s, member, pattern[key], conditions)
		if err != nil {
			return nil, err
		}
		if child != nil {
			n.fields = append(n.fields, field{key: name, add: anchor == kyverno.Add, node: child})
		}
	}
	return n, nil
}

// condition adds a condition. If its pattern only adds missing values, it adds these to the
// node.
func (b *builder) condition(s *scope, n *node, member place, name code, pattern any, conditions *[]string) error {
	*conditions = append(*conditions, orTrue(member.at.path.present()))
	if adding, _ := pattern.(map[string]any); len(adding) > 0 && onlyAdds(adding) {
		child, err := b.fields(s, member, adding, conditions)
		if err == nil {
			n.fields = append(n.fields, field{key: name, node: child})
		}
		return err
	}
	text, err := b.scope(s, member).pattern(member.at, pattern)
	*conditions = append(*conditions, text)
	return err
}

func onlyAdds(pattern map[string]any) bool {
	for key := range pattern {
		if anchor, _ := kyverno.ParseAnchor(key); anchor != kyverno.Add {
			return false
		}
	}
	return true
}

// scope returns a scope in which @ is the value at a place.
func (b *builder) scope(s *scope, at place) *scope {
	copied := *s
	copied.self = &at.self
	return &copied
}

// node returns the node of any value; nil if nothing is left of it.
func (b *builder) node(s *scope, at place, pattern any, conditions *[]string) (*node, error) {
	switch pattern := pattern.(type) {
	case nil:
		return &node{at: at.at, gone: true}, nil
	case map[string]any:
		n, err := b.fields(s, at, pattern, conditions)
		if err != nil || n.gone || n.isLeaf || len(n.fields) > 0 {
			return n, err
		}
		if len(pattern) > 0 {
			return nil, nil
		}
		n.value, n.isLeaf = keyed{}, true
		return n, nil
	case []any:
		if len(pattern) > 0 {
			if _, ok := pattern[0].(map[string]any); ok {
				return b.list(s, at, pattern, conditions)
			}
		}
		value, err := b.scope(s, at).value(pattern)
		if t := first(at.at.types); t != nil && mergesItems(t) && t.MergeKey == "" {
			values, _ := value.([]any)
			return b.union(at.at, values), err
		}
		return &node{at: at.at, value: value, isLeaf: true}, err
	}
	value, err := b.scope(s, at).value(pattern)
	return &node{at: at.at, value: value, isLeaf: true}, err
}

// union returns the node of a list that begins with values, followed by its other items.
func (b *builder) union(at code, values []any) *node {
	written, _ := write(values)
	rest := fmt.Sprintf("%s.filter(x, !(x in %s))", at.orEmptyList().in(primary), written)
	return &node{at: at, value: code{text: written + " + " + rest, level: sum, kind: list}, isLeaf: true, union: true}
}

func first(types []*schema.Type) *schema.Type {
	if len(types) == 0 {
		return nil
	}
	return types[0]
}

func mergesItems(t *schema.Type) bool {
	return slices.Contains(strings.Split(t.Strategy, ","), "merge")
}

// list returns the node of a list of maps.
func (b *builder) list(s *scope, at place, pattern []any, conditions *[]string) (*node, error) {
	n := &node{at: at.at, items: &items{}}
	if t := first(at.at.types); t != nil && mergesItems(t) && t.MergeKey != "" {
		n.items.keys = []string{t.MergeKey}
	}
	anchored := false
	for _, item := range pattern {
		anchored = anchored || kyverno.HasAnchors(item)
	}
	if only, ok := pattern[0].(map[string]any); ok && only["$patch"] == "replace" && len(only) == 1 {
		value, err := b.scope(s, at).value(pattern[1:])
		return &node{at: at.at, value: value, isLeaf: true}, err
	}
	if len(n.items.keys) == 0 && !anchored && !b.isElement(pattern[0]) {
		value, err := b.scope(s, at).value(pattern)
		return &node{at: at.at, value: value, isLeaf: true}, err
	}
	for i, item := range pattern {
		self := at.self.item(i)
		object, ok := item.(map[string]any)
		if !ok {
			return nil, noFormf("", "a list of maps and of other values")
		}
		switch {
		case b.isElement(object):
			b.loop.bound = true
			n.items.each = append(n.items.each, b.elements(s, at, self, object))
		case kyverno.HasGlobalAnchors(object):
			gate, err := b.gate(s, at.at, self, object)
			if err != nil {
				return nil, err
			}
			*conditions = append(*conditions, gate)
		case kyverno.HasAnchors(object):
			n.items.each = append(n.items.each, b.each(s, self, object))
		default:
			child, err := b.plain(s, at.at, self, object, n.items.keys)
			if err != nil {
				return nil, err
			}
			n.items.plain = append(n.items.plain, child)
		}
	}
	if len(n.items.plain)+len(n.items.each) == 0 {
		return nil, nil
	}
	return n, nil
}

// isElement reports whether an item of a patch is the element of a foreach: it has the element's
// name.
func (b *builder) isElement(item any) bool {
	object, _ := item.(map[string]any)
	for key, value := range object {
		anchor, bare := kyverno.ParseAnchor(key)
		text, _ := value.(string)
		if b.loop != nil && bare == "name" && (anchor == kyverno.NoAnchor || anchor == kyverno.Condition) && isElementName(text) {
			return true
		}
	}
	return false
}

func isElementName(text string) bool {
	inner, ok := strings.CutPrefix(strings.TrimSpace(text), "{{")
	inner, ok2 := strings.CutSuffix(inner, "}}")
	return ok && ok2 && strings.TrimSpace(inner) == "element.name"
}

// elements returns the change to the items that are elements of a foreach.
func (b *builder) elements(s *scope, at place, self code, pattern map[string]any) each {
	rest := change.Clone(pattern).(map[string]any)
	for key := range pattern {
		if _, bare := kyverno.ParseAnchor(key); bare == "name" {
			delete(rest, key)
		}
	}
	return each{loop: b.loop, of: func(item code) (string, *node, error) {
		if !strings.Contains(b.loop.list.text+" ", at.at.text+" ") && !strings.Contains(b.loop.list.text, at.at.orEmptyList().text) {
			return "", nil, noFormf("go through the list that the patch changes", "a foreach over %s that changes %s", b.loop.list.text, at.at.text)
		}
		condition, err := b.loop.condition(item)
		if err != nil {
			return "", nil, err
		}
		conditions := []string{condition}
		body, err := b.fields(b.loop.inner(item), place{item, self}, rest, &conditions)
		return and(conditions...), body, err
	}}
}

// each returns the change to the items that meet the conditions of an item of a patch.
func (b *builder) each(s *scope, self code, pattern map[string]any) each {
	return each{of: func(item code) (string, *node, error) {
		var conditions []string
		rest := pattern
		if name, ok := pattern["name"].(string); ok { // a plain name selects
			said, err := s.text(name)
			if err != nil {
				return "", nil, err
			}
			text, err := equals(withKind(item.field("name"), text), said)
			if err != nil {
				return "", nil, err
			}
			conditions = append(conditions, text)
			rest = change.Clone(pattern).(map[string]any)
			delete(rest, "name")
		}
		body, err := b.fields(s, place{item, self}, rest, &conditions)
		return simplifyName(item, and(conditions...)), body, err
	}}
}

// simplifyName removes the test that an item has a name, if all items have one.
func simplifyName(item code, condition string) string {
	if name := item.field("name"); name.maybe == "" && condition == name.text+` != ""` {
		return "true"
	}
	return condition
}

// gate returns the condition of a global anchor in a list: one item must meet it, unless the
// list is empty.
func (b *builder) gate(s *scope, at, self code, pattern map[string]any) (string, error) {
	name := elementName(at, s)
	condition, _, err := b.each(s, self, pattern).of(ofPath(&path{root: name}, itemTypes(at.types)))
	if err != nil {
		return "", err
	}
	present := ""
	if at.path != nil {
		present = at.path.present()
	}
	return and(present, fmt.Sprintf("%s.exists(%s, %s)", at.in(primary), name, condition)), nil
}

// plain returns an item that the list has afterwards.
func (b *builder) plain(s *scope, at, self code, pattern map[string]any, keys []string) (plainItem, error) {
	value, err := b.scope(s, place{at, self}).value(pattern)
	if err != nil {
		return plainItem{}, err
	}
	item := plainItem{value: value, of: func(item code) (*node, error) {
		var none []string
		return b.fields(s, place{item, self}, pattern, &none)
	}}
	for _, key := range keys {
		if pattern[key] == nil {
			return item, noFormf("give the item its "+key, "an item without %q, by which the items of %s are told apart", key, at.text)
		}
		if item.key, err = s.operand(pattern[key]); err != nil {
			return item, err
		}
	}
	return item, nil
}
