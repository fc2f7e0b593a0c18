package migrate

import (
	"github.com/preadmit/preadmit/engine/internal/celenv/expr"
	"github.com/preadmit/preadmit/engine/internal/schema"
)

// write converts the tree of a patch to mutations, for objects that meet a condition.
func (c *converter) write(root *node, guard expr.Expr) error {
	if err := c.arrange(root, guard); err != nil {
		return err
	}
	applied, patched := c.split(root)
	if applied != nil {
		x, err := c.objectLiteral(applied, "Object")
		if err != nil {
			return err
		}
		x = expr.If(guard, x, expr.Struct("Object"))
		c.mutations = append(c.mutations, mutation{patchType: applyConfiguration, expression: x, writes: applied.effects()})
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
		return []effect{{at: n.at.path.place()}}
	case n.isLeaf:
		return []effect{{at: n.at.path.place(), value: exprOf(n.value)}}
	case n.gone:
		return []effect{{at: n.at.path.place()}}
	}
	var all []effect
	for _, f := range n.fields {
		all = append(all, f.node.effects()...)
	}
	return all
}

func (c *converter) addPatch(operations, guard expr.Expr, comment string, writes []effect) {
	x := expr.If(guard, operations, expr.List())
	c.mutations = append(c.mutations, mutation{patchType: jsonPatch, expression: x, comment: comment, writes: writes})
}

const arranged = "As in a ClusterPolicy, items that change come first in the list."

// arrange moves the items of lists that a patch changes to the front, as Kyverno does. Lists in
// items of these lists follow in a second mutation, which sees the items at their new places.
func (c *converter) arrange(root *node, guard expr.Expr) error {
	outer, inner := operations{isDefaulted: c.isNative}, operations{isDefaulted: c.isNative}
	if err := outer.arrangeLists(root); err != nil {
		return err
	}
	if err := inner.arrangeItems(root); err != nil {
		return err
	}
	for _, o := range []operations{outer, inner} {
		if len(o.parts) > 0 {
			c.addPatch(o.list(), guard, arranged, root.listEffects())
		}
	}
	return nil
}

// listEffects returns the lists that a tree changes.
func (n *node) listEffects() []effect {
	if n.items != nil {
		return n.effects()
	}
	var all []effect
	for _, f := range n.fields {
		all = append(all, f.node.listEffects()...)
	}
	return all
}

// arrangeLists arranges the lists of a tree, but not those in items.
func (o *operations) arrangeLists(n *node) error {
	for _, f := range n.fields {
		if f.add { // a list that exists stays as it is
			continue
		}
		if err := o.arrangeLists(f.node); err != nil {
			return err
		}
	}
	if n.items == nil || len(n.items.keys) == 0 {
		return nil
	}
	value, err := o.arrangedList(n)
	if err == nil && !value.IsZero() {
		o.addList(expr.If(n.at.path.present(), expr.List(operation("replace", n.at, value)), expr.List()))
	}
	return err
}

// arrangeItems arranges the lists in the items of the lists of a tree.
func (o *operations) arrangeItems(n *node) error {
	for _, f := range n.fields {
		if f.add {
			continue
		}
		if err := o.arrangeItems(f.node); err != nil {
			return err
		}
	}
	if n.items == nil || len(n.items.keys) == 0 {
		return nil
	}
	for i, p := range n.items.plain { // the items are the first ones now
		below, err := o.belowItem(n, part{index: i, isIndex: true}, p.change)
		if err != nil {
			return err
		}
		if len(below.parts) > 0 {
			o.addList(expr.If(n.at.path.present(), below.list(), expr.List()))
		}
	}
	for _, e := range n.items.each {
		below, err := o.belowItem(n, part{computed: expr.Ident("i"), isIndex: true}, e.of)
		if err != nil {
			return err
		}
		if len(below.parts) > 0 {
			o.addList(expr.If(n.at.path.present(), below.forEach(indexes(n.at.x), below.condition), expr.List()))
		}
	}
	return nil
}

