package celenv

import (
	"errors"
	"fmt"
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/preadmit/preadmit/engine/internal/jsonpatch"
)

// DraftType is the type of the result of a draft's expression, as far as it is known.
type DraftType int

// The types. An expression of another type does not compile. The result may be null in place of
// a JSONPatch or an Object.
const (
	// Undecided is a bool, null, or a value whose type is known only after evaluation.
	Undecided DraftType = iota
	OnePatch
	PatchList
	// NestedPatches is a list of lists of JSONPatch.
	NestedPatches
	AnObject
)

// DraftType returns the type of a draft's expression.
func (p *Program) DraftType() DraftType {
	switch depth, base := unlist(p.output); {
	case base.IsExactType(objectType) && depth == 0:
		return AnObject
	case base.IsExactType(patchType):
		return OnePatch + DraftType(min(depth, 2))
	default:
		return Undecided
	}
}

// NestsLiterals reports whether an expression seems to return an Object with a map literal in a
// list, or with a map or list literal in a map. Servers do not convert such literals, and then
// refuse them.
func (p *Program) NestsLiterals() bool { return nestsLiterals(p.expr, true) }

// nestsLiterals visits the parts of e that become part of its value. field says that e is the
// value of an Object's field, or the whole value.
func nestsLiterals(e ast.Expr, field bool) bool {
	within := func(e ast.Expr) bool { return nestsLiterals(e, false) }
	switch e.Kind() {
	case ast.StructKind:
		return slices.ContainsFunc(e.AsStruct().Fields(), func(f ast.EntryExpr) bool { return nestsLiterals(f.AsStructField().Value(), true) })
	case ast.MapKind:
		return !field || slices.ContainsFunc(e.AsMap().Entries(), func(entry ast.EntryExpr) bool {
			value := unwrapped(entry.AsMapEntry().Value())
			return value.Kind() == ast.ListKind || within(value)
		})
	case ast.ListKind:
		return slices.ContainsFunc(e.AsList().Elements(), within)
	case ast.ComprehensionKind:
		return within(e.AsComprehension().LoopStep())
	case ast.CallKind:
		return slices.ContainsFunc(e.AsCall().Args(), func(arg ast.Expr) bool { return nestsLiterals(arg, field) })
	default:
		return false
	}
}

// unwrapped returns the expression inside dyn(…).
func unwrapped(e ast.Expr) ast.Expr {
	for e.Kind() == ast.CallKind && e.AsCall().FunctionName() == "dyn" && len(e.AsCall().Args()) == 1 {
		e = e.AsCall().Args()[0]
	}
	return e
}

// unlist returns the type of the items of nested lists.
func unlist(t *types.Type) (depth int, base *types.Type) {
	for ; t.Kind() == types.ListKind; depth++ {
		t = t.Parameters()[0]
	}
	return depth, t
}

// DraftPatch compiles a mutation of the proposals KEP-3775 and KEP-3962 that returns JSONPatch:
// one, lists of them, null, or a bool.
func (s *Scope) DraftPatch(expression string) (*Program, error) {
	return s.draft(expression, patchType, "JSONPatch, a list of JSONPatch, null or a bool")
}

// DraftObject compiles a mutation of the proposals that returns an Object, null, or a bool.
func (s *Scope) DraftObject(expression string) (*Program, error) {
	return s.draft(expression, objectType, "Object, null or a bool")
}

func (s *Scope) draft(expression string, want *types.Type, expected string) (*Program, error) {
	program, err := s.compile(dialect{variables: true, patches: true}, expression, nil)
	if err != nil {
		return nil, err
	}
	depth, base := unlist(program.output)
	isPlain := depth == 0 && (base.IsExactType(types.NullType) || base.IsExactType(types.BoolType))
	isWanted := base.IsExactType(want) && (depth == 0 || want == patchType)
	if base.Kind() != types.DynKind && !isPlain && !isWanted {
		return nil, &CompileError{Text: fmt.Sprintf("must evaluate to %s but got %v", expected, program.output)}
	}
	return program, nil
}

// Guard compiles the condition of a single mutation, which may use variables.
func (s *Scope) Guard(expression string) (*Program, error) {
	program, err := s.compile(dialect{variables: true}, expression, types.BoolType)
	return program, errorOf(err)
}

// DraftResult is the result of a draft's expression: a patch, an Object, or neither.
type DraftResult struct {
	Operations []jsonpatch.Operation
	Object     map[string]any
	// Refused says that the expression is false, so that the request is denied.
	Refused bool
}

// Draft evaluates a mutation of a draft. Faults of servers with nested literals are not
// reproduced, because no server runs drafts.
func (a *Activation) Draft(p *Program) (DraftResult, error) {
	value, err := a.eval(p, a.host.mutationBudget())
	if err != nil {
		return DraftResult{}, err
	}
	a.crashes = false
	switch value := value.(type) {
	case types.Null:
		return DraftResult{}, nil
	case types.Bool:
		return DraftResult{Refused: !bool(value)}, nil
	case *objectValue:
		if err := value.checkTypeNames(); err != nil {
			return DraftResult{}, fmt.Errorf("type mismatch: %w", err)
		}
		object, err := value.native(everyLevel)
		return DraftResult{Object: object}, err
	}
	operations, err := a.flatten(value, nil)
	return DraftResult{Operations: operations}, err
}

// flatten adds the operations in a value: a JSONPatch, null for no operation, or a list.
func (a *Activation) flatten(value ref.Val, operations []jsonpatch.Operation) ([]jsonpatch.Operation, error) {
	switch value := value.(type) {
	case types.Null:
		return operations, nil
	case *patchValue:
		operation, err := a.operation(value)
		return append(operations, operation), err
	case traits.Lister:
		for it := value.Iterator(); it.HasNext() == types.True; {
			var err error
			if operations, err = a.flatten(it.Next(), operations); err != nil {
				return nil, err
			}
		}
		return operations, nil
	}
	return nil, errors.New("type mismatch: the expression evaluates to neither a patch, nor null, nor a bool")
}
