package admissionpolicy

import (
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/match"
	"github.com/preadmit/preadmit/engine/internal/policydoc"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

// never finds match blocks that match no request: of the policy, and of its bindings, which match only
// what the policy matches.
func (p *Policy) never(schemas *schema.Registry) []source.Diagnostic {
	kinds := policydoc.CoveredKinds(p.Constraints, schemas, Hides)
	constraints := change.Keys("spec", "matchConstraints")
	if why := neverMet(kinds, p.Constraints); why != nil {
		return []source.Diagnostic{why.finding(p.Document, constraints, p.ID().String())}
	}
	if kinds == nil {
		return nil // which kinds the rules match is not known
	}
	if len(kinds.Covered) == 0 && kinds.Why != "" {
		why := unmatched{change.Key("resourceRules"), kinds.Why}
		return []source.Diagnostic{why.finding(p.Document, constraints, p.ID().String())}
	}
	var found []source.Diagnostic
	for _, b := range p.Bindings {
		if b.resources == nil {
			continue
		}
		why := neverMet(kinds, p.Constraints, b.resources)
		covers := func(k *schema.Kind) bool { // the request may be for another version
			return b.resources.CoversKind(k) || slices.ContainsFunc(schemas.Versions(k), b.resources.CoversKind)
		}
		if why == nil && len(kinds.Covered) > 0 && !slices.ContainsFunc(kinds.Covered, covers) {
			why = &unmatched{change.Key("resourceRules"), "its rules cover no kind that the policy matches"}
		}
		if why != nil {
			found = append(found, why.finding(b.Document, change.Keys("spec", "matchResources"), p.through(b).String()))
		}
	}
	return found
}

// unmatched says which part of a match block no request meets, and why.
type unmatched struct {
	part change.Element
	why  string
}

// neverMet returns why no request meets the selectors of match blocks, or nil.
func neverMet(kinds *policydoc.Covering, blocks ...*match.Resources) *unmatched {
	if why := match.ObjectContradiction(blocks...); why != "" {
		return &unmatched{change.Key("objectSelector"), why}
	}
	withNamespace := func(k *schema.Kind) bool {
		return k.Namespaced || k.Kind == (gvk.Kind{Version: "v1", Kind: "Namespace"})
	}
	if why := match.NamespaceContradiction(blocks...); why != "" && kinds != nil && !slices.ContainsFunc(kinds.Covered, func(k *schema.Kind) bool { return !withNamespace(k) }) {
		return &unmatched{change.Key("namespaceSelector"), why}
	}
	return nil
}

func (u unmatched) finding(d *manifest.Document, block change.Path, subject string) source.Diagnostic {
	path := append(block, u.part)
	w := source.Warningf(d.At(path), "never-applies", "%s never applies: %s", subject, u.why).With("correct the match block, or remove the policy or the binding")
	w.Subject, w.Field, w.Excerpt = d.Kind().Kind+" "+d.Name(), path.String(), d.Excerpt(d.At(path))
	return w
}
