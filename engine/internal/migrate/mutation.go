package migrate

import (
	"slices"

	"github.com/preadmit/preadmit/engine/internal/celenv/expr"
	"github.com/preadmit/preadmit/engine/internal/schema"
)

// write converts the tree of a patch to mutations, for objects that meet a condition.
func (c *converter) write(root *node, guard expr.Expr) {
	c.arrange(root, guard)
	applied, patched := c.split(root)
	if applied != nil {
		x := expr.If(guard, c.objectLiteral(applied, "Object"), expr.Struct("Object"))
		c.mutations = append(c.mutations, mutation{patchType: applyConfiguration, expression: x, writes: c.effects(applied)})
	}
	if patched != nil {
		c.addPatch(operationsOf(patched), guard, "", c.effects(patched))
	}
}

// leaves returns the parts of a tree that are no maps with fields.
func (n *node) leaves() (all []*node) {
	if n.isLeaf || n.gone || n.items != nil {
		return []*node{n}
	}
	for _, f := range n.fields {
		all = append(all, f.node.leaves()...)
	}
	return all
}

// effects returns the effects of a tree. A list counts as a whole.
func (c *converter) effects(tree *node) (all []effect) {
	for _, n := range tree.leaves() {
		e := effect{at: n.at.path.place()}
		if n.isLeaf {
			e.value, e.isUndeclared = exprOf(n.value), c.drops(n.at.path, n.value)
		}
		all = append(all, e)
	}
	return all
}

func (c *converter) addPatch(operations, guard expr.Expr, comment string, writes []effect) {
	c.mutations = append(c.mutations, mutation{patchType: jsonPatch, expression: listIf(guard, operations), comment: comment, writes: writes})
}

const arranged = "As in a ClusterPolicy, items that change come first in the list."

// arrange moves the items of lists that a patch changes to the front, as Kyverno does. Lists in
// items of these lists follow in a second mutation, which sees the items at their new places.
func (c *converter) arrange(root *node, guard expr.Expr) {
	outer := c.arrangeLists(root)
	inner, ok := c.arrangeItems(root)
	if !ok {
		c.reject(noFormf("write it with patchesJson6902", "items of lists in lists in lists"))
	}
	lists := slices.DeleteFunc(c.effects(root), func(e effect) bool { return !e.value.IsZero() })
	for _, operations := range [][]expr.Expr{outer, inner} {
		if len(operations) > 0 {
			c.addPatch(expr.Plus(operations...), guard, arranged, lists)
		}
	}
}

// hasKeys reports whether a node is a list whose items have keys.
func (n *node) hasKeys() bool { return n.items != nil && len(n.items.keys) > 0 }

// arrangeLists returns lists of operations that arrange the lists of a tree, but not those in items.
func (c *converter) arrangeLists(n *node) (operations []expr.Expr) {
	for _, f := range n.fields {
		if !f.add { // a list that exists stays as it is
			operations = append(operations, c.arrangeLists(f.node)...)
		}
	}
	if !n.hasKeys() {
		return operations
	}
	if value := c.arrangedList(n); !value.IsZero() {
		operations = append(operations, listIf(n.at.path.present(), expr.List(operation("replace", n.at, value))))
	}
	return operations
}

// arrangeItems returns lists of operations that arrange the lists in the items of the lists of a
// tree; false if these have lists with such items, too.
func (c *converter) arrangeItems(n *node) (operations []expr.Expr, ok bool) {
	ok = true
	for _, f := range n.fields {
		if !f.add {
			below, flat := c.arrangeItems(f.node)
			operations, ok = append(operations, below...), ok && flat
		}
	}
	if !n.hasKeys() {
		return operations, ok
	}
	arrange := func(index part, change itemChange, all func(list, condition expr.Expr) expr.Expr) {
		body := change(n.itemAt(index))
		if lists := c.arrangeLists(body); len(lists) > 0 {
			operations = append(operations, listIf(n.at.path.present(), all(expr.Plus(lists...), body.condition())))
		}
		deeper, flat := c.arrangeItems(body)
		ok = ok && flat && len(deeper) == 0
	}
	for i, p := range n.items.plain { // the items are the first ones now
		arrange(atIndex(expr.Literal(i)), p.change, func(list, _ expr.Expr) expr.Expr { return list })
	}
	for _, e := range n.items.each {
		arrange(anyIndex, e.change, func(list, condition expr.Expr) expr.Expr { return forEach(indexes(n.at.x), condition, list) })
	}
	return operations, ok
}

