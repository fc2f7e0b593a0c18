package migrate

import (
	"fmt"
	"strings"

	"github.com/preadmit/preadmit/engine/internal/schema"
)

// write converts the tree of a patch to mutations, for objects that meet a condition.
func (c *converter) write(root *node, guard string) error {
	var lists joined
	var writes []effect
	if err := c.arrange(root, &lists, &writes); err != nil {
		return err
	}
	switch len(lists) {
	case 0:
	case 1:
		c.addPatch(lists[0], guard, arranged, writes)
	default:
		c.addPatch(lists, guard, arranged, writes)
	}
	applied, patched, err := c.split(root)
	if err != nil {
		return err
	}
	if applied != nil {
		object, err := c.objectLiteral(applied, "Object")
		if err != nil {
			return err
		}
		if guard != "true" {
			object = either{guard, object, plain("Object{}")}
		}
		c.mutations = append(c.mutations, mutation{patchType: applyConfiguration, expression: object, writes: applied.effects()})
	}
	if patched != nil {
		operations, err := c.patchOf(patched)
		if err != nil {
			return err
		}
		c.addPatch(operations, guard, "", patched.effects())
	}
	return nil
}

// effects returns the effects of a tree. A list counts as a whole.
func (n *node) effects() []effect {
	switch {
	case n.items != nil:
		return []effect{{n.at.strict(), fmt.Sprintf("%p", n)}}
	case n.isLeaf:
		value, _ := write(n.value)
		return []effect{{n.at.strict(), value}}
	case n.gone:
		return []effect{{n.at.strict(), "gone"}}
	}
	var all []effect
	for _, f := range n.fields {
		all = append(all, f.node.effects()...)
	}
	return all
}

// strict returns the path of a value without optional parts.
func (c code) strict() string { return c.path.write(len(c.path.parts), false) }

func (c *converter) addPatch(operations layout, guard, comment string, writes []effect) {
	if guard != "true" {
		operations = either{guard, operations, plain("[]")}
	}
	c.mutations = append(c.mutations, mutation{patchType: jsonPatch, expression: operations, comment: comment, writes: writes})
}

const arranged = "As in a ClusterPolicy, items that change come first in the list."

// arrange moves the items of a list that a patch changes to the front, as Kyverno does.
func (c *converter) arrange(n *node, lists *joined, writes *[]effect) error {
	for _, f := range n.fields {
		if err := c.arrange(f.node, lists, writes); err != nil {
			return err
		}
	}
	if n.items == nil || len(n.items.keys) == 0 {
		return nil
	}
	list, name := n.at, elementName(n.at, &scope{})
	item := ofPath(&path{root: name}, itemTypes(list.types))
	key := item.field(n.items.keys[0])
	written := list.in(primary)
	var first []string
	var plainKeys []any
	for _, p := range n.items.plain {
		same := fmt.Sprintf("%s == %s", key.text, p.key.text)
		stub, _ := write(keyed{{literal(n.items.keys[0]), p.key}})
		first = append(first, fmt.Sprintf("(%s.exists(%s, %s) ? %s.filter(%s, %s) : [%s])", written, name, same, written, name, same, stub))
		plainKeys = append(plainKeys, p.key)
	}
	var changes []string
	reverse := false
	for _, e := range n.items.each {
		condition, body, err := e.of(item)
		if err != nil {
			return err
		}
		if change := and(condition, body.changes()); change != "true" || len(first) > 0 || e.reverses() {
			changes = append(changes, change)
			reverse = reverse || e.reverses()
		}
	}
	rest := ""
	if len(plainKeys) > 0 {
		others, _ := write(plainKeys)
		rest = not(fmt.Sprintf("%s in %s", key.text, others))
		if len(plainKeys) == 1 {
			rest = fmt.Sprintf("%s != %s", key.text, plainKeys[0].(code).text)
		}
	}
	if len(changes) > 0 {
		changed := or(changes...)
		front := fmt.Sprintf("%s.filter(%s, %s)", written, name, and(rest, changed))
		if reverse {
			front += ".reverse()"
		}
		first = append(first, front)
		rest = and(orTrue(rest), not(changed))
	}
	if len(first) == 0 {
		return nil
	}
	first = append(first, fmt.Sprintf("%s.filter(%s, %s)", written, name, rest))
	var sum joined
	for _, part := range first {
		sum = append(sum, plain(part))
	}
	*lists = append(*lists, guarded(list.path.present(), operationOf("replace", list, sum)))
	*writes = append(*writes, effect{list.strict(), "arranged"})
	return nil
}