// belowItem returns the operations that arrange the lists of one item of a list.
func (o *operations) belowItem(n *node, index part, of func(item code) (expr.Expr, *node, error)) (below operations, err error) {
	condition, body, err := of(ofPath(n.at.path.then(index, true).asSure(), itemTypes(n.at.types)))
	if err != nil {
		return operations{}, err
	}
	below.condition, below.isDefaulted = condition, o.isDefaulted
	if err := below.arrangeLists(body); err != nil {
		return operations{}, err
	}
	var deeper operations
	if err := deeper.arrangeItems(body); err != nil {
		return operations{}, err
	}
	if len(deeper.parts) > 0 {
		return operations{}, noFormf("write it with patchesJson6902", "items of lists in lists in lists")
	}
	return below, nil
}

// arrangedList returns the list of a node with the items that change at the front; zero if the
// order stays.
func (o *operations) arrangedList(n *node) (expr.Expr, error) {
	name := elementName(n.at, &scope{})
	item := n.at.each(name)
	key, written := item.field(n.items.keys[0]), n.at.x
	rest := expr.True
	var first []expr.Expr
	if key.kind == text {
		key = key.orValue(literal(""))
	}
	for _, p := range n.items.plain {
		same := expr.Is(key.x, p.key.x)
		stub := expr.List(exprOf(keyed{{literal(n.items.keys[0]), p.key}}))
		if o.isDefaulted { // not for an item that lacks what its patch has
			stub = expr.List(exprOf(p.value))
		}
		first = append(first, expr.If(written.Over("exists", name, same), written.Over("filter", name, same), stub))
		rest = expr.And(rest, expr.Not(same))
	}
	changed, reverse := expr.False, false
	for _, e := range n.items.each {
		condition, body, err := e.of(item)
		if err != nil {
			return expr.Expr{}, err
		}
		changes, err := body.changes()
		if err != nil {
			return expr.Expr{}, err
		}
		changed, reverse = expr.Or(changed, expr.And(condition, changes)), reverse || e.reverses()
	}
	if always := expr.Equal(changed, expr.True); len(first) == 0 && (always && !reverse || expr.Equal(changed, expr.False)) {
		return expr.Expr{}, nil
	}
	if !expr.Equal(changed, expr.False) {
		front := written.Over("filter", name, expr.And(rest, changed))
		if expr.Equal(expr.And(rest, changed), expr.True) {
			front = written
		}
		if reverse {
			front = front.Call("reverse")
		}
		first = append(first, front)
		rest = expr.And(rest, expr.Not(changed))
	}
	if !expr.Equal(rest, expr.False) {
		first = append(first, written.Over("filter", name, rest))
	}
	return expr.Plus(first...), nil
}

// reverses reports whether the items end up in reverse order. A foreach moves each element to
// the front; by default it begins with the last element.
func (e each) reverses() bool {
	return e.loop != nil && e.loop.entry.At("order").Text() == "Ascending"
}

