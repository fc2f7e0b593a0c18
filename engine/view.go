package engine

import (
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/mapolicy"
	"github.com/preadmit/preadmit/engine/source"
)

// View shows manifests as policies see them before any has changed them: the admission
// view is the Before of every Manifest of the Outcome. Policies among the manifests are
// neither run nor checked. Context counts as for Compile.
func View(manifests, context []*manifest.Stream, options Options) *Outcome {
	set, diagnostics := newSet(nil, context, options)
	r := &run{Set: set, warned: map[string]bool{}}
	r.report(diagnostics...)
	if !r.outcome.Invalid {
		r.schemas = set.schemas.Clone()
		r.viewAll(set.sortDocuments(manifests))
	}
	source.Sort(r.outcome.Diagnostics)
	return &r.outcome
}

func (r *run) viewAll(docs sorted) {
	for _, d := range docs.policies {
		r.leaveOut(r.placeOf(d, r.schemas), d, "no policy sees it, since it is one")
	}
	for _, d := range docs.local {
		r.report(addDefinition(r.schemas, d, d.Object())...)
		r.leaveOut(r.placeOf(d, r.schemas), d, "it is for local use and never reaches a cluster")
	}
	for _, t := range docs.targets {
		r.report(t.checkIdentity()...)
		r.report(addDefinition(r.schemas, t.Document, t.raw)...)
	}
	if r.outcome.Invalid {
		return
	}
	for _, t := range docs.targets {
		t.place = r.placeOf(t.Document, r.schemas)
		if mapolicy.Hides(t.kind) {
			r.leaveOut(t.place, t.Document, "an API server hides it from policies")
			continue
		}
		r.locate(t)
		r.viewOne(t)
	}
}

// viewOne makes the view of one target.
func (r *run) viewOne(t *target) {
	if t.kind.Unknown {
		r.about(t, source.Warningf(t.Document.At(nil), "schema-missing", "there is no schema of %s, so that only its metadata is as policies see it", t.kind.Kind).
			With("give its CustomResourceDefinition with the option context, or the cluster's OpenAPI document with the option openapi"))
	}
	view, err := r.view(t.place, t.raw)
	if err != nil {
		r.invalid(t, err)
		return
	}
	t.Before = view
}

// leaveOut says why a document has no view.
func (r *run) leaveOut(p place, d *manifest.Document, why string) {
	r.outcome.Diagnostics = append(r.outcome.Diagnostics, source.Diagnostic{
		At: d.At(nil), Severity: source.Info, Code: "not-viewed", Subject: p.id(), Message: "left out: " + why,
	})
}
