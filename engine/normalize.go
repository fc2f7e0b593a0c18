package engine

import (
	"fmt"
	"maps"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/admission"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/redact"
	"github.com/preadmit/preadmit/engine/source"
)

// normalize changes the manifest after the policies, as the options Normalize and WriteNamespace
// say. Policies never see these changes, because they could distinguish, for instance, an empty
// list from a missing one.
func (r *run) normalize(j *job) {
	settings := &r.set.settings
	if j.made != nil || j.failed() {
		return
	}
	before := j.edited
	if settings.WriteNamespace && j.kind.Namespaced {
		j.edited = withNamespace(j.edited, j.namespace)
	}
	if settings.Normalize {
		if normal, ok := r.normal(j, j.edited); ok {
			j.edited = normal
		}
	}
	j.normalized = append(j.normalized, change.Diff(before, j.edited, j.kind.Type())...)
}

// normal returns an object of a job in the form in which a server stores it. ok is false if no
// server accepts the object.
func (r *run) normal(j *job, object map[string]any) (normal map[string]any, ok bool) {
	view, err := r.defaulting.view(j.memo, j.place, object)
	if err != nil {
		j.refuse("manifest-invalid", "", err)
		return nil, false
	}
	if normal, err = r.defaulting.normalize(j.memo, j.place, object, view); err != nil {
		j.internal("the manifest cannot be normalized: %v", err)
	}
	return normal, err == nil
}

// withNamespace returns an object with a namespace. The object must have metadata.
func withNamespace(object map[string]any, namespace string) map[string]any {
	metadata, _ := object["metadata"].(map[string]any)
	if text, _ := metadata["namespace"].(string); text != "" {
		return object
	}
	object, metadata = maps.Clone(object), maps.Clone(metadata)
	metadata["namespace"] = namespace
	object["metadata"] = metadata
	return object
}

// unstored reports the values of manifests that a server stores in another form, or not at all.
var unstored = Observer{admit: func(r *run, j *job) {
	if r.set.settings.Plain || j.made != nil {
		return
	}
	normal, ok := r.normal(j, j.raw)
	if !ok {
		return
	}
	for _, c := range change.Diff(j.raw, normal, j.kind.Type()) {
		d := source.Diagnostic{At: j.document.At(c.Path), Severity: source.Info, Code: "value-not-stored", Field: c.Path.String(), Message: "the server drops this value"}
		switch {
		case admission.ServerOwned(j.kind, c.Path):
			d.Message = "the server sets this field itself"
		case c.Op == change.Add:
			continue // it follows from a removal elsewhere
		case redact.IsSecret(j.raw) && c.Path[0].Key == "stringData":
			d.Message = "the server stores this value in data"
		case c.Op == change.Replace && !redact.IsSecret(j.raw):
			d.Message = fmt.Sprintf("the server stores %s", manifest.JSON(c.New))
		case c.Op == change.Replace:
			d.Message = "the server stores this value in another form"
		}
		j.tell(d)
	}
}}
