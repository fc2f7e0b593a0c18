package mapolicy

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/celenv"
	"github.com/preadmit/preadmit/engine/internal/match"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// reader collects what is wrong with one document.
type reader struct {
	document *manifest.Document
	subject  string
	root     policy.Node
	problems []source.Diagnostic
}

func newReader(d *manifest.Document) *reader {
	return &reader{document: d, subject: d.Kind().Kind + " " + d.Name(), root: policy.Node{Value: d.Object()}}
}

// report adds an error about the field at path.
func (r *reader) report(d source.Diagnostic, path change.Path) {
	d.Severity, d.Subject = source.Error, r.subject
	d.Field = path.String()
	if !strings.Contains(d.Message, "\n") { // CEL adds an excerpt of its own
		d.Excerpt = r.document.Excerpt(d.At)
	}
	r.problems = append(r.problems, d)
}

func (r *reader) advise(path change.Path, code, text, advice string) {
	r.report(source.Diagnostic{At: r.document.At(path), Code: code, Message: text, Advice: advice}, path)
}

// The API server's texts for a field error.

func (r *reader) invalid(n policy.Node, format string, args ...any) {
	r.advise(n.Path, "policy-invalid", fmt.Sprintf(format, args...), "")
}

func (r *reader) required(n policy.Node, detail string) {
	if detail != "" {
		detail = ": " + detail
	}
	r.invalid(n, "Required value%s", detail)
}

func (r *reader) unsupported(n policy.Node, supported ...string) {
	quoted := make([]string, len(supported))
	for i, s := range supported {
		quoted[i] = strconv.Quote(s)
	}
	r.invalid(n, "Unsupported value: %q: supported values: %s", n.Text(), strings.Join(quoted, ", "))
}

// matched takes over the problems of a match block, which is at n.
func (r *reader) matched(n policy.Node, problems []match.FieldError) {
	for _, p := range problems {
		path := append(n.Path[:len(n.Path):len(n.Path)], p.Path...)
		r.report(source.Diagnostic{At: r.document.At(path), Code: "policy-invalid", Message: p.Text}, path)
		if p.Field != "" {
			r.problems[len(r.problems)-1].Field = n.Path.String() + "." + p.Field
		}
	}
}

// expression compiles the expression at n with one of the methods of a Scope.
func (r *reader) expression(n policy.Node, compile func(string) (*celenv.Program, error)) *celenv.Program {
	program, err := compile(n.Text())
	r.compiled(n, err)
	return program
}

// compiled reports why an expression did not compile.
func (r *reader) compiled(n policy.Node, err error) {
	if err == nil {
		return
	}
	e := &celenv.CompileError{Internal: true, Text: err.Error()}
	errors.As(err, &e)
	class := "Invalid value: "
	if e.Internal {
		class = "Internal error: "
	}
	r.report(source.Diagnostic{At: r.document.In(n.Path, e.Offset), Code: "expression-invalid", Message: class + e.Text}, n.Path)
}
