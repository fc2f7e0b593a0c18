package celenv

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"github.com/preadmit/preadmit/engine/internal/celenv/syntax"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/source"
)

// Objects are the objects of a kind that a policy is evaluated on.
type Objects struct {
	Kind *schema.Kind
	// Operations are the operations of their requests; nil if the policy may be evaluated on others.
	Operations []string
	// Subresources are those of their requests, "" for the objects themselves; nil if they may be any.
	Subresources []string
	// Valid says that a server has validated them against their kind.
	Valid bool
}

// always reports whether all requests have an object, or all have an old object.
func (o Objects) always(variable string) bool {
	without := map[string][]string{"object": {"DELETE", "CONNECT"}, "oldObject": {"CREATE", "CONNECT"}}[variable]
	return without != nil && !slices.ContainsFunc(o.Operations, func(operation string) bool { return slices.Contains(without, operation) })
}

// results are the results that a condition may have.
type results uint8

const (
	holds results = 1 << iota
	isFalse
	fails // with an error
	any3  = holds | isFalse | fails
)

// either combines the results of two conditions, each of which may have any of its results.
func (a results) either(b results, combine func(a, b results) results) (all results) {
	for _, x := range []results{holds, isFalse, fails} {
		for _, y := range []results{holds, isFalse, fails} {
			if a&x != 0 && b&y != 0 {
				all |= combine(x, y)
			}
		}
	}
	return all
}

func (a results) not() results {
	negated := a & fails
	if a&holds != 0 {
		negated |= isFalse
	}
	if a&isFalse != 0 {
		negated |= holds
	}
	return negated
}

// decided returns what combines two results, one of which decides, as false does for &&.
func decided(decisive results) func(a, b results) results {
	return func(a, b results) results {
		switch {
		case a == decisive || b == decisive:
			return decisive
		case a == fails || b == fails:
			return fails
		}
		return a
	}
}

// certainty finds out which results conditions have for all objects.
type certainty struct {
	objects   Objects
	variables map[string]ast.Expr
	// items are the types of the items that loops are about.
	items map[string]*schema.Type
}

// certain returns the conditions that have the same result for all objects, and the comparisons with
// values that a field cannot have.
func (o Objects) certain(expressions []Expression, trees []*ast.AST) (problems []Problem) {
	if o.Operations == nil {
		return nil
	}
	c := certainty{objects: o, variables: map[string]ast.Expr{}, items: map[string]*schema.Type{}}
	for i, x := range expressions {
		if trees[i] == nil {
			continue
		}
		root := trees[i].Expr()
		found := c.comparisons(root, func(e ast.Expr, code, text string) Problem {
			return Problem{Expression: i, Offset: offsetOf(x.Text, trees[i], e), Code: code, Text: text, Mend: c.possible(x.Text, trees[i], e.AsCall()), Guarded: true}
		})
		if len(found) == 0 && x.Variable == "" && trees[i].GetType(root.ID()).IsExactType(types.BoolType) && readsAny(root) {
			found = always(i, c.of(root))
		}
		problems = append(problems, found...)
		if x.Variable != "" {
			c.variables[x.Variable] = root
		}
	}
	return problems
}

// possible returns the mend of a comparison with texts that a field cannot have: those that it can have.
func (c *certainty) possible(text string, tree *ast.AST, call ast.CallExpr) source.Mend {
	mend := source.Mend{Advice: "compare with a value that the field can have"}
	var titles []string
	parts := syntax.Parts(text)
	for i, field := range call.Args() {
		known := c.values(field)
		if known == nil || known.what == "" {
			continue
		}
		compared := []ast.Expr{call.Args()[1-i]}
		if compared[0].Kind() == ast.ListKind {
			compared = compared[0].AsList().Elements()
		}
		for _, e := range compared {
			value, isText := constantText(e)
			near := source.Nearest(value, known.all)
			if !isText || near == "" || near == value || e.Kind() != ast.LiteralKind {
				continue
			}
			at := offsetOf(text, tree, e)
			for _, p := range parts {
				if p.Start == at && p.End-p.Start == len(value)+2 {
					mend.Changes = append(mend.Changes, source.Change{From: p.Start + 1, To: p.End - 1, New: near})
					titles = append(titles, fmt.Sprintf("%s with %s", value, near))
				}
			}
		}
	}
	if len(titles) > 0 {
		mend.Advice, mend.Title = "did you mean "+mend.Changes[0].New+"?", "Replace "+strings.Join(titles, ", and ")
	}
	return mend
}

