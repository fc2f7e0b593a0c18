package engine

import (
	"fmt"
	"maps"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/admission"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/secret"
	"github.com/preadmit/preadmit/engine/source"
)

// normalize changes the manifest as options ask for, before policies see it. To them it
// makes no difference.
func (r *run) normalize(j *job) {
	settings := &r.set.settings
	if settings.WriteNamespace && j.kind.Namespaced {
		j.rewrite(withNamespace(j.raw, j.namespace))
	}
	if settings.Normalize {
		if normal, ok := r.normal(j); ok {
			j.rewrite(normal)
		}
	}
}

// normal is the manifest of a job in the form in which a server stores it. It is not ok if
// no server takes the manifest.
func (r *run) normal(j *job) (normal map[string]any, ok bool) {
	view, err := r.defaulting.view(j.memo, j.place, j.raw)
	if err != nil {
		j.refuse("manifest-invalid", "", err)
		return nil, false
	}
	if normal, err = r.defaulting.normalize(j.memo, j.place, j.raw, view); err != nil {
		j.internal("the manifest cannot be normalized: %v", err)
	}
	return normal, err == nil
}

// rewrite makes an object the manifest for all that follows.
func (j *job) rewrite(object map[string]any) {
	if !change.Equal(j.raw, object) {
		j.rewritten = append(j.rewritten, event{before: j.raw, written: object})
		j.raw = object
	}
}

// withNamespace returns an object that names its namespace. It has metadata.
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

// unstored tells of the values of manifests that a server does not store as they are.
var unstored = Observer{admit: func(r *run, j *job) {
	if r.set.settings.Plain || j.made != nil {
		return
	}
	normal, ok := r.normal(j)
	if !ok {
		return
	}
	for _, c := range change.Diff(j.raw, normal, j.kind.Type()) {
		d := source.Diagnostic{At: j.document.At(c.Path), Severity: source.Info, Code: "value-not-stored", Field: c.Path.String(), Message: "the server leaves it out"}
		switch {
		case admission.ServerOwned(j.kind, c.Path):
			d.Message = "the server sets this field itself"
		case c.Op == change.Add:
			continue // it comes from what is removed elsewhere
		case secret.Is(j.raw) && c.Path[0].Key == "stringData":
			d.Message = "the server stores it in data"
		case c.Op == change.Replace && !secret.Is(j.raw):
			d.Message = fmt.Sprintf("the server stores %s", manifest.JSON(c.New))
		case c.Op == change.Replace:
			d.Message = "the server stores this value in another form"
		}
		j.tell(d)
	}
}}
