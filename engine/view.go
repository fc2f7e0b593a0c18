package engine

import (
	ctx "context"

	"github.com/preadmit/preadmit/engine/internal/admissionpolicy"
	"github.com/preadmit/preadmit/engine/internal/parallel"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/redact"
	"github.com/preadmit/preadmit/engine/source"
)

// View returns manifests as policies see them before any change: the admission view is the Before
// of every Manifest of the Outcome. Policies among the manifests are neither run nor checked.
// Context counts as for Compile.
func View(manifests, context []*manifest.Stream, options Options) *Outcome {
	set, diagnostics := newSet(nil, context, options, nil)
	if set == nil {
		r := run{input: &input{secrets: &redact.Redactor{}}, ctx: ctx.Background(), diagnostics: diagnostics}
		return r.say()
	}
	r := &run{set: set, ctx: ctx.Background(), input: set.sort(manifests), schemas: set.schemas, definitions: definitions{}, diagnostics: diagnostics}
	r.server.defaulting = set.settings.defaulting()
	if !r.invalid() {
		r.viewAll()
	}
	return r.say()
}

func (r *run) viewAll() {
	for _, d := range r.input.policies {
		r.leaveOut(d, "it is a policy, which policies do not see")
	}
	for _, d := range r.input.manifests {
		r.jobs = append(r.jobs, &job{index: len(r.jobs), document: d, result: &Manifest{Document: d}})
	}
	r.define()
	for _, d := range r.input.local {
		r.leaveOut(d, "it is for local use and never reaches a cluster")
	}
	for _, j := range r.jobs {
		j.diagnostics = append(j.diagnostics, r.set.checkIdentity(j.document, nil)...)
	}
	if r.invalid() {
		r.jobs = nil
		return
	}
	var seen []*job
	for _, j := range r.jobs {
		if r.locate(j); admissionpolicy.Hides(j.place.kind) {
			r.leaveOut(j.document, "an API server hides it from policies")
			continue
		}
		seen = append(seen, j)
	}
	r.jobs = seen
	parallel.Each(r.jobs, r.view)
}

// view computes the view of one job.
func (r *run) view(j *job) {
	l := r.load(j)
	if j.place.kind.Unknown {
		l.tell(source.Warningf(j.document.At(nil), "schema-missing", "there is no schema of %s, so only its metadata is as policies see it", j.place.kind.Kind).
			With("give its CustomResourceDefinition with the option context, or the cluster's OpenAPI document with the option openapi"))
	}
	view, err := r.server.defaulting.view(nil, j.place, l.raw)
	if err != nil {
		l.tell(j.refusal("manifest-invalid", "", err)...)
		return
	}
	j.result.Before = view
}

// leaveOut reports why a document has no view.
func (r *run) leaveOut(d *manifest.Document, why string) {
	r.tell(source.Diagnostic{
		At: d.At(nil), Severity: source.Info, Code: "not-viewed", Subject: r.set.placeOf(d, r.schemas).id(), Message: "left out: " + why,
	})
}
