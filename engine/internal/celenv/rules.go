package celenv

import (
	"context"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/decls"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	values "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"

	"github.com/preadmit/preadmit/engine/internal/celenv/library"
)

// RulesBudget is the budget of all rules of one object together, with their messages.
const RulesBudget = MutationBudget

const (
	selfName, oldSelfName = "self", "oldSelf"
	// selfType is the name of the type of self. A server has a random name.
	selfType = "selfType"
)

// RuleScope compiles the rules of a schema's node (x-kubernetes-validations). It is not safe for
// concurrent use.
type RuleScope struct {
	env *Env
	// declared is the type of self.
	declared *values.DeclType
	self     *types.Type
	provider *values.DeclTypeProvider
	// compilers are those for an oldSelf of the same type, and for one that is optional.
	compilers map[bool]*compiler
}

// Rules returns the scope of the rules about values of a declared type.
func (e *Env) Rules(declared *values.DeclType) (*RuleScope, error) {
	env, err := e.functions()
	if err != nil {
		return nil, err
	}
	declared = declared.MaybeAssignTypeName(selfType)
	provider := values.NewDeclTypeProvider(declared)
	provider.SetRecognizeKeywordAsFieldName(true)
	if provider, err = provider.WithTypeProvider(env.CELTypeProvider()); err != nil {
		return nil, err
	}
	return &RuleScope{env: e, declared: declared, self: declared.CelType(), provider: provider, compilers: map[bool]*compiler{}}, nil
}

// Rule is a compiled rule, or the expression of its message. It is safe for concurrent use.
type Rule struct {
	program cel.Program
	// ReadsOld says that it reads oldSelf.
	ReadsOld bool
}

// Condition compiles a rule, which must be a bool. optional says that oldSelf is an optional value.
func (s *RuleScope) Condition(expression string, optional bool) (*Rule, error) {
	return s.compile(expression, optional, types.BoolType, "compilation failed: ", "cel expression must evaluate to a bool")
}

// Message compiles a messageExpression, which must be a string.
func (s *RuleScope) Message(expression string, optional bool) (*Rule, error) {
	return s.compile(expression, optional, types.StringType, "messageExpression compilation failed: ", "messageExpression must evaluate to a string")
}

func (s *RuleScope) compile(expression string, optional bool, want *types.Type, prefix, mismatch string) (*Rule, error) {
	compiler, err := s.compiler(optional)
	if err != nil {
		return nil, internalError(err)
	}
	checked, issues, err := compiler.compile(expression)
	switch {
	case err != nil:
		return nil, internalError(err)
	case issues != nil && issues.Err() != nil:
		return nil, compileError(expression, expression, prefix+issues.String(), issues, compiler.mend(expression, issues))
	case checked.GetType(checked.Expr().ID()) != want:
		return nil, &CompileError{Text: mismatch}
	}
	program, err := s.env.program(checked, nil)
	if err != nil {
		return nil, &CompileError{Text: "program instantiation failed: " + err.Error()}
	}
	r := &Rule{program: program}
	ast.PreOrderVisit(checked.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		r.ReadsOld = r.ReadsOld || e.Kind() == ast.IdentKind && e.AsIdent() == oldSelfName
	}))
	return r, nil
}

// Cost returns the largest cost of a rule, or of a messageExpression, as a server estimates it before it
// accepts a definition. It is 0 for an expression that does not compile.
func (s *RuleScope) Cost(expression string, optional bool) uint64 {
	compiler, err := s.compiler(optional)
	if err != nil {
		return 0
	}
	checked, issues, err := compiler.compile(expression)
	if err != nil || issues.Err() != nil {
		return 0
	}
	encoded, err := ast.ToProto(checked)
	if err != nil {
		return 0
	}
	env, err := s.env.functions()
	if err != nil {
		return 0
	}
	estimated, err := env.EstimateCost(cel.CheckedExprToAst(encoded), library.Estimates{Size: s.largest})
	if err != nil {
		return 0
	}
	return estimated.Max
}

// largest returns the largest size of the value at a path, as the schema limits it.
func (s *RuleScope) largest(path []string) (size uint64, known bool) {
	t := s.declared
	for _, name := range path[1:] { // after self
		switch name {
		case "@items", "@values":
			t = t.ElemType
		case "@keys":
			t = t.KeyType
		default:
			field := t.Fields[name]
			if field == nil {
				return 0, false
			}
			t = field.Type
		}
		if t == nil {
			return 0, false
		}
	}
	return uint64(t.MaxElements), true
}

// compiler returns the compiler for an oldSelf that is optional or not.
func (s *RuleScope) compiler(optional bool) (*compiler, error) {
	if c := s.compilers[optional]; c != nil {
		return c, nil
	}
	old := s.self
	if optional {
		old = types.NewOptionalType(s.self)
	}
	env, err := s.env.functions()
	if err != nil {
		return nil, err
	}
	shared, err := s.env.ruleDeclarations()
	if err != nil {
		return nil, err
	}
	c := &compiler{env: s.env, syntax: s.env.syntax(), complete: sync.OnceValues(func() (*cel.Env, error) {
		return env.Extend(cel.CustomTypeProvider(s.provider), cel.Variable(selfName, s.self), cel.Variable(oldSelfName, old))
	})}
	if c.checker, err = s.env.newChecker(env, s.provider, checker.ValidatedDeclarations(shared)); err != nil {
		return nil, err
	}
	s.compilers[optional] = c
	return c, c.checker.AddIdents(decls.NewVariable(selfName, s.self), decls.NewVariable(oldSelfName, old))
}

// RuleInput has what the rules of a node read.
type RuleInput struct {
	self, old ref.Val
	sizes     sizes
}

// NewRuleInput returns the input for a value of a schema and the value before an update; nil if
// the object is new.
func NewRuleInput(schema common.Schema, self, old any) *RuleInput {
	in := &RuleInput{self: common.UnstructuredToVal(self, schema)}
	if old != nil {
		in.old = common.UnstructuredToVal(old, schema)
	}
	return in
}

// Optional returns the input for rules whose oldSelf is optional.
func (in *RuleInput) Optional() *RuleInput {
	optional := &RuleInput{self: in.self, old: types.OptionalNone}
	if in.old != nil {
		optional.old = types.OptionalOf(in.old)
	}
	return optional
}

// ResolveName implements interpreter.Activation.
func (in *RuleInput) ResolveName(name string) (any, bool) {
	switch name {
	case selfName:
		return in.self, true
	case oldSelfName:
		return in.old, in.old != nil
	case sizesName:
		return &in.sizes, true
	}
	return nil, false
}

// Parent implements interpreter.Activation.
func (in *RuleInput) Parent() interpreter.Activation { return nil }

// Holds evaluates a rule, and returns its cost, also if there is an error.
func (r *Rule) Holds(ctx context.Context, in *RuleInput) (holds bool, cost int64, err error) {
	value, details, err := r.program.ContextEval(ctx, in)
	return value == types.True, actualCost(details), err
}

// Text evaluates the expression of a message, and returns its cost, also if there is an error.
func (r *Rule) Text(ctx context.Context, in *RuleInput) (text string, cost int64, err error) {
	value, details, err := r.program.ContextEval(ctx, in)
	if err == nil {
		text, err = nativeOf[string](value)
	}
	return text, actualCost(details), err
}