// changes returns a condition that holds if a node changes its value.
func (n *node) changes() (expr.Expr, error) {
	if n == nil {
		return expr.False, nil
	}
	if n.isLeaf || n.gone || n.items != nil && len(n.items.plain) > 0 {
		return expr.True, nil
	}
	any := expr.False
	if n.items != nil {
		name := elementName(n.at, &scope{})
		for _, e := range n.items.each {
			condition, body, err := e.of(n.at.each(name))
			if err != nil {
				return expr.Expr{}, err
			}
			below, err := body.changes()
			if err != nil {
				return expr.Expr{}, err
			}
			any = expr.Or(any, n.at.orEmptyList().x.Over("exists", name, expr.And(condition, below)))
		}
		return any, nil
	}
	for _, f := range n.fields {
		if f.add {
			any = expr.Or(any, expr.Not(f.node.at.path.present()))
			continue
		}
		below, err := f.node.changes()
		if err != nil {
			return expr.Expr{}, err
		}
		any = expr.Or(any, below)
	}
	return any, nil
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
	if t == nil || t.AtomicMap {
		return nil, n
	}
	for _, f := range n.fields {
		a, p := (*node)(nil), f.node
		if f.key.isConstant && (!f.add || isScalar(f.node)) {
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
	item := n.at.each("item")
	for _, p := range n.items.plain {
		if _, body, err := p.change(item); err != nil || !c.canApply(body) {
			return false
		}
	}
	for _, e := range n.items.each {
		if _, body, err := e.of(item); err != nil || !c.canApply(body) {
			return false
		}
	}
	return true
}

// objectLiteral converts a map to an Object literal of an ApplyConfiguration.
func (c *converter) objectLiteral(n *node, name string) (expr.Expr, error) {
	t := first(n.at.types)
	if len(t.Fields) == 0 && t.Elem != nil {
		var pairs keyed
		for _, f := range n.fields {
			pairs = append(pairs, pair{f.key, valueOf(f)})
		}
		return exprOf(pairs), nil
	}
	var entries []expr.Entry
	for _, f := range n.fields {
		key := f.key.constant.(string)
		if !expr.IsIdentifier(key) {
			return expr.Expr{}, noFormf("", "the field %q in an ApplyConfiguration", key)
		}
		if null, ok := isNull(valueOf(f)); ok {
			entries = append(entries, expr.Entry{Name: key, Value: null.optional(), Optional: true})
			continue
		}
		value, err := c.memberLiteral(f, name+"."+key)
		if err != nil {
			return expr.Expr{}, err
		}
		entries = append(entries, expr.Entry{Name: key, Value: value})
	}
	return expr.Struct(name, entries...), nil
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

func (c *converter) memberLiteral(f field, name string) (expr.Expr, error) {
	n := f.node
	switch {
	case n.items != nil:
		return c.listLiteral(n, name)
	case !n.isLeaf:
		return c.objectLiteral(n, name)
	case f.add:
		return exprOf(valueOf(f)), nil
	}
	return c.valueLiteral(n.value, first(n.at.types), name), nil
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
			key, _ := p.key.constant.(string)
			if null, ok := isNull(p.value); ok {
				entries = append(entries, expr.Entry{Name: key, Value: null.optional(), Optional: true})
				continue
			}
			entries = append(entries, expr.Entry{Name: key, Value: c.valueLiteral(p.value, t.FieldType(key), name+"."+key)})
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
func (c *converter) listLiteral(n *node, name string) (expr.Expr, error) {
	var parts, plain []expr.Expr
	for _, p := range n.items.plain {
		_, body, err := p.change(n.at.each("item"))
		if err != nil {
			return expr.Expr{}, err
		}
		item, err := c.objectLiteral(body, name)
		if err != nil {
			return expr.Expr{}, err
		}
		plain = append(plain, item)
	}
	if len(plain) > 0 {
		parts = append(parts, expr.List(plain...))
	}
	for _, e := range n.items.each {
		element := n.at.each(elementName(n.at, &scope{}))
		condition, body, err := e.of(element)
		if err != nil {
			return expr.Expr{}, err
		}
		var keys []field
		for _, key := range first(n.at.types).ListKeys {
			member := element.field(key)
			if member.maybe.IsZero() || key == n.items.keys[0] {
				keys = append(keys, field{key: literal(key), node: &node{at: member, value: member, isLeaf: true}})
			}
		}
		item, err := c.objectLiteral(&node{at: body.at, fields: append(keys, body.fields...)}, name)
		if err != nil {
			return expr.Expr{}, err
		}
		list := n.at.orEmptyList().x
		if e.loop != nil && e.loop.list.path != nil && !e.loop.list.isNull {
			list = n.at.x // a foreach fails without the list
		}
		parts = append(parts, eachOf(list, elementName(n.at, &scope{}), condition, item))
	}
	return expr.Plus(parts...), nil
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

// operations are operations of a JSON Patch, in order.
type operations struct {
	parts []operationPart
	// condition is the condition of the item that the operations are for.
	condition expr.Expr
	// isDefaulted says that the object gets its defaults again after each mutation, as on an API
	// server.
	isDefaulted bool
}

// operationPart is one operation, or a list of operations.
type operationPart struct {
	x      expr.Expr
	isList bool
}

func (o *operations) add(operation expr.Expr) { o.parts = append(o.parts, operationPart{x: operation}) }

func (o *operations) addList(list expr.Expr) {
	o.parts = append(o.parts, operationPart{list, true})
}

// list returns all operations as a list.
func (o operations) list() expr.Expr {
	var lists, single []expr.Expr
	flush := func() {
		if len(single) > 0 {
			lists, single = append(lists, expr.List(single...)), nil
		}
	}
	for _, p := range o.parts {
		if p.isList {
			flush()
			lists = append(lists, p.x)
		} else {
			single = append(single, p.x)
		}
	}
	flush()
	if len(lists) == 0 {
		return expr.List()
	}
	return expr.Plus(lists...)
}

// forEach returns the operations for all indexes that meet a condition.
func (o operations) forEach(indexes, condition expr.Expr) expr.Expr {
	if len(o.parts) == 1 && !o.parts[0].isList {
		return eachOf(indexes, "i", condition, o.parts[0].x)
	}
	return eachOf(indexes, "i", condition, o.list()).Call("flatten")
}

// operation returns one operation of a JSON Patch.
func operation(op string, at code, value expr.Expr) expr.Expr {
	entries := []expr.Entry{{Name: "op", Value: expr.Literal(op)}, {Name: "path", Value: at.path.pointer()}}
	if !value.IsZero() {
		entries = append(entries, expr.Entry{Name: "value", Value: value})
	}
	return expr.Struct("JSONPatch", entries...)
}

// patchOf converts a tree to a list of operations.
func (c *converter) patchOf(n *node) (expr.Expr, error) {
	var o operations
	err := o.of(n)
	return o.list(), err
}

// of adds the operations that change the value of a node.
func (o *operations) of(n *node) error {
	switch {
	case n.gone:
		o.guarded(n.at.path.present(), operation("remove", n.at, expr.Expr{}))
		return nil
	case n.isLeaf:
		condition := expr.True
		if null, ok := isNull(n.value); ok {
			condition = null.present()
		}
		o.guarded(condition, operation("add", n.at, exprOf(n.value)))
		return nil
	case n.items != nil:
		return o.ofItems(n)
	}
	for _, f := range n.fields {
		if err := o.ofField(f); err != nil {
			return err
		}
	}
	return nil
}

// guarded adds an operation for objects that meet a condition.
func (o *operations) guarded(condition, operation expr.Expr) {
	if expr.Equal(condition, expr.True) {
		o.add(operation)
		return
	}
	o.addList(expr.If(condition, expr.List(operation), expr.List()))
}

func (o *operations) ofField(f field) error {
	present := f.node.at.path.present()
	isSure := expr.Equal(present, expr.True)
	created := expr.List()
	if whole, ok := f.node.whole(); ok {
		created = expr.List(operation("add", f.node.at, exprOf(whole)))
	}
	switch {
	case f.add && isSure:
		return nil
	case f.add:
		o.addList(expr.If(present, expr.List(), created))
		return nil
	case f.node.isLeaf || f.node.gone || isSure:
		return o.of(f.node)
	}
	var below operations
	err := below.of(f.node)
	o.addList(expr.If(present, below.list(), created))
	return err
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

// ofItems adds the operations for the items of a list.
func (o *operations) ofItems(n *node) error {
	for i, p := range n.items.plain {
		if len(n.items.keys) == 0 {
			o.add(operation("add", ofPath(n.at.path.then(part{key: "-"}, true), nil), exprOf(p.value)))
			continue
		}
		_, body, err := p.change(ofPath(n.at.path.then(part{index: i, isIndex: true}, true).asSure(), itemTypes(n.at.types)))
		if err != nil {
			return err
		}
		if err := o.of(body); err != nil {
			return err
		}
	}
	for _, e := range n.items.each {
		var below operations
		condition, body, err := e.of(ofPath(n.at.path.then(part{computed: expr.Ident("i"), isIndex: true}, true).asSure(), itemTypes(n.at.types)))
		if err != nil {
			return err
		}
		if body == nil {
			continue
		}
		if err := below.of(body); err != nil {
			return err
		}
		o.addList(below.forEach(indexes(n.at.x), condition))
	}
	return nil
}

// asSure returns the path of a value that exists.
func (p *path) asSure() *path {
	known := *p
	known.sure = len(known.parts)
	return &known
}