// anyIndex is the index i.
var anyIndex = atIndex(expr.Ident("i"))

// itemAt returns an item of the list of a node, which exists.
func (n *node) itemAt(index part) code {
	return ofPath(n.at.path.then(index, true).asSure(), itemTypes(n.at.types))
}

// arrangedList returns the list of a node with the items that change at the front; zero if the
// order stays.
func (c *converter) arrangedList(n *node) expr.Expr {
	name := elementName(n.at, &scope{})
	item, written := n.at.each(name), n.at.x
	filter := func(x expr.Expr) expr.Expr {
		if expr.Equal(x, expr.True) {
			return written
		}
		return written.Over("filter", name, x)
	}
	first, rest := c.plainItems(n, name)
	changed, reverse := expr.False, false
	for _, e := range n.items.each {
		body := e.change(item)
		changed, reverse = expr.Or(changed, expr.And(body.condition(), body.changes())), reverse || e.reverses()
	}
	isNever := expr.Equal(changed, expr.False)
	if len(first) == 0 && (isNever || expr.Equal(changed, expr.True) && !reverse) {
		return expr.Expr{}
	}
	if !isNever {
		front := filter(expr.And(rest, changed))
		if reverse {
			front = front.Call("reverse")
		}
		first, rest = append(first, front), expr.And(rest, expr.Not(changed))
	}
	if !expr.Equal(rest, expr.False) {
		first = append(first, written.Over("filter", name, rest))
	}
	return expr.Plus(first...)
}

// plainItems returns lists with the items that a patch names, existing or new, and the condition
// for the other items.
func (c *converter) plainItems(n *node, name string) (first []expr.Expr, rest expr.Expr) {
	key, written := n.at.each(name).field(n.items.keys[0]), n.at.x
	if key.kind == text {
		key = key.orValue(literal(""))
	}
	rest = expr.True
	for _, p := range n.items.plain {
		same := expr.Is(key.x, p.key.x)
		stub := expr.List(exprOf(keyed{{literal(n.items.keys[0]), p.key}}))
		if c.isNative { // which adds defaults to an item that lacks what its patch has
			stub = expr.List(exprOf(p.value))
		}
		first = append(first, expr.If(written.Over("exists", name, same), written.Over("filter", name, same), stub))
		rest = expr.And(rest, expr.Not(same))
	}
	return first, rest
}

// reverses reports whether the items end up in reverse order. A foreach moves each element to
// the front; by default it begins with the last element.
func (e each) reverses() bool {
	return e.loop != nil && e.loop.entry.At("order").Text() == "Ascending"
}

// changes returns a condition that holds if a node changes its value.
func (n *node) changes() expr.Expr {
	if n.isLeaf || n.gone || n.items != nil && len(n.items.plain) > 0 {
		return expr.True
	}
	any := expr.False
	if n.items != nil {
		name := elementName(n.at, &scope{})
		for _, e := range n.items.each {
			body := e.change(n.at.each(name))
			any = expr.Or(any, n.at.orEmptyList().x.Over("exists", name, expr.And(body.condition(), body.changes())))
		}
		return any
	}
	for _, f := range n.fields {
		if f.add {
			any = expr.Or(any, expr.Not(f.node.at.path.present()))
		} else {
			any = expr.Or(any, f.node.changes())
		}
	}
	return any
}

