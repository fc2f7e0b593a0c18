package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/snapshot"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/redact"
	"github.com/preadmit/preadmit/engine/source"
)

// candidates are all documents that define the object of one identity.
type candidates struct {
	place place
	// given are the documents that are not manifests: context, or documents for local use.
	given []*manifest.Document
	jobs  []*job
	// local is the index in given of the first document for local use.
	local int
	// object returns the object that a server would hold. It is computed on first use.
	object func() (map[string]any, error)
	// sensitive is the object if it must stay secret.
	sensitive func() *redact.Objects
}

// index adds everything that policies may look up to the snapshot, by identity. Manifests take
// precedence over context, because the cluster will hold them. Kinds that no policy reads are left
// out.
func (r *run) index(local []*manifest.Document) {
	all := map[identity]*candidates{}
	at := func(p place) *candidates {
		c := all[p.identity()]
		if c == nil {
			c = &candidates{place: p}
			all[p.identity()] = c
		}
		return c
	}
	for _, d := range r.set.context {
		c := at(r.set.placeOf(d, r.schemas))
		c.given = append(c.given, d)
		c.local = len(c.given)
	}
	for _, d := range local {
		c := at(r.set.placeOf(d, r.schemas))
		c.given = append(c.given, d)
	}
	for _, j := range r.jobs {
		if j.place.name != "" && r.isRead(j) && !r.isApart(j) {
			c := at(j.place)
			c.jobs = append(c.jobs, j)
		}
	}
	r.candidates = all
	for id, c := range all {
		c.object = sync.OnceValues(func() (map[string]any, error) { return r.candidate(c) })
		c.sensitive = sync.OnceValue(c.secret)
		r.snapshot.Put(id.kind, id.namespace, id.name, func(reader *snapshot.Reader) (map[string]any, error) { return r.lookUp(c, reader) })
	}
}

// secret returns the object as one that must stay secret, after all jobs are done.
func (c *candidates) secret() *redact.Objects {
	object, _ := c.object()
	all := []map[string]any{object}
	if len(c.jobs) == 0 {
		return redact.NewObjects(all...)
	}
	var written []map[string]any
	for _, j := range c.jobs {
		written = append(written, j.document.Object())
	}
	return redact.NewChanged(all, written)
}

// lookUp returns the object that a server would hold, after the jobs of the candidates are done.
func (r *run) lookUp(c *candidates, reader *snapshot.Reader) (map[string]any, error) {
	asker := reader.Owner.(*job)
	for _, j := range c.jobs {
		if b := r.need(asker, j); b != nil {
			return nil, b
		}
	}
	object, err := c.object()
	if err == nil && c.isSensitive() {
		reader.AddSensitive(c.sensitive())
	}
	return object, err
}

// isSensitive reports whether an object must stay secret, after all jobs are done.
func (c *candidates) isSensitive() bool {
	return redact.IsSecretKind(c.place.kind.Kind.Kind) ||
		slices.ContainsFunc(c.given, func(d *manifest.Document) bool { return d.Stream().Sensitive() }) ||
		slices.ContainsFunc(c.jobs, func(j *job) bool { return j.result.Sensitive })
}

// candidate returns the object that a server would hold, after all jobs are done.
func (r *run) candidate(c *candidates) (map[string]any, error) {
	if len(c.jobs) == 0 {
		// Documents for local use take precedence over the context.
		if c.local < len(c.given) {
			return r.same(c, c.given[c.local:])
		}
		return r.same(c, c.given)
	}
	first := c.jobs[0]
	object, err := r.server.defaulting.view(nil, c.place, first.held.edited)
	if err != nil {
		return nil, invalidContext(first.document, c.place.id(), err)
	}
	for _, other := range c.jobs[1:] {
		if !change.Equal(other.held.edited, first.held.edited) {
			return nil, ambiguous(c.place.id(), first.document, other.document)
		}
	}
	for _, d := range c.given {
		if !change.Equal(essence(d.Object()), essence(first.held.raw)) && !change.Equal(essence(d.Object()), essence(object)) {
			r.tell(source.Warningf(first.document.At(nil), "context-overridden", "%s is among the manifests and, with different content, at %s; policies see the manifest", source.Name(c.place.id()), d.At(nil)).
				With("remove the one that is wrong"))
		}
	}
	return object, nil
}

