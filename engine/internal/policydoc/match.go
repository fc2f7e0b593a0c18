package policydoc

import (
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/match"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// Selected returns the resources that the rules at a path of a document name, each as s says.
func Selected(d *manifest.Document, rules change.Path, resources *match.Resources, s policy.Selected) (all []policy.Selected) {
	in := func(path change.Path) source.Extent { return d.Extent(slices.Concat(rules, path)) }
	for _, name := range resources.Names() {
		group, version, resource := name.In()
		s.At = d.At(rules.Index(name.Rule))
		s.Group, s.Version, s.Resource = name.Group, name.Version, name.Resource.Resource
		s.GroupIn, s.VersionIn, s.NameIn = in(group), in(version), in(resource)
		all = append(all, s)
	}
	return all
}

// Matched reports the problems of the match block, or of the selector, at n.
func (r *Reader) Matched(n policy.Node, problems []match.Problem) {
	for _, p := range problems {
		path := append(n.Path[:len(n.Path):len(n.Path)], p.Path...)
		d := source.Diagnostic{At: r.Document.At(path), Severity: source.Error, Code: "policy-invalid", Message: p.Text}
		d = r.Document.Mended(d, path, p.Advice.In(p.Advice.Old, 0))
		switch {
		case p.Missing:
			d = r.proposing(d, path)
		case p.Needless:
			d = r.Document.Remove(d, path)
		case p.Fits != nil:
			d = r.Document.Retyped(d, path, p.Fits)
		}
		r.Report(d, path)
		if p.Field != "" {
			r.Problems[len(r.Problems)-1].Field = n.Path.String() + "." + p.Field
		}
	}
}