// split divides a tree into a part for an ApplyConfiguration and a part that needs a JSON Patch;
// a part may be nil.
func (c *converter) split(n *node) (applied, patched *node) {
	if n.fields == nil {
		if c.canApply(n) {
			return n, nil
		}
		return nil, n
	}
	t := first(n.at.types)
	isDeep := func(f field) bool { return f.node.fields != nil || f.node.items != nil }
	if t == nil || t.AtomicMap || len(t.Fields) == 0 && slices.ContainsFunc(n.fields, isDeep) { // an Object has no type for a map's values
		return nil, n
	}
	for _, f := range n.fields {
		a, p := (*node)(nil), f.node
		isNullKept := f.add && !f.node.at.given.IsZero()
		canKeep := !f.add || isScalar(f.node) && !isAtomic(nil, first(f.node.at.types)) // it writes what it keeps
		if f.key.isConstant && canKeep && !isNullKept && !f.mayDelete() {
			a, p = c.split(f.node)
		}
		applied, patched = applied.with(n.at, f, a), patched.with(n.at, f, p)
	}
	return applied, patched
}

// with returns a node with a part of a field, which may be nil.
func (n *node) with(at code, f field, child *node) *node {
	if child == nil {
		return n
	}
	if n == nil {
		n = &node{at: at}
	}
	n.fields = append(n.fields, field{f.key, f.add, child})
	return n
}

// mayDelete reports whether the value of a field may be null, which deletes the field.
func (f field) mayDelete() bool {
	_, ok := isNull(f.node.value)
	return ok && f.node.isLeaf && !f.add
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
	case n.gone || n.union || t == nil || t.Preserve || t.Scalar == schema.Untyped:
		return false
	case n.isLeaf && holds(n.value, t, isUndeclared): // which only a JSON Patch can write
		return false
	case n.isLeaf:
		if isScalar(n) {
			return !(c.isNative && isAtomic(n.value, t)) // an expression may have any value
		}
		return (!t.IsList || t.List == schema.Atomic) && !(c.isNative && holds(n.value, t, isAtomic))
	case n.items != nil:
		return c.canApplyItems(n)
	case n.fields == nil:
		return !t.AtomicMap
	}
	_, patched := c.split(n)
	return patched == nil
}

// holds reports whether a map or list in a value, or the value itself, has a property.
func holds(value any, t *schema.Type, property func(value any, t *schema.Type) bool) bool {
	switch value := value.(type) {
	case keyed:
		return property(value, t) || slices.ContainsFunc(value, func(p pair) bool { return holds(p.value, t.FieldType(p.name()), property) })
	case []any:
		return property(value, t) || slices.ContainsFunc(value, func(item any) bool { return holds(item, t.ItemType(), property) })
	}
	return false
}

// isUndeclared reports whether a map has a field that a server drops.
func isUndeclared(value any, t *schema.Type) bool {
	fields, _ := value.(keyed)
	return slices.ContainsFunc(fields, func(p pair) bool { return lacks(t, p.name()) })
}

// isAtomic reports an atomic list, map or struct, which API servers refuse in an ApplyConfiguration.
func isAtomic(_ any, t *schema.Type) bool {
	return t == nil || t.AtomicMap || t.IsList && t.List == schema.Atomic
}

func (c *converter) canApplyItems(n *node) bool {
	if t := first(n.at.types); t.List != schema.Associative || len(n.items.keys) == 0 || t.ListKeys[0] != n.items.keys[0] {
		return false
	}
	item := n.at.each("item")
	for _, of := range n.items.changes() {
		if !c.canApply(of(item)) {
			return false
		}
	}
	return true
}

