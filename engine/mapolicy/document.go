package mapolicy

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/preadmit/preadmit/engine/celenv"
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/match"
	"github.com/preadmit/preadmit/engine/source"
)

// reader collects what is wrong with one document.
type reader struct {
	document *manifest.Document
	subject  string
	root     node
	problems []source.Diagnostic
}

func newReader(d *manifest.Document) *reader {
	return &reader{document: d, subject: d.Kind().Kind + " " + d.Name(), root: node{value: d.Object()}}
}

// node is a value in a document and the path to it.
type node struct {
	value any
	path  change.Path
}

// at returns the value below a key; it has no value if there is none.
func (n node) at(key string) node {
	object, _ := n.value.(map[string]any)
	return node{value: object[key], path: n.path.Key(key)}
}

// items returns the items of a list.
func (n node) items() []node {
	list, _ := n.value.([]any)
	nodes := make([]node, len(list))
	for i := range list {
		nodes[i] = node{value: list[i], path: n.path.Index(i)}
	}
	return nodes
}

func (n node) given() bool { return n.value != nil }

func (n node) text() string {
	text, _ := n.value.(string)
	return text
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

func (r *reader) invalid(n node, format string, args ...any) {
	r.advise(n.path, "policy-invalid", fmt.Sprintf(format, args...), "")
}

func (r *reader) required(n node, detail string) {
	if detail != "" {
		detail = ": " + detail
	}
	r.invalid(n, "Required value%s", detail)
}

func (r *reader) unsupported(n node, supported ...string) {
	quoted := make([]string, len(supported))
	for i, s := range supported {
		quoted[i] = strconv.Quote(s)
	}
	r.invalid(n, "Unsupported value: %q: supported values: %s", n.text(), strings.Join(quoted, ", "))
}

// matched takes over the problems of a match block, which stands at n.
func (r *reader) matched(n node, problems []match.FieldError) {
	for _, p := range problems {
		path := append(n.path[:len(n.path):len(n.path)], p.Path...)
		r.report(source.Diagnostic{At: r.document.At(path), Code: "policy-invalid", Message: p.Text}, path)
		if p.Field != "" {
			r.problems[len(r.problems)-1].Field = n.path.String() + "." + p.Field
		}
	}
}

// expression compiles the expression at n with one of the methods of a Scope.
func (r *reader) expression(n node, compile func(string) (*celenv.Program, error)) *celenv.Program {
	program, err := compile(n.text())
	r.compiled(n, err)
	return program
}

// compiled reports why an expression did not compile.
func (r *reader) compiled(n node, err error) {
	if err == nil {
		return
	}
	e := err.(*celenv.CompileError)
	class := "Invalid value: "
	if e.Internal {
		class = "Internal error: "
	}
	r.report(source.Diagnostic{At: r.document.In(n.path, e.Offset), Code: "expression-invalid", Message: class + e.Text}, n.path)
}
