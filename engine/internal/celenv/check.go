package celenv

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/admission"
	"github.com/preadmit/preadmit/engine/internal/celenv/library"
	"github.com/preadmit/preadmit/engine/internal/celenv/syntax"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/lazyregexp"
)

// Expression is an expression of a policy that is checked without being evaluated.
type Expression struct {
	Text string
	// Variable is the name of the variable that the expression defines, if any.
	Variable string
	// Patch says that the expression is a mutation, which may use Object and JSONPatch; Apply
	// says that it is an ApplyConfiguration.
	Patch, Apply bool
}

// Problem is a mistake that a server accepts.
type Problem struct {
	// Expression is the index of the expression; Offset is the byte offset in it.
	Expression, Offset int
	// Before are the offsets of the names before that of an undefined field.
	Before     []int
	Code, Text string
	// Mend has no advice if that depends on all kinds of the policy.
	Mend source.Mend
	// Field is the field that objects may lack, if the code is ParentMissing or FieldMissing.
	Field string
	// Guarded says that the policy checks first, so that the problem may never occur for objects
	// of the kind.
	Guarded bool
}

// Absence is a condition that a field is not set: !has(object.spec.replicas).
type Absence struct {
	Expression, Offset int
	// Path has the fields from object; "[]" is any item of a list.
	Path []string
}

// The codes of problems.
const (
	FieldUndefined = schema.FieldUndefined
	TypeMismatch   = schema.TypeMismatch
	AtomicList     = "atomic-list"
	NotStored      = "field-not-stored"
	ParentMissing  = "parent-missing"
	FieldMissing   = "field-missing"
	AlwaysTrue     = "always-true"
	AlwaysFalse    = "always-false"
	NeverTrue      = "condition-unreachable"
	Costly         = "costly"
)

// Check compiles the expressions of a policy with object typed as a kind, and returns the
// problems that are certain. It skips expressions that do not compile.
func (e *Env) Check(objects Objects, hasParams bool, expressions []Expression) ([]Problem, error) {
	t := e.typedBy(objects.Kind)
	env, err := e.typedEnv(t, hasParams)
	if err != nil {
		return nil, err
	}
	var problems []Problem
	trees := make([]*ast.AST, len(expressions))
	for i, x := range expressions {
		checked, issues := env.Compile(x.Text)
		if x.Variable != "" {
			t.variables[x.Variable] = types.DynType
		}
		if issues != nil && issues.Err() != nil {
			problems = append(problems, t.issues(i, env, x.Text, issues)...)
			continue
		}
		if x.Variable != "" {
			t.variables[x.Variable] = checked.OutputType()
		}
		switch trees[i] = checked.NativeRep(); {
		case x.Apply:
			problems = append(problems, slices.Concat(t.atomics(i, x.Text, trees[i]), objects.dropped(i, x.Text, trees[i]))...)
		case x.Patch:
			problems = append(problems, objects.misfits(i, x.Text, trees[i])...)
		}
	}
	problems = slices.Concat(problems, t.parents(expressions, trees), t.missing(expressions, trees))
	if len(problems) > 0 {
		guardsOf(env, expressions).mark(expressions, problems)
	}
	// A policy that asks first, for whatever field, may know which objects have the parent.
	problems = slices.DeleteFunc(problems, func(p Problem) bool { return p.Guarded && (p.Code == ParentMissing || p.Code == FieldMissing) })
	atNames(expressions, problems)
	return slices.Concat(problems, objects.certain(expressions, trees), costly(env, expressions, trees)), nil
}

// issues returns the certain problems among the issues of an expression.
func (t *typed) issues(index int, env *cel.Env, text string, issues *cel.Issues) (problems []Problem) {
	m := newMender(env, t.provider, text, issues)
	for _, problem := range issues.Errors() {
		code := problemCode(problem.Message)
		if code == "" {
			continue
		}
		p := Problem{Expression: index, Offset: offset(text, problem.Location.Line(), problem.Location.Column()), Code: code, Text: t.readable(problem.Message)}
		switch match := undefinedField().FindStringSubmatch(problem.Message); {
		case m == nil:
		case match == nil:
			p.Mend = m.retype(problem)
		default:
			word, ok := fieldAt(text, m.parts, p.Offset, match[1])
			if near := source.Nearest(match[1], t.missed[match[1]].FieldNames()); ok && near != "" {
				p.Mend = source.Meant(match[1], near).In(text, word.Start)
			}
		}
		problems = append(problems, p)
	}
	return problems
}

// atNames moves problems with undefined fields to the names. The compiler reports them at the dot before the name,
// or at the colon after it.
func atNames(expressions []Expression, problems []Problem) {
	for i := range problems {
		p := &problems[i]
		text := expressions[p.Expression].Text
		if match := undefinedField().FindStringSubmatch(p.Text); match != nil {
			parts := syntax.Parts(text)
			if word, ok := fieldAt(text, parts, p.Offset, match[1]); ok {
				p.Offset, p.Before = word.Start, namesBefore(text, parts, word)
			}
		}
	}
}

