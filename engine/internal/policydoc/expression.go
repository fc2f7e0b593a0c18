package policydoc

import (
	"errors"

	"github.com/preadmit/preadmit/engine/internal/celenv"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// Expression compiles the expression at n with one of the methods of a Scope. The result is nil
// if the expression does not compile.
func (r *Reader) Expression(n policy.Node, compile func(string) (*celenv.Program, error)) *celenv.Program {
	program, err := compile(n.Text())
	r.Compiled(n, err)
	return program
}

// Compiled reports the error of the expression at n, if it did not compile.
func (r *Reader) Compiled(n policy.Node, err error) {
	if err == nil {
		return
	}
	e := &celenv.CompileError{Internal: true, Text: err.Error()}
	errors.As(err, &e)
	class := "Invalid value: "
	if e.Internal {
		class = "Internal error: "
	}
	d := source.Diagnostic{At: r.Document.In(n.Path, e.Offset), Severity: source.Error, Code: "expression-invalid", Message: class + e.Text}
	r.Report(r.Document.Mended(d, n.Path, e.Mend), n.Path)
}