// reverses reports whether the items end up in reverse order. A foreach moves each element to
// the front; by default it begins with the last element.
func (e each) reverses() bool {
	return e.loop != nil && e.loop.entry.At("order").Text() == "Ascending"
}

// changes returns a condition that holds if a node changes its value.
func (n *node) changes() string {
	if n == nil {
		return "false"
	}
	if n.isLeaf || n.gone {
		return "true"
	}
	var any []string
	if n.items != nil {
		for range n.items.plain {
			return "true"
		}
		for _, e := range n.items.each {
			name := elementName(n.at, &scope{})
			condition, body, err := e.of(ofPath(&path{root: name}, itemTypes(n.at.types)))
			if err == nil {
				any = append(any, fmt.Sprintf("%s.exists(%s, %s)", n.at.orEmptyList().in(primary), name, and(condition, body.changes())))
			}
		}
		return or(any...)
	}
	for _, f := range n.fields {
		if f.add {
			any = append(any, not(orTrue(f.node.at.path.present())))
			continue
		}
		any = append(any, f.node.changes())
	}
	return or(any...)
}

// split divides a tree into a part for an ApplyConfiguration and a part that needs a JSON Patch;
// a part may be nil.
func (c *converter) split(n *node) (applied, patched *node, err error) {
	if n.fields == nil {
		if c.canApply(n) {
			return n, nil, nil
		}
		return nil, n, nil
	}
	t := first(n.at.types)
	if t == nil || t.AtomicMap {
		return nil, n, nil
	}
	for _, f := range n.fields {
		var a, p *node
		switch {
		case !f.key.isConstant, f.add && !isScalar(f.node):
			p = f.node
		default:
			if a, p, err = c.split(f.node); err != nil {
				return nil, nil, err
			}
		}
		for _, part := range []struct {
			child *node
			to    **node
		}{{a, &applied}, {p, &patched}} {
			if part.child == nil {
				continue
			}
			if *part.to == nil {
				*part.to = &node{at: n.at}
			}
			(*part.to).fields = append((*part.to).fields, field{f.key, f.add, part.child})
		}
	}
	return applied, patched, nil
}

func isScalar(n *node) bool {
	if !n.isLeaf {
		return false
	}
	switch n.value.(type) {
	case []any, keyed, map[string]any:
		return false
	}
	return true
}

// canApply reports whether an ApplyConfiguration can express a whole tree.
func (c *converter) canApply(n *node) bool {
	t := first(n.at.types)
	switch {
	case c.isNative && n.isLeaf && !isScalar(n) && holdsAtomic(n.value, t):
		return false
	case n.gone || n.union || t == nil || t.Preserve || t.Scalar == schema.Untyped:
		return false
	case n.isLeaf && !isScalar(n):
		return !t.IsList || t.List == schema.Atomic
	case n.isLeaf:
		return true
	case n.items != nil:
		return c.canApplyItems(n)
	case t.AtomicMap:
		return false
	}
	for _, f := range n.fields {
		if !f.key.isConstant || f.add && !isScalar(f.node) || !c.canApply(f.node) {
			return false
		}
	}
	return true
}

// holdsAtomic reports whether a value has an atomic list, map or struct, which API servers
// refuse in an ApplyConfiguration.
func holdsAtomic(value any, t *schema.Type) bool {
	switch value := value.(type) {
	case keyed:
		for _, p := range value {
			key, _ := p.key.constant.(string)
			if holdsAtomic(p.value, t.FieldType(key)) {
				return true
			}
		}
		return t == nil || t.AtomicMap
	case []any:
		return t == nil || t.IsList && t.List == schema.Atomic
	}
	return false
}