// always reports an expression that is always, or never, true.
func always(expression int, of results) []Problem {
	p := Problem{Expression: expression, Mend: source.Mend{Advice: "compare a field that differs between objects, or remove the expression"}, Guarded: true}
	switch {
	case of == holds:
		p.Code, p.Text = AlwaysTrue, "the expression is true for every object of the kinds that the policy matches"
	case of&holds == 0:
		p.Code, p.Text = AlwaysFalse, "the expression is true for no object of the kinds that the policy matches"
	default:
		return nil
	}
	return []Problem{p}
}

// readsAny reports whether an expression reads a variable. The result of others is known without a kind.
func readsAny(e ast.Expr) (reads bool) {
	ast.PreOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) { reads = reads || e.Kind() == ast.IdentKind }))
	return reads
}

// of returns the results of a condition.
func (c *certainty) of(e ast.Expr) results {
	e = c.resolved(e)
	switch e.Kind() {
	case ast.LiteralKind:
		switch e.AsLiteral() {
		case types.True:
			return holds
		case types.False:
			return isFalse
		}
	case ast.SelectKind:
		if s := e.AsSelect(); s.IsTestOnly() {
			return c.has(s.Operand(), s.FieldName())
		}
	case ast.CallKind:
		return c.ofCall(e.AsCall())
	}
	return any3
}

func (c *certainty) ofCall(call ast.CallExpr) results {
	args := call.Args()
	switch call.FunctionName() {
	case operators.LogicalAnd:
		return c.of(args[0]).either(c.of(args[1]), decided(isFalse))
	case operators.LogicalOr:
		return c.of(args[0]).either(c.of(args[1]), decided(holds))
	case operators.LogicalNot:
		return c.of(args[0]).not()
	case operators.Conditional:
		condition, all := c.of(args[0]), results(0)
		if condition&holds != 0 {
			all |= c.of(args[1])
		}
		if condition&isFalse != 0 {
			all |= c.of(args[2])
		}
		return all | condition&fails
	case operators.Equals:
		return c.equal(args[0], args[1])
	case operators.NotEquals:
		return c.equal(args[0], args[1]).not()
	case operators.In:
		return c.in(args[0], args[1])
	}
	return any3
}

// resolved returns the expression of a variable, and other expressions as they are.
func (c *certainty) resolved(e ast.Expr) ast.Expr {
	for range c.variables {
		if e.Kind() != ast.SelectKind || e.AsSelect().IsTestOnly() || !isVariable(e.AsSelect().Operand()) || c.variables[e.AsSelect().FieldName()] == nil {
			break
		}
		e = c.variables[e.AsSelect().FieldName()]
	}
	return e
}

// reach returns the type of a field, and whether all objects have it.
func (c *certainty) reach(e ast.Expr) (t *schema.Type, always bool) {
	e = c.resolved(e)
	switch e.Kind() {
	case ast.IdentKind:
		if e.AsIdent() == "object" {
			return c.objects.Kind.Type(), c.objects.always("object")
		}
		return c.items[e.AsIdent()], true
	case ast.SelectKind:
		s := e.AsSelect()
		of, always := c.reach(s.Operand())
		return of.FieldType(s.FieldName()), always && !s.IsTestOnly() && c.sets(s.Operand(), of, s.FieldName())
	}
	return nil, false
}

// sets reports whether every value of a type has a field, which is not null.
func (c *certainty) sets(e ast.Expr, t *schema.Type, name string) bool {
	if e.Kind() == ast.IdentKind && e.AsIdent() == "object" && slices.Contains([]string{"apiVersion", "kind", "metadata"}, name) {
		return true
	}
	f := t.Declared(name)
	switch {
	case f == nil || f.Nullable || strings.HasSuffix(t.Name, ".ObjectMeta"):
		return false
	case c.objects.Kind.Custom:
		return f.Default != nil || f.Required && c.objects.Valid
	}
	return f.Zero == schema.ZeroWritten
}

// has returns the results of has().
func (c *certainty) has(operand ast.Expr, name string) results {
	t, always := c.reach(operand)
	possible := holds | isFalse
	if !always {
		possible |= fails
	}
	if t != nil && c.sets(operand, t, name) {
		possible &^= isFalse
	}
	return possible
}

