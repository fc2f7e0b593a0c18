package celenv

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/source"
)

// CompileError is the error of an expression that does not compile, with the API server's text.
type CompileError struct {
	// Text is the server's message, with CEL's excerpt of the expression if there is one.
	Text string
	// Offset is the byte offset in the expression; zero if the error is about the whole
	// expression.
	Offset int
	// Internal says that the server reports an internal error rather than an invalid value.
	Internal bool
	// Mend says what was probably meant.
	Mend source.Mend
}

// compileError returns the error about the issues of an expression. trimmed is its text without space around it.
func compileError(expression, trimmed, text string, issues *cel.Issues, mend source.Mend) *CompileError {
	before := strings.Index(expression, trimmed)
	e := &CompileError{Text: text, Mend: mend.Shifted(before)}
	if errs := issues.Errors(); len(errs) > 0 && errs[0].Location != nil {
		e.Offset = offset(trimmed, errs[0].Location.Line(), errs[0].Location.Column()) + before
	}
	return e
}

// Error returns the server's message.
func (e *CompileError) Error() string { return e.Text }

// Scope has what the expressions of one policy share: whether there are params, and the
// variables. It is not safe for concurrent use while variables are declared.
type Scope struct {
	env       *Env
	hasParams bool
	variables []variable
	// numbers are the indexes of the variables by name.
	numbers map[string]int
	types   map[string]*types.Type
}

type variable struct {
	name    string
	program *Program
	err     *CompileError
}

// Scope returns the scope of one policy. params is declared only if hasParams.
func (e *Env) Scope(hasParams bool) *Scope {
	return &Scope{env: e, hasParams: hasParams, numbers: map[string]int{}, types: map[string]*types.Type{}}
}

// Variable compiles and declares a variable for the following expressions. A variable that does
// not compile is still declared, with an unknown type.
func (s *Scope) Variable(name, expression string) error {
	program, err := s.compile(dialect{variables: true}, expression, nil)
	v := variable{name: name, program: program, err: err}
	s.types[name] = types.DynType
	if err == nil {
		s.types[name] = s.env.host.variableType(program.output)
	}
	if i, declared := s.numbers[name]; declared { // the last of a name wins, as on the server
		s.variables[i] = v
	} else {
		s.numbers[name] = len(s.variables)
		s.variables = append(s.variables, v)
	}
	return errorOf(err)
}

// Condition compiles a matchCondition, which must be a bool and must not use
// variables.
func (s *Scope) Condition(expression string) (*Program, error) {
	program, err := s.compile(dialect{}, expression, types.BoolType)
	return program, errorOf(err)
}

// Validation compiles a validation, which must be a bool.
func (s *Scope) Validation(expression string) (*Program, error) {
	program, err := s.compile(dialect{variables: true}, expression, types.BoolType)
	return program, errorOf(err)
}

// Message compiles a messageExpression, which must be a string and must not use authorizer.
func (s *Scope) Message(expression string) (*Program, error) {
	program, err := s.compile(dialect{variables: true, unauthorized: true}, expression, types.StringType)
	return program, errorOf(err)
}

// AuditAnnotation compiles the value of an audit annotation, which must be a string or null.
func (s *Scope) AuditAnnotation(expression string) (*Program, error) {
	program, err := s.compile(dialect{variables: true}, expression, nil)
	if err == nil && !program.output.IsExactType(types.StringType) && !program.output.IsExactType(types.NullType) {
		return nil, &CompileError{Text: fmt.Sprintf("must evaluate to one of [%v %v] but got %v", types.StringType, types.NullType, program.output)}
	}
	return program, errorOf(err)
}

// ApplyConfiguration compiles a mutation that must be an Object.
func (s *Scope) ApplyConfiguration(expression string) (*Program, error) {
	program, err := s.compile(dialect{variables: true, patches: true}, expression, objectType)
	return program, errorOf(err)
}

// JSONPatch compiles a mutation that must be a list of JSONPatch.
func (s *Scope) JSONPatch(expression string) (*Program, error) {
	program, err := s.compile(dialect{variables: true, patches: true}, expression, patchesType)
	return program, errorOf(err)
}