// objectLiteral converts a map to an Object literal of an ApplyConfiguration.
func (c *converter) objectLiteral(n *node, name string) expr.Expr {
	t := first(n.at.types)
	if len(t.Fields) == 0 && t.Elem != nil {
		var pairs keyed
		for _, f := range n.fields {
			pairs = append(pairs, pair{f.key, valueOf(f)})
		}
		return exprOf(pairs)
	}
	var entries []expr.Entry
	for _, f := range n.fields {
		key := f.key.constant.(string)
		if !expr.IsIdentifier(key) {
			c.reject(noFormf("", "the field %q in an ApplyConfiguration", key))
			continue
		}
		entries = append(entries, entry(key, valueOf(f), func() expr.Expr { return c.memberLiteral(f, name+"."+key) }))
	}
	return expr.Struct(name, entries...)
}

// entry returns the field of a message. It is left out if its value is null; otherwise it is the
// result of written.
func entry(key string, value any, written func() expr.Expr) expr.Entry {
	if null, ok := isNull(value); ok {
		return expr.Entry{Name: key, Value: null.optional(), Optional: true}
	}
	return expr.Entry{Name: key, Value: written()}
}

// valueOf returns the value of a field without a subtree. For a field that is only added, the
// existing value wins.
func valueOf(f field) any {
	if !f.add {
		return f.node.value
	}
	if c, ok := isNull(f.node.value); ok && !f.node.at.maybe.IsZero() {
		c.maybe = f.node.at.maybe.Call("or", c.maybe)
		return c
	}
	if f.node.at.maybe.IsZero() {
		return computed(f.node.at.x, anything)
	}
	return computed(f.node.at.maybe.OrValue(exprOf(f.node.value)), anything)
}

func (c *converter) memberLiteral(f field, name string) expr.Expr {
	n := f.node
	switch {
	case n.items != nil:
		return c.listLiteral(n, name)
	case !n.isLeaf:
		return c.objectLiteral(n, name)
	case f.add:
		return exprOf(valueOf(f))
	}
	return c.valueLiteral(n.value, first(n.at.types), name)
}

// valueLiteral converts a whole value to a literal of an ApplyConfiguration.
func (c *converter) valueLiteral(value any, t *schema.Type, name string) expr.Expr {
	if t != nil && t.IsList && t.List == schema.Atomic {
		c.replacesAtomics = true
	}
	switch value := value.(type) {
	case keyed:
		if t == nil || len(t.Fields) == 0 && (t.Elem != nil || len(value) > 0) {
			return exprOf(value)
		}
		if t.AtomicMap {
			c.replacesAtomics = true
		}
		var entries []expr.Entry
		for _, p := range value {
			key := p.name()
			entries = append(entries, entry(key, p.value, func() expr.Expr { return c.valueLiteral(p.value, t.FieldType(key), name+"."+key) }))
		}
		return expr.Struct(name, entries...)
	case []any:
		var items []expr.Expr
		for _, item := range value {
			if _, isMap := item.(keyed); !isMap {
				return exprOf(value)
			}
			items = append(items, c.valueLiteral(item, t.ItemType(), name))
		}
		return expr.List(items...)
	}
	return exprOf(value)
}

// listLiteral converts the items of a list that merges by key.
func (c *converter) listLiteral(n *node, name string) expr.Expr {
	var parts, plain []expr.Expr
	for _, p := range n.items.plain {
		plain = append(plain, c.objectLiteral(p.change(n.at.each("item")), name))
	}
	if len(plain) > 0 {
		parts = append(parts, expr.List(plain...))
	}
	variable := elementName(n.at, &scope{})
	for _, e := range n.items.each {
		element := n.at.each(variable)
		body := e.change(element)
		var keys []field
		for _, key := range first(n.at.types).ListKeys {
			member := element.field(key)
			if member.maybe.IsZero() || key == n.items.keys[0] {
				keys = append(keys, field{key: literal(key), node: &node{at: member, value: member, isLeaf: true}})
			}
		}
		list := n.at.orEmptyList().x
		if e.loop != nil && e.loop.list.path != nil && !e.loop.list.isNull {
			list = n.at.x // a foreach fails without the list
		}
		item := c.objectLiteral(&node{at: body.at, fields: append(keys, body.fields...)}, name)
		parts = append(parts, eachOf(list, variable, body.condition(), item))
	}
	return expr.Plus(parts...)
}