// equal returns the results of ==.
func (c *certainty) equal(a, b ast.Expr) results {
	for _, sides := range [][2]ast.Expr{{a, b}, {b, a}} {
		if sides[1].Kind() == ast.LiteralKind && sides[1].AsLiteral() == types.NullValue {
			return c.isNull(sides[0])
		}
	}
	left, right := c.values(a), c.values(b)
	if left == nil || right == nil {
		return any3
	}
	all := (left.failure | right.failure)
	for _, x := range left.all {
		if slices.Contains(right.all, x) {
			all |= holds
		}
		if slices.ContainsFunc(right.all, func(y string) bool { return y != x }) {
			all |= isFalse
		}
	}
	return all
}

// isNull returns the results of a comparison with null.
func (c *certainty) isNull(e ast.Expr) results {
	if e.Kind() != ast.IdentKind {
		return any3
	}
	operations := c.objects.Operations
	switch name := e.AsIdent(); {
	case c.objects.always(name):
		return isFalse
	case name == "oldObject" && !slices.Contains(operations, "UPDATE") && !slices.Contains(operations, "DELETE"):
		return holds
	}
	return any3
}

// in returns the results of a test whether a list that is written out has a value.
func (c *certainty) in(item, list ast.Expr) results {
	list = c.resolved(list)
	values := c.values(item)
	if values == nil || list.Kind() != ast.ListKind {
		return any3
	}
	all := values.failure
	listed := map[string]bool{}
	for _, e := range list.AsList().Elements() {
		text, isText := constantText(e)
		if !isText {
			return any3
		}
		listed[text] = true
	}
	for _, x := range values.all {
		if listed[x] {
			all |= holds
		} else {
			all |= isFalse
		}
	}
	return all
}

// texts are the texts that an expression may have.
type texts struct {
	all []string
	// failure is fails if it may fail instead.
	failure results
	// what names the field whose kind has these values; "" for others.
	what string
}

// values returns the texts that an expression may have, or the name of its type for type(x); nil if any
// are possible.
func (c *certainty) values(e ast.Expr) *texts {
	e = c.resolved(e)
	switch e.Kind() {
	case ast.LiteralKind:
		if text, ok := constantText(e); ok {
			return &texts{all: []string{text}}
		}
	case ast.IdentKind:
		if name, ok := typeNames[e.AsIdent()]; ok {
			return &texts{all: []string{name}}
		}
	case ast.CallKind:
		if call := e.AsCall(); call.FunctionName() == "type" && len(call.Args()) == 1 {
			return c.typeOf(call.Args()[0])
		}
	case ast.SelectKind:
		if path := selection(e); path != nil {
			if known := c.ofRequest(path); known != nil {
				return &texts{all: known}
			}
		}
		return c.ofField(e.AsSelect())
	}
	return nil
}

// typeNames are the types of CEL with which expressions compare. Those of objects are maps.
var typeNames = map[string]string{"string": "string", "int": "int", "bool": "bool", "list": "list", "map": "map", "double": "double", "uint": "uint", "bytes": "bytes"}

// typeOf returns the type of a field.
func (c *certainty) typeOf(e ast.Expr) *texts {
	if e = c.resolved(e); e.Kind() != ast.SelectKind || e.AsSelect().IsTestOnly() || c.objects.Kind.Custom && !c.objects.Valid {
		return nil
	}
	s := e.AsSelect()
	of, _ := c.reach(s.Operand())
	f := of.Declared(s.FieldName())
	if f == nil || f.Nullable || f.Zero == schema.NilWritten || f.Type.Preserve || f.Type.Embedded {
		return nil
	}
	name := map[schema.Scalar]string{schema.String: "string", schema.Integer: "int", schema.Boolean: "bool"}[f.Type.Scalar]
	switch {
	case f.Type.IsList:
		name = "list"
	case f.Type.Fields != nil || f.Type.Elem != nil:
		name = "map"
	case name == "":
		return nil
	}
	_, always := c.reach(e)
	return &texts{all: []string{name}, failure: failure(always), what: s.FieldName() + " is always of type " + name}
}

// failure returns that an expression may fail, unless it always has a value.
func failure(always bool) results {
	if always {
		return 0
	}
	return fails
}

// selection returns the path of a variable's field.
func selection(e ast.Expr) (path []string) {
	for e.Kind() == ast.SelectKind && !e.AsSelect().IsTestOnly() {
		path = append(path, e.AsSelect().FieldName())
		e = e.AsSelect().Operand()
	}
	if e.Kind() != ast.IdentKind {
		return nil
	}
	path = append(path, e.AsIdent())
	slices.Reverse(path)
	return path
}

