package celenv

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"

	"github.com/preadmit/preadmit/engine/change"
)

// CompileError says why an expression is refused, in the API server's words.
type CompileError struct {
	// Text is the server's message, with the excerpt of the expression where CEL
	// gives one.
	Text string
	// Offset is the place in the expression, in bytes; zero if the whole expression
	// is meant.
	Offset int
	// Internal says that the server calls this an internal error rather than an
	// invalid value.
	Internal bool
}

// Error returns the server's message.
func (e *CompileError) Error() string { return e.Text }

// Scope is what the expressions of one policy share: whether there are params, and
// the variables. It is not safe for concurrent use while variables are declared.
type Scope struct {
	env       *Env
	hasParams bool
	variables []variable
	types     map[string]*types.Type
}

type variable struct {
	name    string
	program *Program
	err     *CompileError
}

// Scope makes the scope of one policy. params is declared only if hasParams.
func (e *Env) Scope(hasParams bool) *Scope {
	return &Scope{env: e, hasParams: hasParams, types: map[string]*types.Type{}}
}

// Variable compiles and declares a variable for the expressions that follow. A
// variable that does not compile is declared nevertheless, with an unknown type.
func (s *Scope) Variable(name, expression string) error {
	program, err := s.compile(dialect{variables: true}, expression, nil)
	v := variable{name: name, program: program, err: err}
	s.types[name] = types.DynType
	if err == nil {
		s.types[name] = s.env.host.variableType(program.output)
	}
	for i := range s.variables {
		if s.variables[i].name == name { // the last of a name wins, as on the server
			s.variables[i] = v
			return errorOf(err)
		}
	}
	s.variables = append(s.variables, v)
	return errorOf(err)
}

// Condition compiles a matchCondition, which must be a bool and must not use
// variables.
func (s *Scope) Condition(expression string) (*Program, error) {
	program, err := s.compile(dialect{}, expression, types.BoolType)
	return program, errorOf(err)
}

// ApplyConfiguration compiles a mutation that must be an Object.
func (s *Scope) ApplyConfiguration(expression string) (*Program, error) {
	program, err := s.compile(dialect{variables: true, patches: true}, expression, objectType)
	return program, errorOf(err)
}

// JSONPatch compiles a mutation that must be a list of JSONPatch.
func (s *Scope) JSONPatch(expression string) (*Program, error) {
	program, err := s.compile(dialect{variables: true, patches: true}, expression, types.NewListType(patchType))
	return program, errorOf(err)
}

// errorOf avoids an error that is not nil but holds a nil pointer.
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
	// The server checks the expression without the space around it, and evaluates
	// and quotes it as it is.
	trimmed := strings.TrimSpace(expression)
	checked, issues, err := compiler.compile(trimmed)
	s.env.giveBack(compiler)
	if err != nil {
		return nil, internalError(err)
	}
	if issues != nil && issues.Err() != nil {
		compileError := &CompileError{Text: s.env.host.words.compilation(issues.String())}
		if errs := issues.Errors(); len(errs) > 0 && errs[0].Location != nil {
			location := errs[0].Location
			compileError.Offset = offset(trimmed, location.Line(), location.Column()) + strings.Index(expression, trimmed)
		}
		return nil, compileError
	}
	output := checked.GetType(checked.Expr().ID())
	if want != nil && !output.IsExactType(want) {
		return nil, &CompileError{Text: s.env.host.words.mismatch(want, output)}
	}
	branches := branchesOf(trimmed, checked, strings.Index(expression, trimmed))
	program, err := s.env.program(checked, branches)
	if err != nil {
		return nil, &CompileError{Internal: true, Text: "program instantiation failed: " + err.Error()}
	}
	return &Program{
		expression: expression, program: program, output: output, expr: checked.Expr(), branches: branches, readsNamespace: readsNamespace(checked),
		constant: !change.Reference && s.env.isConstant(checked),
	}, nil
}

// offset converts a place in a text, line (from 1) and column (from 0, in
// characters), to bytes.
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

// isConstant reports whether an expression certainly gives the same whatever there is: it
// reads nothing, and calls only functions of CEL itself, which know neither time nor chance.
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