// eachOf returns a list with an expression for each item that meets a condition.
func eachOf(list expr.Expr, name string, condition, x expr.Expr) expr.Expr {
	if expr.Equal(condition, expr.True) {
		return list.Over("map", name, x)
	}
	return list.Over("map", name, condition, x)
}

// indexes returns the indexes of a list.
func indexes(list expr.Expr) expr.Expr {
	return expr.Call("lists.range", expr.Call("size", list))
}

// listIf returns a list of operations that is empty unless a condition holds.
func listIf(condition, list expr.Expr) expr.Expr { return expr.If(condition, list, expr.List()) }

// forEach returns the operations for all indexes that meet a condition.
func forEach(indexes, condition, list expr.Expr) expr.Expr {
	if isOne, operation, ok := only(list); ok && !operation.IsZero() {
		return eachOf(indexes, "i", expr.And(condition, isOne), operation)
	}
	return eachOf(indexes, "i", condition, list).Call("flatten")
}

// operation returns one operation of a JSON Patch.
func operation(op string, at code, value expr.Expr) expr.Expr {
	entries := []expr.Entry{{Name: "op", Value: expr.Literal(op)}, {Name: "path", Value: at.path.pointer()}}
	if !value.IsZero() {
		entries = append(entries, expr.Entry{Name: "value", Value: value})
	}
	return expr.Struct("JSONPatch", entries...)
}

// operationsOf returns a list of operations that change the value of a node.
func operationsOf(n *node) expr.Expr {
	switch {
	case n.gone:
		return listIf(n.at.path.present(), expr.List(operation("remove", n.at, expr.Expr{})))
	case n.isLeaf:
		add := expr.List(operation("add", n.at, exprOf(n.value)))
		if null, ok := isNull(n.value); ok { // null deletes the field
			remove := listIf(n.at.path.present(), expr.List(operation("remove", n.at, expr.Expr{})))
			return expr.If(null.present(), add, remove)
		}
		return add
	case n.items != nil:
		return operationsOfItems(n)
	}
	var lists []expr.Expr
	for _, f := range n.fields {
		lists = append(lists, operationsOfField(f))
	}
	return expr.Plus(lists...)
}

func operationsOfField(f field) expr.Expr {
	present := f.node.at.path.present()
	isSure := expr.Equal(present, expr.True)
	created := expr.List()
	if whole, ok := f.node.whole(); ok {
		created = expr.List(operation("add", f.node.at, exprOf(whole)))
		if null, ok := isNull(whole); ok {
			created = listIf(null.present(), created)
		}
	}
	switch {
	case f.add:
		return expr.If(present, expr.List(), created)
	case f.node.isLeaf || f.node.gone || isSure:
		return operationsOf(f.node)
	}
	return expr.If(present, operationsOf(f.node), created)
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

// operationsOfItems returns a list of operations for the items of a list.
func operationsOfItems(n *node) expr.Expr {
	var lists []expr.Expr
	for i, p := range n.items.plain {
		if len(n.items.keys) == 0 {
			lists = append(lists, expr.List(operation("add", ofPath(n.at.path.then(end, true), nil), exprOf(p.value))))
			continue
		}
		lists = append(lists, operationsOf(p.change(n.itemAt(atIndex(expr.Literal(i))))))
	}
	for _, e := range n.items.each {
		body := e.change(n.itemAt(anyIndex))
		lists = append(lists, forEach(indexes(n.at.x), body.condition(), operationsOf(body)))
	}
	return expr.Plus(lists...)
}