func (c *converter) canApplyItems(n *node) bool {
	if t := first(n.at.types); t.List != schema.Associative || len(n.items.keys) == 0 || t.ListKeys[0] != n.items.keys[0] {
		return false
	}
	item := ofPath(&path{root: "item"}, itemTypes(n.at.types))
	var bodies []*node
	for _, p := range n.items.plain {
		body, err := p.of(item)
		if err != nil {
			return false
		}
		bodies = append(bodies, body)
	}
	for _, e := range n.items.each {
		_, body, err := e.of(item)
		if err != nil {
			return false
		}
		bodies = append(bodies, body)
	}
	for _, body := range bodies {
		if !c.canApply(body) {
			return false
		}
	}
	return true
}

// objectLiteral converts a map to an Object literal of an ApplyConfiguration.
func (c *converter) objectLiteral(n *node, name string) (layout, error) {
	t := first(n.at.types)
	if len(t.Fields) == 0 && t.Elem != nil {
		var pairs keyed
		for _, f := range n.fields {
			pairs = append(pairs, pair{f.key, valueOf(f)})
		}
		return mapLiteral(pairs), nil
	}
	g := group{open: name + "{", close: "}"}
	for _, f := range n.fields {
		key := f.key.constant.(string)
		if !isIdentifier(key) {
			return nil, noFormf("", "the field %q in an ApplyConfiguration", key)
		}
		value, err := c.memberLiteral(f, name+"."+key)
		if err != nil {
			return nil, err
		}
		if c, ok := f.node.value.(code); ok && c.isNull {
			key, value = "?"+key, plain(valueOf(f).(code).maybe)
		}
		g.items = append(g.items, named{key + ": ", value})
	}
	return g, nil
}

// valueOf returns the value of a field without a subtree. For a field that is only added, the
// existing value wins.
func valueOf(f field) any {
	if !f.add {
		return f.node.value
	}
	if c, ok := f.node.value.(code); ok && c.isNull {
		c.maybe = f.node.at.maybe + ".or(" + c.maybe + ")"
		return c
	}
	written, _ := write(f.node.value)
	return code{text: f.node.at.maybe + ".orValue(" + written + ")"}
}

func (c *converter) memberLiteral(f field, name string) (layout, error) {
	n := f.node
	switch {
	case n.items != nil:
		return c.listLiteral(n, name)
	case !n.isLeaf:
		return c.objectLiteral(n, name)
	case f.add && n.at.maybe != "":
		written, _ := write(valueOf(f))
		return plain(written), nil
	case f.add:
		return plain(n.at.text), nil
	}
	return c.valueLiteral(n.value, first(n.at.types), name), nil
}

// valueLiteral converts a whole value to a literal of an ApplyConfiguration.
func (c *converter) valueLiteral(value any, t *schema.Type, name string) layout {
	switch value := value.(type) {
	case keyed:
		if t == nil || len(t.Fields) == 0 && (t.Elem != nil || len(value) > 0) {
			return mapLiteral(value)
		}
		if t.AtomicMap {
			c.replacesAtomics = true
		}
		g := group{open: name + "{", close: "}"}
		for _, p := range value {
			key, _ := p.key.constant.(string)
			g.items = append(g.items, named{key + ": ", c.valueLiteral(p.value, t.FieldType(key), name+"."+key)})
		}
		return g
	case []any:
		if t != nil && t.IsList && t.List == schema.Atomic {
			c.replacesAtomics = true
		}
		g := group{open: "[", close: "]"}
		for _, item := range value {
			if _, isMap := item.(keyed); !isMap {
				written, _ := write(value)
				return plain(written)
			}
			g.items = append(g.items, c.valueLiteral(item, t.ItemType(), name))
		}
		return g
	}
	if t != nil && t.IsList && t.List == schema.Atomic {
		c.replacesAtomics = true
	}
	written, _ := write(value)
	return plain(written)
}

// mapLiteral returns a map literal with one element per line.
func mapLiteral(pairs keyed) layout {
	values, types := make([]string, len(pairs)), make([]string, len(pairs))
	for i, p := range pairs {
		values[i], types[i] = write(p.value)
	}
	unify(values, types)
	g := group{open: "{", close: "}"}
	for i, p := range pairs {
		if below := nested(p.value, strings.HasPrefix(values[i], "dyn(") && types[i] != "dyn"); below != nil {
			g.items = append(g.items, named{p.key.asText().text + ": ", below})
			continue
		}
		g.items = append(g.items, plain(p.text(values[i])))
	}
	return g
}

