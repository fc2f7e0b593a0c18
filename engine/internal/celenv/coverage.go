package celenv

import (
	"sync/atomic"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// Branch is a conditional (? :) in an expression. It records which of its sides were evaluated.
type Branch struct {
	// Offset is the byte offset of its condition in the expression.
	Offset int
	// condition is the id of the condition.
	condition   int64
	held, fails atomic.Bool
}

// Held reports whether the condition has been true, Failed whether it has been false.
func (b *Branch) Held() bool { return b.held.Load() }

// Failed reports whether the condition has been false.
func (b *Branch) Failed() bool { return b.fails.Load() }

func (b *Branch) note(value ref.Val) {
	switch {
	case value == types.True && !b.held.Load(): // usually it is recorded already
		b.held.Store(true)
	case value == types.False && !b.fails.Load():
		b.fails.Store(true)
	}
}

// Branches returns the conditionals of the expression, in the order of the text.
func (p *Program) Branches() []*Branch { return p.branches }

// Held reports whether the program has been true.
func (p *Program) Held() bool { return p.held.Load() }

// VariableProgram returns the program of a variable; nil if it is missing.
func (s *Scope) VariableProgram(name string) *Program {
	for _, v := range s.variables {
		if v.name == name {
			return v.program
		}
	}
	return nil
}

// branchesOf finds the conditionals in an expression whose text begins at an offset.
func branchesOf(text string, checked *ast.AST, start int) []*Branch {
	var branches []*Branch
	ast.PreOrderVisit(checked.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.CallKind && e.AsCall().FunctionName() == operators.Conditional {
			condition := e.AsCall().Args()[0]
			branches = append(branches, &Branch{Offset: start + offsetOf(text, checked, condition), condition: condition.ID()})
		}
	}))
	return branches
}

// watching makes a program record which sides of its branches it evaluates.
func watching(branches []*Branch) cel.ProgramOption {
	byID := map[int64]*Branch{}
	for _, b := range branches {
		byID[b.condition] = b
	}
	return cel.CustomDecorator(func(i interpreter.Interpretable) (interpreter.Interpretable, error) {
		b := byID[i.ID()]
		if b == nil {
			return i, nil
		}
		switch i := i.(type) {
		case interpreter.InterpretableConst:
			b.note(i.Value())
			return i, nil
		case interpreter.InterpretableAttribute:
			return watchedAttribute{i, b}, nil
		}
		return watched{i, b}, nil
	})
}

// watched is a condition that records its values.
type watched struct {
	interpreter.Interpretable
	branch *Branch
}

// Eval implements interpreter.Interpretable.
func (w watched) Eval(vars interpreter.Activation) ref.Val {
	value := w.Interpretable.Eval(vars)
	w.branch.note(value)
	return value
}

// watchedAttribute is watched for a condition that must stay an attribute, because costs depend
// on it.
type watchedAttribute struct {
	interpreter.InterpretableAttribute
	branch *Branch
}

// Eval implements interpreter.Interpretable.
func (w watchedAttribute) Eval(vars interpreter.Activation) ref.Val {
	value := w.InterpretableAttribute.Eval(vars)
	w.branch.note(value)
	return value
}
