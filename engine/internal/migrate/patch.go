package migrate

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/celenv/expr"
	"github.com/preadmit/preadmit/engine/internal/kyverno"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/internal/strategicmerge"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
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
	// conditions are what the patch requires of the object, or of the item of a list, for the change.
	conditions []expr.Expr
}

// condition joins the conditions.
func (n *node) condition() expr.Expr { return expr.And(n.conditions...) }

// isEmpty reports whether a node changes nothing.
func (n *node) isEmpty() bool { return len(n.fields) == 0 && n.items == nil && !n.isLeaf && !n.gone }

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

// changes are the changes to all items.
func (n *items) changes() (all []itemChange) {
	for _, p := range n.plain {
		all = append(all, p.change)
	}
	for _, e := range n.each {
		all = append(all, e.change)
	}
	return all
}

// itemChange returns the change to an item of a list.
type itemChange func(item code) *node

// plainItem is an item that the list has afterwards.
type plainItem struct {
	// key is the value that identifies the item; empty if it has no key.
	key code
	// value is the whole item; change is the change of the existing item with the key, without conditions.
	value  any
	change itemChange
}

// each is a change to the items of a list that meet a condition.
type each struct {
	change itemChange
	// loop is the foreach whose elements are the items; nil without a foreach.
	loop *loop
}

// builder converts a strategic merge patch to a node.
type builder struct {
	c    *converter
	loop *loop
	// path is the path in the patch of the part that is being converted.
	path change.Path
}

// reject reports an error in the strategic merge patch that is being converted.
func (c *converter) reject(err error) { _ = c.failed(c.patch, err) }

// changing returns a change to items that may fail. The stages after the builder ask for it again
// for other names of the item; its errors are reported, and stop the conversion of the patch.
func (b *builder) changing(of func(item code) (*node, error)) itemChange {
	path := slices.Clone(b.path)
	return func(item code) *node {
		around := b.path
		b.path = slices.Clone(path)
		body, err := of(item)
		b.path = around
		if err != nil {
			b.c.reject(within(err, path...))
			return &node{at: item, conditions: []expr.Expr{expr.False}}
		}
		return body
	}
}

// strategic converts a strategic merge patch.
func (c *converter) strategic(s *scope, n policy.Node, l *loop) error {
	if n.Object() == nil {
		return c.refuse(n.Path, "a patch that is no map", "")
	}
	if operations := additions(n.Object(), "", nil); l != nil && operations != nil {
		_, err := collect(operations, func(a addition) (any, error) {
			read, err := c.operation(s, a.fields, l, func(value any) (any, error) { return value, nil })
			return read, moved(err, func(e *noForm) { e.path, e.isKey = a.path, true })
		})
		return c.failed(n.Path, err)
	}
	c.patch = n.Path
	b := &builder{c: c, loop: l}
	root, err := b.fields(s, patched{c.changed(), c.changed()}, n.Object())
	if err != nil {
		return c.failed(n.Path, err)
	}
	guard, err := b.guard(s, root, n.Object())
	if err != nil {
		return c.failed(n.Path, err)
	}
	if !c.isSettled(root, guard) {
		c.reject(noFormf("write a rule for each part", "a patch whose parts need several mutations, of which a later one reads what an earlier one changes"))
	}
	c.write(root, guard)
	if source.HasErrors(c.problems) {
		return errReported
	}
	return nil
}

// keepsItems reports whether an object may have two items of one key in a list, which become one in
// any strategic merge of Kyverno, but not in the converted policies.
func (c *converter) keepsItems() bool {
	return c.patch != nil && slices.ContainsFunc(c.written().kinds, strategicmerge.MayJoin)
}

// guard returns the condition of the mutations. Without a foreach, it becomes a condition of the policy.
// Kyverno computes all values of a patch before it compares anchors.
func (b *builder) guard(s *scope, root *node, patch map[string]any) (expr.Expr, error) {
	guard := root.condition()
	if b.loop != nil {
		return b.loop.guard(guard, patch, b.mayStop(patch))
	}
	values := b.c.values
	if b.mayStop(patch) {
		self := b.scope(s, patched{self: b.c.changed()})
		more, err := self.failing(patch)
		if err != nil {
			return guard, err
		}
		values = append(values, more...)
	}
	b.c.addCondition("anchors", guard, values)
	return expr.True, nil
}