// namesBefore returns the places of the names before a word in its chain of fields.
func namesBefore(text string, parts []syntax.Part, word syntax.Part) (places []int) {
	i, _ := slices.BinarySearchFunc(parts, word.Start, func(p syntax.Part, at int) int { return cmp.Compare(p.Start, at) })
	for i -= 2; i >= 0 && text[parts[i+1].Start] == '.' && parts[i].Class != syntax.Operator; i -= 2 {
		places = append(places, parts[i].Start)
	}
	return places
}

// typedBy returns the types of expressions in which object is of a kind; nil for any kind.
func (e *Env) typedBy(kind *schema.Kind) *typed {
	return &typed{
		provider: &provider{variables: map[string]*types.Type{}, declared: e.host.types, scope: e.host.variable.TypeName(), patches: true},
		kind:     kind, names: map[*schema.Type]string{}, types: map[string]*schema.Type{}, missed: map[string]*schema.Type{},
	}
}

// typedEnv returns an environment in which object has a type.
func (e *Env) typedEnv(t *typed, hasParams bool) (*cel.Env, error) {
	libraries, err := e.functions()
	if err != nil {
		return nil, err
	}
	t.Provider = libraries.CELTypeProvider()
	object := t.celType(t.kind.Type())
	options := append(e.host.variables(object), cel.CustomTypeProvider(t), cel.Variable("variables", e.host.variable), library.JSONPatch())
	if hasParams {
		options = append(options, cel.Variable("params", t.celType(t.param)))
	}
	return libraries.Extend(options...)
}

// typed resolves the types of the fields of one kind.
type typed struct {
	*provider
	kind *schema.Kind
	// param is the type of params; nil if it is not known.
	param *schema.Type
	names map[*schema.Type]string
	types map[string]*schema.Type
	// missed are the types that do not have a field which expressions read, by its name.
	missed map[string]*schema.Type
}

var _ types.Provider = (*typed)(nil) // which cel-go takes as any

// celType returns the CEL type of a schema type. It is dyn if different types are possible.
func (t *typed) celType(s *schema.Type) *types.Type {
	switch {
	case s == nil || s.Preserve || s.Embedded:
		return types.DynType
	case s.IsList:
		return types.NewListType(t.celType(s.Elem))
	case s.Fields != nil && s.Elem == nil:
		name, ok := t.names[s]
		if !ok {
			short := s.Name[strings.LastIndexByte(s.Name, '.')+1:]
			name = fmt.Sprintf("kind%d.%s", len(t.names), short)
			t.names[s], t.types[name] = name, s
		}
		return types.NewObjectType(name)
	case s.Fields == nil && s.Elem != nil:
		return types.NewMapType(types.StringType, t.celType(s.Elem))
	}
	switch s.Scalar {
	case schema.String:
		return types.StringType
	case schema.Integer:
		return types.IntType
	case schema.Boolean:
		return types.BoolType
	}
	return types.DynType
}

// FindStructType implements types.Provider.
func (t *typed) FindStructType(name string) (*types.Type, bool) {
	if t.types[name] != nil {
		return types.NewTypeTypeWithParam(types.NewObjectType(name)), true
	}
	return t.provider.FindStructType(name)
}

// FindStructFieldType implements types.Provider.
func (t *typed) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	if s := t.types[name]; s != nil {
		declared := s.Declared(field)
		if declared == nil {
			t.missed[field] = s
			return nil, false
		}
		return &types.FieldType{Type: t.celType(declared.Type)}, true
	}
	if s := t.objectType(name); s != nil && s.Fields != nil && s.Elem == nil && !s.Preserve {
		declared := s.Declared(field)
		if declared == nil {
			t.missed[field] = s
			return nil, false
		}
		// Lists, maps and structs may be written as Objects and as maps.
		if declared.Type.Scalar == schema.NotScalar {
			return &types.FieldType{Type: types.DynType}, true
		}
		return &types.FieldType{Type: t.celType(declared.Type)}, true
	}
	return t.provider.FindStructFieldType(name, field)
}

// objectType returns the type that "Object.spec" names; nil if it is not known.
func (t *typed) objectType(name string) *schema.Type {
	if !isObject(name) {
		return nil
	}
	s := t.kind.Type()
	for _, field := range strings.Split(name, ".")[1:] {
		for s != nil && s.IsList {
			s = s.Elem
		}
		s = s.FieldType(field)
	}
	for s != nil && s.IsList {
		s = s.Elem
	}
	return s
}

var comparison = lazyregexp.New(`no matching overload for '(_(==|!=|<|<=|>|>=)_|@in)'`)

// problemCode returns the code for a message of the type checker; "" if the expression may still
// work with dynamic values.
func problemCode(message string) string {
	switch {
	case strings.HasPrefix(message, "undefined field"):
		return FieldUndefined
	case strings.Contains(message, "null)'"), strings.Contains(message, "'(null,"):
		return "" // harmless: a field is compared with null as well
	case inStruct().MatchString(message):
		return "" // a server sees maps, in which it can look for a name
	case strings.HasPrefix(message, "expected type of field"), comparison().MatchString(message):
		return TypeMismatch
	}
	return ""
}