// same returns the object of documents, which must all have the same content.
func (r *run) same(c *candidates, documents []*manifest.Document) (map[string]any, error) {
	object := documents[0].Object()
	for _, other := range documents[1:] {
		if !change.Equal(essence(other.Object()), essence(object)) {
			return nil, ambiguous(c.place.id(), documents[0], other)
		}
	}
	view, err := r.server.defaulting.held(nil, c.place, object)
	if err != nil {
		return nil, invalidContext(documents[0], c.place.id(), err)
	}
	return view, nil
}

func ambiguous(id string, first, second *manifest.Document) *blockade {
	return &blockade{
		code: "context-ambiguous", at: second.At(nil), object: id,
		problem: fmt.Sprintf("is defined here and, with different content, at %s", first.At(nil)),
		advice:  "remove the wrong definition, or evaluate each directory separately with the option per-directory",
	}
}

func invalidContext(d *manifest.Document, id string, err error) *blockade {
	return &blockade{
		code: "context-failed", at: d.At(nil), object: id,
		problem: "is not valid: " + strings.ReplaceAll(err.Error(), "\n", "; "),
	}
}

// essence returns an object without the fields that a server adds when it stores the object. So an
// object read from a cluster can be compared with its manifest.
func essence(object map[string]any) map[string]any {
	metadata, _ := object["metadata"].(map[string]any)
	rest := maps.Clone(object)
	delete(rest, "status")
	metadata = maps.Clone(metadata)
	for _, key := range []string{"creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid"} {
		delete(metadata, key)
	}
	if annotations, _ := metadata["annotations"].(map[string]any); annotations != nil {
		annotations = maps.Clone(annotations)
		delete(annotations, redact.LastApplied)
		metadata["annotations"] = annotations
		if len(annotations) == 0 {
			delete(metadata, "annotations")
		}
	}
	rest["metadata"] = metadata
	return rest
}

// findOld indexes the objects before an update by identity, and warns about old objects and
// manifests without a counterpart. Two different documents for one object are an error.
func (r *run) findOld() {
	updating := r.set.settings.options.Operation == policy.Update
	if len(r.set.old) > 0 && !updating {
		r.tell(source.Warningf(r.set.old[0].At(nil), "old-unused", "the objects before an update are given, but the operation is CREATE").
			With("set the option operation to UPDATE, or remove these objects"))
		return
	}
	r.old = map[identity]*manifest.Document{}
	for _, d := range r.set.old {
		p := r.set.placeOf(d, r.schemas)
		first := r.old[p.unversioned()]
		switch {
		case first == nil:
			r.old[p.unversioned()] = d
		case !change.Equal(first.Object(), d.Object()):
			diagnostic := source.Errorf(d.At(nil), "context-ambiguous", "the object before the update is defined here and, with different content, at %s", first.At(nil)).
				With("remove the one that is wrong")
			diagnostic.Subject = p.id()
			r.tell(diagnostic)
		}
	}
	if updating {
		r.compareOld()
	}
}

// compareOld warns about manifests without an object before the update, and the reverse.
func (r *run) compareOld() {
	updated := map[identity]bool{}
	var without []*job
	for _, j := range r.jobs {
		updated[j.place.unversioned()] = true
		if r.old[j.place.unversioned()] == nil {
			without = append(without, j)
		}
	}
	if len(without) > 0 {
		more := ""
		if len(without) > 1 {
			more = fmt.Sprintf(" and of %d more manifests", len(without)-1)
		}
		r.tell(source.Warningf(without[0].document.At(nil), "old-missing", "the object before the update of %s%s is not given: an expression that reads it fails", source.Name(without[0].place.id()), more).
			With("give it with the option old"))
	}
	for _, d := range r.set.old {
		if p := r.set.placeOf(d, r.schemas); !updated[p.unversioned()] {
			diagnostic := source.Warningf(d.At(nil), "old-unused", "the object is given as one before an update, but is not among the manifests")
			diagnostic.Subject = p.id()
			r.tell(diagnostic)
		}
	}
}

// isApart reports whether policies do not look up the manifest of a job. A Namespace is in itself.
func (r *run) isApart(j *job) bool {
	return j.place.kind.Kind != namespaceKind && slices.ContainsFunc(r.observers, func(o Observer) bool { return o.apart })
}

// isRead reports whether policies may look up the result of a job.
func (r *run) isRead(j *job) bool {
	return r.policies.reads[j.document.Kind()] || r.policies.reads[policy.AnyKind]
}
