package celenv

import (
	"fmt"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/decls"
	"github.com/google/cel-go/common/types"

	"github.com/preadmit/preadmit/engine/internal/celenv/library"
	"github.com/preadmit/preadmit/engine/internal/celenv/syntax"
)

// dialect says what an expression may use besides what all expressions may use.
type dialect struct {
	params, variables, patches bool
	// unauthorized says that the expression must not use authorizer.
	unauthorized bool
}

// A compiler checks the expressions of a dialect, one at a time: its provider has the variables
// of one policy.
//
// An environment of cel-go could do this, too. But its parser takes longer than everything else,
// and creating an environment takes longer than checking most expressions. So package syntax
// parses expressions, and they are checked with declarations that all compilers copy. An
// expression that does not compile this way is compiled again in an environment, for its error
// text.
type compiler struct {
	env      *Env
	dialect  dialect
	provider *provider
	syntax   *syntax.Parser
	checker  *checker.Env
	// complete makes the environment, once.
	complete func() (*cel.Env, error)
}

// borrow returns a compiler for exclusive use until it is given back.
func (e *Env) borrow(d dialect) (*compiler, error) {
	e.mu.Lock()
	if idle := e.idle[d]; len(idle) > 0 {
		c := idle[len(idle)-1]
		e.idle[d] = idle[:len(idle)-1]
		e.mu.Unlock()
		return c, nil
	}
	e.mu.Unlock()
	return e.newCompiler(d)
}

func (e *Env) giveBack(c *compiler) {
	c.provider.variables, c.provider.missed = nil, map[string][]string{}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.idle[c.dialect] = append(e.idle[c.dialect], c)
}

func (e *Env) newCompiler(d dialect) (*compiler, error) {
	base, declarations := e.base, e.declarations
	if d.unauthorized {
		base, declarations = e.unauthorized, e.unauthorizedDeclarations
	}
	env, err := base()
	if err != nil {
		return nil, err
	}
	shared, err := declarations()
	if err != nil {
		return nil, err
	}
	c := &compiler{env: e, dialect: d, provider: e.newProvider(env, d.patches), syntax: e.syntax()}
	c.provider.missed = map[string][]string{}
	c.complete = sync.OnceValues(func() (*cel.Env, error) { return e.complete(d, c.provider) })
	c.checker, err = e.newChecker(env, c.provider, checker.ValidatedDeclarations(shared))
	if err == nil && d.patches {
		err = c.checker.AddFunctions(library.EscapeKey())
	}
	if err == nil && d.params {
		err = c.checker.AddIdents(decls.NewVariable("params", types.DynType))
	}
	if err == nil && d.variables {
		err = c.checker.AddIdents(decls.NewVariable("variables", e.host.variable))
	}
	return c, err
}

// declarationsOf makes the declarations of an environment, which checkers copy.
func (e *Env) declarationsOf(env func() (*cel.Env, error)) (*checker.Env, error) {
	base, err := env()
	if err != nil {
		return nil, err
	}
	shared, err := e.newChecker(base, base.CELTypeProvider())
	if err != nil {
		return nil, err
	}
	if err := shared.AddIdents(base.Variables()...); err != nil {
		return nil, err
	}
	for _, function := range base.Functions() {
		if err := shared.AddFunctions(function); err != nil {
			return nil, err
		}
	}
	return shared, nil
}

func (e *Env) newChecker(base *cel.Env, provider types.Provider, options ...checker.Option) (*checker.Env, error) {
	comparisons := checker.CrossTypeNumericComparisons(true)
	return checker.NewEnv(base.Container, provider, append(options, comparisons)...)
}

func (e *Env) buildSyntax() *syntax.Parser {
	base, err := e.base()
	if err != nil {
		return syntax.New(nil, false) // nothing is compiled then
	}
	return syntax.New(base.Macros(), base.HasLibrary("cel.lib.optional"))
}