// inStruct matches the message about a name that is looked for in a struct.
var inStruct = lazyregexp.New(`'@in' applied to '\(.*, kind\d+\.\w*\)'`)

// undefinedField matches the message about a field that a type does not have.
var undefinedField = lazyregexp.New(`^undefined field '(\w+)'`)

var typeName = lazyregexp.New(`kind\d+\.(\w*)`)

func (t *typed) readable(message string) string {
	return typeName().ReplaceAllString(message, "$1")
}

// atomics finds atomic lists, maps and structs in an ApplyConfiguration, which a server refuses.
func (t *typed) atomics(index int, text string, checked *ast.AST) (problems []Problem) {
	ast.PreOrderVisit(checked.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.StructKind {
			return
		}
		owner := t.objectType(e.AsStruct().TypeName())
		for _, entry := range e.AsStruct().Fields() {
			field := entry.AsStructField()
			what := ""
			switch s := owner.FieldType(field.Name()); {
			case s == nil || s.Scalar != schema.NotScalar:
			case s.IsList && s.List == schema.Atomic:
				what = "list"
			case !s.IsList && s.AtomicMap:
				what = "map"
			}
			if what != "" {
				problems = append(problems, Problem{
					Expression: index, Offset: offsetOf(text, checked, field.Value()), Code: AtomicList,
					Text: fmt.Sprintf("%s.%s is an atomic %s, which an ApplyConfiguration must not write", e.AsStruct().TypeName(), field.Name(), what),
				})
			}
		}
	}))
	return problems
}

// dropped finds fields in an ApplyConfiguration that a server does not store.
func (o Objects) dropped(index int, text string, checked *ast.AST) (problems []Problem) {
	ast.PreOrderVisit(checked.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.StructKind || !isObject(e.AsStruct().TypeName()) {
			return
		}
		owner := change.Keys(strings.Split(e.AsStruct().TypeName(), ".")[1:]...)
		for _, entry := range e.AsStruct().Fields() {
			field := entry.AsStructField()
			why := admission.NotStored(o.Kind, o.Subresources, owner.Key(field.Name()))
			if why != nil && admission.NotStored(o.Kind, o.Subresources, owner) == nil {
				problems = append(problems, unstored(index, offsetOf(text, checked, field.Value()), why))
			}
		}
	}))
	return problems
}

func unstored(expression, offset int, why *admission.Unstored) Problem {
	advice := "leave it out"
	if why.Instead != "" {
		advice = "match the resource " + why.Instead
	}
	return Problem{Expression: expression, Offset: offset, Code: NotStored, Text: why.Text, Mend: source.Mend{Advice: advice}}
}

// offsetOf returns the byte offset of an expression in the text.
func offsetOf(text string, checked *ast.AST, e ast.Expr) int {
	return offsetOfID(text, checked, e.ID())
}

func offsetOfID(text string, checked *ast.AST, id int64) int {
	location := checked.SourceInfo().GetStartLocation(id)
	return offset(text, location.Line(), location.Column())
}

// Absences finds the conditions that a field of object is not set.
func (s *Scope) Absences(expressions []Expression) []Absence {
	var absences []Absence
	for i, x := range expressions {
		d := s.env.host.dialect(dialect{params: s.hasParams, variables: true, patches: x.Patch})
		compiler, err := s.env.borrow(d)
		if err != nil {
			continue
		}
		compiler.provider.variables = s.types
		checked, issues, err := compiler.compile(x.Text)
		s.env.giveBack(compiler)
		if err != nil || issues.Err() != nil {
			continue
		}
		items := map[string][]string{}
		ast.PreOrderVisit(checked.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
			if e.Kind() == ast.ComprehensionKind {
				if list := fieldPath(e.AsComprehension().IterRange(), items); list != nil {
					items[e.AsComprehension().IterVar()] = append(list, "[]")
				}
			}
			if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != operators.LogicalNot {
				return
			}
			if test := e.AsCall().Args()[0]; test.Kind() == ast.SelectKind && test.AsSelect().IsTestOnly() {
				if path := fieldPath(test, items); path != nil {
					absences = append(absences, Absence{i, offsetOf(x.Text, checked, e), path})
				}
			}
		}))
	}
	return absences
}

// fieldPath returns the path of a selection from object, or from an item of a list in object.
func fieldPath(e ast.Expr, items map[string][]string) []string {
	switch e.Kind() {
	case ast.IdentKind:
		if e.AsIdent() == "object" {
			return []string{}
		}
		return append([]string(nil), items[e.AsIdent()]...)
	case ast.SelectKind:
		if path := fieldPath(e.AsSelect().Operand(), items); path != nil {
			return append(path, e.AsSelect().FieldName())
		}
	}
	return nil
}