// nested returns the layout of a map, or of a list of maps, in a literal; nil for other values.
func nested(value any, isDyn bool) layout {
	var below layout
	switch value := value.(type) {
	case keyed:
		below = mapLiteral(value)
	case []any:
		g := group{open: "[", close: "]"}
		for _, item := range value {
			pairs, isMap := item.(keyed)
			if !isMap || len(value) > 1 { // several items may need one common type
				return nil
			}
			g.items = append(g.items, mapLiteral(pairs))
		}
		below = g
	default:
		return nil
	}
	if isDyn {
		return wrapped{"dyn(", below, ")"}
	}
	return below
}

// listLiteral converts the items of a list that merges by key.
func (c *converter) listLiteral(n *node, name string) (layout, error) {
	var parts joined
	plainItems := group{open: "[", close: "]"}
	for _, p := range n.items.plain {
		body, err := p.of(ofPath(&path{root: "item"}, itemTypes(n.at.types)))
		if err != nil {
			return nil, err
		}
		item, err := c.objectLiteral(body, name)
		if err != nil {
			return nil, err
		}
		plainItems.items = append(plainItems.items, item)
	}
	if len(plainItems.items) > 0 {
		parts = append(parts, plainItems)
	}
	for _, e := range n.items.each {
		element := ofPath(&path{root: elementName(n.at, &scope{})}, itemTypes(n.at.types))
		condition, body, err := e.of(element)
		if err != nil {
			return nil, err
		}
		var keys []field
		for _, key := range first(n.at.types).ListKeys {
			member := element.field(key)
			if member.maybe == "" || key == n.items.keys[0] {
				keys = append(keys, field{key: literal(key), node: &node{at: member, value: member, isLeaf: true}})
			}
		}
		body = &node{at: body.at, fields: append(keys, body.fields...)}
		item, err := c.objectLiteral(body, name)
		if err != nil {
			return nil, err
		}
		list := n.at.orEmptyList()
		if e.loop != nil {
			list = n.at // a foreach fails without the list
		}
		open := fmt.Sprintf("%s.map(%s, ", list.in(primary), element.text)
		if condition != "true" {
			open += condition + ", "
		}
		parts = append(parts, wrapped{open, item, ")"})
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	return parts, nil
}

// wrapped is a layout between two texts.
type wrapped struct {
	open  string
	inner layout
	close string
}

func (w wrapped) flat() string { return w.open + w.inner.flat() + w.close }
func (w wrapped) lines(b *strings.Builder, indent string) {
	b.WriteString(w.open)
	print(b, w.inner, indent, len(indent)+len(w.open))
	b.WriteString(w.close)
}

// operationOf returns one operation of a JSON Patch.
func operationOf(op string, at code, value layout) layout {
	g := group{open: "JSONPatch{", close: "}"}
	g.items = append(g.items, plain(fmt.Sprintf("op: %q", op)), plain("path: "+at.path.pointer()))
	if value != nil {
		g.items = append(g.items, named{"value: ", value})
	}
	return g
}

// patchOf converts a tree to a list of operations.
func (c *converter) patchOf(n *node) (layout, error) {
	parts, err := c.operationsOf(n)
	if err != nil {
		return nil, err
	}
	var all joined
	constant := group{open: "[", close: "]"}
	for _, part := range parts {
		if g, ok := part.(group); ok && g.open == "JSONPatch{" {
			constant.items = append(constant.items, part)
			continue
		}
		if len(constant.items) > 0 {
			all = append(all, constant)
			constant.items = nil
		}
		all = append(all, part)
	}
	if len(constant.items) > 0 || len(all) == 0 {
		all = append(all, constant)
	}
	if len(all) == 1 {
		return all[0], nil
	}
	return all, nil
}

// operationsOf returns the operations, or lists of operations, that change the value of a node.
func (c *converter) operationsOf(n *node) ([]layout, error) {
	switch {
	case n.gone:
		remove := operationOf("remove", n.at, nil)
		if present := n.at.path.present(); present != "" {
			return []layout{either{present, group{"[", []layout{remove}, "]"}, plain("[]")}}, nil
		}
		return []layout{remove}, nil
	case n.isLeaf:
		add := operationOf("add", n.at, valueLayout(n.value))
		if c, ok := n.value.(code); ok && c.isNull {
			return []layout{either{c.maybe + ".hasValue()", group{"[", []layout{add}, "]"}, plain("[]")}}, nil
		}
		return []layout{add}, nil
	case n.items != nil:
		return c.itemOperations(n)
	}
	var all []layout
	for _, f := range n.fields {
		present := f.node.at.path.present()
		whole, hasWhole := f.node.whole()
		below, err := c.patchOf(f.node)
		if err != nil {
			return nil, err
		}
		created := layout(plain("[]"))
		if hasWhole {
			created = group{"[", []layout{operationOf("add", f.node.at, valueLayout(whole))}, "]"}
		}
		switch {
		case f.add && present == "":
		case f.add:
			all = append(all, either{present, plain("[]"), created})
		case f.node.isLeaf || f.node.gone || present == "":
			parts, err := c.operationsOf(f.node)
			if err != nil {
				return nil, err
			}
			all = append(all, parts...)
		default:
			all = append(all, either{present, below, created})
		}
	}
	return all, nil
}

// whole returns the value that a node creates where there was no value; false if it creates
// nothing.
func (n *node) whole() (any, bool) {
	switch {
	case n.gone:
		return nil, false
	case n.isLeaf:
		return n.value, true
	case n.items != nil:
		var values []any
		for _, p := range n.items.plain {
			values = append(values, p.value)
		}
		return values, len(values) > 0
	}
	var pairs keyed
	for _, f := range n.fields {
		if value, ok := f.node.whole(); ok {
			pairs = append(pairs, pair{f.key, value})
		}
	}
	return pairs, len(pairs) > 0
}

// valueLayout returns the layout of a value in a JSON Patch.
func valueLayout(value any) layout {
	if pairs, ok := value.(keyed); ok {
		return mapLiteral(pairs)
	}
	written, _ := write(value)
	return plain(written)
}

// itemOperations returns the operations for the items of a list.
func (c *converter) itemOperations(n *node) ([]layout, error) {
	var all []layout
	for i, p := range n.items.plain {
		if len(n.items.keys) == 0 {
			end := ofPath(n.at.path.then(part{key: "-"}, true), nil)
			all = append(all, operationOf("add", end, valueLayout(p.value)))
			continue
		}
		body, err := p.of(ofPath(n.at.path.then(part{index: i, isIndex: true}, true), itemTypes(n.at.types)))
		if err != nil {
			return nil, err
		}
		operations, err := c.operationsOf(body)
		if err != nil {
			return nil, err
		}
		all = append(all, operations...)
	}
	for _, e := range n.items.each {
		item := ofPath(n.at.path.then(part{computed: "i", isIndex: true}, true), itemTypes(n.at.types))
		condition, body, err := e.of(item)
		if err != nil {
			return nil, err
		}
		operations, err := c.operationsOf(body)
		if err != nil {
			return nil, err
		}
		all = append(all, eachIndex(n.at.text, condition, operations))
	}
	return all, nil
}

// eachIndex returns an expression for operations on the items of a list, by index.
func eachIndex(list, condition string, operations []layout) layout {
	indexes := fmt.Sprintf("lists.range(size(%s))", list)
	if len(operations) == 1 {
		if g, ok := operations[0].(group); ok && g.open == "JSONPatch{" {
			return forEach(indexes, condition, operations[0], ")")
		}
	}
	var parts joined
	for _, operation := range operations {
		if g, ok := operation.(group); ok && g.open == "JSONPatch{" {
			operation = group{"[", []layout{operation}, "]"}
		}
		parts = append(parts, operation)
	}
	return forEach(indexes, condition, parts, ").flatten()")
}

// forEach returns an expression that maps all indexes that meet a condition.
func forEach(indexes, condition string, made layout, end string) layout {
	g := group{indexes + ".map(", []layout{plain("i")}, end}
	if condition != "true" && condition != "" {
		g.items = append(g.items, plain(condition))
	}
	g.items = append(g.items, made)
	return g
}