// errorOf converts a nil pointer to a nil error.
func errorOf(err *CompileError) error {
	if err == nil {
		return nil
	}
	return err
}

func (s *Scope) compile(d dialect, expression string, want *types.Type) (*Program, *CompileError) {
	d.params = s.hasParams
	d = s.env.host.dialect(d)
	compiler, err := s.env.borrow(d)
	if err != nil {
		return nil, internalError(err)
	}
	compiler.provider.variables = s.types
	checked, failure := s.check(compiler, expression, want)
	s.env.giveBack(compiler)
	if failure != nil {
		return nil, failure
	}
	trimmed, output := strings.TrimSpace(expression), checked.GetType(checked.Expr().ID())
	branches := branchesOf(trimmed, checked, strings.Index(expression, trimmed))
	program, err := s.env.program(checked, branches)
	if err != nil {
		return nil, &CompileError{Internal: true, Text: "program instantiation failed: " + err.Error()}
	}
	return &Program{
		expression: expression, program: program, tracked: sync.OnceValues(func() (cel.Program, error) { return s.env.tracked(checked) }), output: output, expr: checked.Expr(), branches: branches, readsNamespace: readsNamespace(checked),
		constant: !change.Reference && s.env.isConstant(checked),
	}, nil
}

// check parses an expression and checks its types. Its result must have the wanted type, if want is not nil. The
// server trims the expression before it checks it, but evaluates and quotes it untrimmed.
func (s *Scope) check(c *compiler, expression string, want *types.Type) (*ast.AST, *CompileError) {
	trimmed := strings.TrimSpace(expression)
	checked, issues, err := c.compile(trimmed)
	switch {
	case err != nil:
		return nil, internalError(err)
	case issues != nil && issues.Err() != nil:
		return nil, compileError(expression, trimmed, s.env.host.words.compilation(issues.String()), issues, c.mend(trimmed, issues))
	}
	if output := checked.GetType(checked.Expr().ID()); want != nil && !output.IsExactType(want) {
		mend := c.meantFor(trimmed, output, want).Shifted(strings.Index(expression, trimmed))
		return nil, &CompileError{Text: s.env.host.words.mismatch(want, output), Mend: mend}
	}
	return checked, nil
}

// offset converts a position in a text, with a line (from 1) and a column (from 0, in
// characters), to a byte offset.
func offset(text string, line, column int) int {
	start := 0
	for ; line > 1; line-- {
		start += strings.IndexByte(text[start:], '\n') + 1
	}
	for i := range text[start:] {
		if column == 0 {
			return start + i
		}
		column--
	}
	return len(text)
}

// isConstant reports whether an expression certainly has the same result for every input: it
// reads no variables, and calls only functions of CEL itself, which do not depend on time or
// chance.
func (e *Env) isConstant(checked *ast.AST) bool {
	plain, err := e.planner()
	if err != nil || slices.ContainsFunc(calls(checked), func(name string) bool { return plain.functions[name] == nil }) {
		return false
	}
	constant := true
	ast.PreOrderVisit(checked.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		constant = constant && e.Kind() != ast.IdentKind
	}))
	return constant
}

// readsNamespace reports whether an expression reads more of namespaceObject than
// namespaceObject.metadata.name.
func readsNamespace(checked *ast.AST) bool {
	reads := 0
	ast.PreOrderVisit(checked.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch {
		case isNamespaceObject(e):
			reads++
		case isSelect(e, "name") && isSelect(e.AsSelect().Operand(), "metadata") &&
			isNamespaceObject(e.AsSelect().Operand().AsSelect().Operand()):
			reads--
		}
	}))
	return reads > 0
}

func isNamespaceObject(e ast.Expr) bool {
	return e.Kind() == ast.IdentKind && e.AsIdent() == "namespaceObject"
}

func isSelect(e ast.Expr, field string) bool {
	return e.Kind() == ast.SelectKind && e.AsSelect().FieldName() == field
}
