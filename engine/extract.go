package engine

import "github.com/preadmit/preadmit/engine/internal/celenv/expr"

// Operand is a part of an expression in CEL.
type Operand struct {
	text string
	tree expr.Expr
}

// NewOperand parses a part of an expression.
func NewOperand(text string) (*Operand, error) {
	tree, err := expr.Parse(text)
	if err != nil {
		return nil, err
	}
	return &Operand{text, tree}, nil
}

// Text returns the text of the part.
func (o *Operand) Text() string { return o.text }

// Name proposes a name for a variable with the value of the part.
func (o *Operand) Name() string { return o.tree.Name() }

// Reads reports whether the part reads a variable, such as object.
func (o *Operand) Reads(variable string) bool { return o.tree.Uses(variable) }

// Is reports whether the part is an expression, however that is written.
func (o *Operand) Is(text string) bool {
	tree, err := expr.Parse(text)
	return err == nil && expr.Equal(o.tree, tree)
}

// Extracted reports why an expression after a change is not the one before, with the part replaced by the
// variable of a policy with a name. nil means that it is.
func (o *Operand) Extracted(before, after, name string) error {
	from, err := expr.Parse(before)
	if err != nil {
		return err
	}
	to, err := expr.Parse(after)
	if err != nil {
		return err
	}
	return expr.Extracted(from, to, o.tree, name)
}