// compile parses and checks an expression. cel-go v0.26 crashes on an optional entry of a map
// whose type it does not know, as in {?"a": dyn(x)[?0]}.
func (c *compiler) compile(text string) (checked *ast.AST, issues *cel.Issues, err error) {
	defer func() {
		if problem := recover(); problem != nil {
			err = fmt.Errorf("cel-go crashes when it checks the expression: %v", problem)
		}
	}()
	source := common.NewTextSource(text)
	if parsed := c.syntax.Parse(source); parsed != nil {
		checked, errs := checker.Check(parsed, source, c.checker)
		if len(errs.GetErrors()) == 0 && c.isValid(checked, source) {
			return checked, nil, nil
		}
	}
	complete, err := c.complete()
	if err != nil {
		return nil, nil, err
	}
	compiled, issues := complete.CompileSource(source)
	return compiled.NativeRep(), issues, nil
}

// compileIn compiles an expression in an environment. A crash of cel-go is an error; see compile.
func compileIn(env *cel.Env, text string) (checked *cel.Ast, issues *cel.Issues) {
	defer func() {
		if problem := recover(); problem != nil {
			errs := common.NewErrors(common.NewTextSource(text))
			errs.ReportErrorString(common.NoLocation, fmt.Sprintf("cel-go crashes when it checks the expression: %v", problem))
			checked, issues = nil, cel.NewIssues(errs)
		}
	}()
	return env.Compile(text)
}

// validated has the known validators with the functions whose calls they check; "" for the
// validators of the items of lists and maps.
var validated = map[string]string{
	"cel.validator.duration": "duration", "cel.validator.timestamp": "timestamp", "cel.validator.matches": "matches",
	"cel.validator.string_format": "format", "cel.validator.homogeneous_literals": "", "cel.validator.cel_block": "",
}

// interestsValidators reports whether validators have anything to check in an expression.
// Calling them is slow, because they copy the expression.
func interestsValidators(checked *ast.AST) (interests bool) {
	ast.PreOrderVisit(checked.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.ListKind:
			interests = interests || e.AsList().Size() > 1
		case ast.MapKind:
			interests = interests || e.AsMap().Size() > 1
		case ast.CallKind:
			for _, function := range validated {
				interests = interests || e.AsCall().FunctionName() == function
			}
		}
	}))
	return interests
}

// isValid reports whether the validators of the environment accept the expression.
func (c *compiler) isValid(checked *ast.AST, source common.Source) bool {
	if !interestsValidators(checked) {
		return true
	}
	base, err := c.env.base()
	if err != nil {
		return false
	}
	config := validatorConfig{}
	for _, v := range base.Validators() {
		if v, ok := v.(cel.ASTValidatorConfigurer); ok && v.Configure(config) != nil {
			return false
		}
	}
	issues := cel.NewIssuesWithSourceInfo(common.NewErrors(source), checked.SourceInfo())
	for _, v := range base.Validators() {
		v.Validate(base, config, checked, issues)
	}
	return issues.Err() == nil
}

// validatorConfig holds the configuration that validators share.
type validatorConfig map[string]any

// GetOrDefault implements cel.ValidatorConfig.
func (c validatorConfig) GetOrDefault(name string, value any) any {
	if configured, ok := c[name]; ok {
		return configured
	}
	return value
}

// Set implements cel.MutableValidatorConfig.
func (c validatorConfig) Set(name string, value any) error {
	c[name] = value
	return nil
}

// complete returns an environment for a dialect.
func (e *Env) complete(d dialect, p *provider) (*cel.Env, error) {
	shared := e.base
	switch {
	case d.patches:
		shared = e.patch
	case d.unauthorized:
		shared = e.unauthorized
	}
	env, err := shared()
	if err != nil {
		return nil, err
	}
	options := []cel.EnvOption{cel.CustomTypeProvider(p)}
	if d.params {
		options = append(options, cel.Variable("params", cel.DynType))
	}
	if d.variables {
		options = append(options, cel.Variable("variables", e.host.variable))
	}
	return env.Extend(options...)
}