// mayStop reports whether a patch has parts that may keep values from being written: anchors, besides the
// name of an element of a foreach, and directives.
func (b *builder) mayStop(patch any) bool {
	switch patch := patch.(type) {
	case map[string]any:
		for key, value := range patch {
			anchor, bare := kyverno.ParseAnchor(key)
			isName := bare == "name" && b.isElement(patch)
			if anchor != kyverno.NoAnchor && !isName || strings.HasPrefix(key, "$") || b.mayStop(value) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(patch, b.mayStop)
	}
	return false
}

// addCondition adds a condition to the policy, and that some values have no error, which is stronger than
// the condition.
func (c *converter) addCondition(name string, x expr.Expr, values []code) {
	isOnlyValues := expr.Equal(x, expr.True)
	if x = expr.If(succeed(values), x, expr.False); expr.Equal(x, expr.True) {
		return
	}
	matched := c.written()
	for i, earlier := range matched.conditions {
		if !isOnlyValues && c.mayFail(computed(earlier.x, boolean)) {
			matched.conditions[i].x = expr.If(earlier.x, x, expr.False)
			return
		}
	}
	matched.conditions = append(matched.conditions, condition{name: name, x: x})
}

// succeed returns a condition that holds unless one of some values is an error.
func succeed(values []code) expr.Expr {
	if len(values) == 0 {
		return expr.True
	}
	items := make([]any, len(values))
	for i, value := range values {
		if value.isNull && !value.maybe.IsZero() {
			value.x = value.maybe
		}
		items[i] = value
	}
	return expr.Compare(expr.Call("size", exprOf(items)), ">", expr.Literal(0))
}

// isSettled reports whether no value or condition reads what an earlier mutation of the same patch
// changes. Kyverno computes them all before it changes the object.
func (c *converter) isSettled(root *node, guard expr.Expr) bool {
	applied, patched := c.split(root)
	if applied == nil || patched == nil {
		return true
	}
	return !areRead(c.effects(applied), append(patched.inputs(), guard)...)
}

// inputs returns the expressions in a tree.
func (n *node) inputs() (all []expr.Expr) {
	if n.isLeaf {
		return []expr.Expr{exprOf(n.value)}
	}
	for _, f := range n.fields {
		all = append(append(all, f.key.x), f.node.inputs()...)
	}
	if n.items == nil {
		return all
	}
	for _, p := range n.items.plain {
		all = append(all, exprOf(p.value))
	}
	name := elementName(n.at, &scope{})
	for _, e := range n.items.each {
		body := e.change(n.at.each(name))
		for _, x := range append(body.inputs(), body.condition()) {
			all = append(all, n.at.orEmptyList().x.Over("map", name, x))
		}
	}
	return all
}

// patched is what a part of a patch changes.
type patched struct {
	// at is the value in the object. self is the meaning of @: in a list, the item with the same
	// index as in the patch, even if the patch changes another item.
	at, self code
}

func (p patched) field(key string) patched { return patched{p.at.field(key), p.self.field(key)} }

// fields returns the node of a map.
func (b *builder) fields(s *scope, at patched, pattern map[string]any) (*node, error) {
	n := &node{at: at.at}
	switch directive := pattern["$patch"]; {
	case directive == "delete" && len(b.path) == 0:
		return nil, noFormf("delete its fields", "$patch: delete for the whole object")
	case directive == "delete" && kyverno.HasAnchors(pattern):
		return nil, noFormf("write a precondition", "$patch: delete beside an anchor")
	case directive == "delete":
		n.gone = true
		return n, nil
	case directive == "replace":
		return nil, noFormf("write patchesJson6902 that replaces the map", "$patch: replace for a map, whose other keys an ApplyConfiguration keeps")
	}
	_, err := collect(sortedKeys(without(pattern, "$patch")), func(key string) (any, error) {
		return nil, b.field(s, n, at, key, pattern[key])
	})
	return n, err
}

// leaf returns the node of a value that replaces the value at a place.
func (b *builder) leaf(s *scope, at patched, value any) (*node, error) {
	value, err := b.scope(s, at).value(value)
	c, isCode := value.(code)
	if !isCode {
		c.kind = kindOfValue(value)
	}
	mayBeText := func(t *schema.Type) bool {
		return t != nil && (t.Scalar == schema.String || t.Scalar == schema.IntOrString && c.kind == number)
	}
	isDeep := isCode && (c.kind == object || c.kind == list)
	switch {
	case (c.kind == number || c.kind == boolean) && slices.ContainsFunc(at.at.types, mayBeText):
		const why = "a number or a boolean for %s, which Kyverno makes a text if the object has one already"
		return nil, noFormf("write it as a text, or with patchesJson6902", why, at.at.x)
	case isDeep && at.at.isScalar():
		return nil, noFormf("write a single value", "a map or a list for %s, which is a single value", at.at.x)
	case isDeep:
		s.doubt("empty maps in " + c.x.String() + " are left out")
	}
	return &node{at: at.at, value: value, isLeaf: true}, err
}

// without returns a copy of a map without a key.
func without(object map[string]any, key string) map[string]any {
	rest := maps.Clone(object)
	delete(rest, key)
	return rest
}

// lacks reports whether a server drops a field of a value.
func lacks(t *schema.Type, key string) bool {
	return t != nil && !t.Preserve && len(t.Fields) > 0 && t.FieldType(key) == nil
}

// enter begins the conversion of a part of the patch, and returns a function that ends it.
func (b *builder) enter(e change.Element, err *error) (leave func()) {
	b.path = append(b.path, e)
	return func() {
		b.path = b.path[:len(b.path)-1]
		*err = within(*err, e)
	}
}

// field adds a field of a map, and its conditions, to its node.
func (b *builder) field(s *scope, n *node, at patched, key string, pattern any) (err error) {
	defer b.enter(change.Key(key), &err)()
	anchor, bare := kyverno.ParseAnchor(key)
	begin := 0
	if anchor != kyverno.NoAnchor {
		begin = strings.IndexByte(key, '(') + 1
	}
	switch {
	case strings.HasPrefix(key, "$"):
		return noFormf("use $patch, or patchesJson6902", "the directive %s, which Kyverno writes into the object", key)
	case anchor == kyverno.Equality || anchor == kyverno.Negation || anchor == kyverno.Existence:
		return noFormf("write ( ), +( ) or <( ), or a precondition", "the anchor %s( ) in a patch, which Kyverno writes into the object", anchor)
	}
	name, err := s.key(bare)
	if err != nil {
		return inKey(inText(err, begin))
	}
	member := at.field(bare)
	if !name.isConstant {
		member.at = ofPath(at.at.path.then(part{computed: name.x}, false), at.at.elementTypes())
	}
	if anchor == kyverno.Condition || anchor == kyverno.Global {
		return b.condition(s, n, member, name, pattern)
	}
	if name.isConstant && slices.ContainsFunc(at.at.types, func(t *schema.Type) bool { return lacks(t, bare) }) {
		return noFormf("leave it out: a server drops it", "the field %s of %s, which not all kinds of the rule have", bare, at.at.x)
	}
	child, err := b.node(s, member, pattern)
	if err == nil {
		n.add(field{key: name, add: anchor == kyverno.Add, node: child})
	}
	return err
}

// add adds a field, and its conditions, unless nothing is left of it.
func (n *node) add(f field) {
	if f.add { // nothing below counts if the field is there
		present := f.node.at.path.present()
		if expr.Equal(present, expr.True) {
			return
		}
		if x := f.node.condition(); !expr.Equal(x, expr.True) {
			n.conditions = append(n.conditions, expr.Or(present, x))
		}
	} else {
		n.conditions = append(n.conditions, f.node.conditions...)
	}
	if !f.node.isEmpty() {
		n.fields = append(n.fields, f)
	}
}

// condition adds a condition. If its pattern only adds missing values, it adds these to the
// node.
func (b *builder) condition(s *scope, n *node, member patched, name code, pattern any) error {
	if adding, _ := pattern.(map[string]any); len(adding) > 0 && onlyAdds(adding) {
		n.conditions = append(n.conditions, member.at.path.present())
		if key := b.path[0].Key; len(b.path) == 1 { // which Kyverno writes with its anchor, and a server drops
			if kyverno.HasAnchors(slices.Collect(maps.Values(adding))) || slices.ContainsFunc(n.at.types, func(t *schema.Type) bool { return !lacks(t, key) }) {
				return noFormf("write +( ) without the condition around it", "+( ) in a condition at the root of a patch, which Kyverno writes into the field %s", key)
			}
			return nil
		}
		child, err := b.fields(s, member, adding)
		if err == nil {
			n.add(field{key: name, node: child})
		}
		return err
	}
	present := member.at.present()
	if pattern == nil {
		present = member.at.path.present() // null is compared, too
	}
	x, err := b.scope(s, member).pattern(member.at, pattern)
	n.conditions = append(n.conditions, present, x)
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
func (b *builder) scope(s *scope, at patched) *scope {
	copied := *s
	copied.self = &at.self
	return &copied
}

// node returns the node of any value.
func (b *builder) node(s *scope, at patched, pattern any) (*node, error) {
	if k := kindOfValue(pattern); (k == object || k == list) && at.at.isScalar() {
		return nil, noFormf("write a single value", "a map or a list for %s, which is a single value", at.at.x)
	}
	switch pattern := pattern.(type) {
	case nil:
		return &node{at: at.at, gone: true}, nil
	case map[string]any:
		if len(pattern) == 0 {
			return &node{at: at.at, value: keyed{}, isLeaf: true}, nil
		}
		return b.fields(s, at, pattern)
	case []any:
		if len(pattern) > 0 {
			if _, ok := pattern[0].(map[string]any); ok {
				return b.list(s, at, pattern)
			}
		}
		n, err := b.leaf(s, at, pattern)
		if t := first(at.at.types); t != nil && mergesItems(t) && t.MergeKey == "" {
			values, _ := n.value.([]any)
			return b.union(at.at, values), err
		}
		return n, err
	}
	return b.leaf(s, at, pattern)
}

// union returns the node of a list that begins with values, followed by its other items.
func (b *builder) union(at code, values []any) *node {
	first := exprOf(values)
	rest := at.orEmptyList().x.Over("filter", "x", expr.Not(expr.In(expr.Ident("x"), first)))
	return &node{at: at, value: computed(expr.Plus(first, rest), list), isLeaf: true, union: true}
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
func (b *builder) list(s *scope, at patched, pattern []any) (*node, error) {
	n := &node{at: at.at, items: &items{}}
	if t := first(at.at.types); t != nil && mergesItems(t) && t.MergeKey != "" {
		n.items.keys = []string{t.MergeKey}
		if err := b.mergesDifferently(at, t, pattern); err != nil {
			return nil, err
		}
	}
	if only, ok := pattern[0].(map[string]any); ok && only["$patch"] == "replace" && len(only) == 1 {
		return b.leaf(s, at, pattern[1:])
	}
	if len(n.items.keys) == 0 && !slices.ContainsFunc(pattern, kyverno.HasAnchors) && !b.isElement(pattern[0]) {
		return b.leaf(s, at, pattern)
	}
	var problems error
	for i, item := range pattern {
		problems = errors.Join(problems, b.item(s, n, patched{at.at, at.self.item(i)}, i, item))
	}
	if whole, _ := n.whole(); problems == nil && holds(whole, first(at.at.types), hasTwins) {
		problems = noFormf("write them as one item", "two items of one key, of which Kyverno makes one item")
	}
	if len(n.items.plain)+len(n.items.each) == 0 {
		n.items = nil
	}
	return n, problems
}

// hasTwins reports whether two items of a list have the same key.
func hasTwins(value any, t *schema.Type) bool {
	items, _ := value.([]any)
	seen := map[any]bool{}
	return t != nil && t.MergeKey != "" && slices.ContainsFunc(items, func(item any) bool {
		fields, _ := item.(keyed)
		i := slices.IndexFunc(fields, func(p pair) bool { return p.name() == t.MergeKey })
		if i < 0 {
			return false
		}
		key := exprOf(fields[i].value).String()
		again := seen[key]
		seen[key] = true
		return again
	})
}

// mostItems is how many items of a list an expression can arrange: a server limits the depth of expressions.
const mostItems = 50

// mergesDifferently reports a list that Kyverno merges by other rules than a server. With +( ), only a
// list that is missing is written.
func (b *builder) mergesDifferently(at patched, t *schema.Type, pattern []any) error {
	var fields []string
	last := kyverno.NoAnchor
	for _, e := range b.path {
		if anchor, bare := kyverno.ParseAnchor(e.Key); !e.IsIndex() {
			fields, last = append(fields, bare), anchor
		}
	}
	isPlain := func(item any) bool { return !kyverno.HasAnchors(item) && !b.isElement(item) }
	switch {
	case last == kyverno.Add:
	case len(pattern) > mostItems:
		return noFormf("write a rule for some of them each", "%d items of one list, of more than %d", len(pattern), mostItems)
	case strategicmerge.IsNewer(fields):
		return noFormf("write patchesJson6902", "the list %s, which Kyverno replaces and a server merges", at.at.x)
	case len(t.ListKeys) > 1 && slices.Contains(t.ListKeys, t.MergeKey) && slices.ContainsFunc(pattern, isPlain):
		return noFormf("write patchesJson6902", "the list %s, whose items a server tells apart by %s, and Kyverno only by those of them that all items have", at.at.x, strings.Join(t.ListKeys, " and "))
	}
	return nil
}

// item adds an item of a patch to the node of its list, as a change or as a condition.
func (b *builder) item(s *scope, n *node, at patched, i int, item any) (err error) {
	defer b.enter(change.Index(i), &err)()
	object, ok := item.(map[string]any)
	if !ok {
		return noFormf("", "a list of maps and of other values")
	}
	switch {
	case b.isElement(object):
		b.loop.bound = true
		n.items.each = append(n.items.each, each{b.elements(at, object), b.loop})
	case kyverno.HasGlobalAnchors(object): // one item must meet the condition
		name := elementName(at.at, s)
		body := b.some(s, at.self, object)(at.at.each(name))
		n.conditions = append(n.conditions, at.at.present(), at.at.x.Over("exists", name, body.condition()))
	case kyverno.HasAnchors(object):
		n.items.each = append(n.items.each, each{change: b.some(s, at.self, object)})
	default:
		child, err := b.plain(s, at, object, n.items.keys)
		n.items.plain = append(n.items.plain, child)
		return err
	}
	return nil
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
func (b *builder) elements(at patched, pattern map[string]any) itemChange {
	rest := maps.Clone(pattern)
	maps.DeleteFunc(rest, func(key string, _ any) bool { _, bare := kyverno.ParseAnchor(key); return bare == "name" })
	return b.changing(func(item code) (*node, error) {
		if !b.loop.goesThrough(at.at) {
			return nil, noFormf("go through the list that the patch changes", "a foreach over %s that changes %s", b.loop.list.x, at.at.x)
		}
		inner, condition, err := b.loop.element(item)
		if err != nil {
			return nil, err
		}
		body, err := b.fields(inner, patched{item, at.self}, rest)
		if err == nil {
			body.conditions = slices.Insert(body.conditions, 0, condition)
		}
		return body, err
	})
}

// some returns the change to the items that meet the conditions of an item of a patch.
func (b *builder) some(s *scope, self code, pattern map[string]any) itemChange {
	return b.changing(func(item code) (*node, error) {
		var conditions []expr.Expr
		rest := pattern
		if name, ok := pattern["name"].(string); ok { // a plain name selects
			same, err := s.isText(item.field("name"), name)
			if err != nil {
				return nil, within(err, change.Key("name"))
			}
			conditions, rest = []expr.Expr{same}, without(pattern, "name")
		}
		body, err := b.fields(s, patched{item, self}, rest)
		if err == nil {
			body.conditions = withoutName(item, append(conditions, body.conditions...))
		}
		return body, err
	})
}

// withoutName leaves out the condition that an item has a name, if all items have one.
func withoutName(item code, conditions []expr.Expr) []expr.Expr {
	name := item.field("name")
	if !name.maybe.IsZero() || name.kind != text {
		return conditions
	}
	isNamed := expr.Compare(name.x, "!=", expr.Literal(""))
	return slices.DeleteFunc(conditions, func(x expr.Expr) bool { return expr.Equal(x, isNamed) })
}

// plain returns an item that the list has afterwards.
func (b *builder) plain(s *scope, at patched, pattern map[string]any, keys []string) (plainItem, error) {
	value, err := b.scope(s, at).value(pattern)
	if err != nil {
		return plainItem{}, err
	}
	item := plainItem{value: value, change: b.changing(func(item code) (*node, error) { return b.fields(s, patched{item, at.self}, pattern) })}
	for _, key := range keys {
		if pattern[key] == nil {
			return item, noFormf("give the item its "+key, "an item without %q, by which the items of %s are told apart", key, at.at.x)
		}
		if item.key, err = s.operand(pattern[key]); err != nil {
			return item, err
		}
	}
	return item, nil
}