// ofRequest returns the values of fields that follow from the kind and the operations.
func (c *certainty) ofRequest(path []string) []string {
	k := c.objects.Kind
	switch strings.Join(path, ".") {
	case "object.kind":
		return c.ofObject(k.Kind.Kind)
	case "object.apiVersion":
		return c.ofObject(k.APIVersion())
	case "request.kind.kind":
		return []string{k.Kind.Kind}
	case "request.kind.group", "request.resource.group":
		return []string{k.Group}
	case "request.kind.version", "request.resource.version":
		return []string{k.Version}
	case "request.resource.resource":
		return []string{k.Resource}
	case "request.operation":
		return c.objects.Operations
	}
	return nil
}

// ofObject returns the value of a field that every object has, if every request has an object.
func (c *certainty) ofObject(value string) []string {
	if c.objects.always("object") {
		return []string{value}
	}
	return nil
}

// ofField returns the values of a field that the kind enumerates.
func (c *certainty) ofField(s ast.SelectExpr) *texts {
	if s.IsTestOnly() || !c.objects.Valid {
		return nil // a mutation may correct what the server would refuse
	}
	of, _ := c.reach(s.Operand())
	f := of.Declared(s.FieldName())
	if f == nil || f.Type.IsList || f.Nullable {
		return nil
	}
	enum := of.Enum(s.FieldName())
	if enum == nil {
		return nil
	}
	return &texts{all: append(slices.Clone(enum), ""), failure: fails, what: fmt.Sprintf("%s is one of %s", s.FieldName(), strings.Join(enum, ", "))}
}

// comparisons finds comparisons of a field with values that it cannot have.
func (c *certainty) comparisons(e ast.Expr, problem func(e ast.Expr, code, text string) Problem) (found []Problem) {
	switch e.Kind() {
	case ast.SelectKind:
		return c.comparisons(e.AsSelect().Operand(), problem)
	case ast.CallKind:
		call := e.AsCall()
		if what := c.impossible(call); what != "" {
			code, text := NeverTrue, "the comparison is never true"
			if call.FunctionName() == operators.NotEquals {
				code, text = AlwaysTrue, "the comparison is always true"
			}
			return []Problem{problem(e, code, text+": "+what)}
		}
		if call.IsMemberFunction() {
			found = c.comparisons(call.Target(), problem)
		}
		for _, argument := range call.Args() {
			found = append(found, c.comparisons(argument, problem)...)
		}
	case ast.ListKind:
		for _, item := range e.AsList().Elements() {
			found = append(found, c.comparisons(item, problem)...)
		}
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			found = append(found, c.comparisons(entry.AsMapEntry().Value(), problem)...)
		}
	case ast.StructKind:
		for _, entry := range e.AsStruct().Fields() {
			found = append(found, c.comparisons(entry.AsStructField().Value(), problem)...)
		}
	case ast.ComprehensionKind:
		return c.inLoop(e.AsComprehension(), problem)
	}
	return found
}

// inLoop finds comparisons in a loop, which may be about the items of a list in the object.
func (c *certainty) inLoop(loop ast.ComprehensionExpr, problem func(e ast.Expr, code, text string) Problem) []Problem {
	inner := *c
	inner.items = maps.Clone(c.items)
	inner.items[loop.IterVar()] = nil
	if of, _ := c.reach(loop.IterRange()); of != nil && of.IsList && !loop.HasIterVar2() {
		inner.items[loop.IterVar()] = of.Elem
	}
	found := c.comparisons(loop.IterRange(), problem)
	for _, part := range []ast.Expr{loop.LoopStep(), loop.Result()} {
		found = append(found, inner.comparisons(part, problem)...)
	}
	return found
}

// impossible says why a comparison with a field is decided by its kind; "" if it is not.
func (c *certainty) impossible(call ast.CallExpr) string {
	args := call.Args()
	if len(args) != 2 {
		return ""
	}
	what := ""
	for _, e := range args {
		if v := c.values(e); v != nil && v.what != "" {
			what = v.what
		}
	}
	if what == "" {
		return ""
	}
	switch call.FunctionName() {
	case operators.Equals, operators.NotEquals:
		if c.equal(args[0], args[1])&holds != 0 {
			return ""
		}
	case operators.In:
		if c.in(args[0], args[1])&holds != 0 {
			return ""
		}
	default:
		return ""
	}
	return what
}
