package policydoc

import (
	"github.com/preadmit/preadmit/engine/internal/match"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// Matched reports the problems of the match block, or of the selector, at n.
func (r *Reader) Matched(n policy.Node, problems []match.Problem) {
	for _, p := range problems {
		path := append(n.Path[:len(n.Path):len(n.Path)], p.Path...)
		d := source.Diagnostic{At: r.Document.At(path), Severity: source.Error, Code: "policy-invalid", Message: p.Text}
		r.Report(r.Document.Mended(d, path, p.Advice.In(p.Advice.Old, 0)), path)
		if p.Field != "" {
			r.Problems[len(r.Problems)-1].Field = n.Path.String() + "." + p.Field
		}
	}
}
