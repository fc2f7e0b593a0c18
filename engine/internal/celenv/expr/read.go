package expr

import (
	"iter"
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

func (e Expr) isCallOf(functions ...string) bool {
	return e.node != nil && e.node.Kind() == ast.CallKind && slices.Contains(functions, e.node.AsCall().FunctionName())
}

func (e Expr) args() []Expr {
	var args []Expr
	for _, arg := range e.node.AsCall().Args() {
		args = append(args, Expr{arg})
	}
	return args
}

// AsCall returns a call of a function or a macro; the target is zero unless it is a call of an
// operand. Operators are calls, too.
func (e Expr) AsCall() (function string, target Expr, args []Expr, ok bool) {
	if e.node == nil || e.node.Kind() != ast.CallKind {
		return "", Expr{}, nil, false
	}
	c := e.node.AsCall()
	if c.IsMemberFunction() {
		target = Expr{c.Target()}
	}
	return c.FunctionName(), target, e.args(), true
}

// AsComparison returns the operands of a comparison, or of a test whether a list has an item.
func (e Expr) AsComparison() (a Expr, operator string, b Expr, ok bool) {
	if e.isCallOf(operators.In) {
		return e.args()[0], "in", e.args()[1], true
	}
	for name, function := range comparisons {
		if e.isCallOf(function) {
			return e.args()[0], name, e.args()[1], true
		}
	}
	return Expr{}, "", Expr{}, false
}

// AsConditional returns the parts of condition ? yes : no.
func (e Expr) AsConditional() (condition, yes, no Expr, ok bool) {
	if !e.isCallOf(operators.Conditional) {
		return Expr{}, Expr{}, Expr{}, false
	}
	args := e.args()
	return args[0], args[1], args[2], true
}

// Constant returns the value of a constant.
func (e Expr) Constant() (value any, ok bool) {
	if e.node == nil || e.node.Kind() != ast.LiteralKind {
		return nil, false
	}
	switch value := e.node.AsLiteral().(type) {
	case types.Null:
		return nil, true
	default:
		return value.Value(), true
	}
}

// Items returns the items of a list that is written out.
func (e Expr) Items() (items []Expr, ok bool) {
	if e.node == nil || e.node.Kind() != ast.ListKind {
		return nil, false
	}
	for _, item := range e.node.AsList().Elements() {
		items = append(items, Expr{item})
	}
	return items, true
}

// macros are the macros over the items of a list or the keys of a map.
var macros = []string{"all", "exists", "existsOne", "exists_one", "filter", "map"}

// AsMacro returns a macro over the items of a list, which have a name in the arguments.
func (e Expr) AsMacro() (over Expr, macro, name string, args []Expr, ok bool) {
	function, target, args, isCall := e.AsCall()
	if !isCall || target.IsZero() || len(args) < 2 || !slices.Contains(macros, function) || args[0].node.Kind() != ast.IdentKind {
		return Expr{}, "", "", nil, false
	}
	return target, function, args[0].node.AsIdent(), args[1:], true
}

// Step is a step of a chain: a key of a map, or the index of an item.
type Step struct {
	// Key is a constant key. Index is any other key or index; it is zero for a Key.
	Key   string
	Index Expr
}

// AsChain returns a chain of fields and items that begins with a variable, whether the steps are
// optional or not, and also inside has().
func (e Expr) AsChain() (variable string, steps []Step, ok bool) {
	if e.node == nil {
		return "", nil, false
	}
	switch e.node.Kind() {
	case ast.IdentKind:
		return e.node.AsIdent(), nil, true
	case ast.SelectKind:
		s := e.node.AsSelect()
		variable, steps, ok = Expr{s.Operand()}.AsChain()
		return variable, append(steps, Step{Key: s.FieldName()}), ok
	}
	if e.isCallOf("has") && len(e.args()) == 1 {
		return e.args()[0].AsChain()
	}
	if !e.isCallOf(operators.OptSelect, operators.Index, operators.OptIndex) {
		return "", nil, false
	}
	variable, steps, ok = e.args()[0].AsChain()
	step := Step{Index: e.args()[1]}
	if key, isKey := e.args()[1].Constant(); isKey {
		if text, isText := key.(string); isText {
			step = Step{Key: text}
		}
	}
	return variable, append(steps, step), ok
}

// AsField returns a chain of fields and map entries with constant keys, of which none is optional.
func (e Expr) AsField() (variable string, keys []string, ok bool) {
	for part := range e.All() {
		if function, _, _, isCall := part.AsCall(); isCall && function != operators.Index {
			return "", nil, false
		}
	}
	variable, steps, ok := e.AsChain()
	for _, step := range steps {
		keys = append(keys, step.Key)
		ok = ok && step.Index.IsZero()
	}
	return variable, keys, ok
}

// Fields returns the keys of the fields of a variable that an expression reads, none for the whole variable.
// A list or a map is read as a whole where its items are computed.
func (e Expr) Fields(variable string) (fields [][]string) {
	name, steps, ok := e.AsChain()
	if !ok {
		for _, child := range e.Children() {
			fields = append(fields, child.Fields(variable)...)
		}
		return fields
	}
	var keys []string
	isWhole := false
	for _, step := range steps {
		if isWhole = isWhole || !step.Index.IsZero(); !isWhole {
			keys = append(keys, step.Key)
		}
		if !step.Index.IsZero() {
			fields = append(fields, step.Index.Fields(variable)...)
		}
	}
	if name == variable {
		fields = append(fields, keys)
	}
	return fields
}

// AsCondition returns the parts of a conditional expression.
func (e Expr) AsCondition() (condition, yes, no Expr, ok bool) {
	if !e.isCallOf(operators.Conditional) {
		return Expr{}, Expr{}, Expr{}, false
	}
	args := e.args()
	return args[0], args[1], args[2], true
}

// AsMap returns the entries of a map that is written out.
func (e Expr) AsMap() (entries []Entry, ok bool) {
	if e.node == nil || e.node.Kind() != ast.MapKind {
		return nil, false
	}
	for _, entry := range e.node.AsMap().Entries() {
		of := entry.AsMapEntry()
		entries = append(entries, Entry{Key: Expr{of.Key()}, Value: Expr{of.Value()}, Optional: of.IsOptional()})
	}
	return entries, true
}

// Children returns the direct parts of an expression, without the names that macros declare.
func (e Expr) Children() []Expr {
	var all []ast.Expr
	switch e.node.Kind() {
	case ast.SelectKind:
		all = []ast.Expr{e.node.AsSelect().Operand()}
	case ast.ListKind:
		all = e.node.AsList().Elements()
	case ast.MapKind:
		for _, entry := range e.node.AsMap().Entries() {
			all = append(all, entry.AsMapEntry().Key(), entry.AsMapEntry().Value())
		}
	case ast.StructKind:
		for _, entry := range e.node.AsStruct().Fields() {
			all = append(all, entry.AsStructField().Value())
		}
	case ast.CallKind:
		if over, _, _, args, ok := e.AsMacro(); ok {
			return append([]Expr{over}, args...)
		}
		if c := e.node.AsCall(); c.IsMemberFunction() {
			all = append(all, c.Target())
		}
		all = append(all, e.node.AsCall().Args()...)
	}
	var children []Expr
	for _, child := range all {
		children = append(children, Expr{child})
	}
	return children
}

// All returns all parts of an expression, itself first. The zero value has none.
func (e Expr) All() iter.Seq[Expr] {
	return func(yield func(Expr) bool) { e.all(yield) }
}

func (e Expr) all(yield func(Expr) bool) bool {
	return e.IsZero() || yield(e) && !slices.ContainsFunc(e.Children(), func(c Expr) bool { return !c.all(yield) })
}

// AsStruct returns the type and the fields of a message that is written out.
func (e Expr) AsStruct() (name string, fields map[string]Expr) {
	if e.node == nil || e.node.Kind() != ast.StructKind {
		return "", nil
	}
	fields = map[string]Expr{}
	for _, f := range e.node.AsStruct().Fields() {
		fields[f.AsStructField().Name()] = Expr{f.AsStructField().Value()}
	}
	return e.node.AsStruct().TypeName(), fields
}

// total are the functions that cannot fail, if the fields and items that they read are there.
var total = []string{
	operators.Conditional, operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot, operators.Equals, operators.NotEquals, operators.In,
	operators.Greater, operators.GreaterEquals, operators.Less, operators.LessEquals,
	operators.Index, operators.OptIndex, operators.OptSelect, "has", "hasValue", "or", "orValue", "value", "dyn", "optional.of", "optional.none",
	"all", "exists", "filter", "map", "size", operators.Add, "startsWith", "endsWith", "contains", "replace", "lowerAscii", "upperAscii", "join", "split",
}

// IsTotal reports that an expression cannot fail, if the fields and items that it reads are there
// and have the right types. others are functions that the caller knows not to fail.
func (e Expr) IsTotal(others ...string) bool {
	for part := range e.All() {
		if function, _, _, isCall := part.AsCall(); isCall && !slices.Contains(total, function) && !slices.Contains(others, function) {
			return false
		}
	}
	return true
}

// IsOptionalItem reports whether an expression is the optional item of a list or map.
func (e Expr) IsOptionalItem() bool { return e.isCallOf(operators.OptIndex) }

// Uses reports whether a variable is read.
func (e Expr) Uses(variable string) bool {
	if e.node.Kind() == ast.IdentKind {
		return e.node.AsIdent() == variable
	}
	children := e.Children()
	if over, _, name, _, ok := e.AsMacro(); ok && name == variable {
		children = []Expr{over}
	}
	return slices.ContainsFunc(children, func(c Expr) bool { return c.Uses(variable) })
}

// Lists returns the lists whose items the items of e are: e without filters, and the parts of a
// sum.
func (e Expr) Lists() []Expr {
	if over, macro, _, _, ok := e.AsMacro(); ok && macro == "filter" {
		return over.Lists()
	}
	if e.isCallOf(operators.Add) {
		return append(e.args()[0].Lists(), e.args()[1].Lists()...)
	}
	return []Expr{e}
}

// Equal reports whether two expressions have the same tree.
func Equal(a, b Expr) bool {
	if a.node == nil || b.node == nil || a.node.Kind() != b.node.Kind() || !sameLeaf(a.node, b.node) {
		return a.node == nil && b.node == nil
	}
	return slices.EqualFunc(a.parts(), b.parts(), Equal)
}

// parts are the children, and the names that macros declare.
func (e Expr) parts() []Expr {
	if _, _, name, _, ok := e.AsMacro(); ok {
		return append(e.Children(), Ident(name))
	}
	return e.Children()
}

// sameLeaf compares what two nodes of a kind have besides their children.
func sameLeaf(a, b ast.Expr) bool {
	switch a.Kind() {
	case ast.IdentKind:
		return a.AsIdent() == b.AsIdent()
	case ast.LiteralKind:
		return a.AsLiteral().Type() == b.AsLiteral().Type() && a.AsLiteral().Equal(b.AsLiteral()) == types.True
	case ast.SelectKind:
		return a.AsSelect().FieldName() == b.AsSelect().FieldName() && a.AsSelect().IsTestOnly() == b.AsSelect().IsTestOnly()
	case ast.CallKind:
		return a.AsCall().FunctionName() == b.AsCall().FunctionName() && a.AsCall().IsMemberFunction() == b.AsCall().IsMemberFunction()
	case ast.ListKind:
		return slices.Equal(a.AsList().OptionalIndices(), b.AsList().OptionalIndices())
	case ast.MapKind:
		return slices.EqualFunc(a.AsMap().Entries(), b.AsMap().Entries(), func(x, y ast.EntryExpr) bool {
			return x.AsMapEntry().IsOptional() == y.AsMapEntry().IsOptional()
		})
	case ast.StructKind:
		return a.AsStruct().TypeName() == b.AsStruct().TypeName() && slices.EqualFunc(a.AsStruct().Fields(), b.AsStruct().Fields(), func(x, y ast.EntryExpr) bool {
			return x.AsStructField().Name() == y.AsStructField().Name() && x.AsStructField().IsOptional() == y.AsStructField().IsOptional()
		})
	}
	return false
}
