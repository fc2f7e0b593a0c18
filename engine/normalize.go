package engine

import (
	"fmt"
	"maps"
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/admission"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/redact"
	"github.com/preadmit/preadmit/engine/source"
)

// normalize changes the manifest after the policies, as the options Normalize, WriteNamespace and
// OmitNulls say. Policies never see these changes, because they could distinguish, for instance, an empty
// list from a missing one.
func (r *run) normalize(w written) written {
	settings, j := &r.set.settings, w.job
	if j.made != nil || j.failed() {
		return w
	}
	before := w.edited
	if settings.options.WriteNamespace && j.place.kind.Namespaced {
		w.edited = inNamespace(w.edited, j.place.namespace)
	}
	if settings.options.Normalize {
		if normal, ok := r.server.normal(w.admitted, w.edited); ok {
			w.edited = normal
		}
	}
	if settings.options.OmitNulls {
		w.edited = withoutNulls(w.edited).(map[string]any)
	}
	w.normalized = slices.Concat(w.loaded.omitted, change.Diff(before, w.edited, j.place.kind.Type()))
	return w
}

// omitNulls removes the nulls that the client does not send.
func (l *loaded) omitNulls(kind *schema.Kind) {
	sent := withoutNulls(l.raw).(map[string]any)
	l.omitted = change.Diff(l.raw, sent, kind.Type())
	l.raw = sent
}

// withoutNulls returns a value without the nulls in its maps and lists. It shares the parts without
// nulls.
func withoutNulls(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := value
		for key, item := range value {
			kept := withoutNulls(item)
			if item != nil && change.Same(kept, item) {
				continue
			}
			if change.Same(out, value) {
				out = maps.Clone(value)
			}
			if item == nil {
				delete(out, key)
			} else {
				out[key] = kept
			}
		}
		return out
	case []any:
		var out []any
		for i, item := range value {
			kept := withoutNulls(item)
			if out == nil && (item == nil || !change.Same(kept, item)) {
				out = append(make([]any, 0, len(value)), value[:i]...)
			}
			if out != nil && item != nil {
				out = append(out, kept)
			}
		}
		if out != nil {
			return out
		}
	}
	return value
}

// normal returns an object of a job in the form in which a server stores it. ok is false if no
// server accepts the object.
func (s server) normal(a *admitted, object map[string]any) (normal map[string]any, ok bool) {
	memo, p := a.request.Memo, a.job.place
	view, err := s.defaulting.view(memo, p, object)
	if err != nil {
		a.tell(a.job.refusal("manifest-invalid", "", err)...)
		return nil, false
	}
	if normal, err = s.defaulting.normalize(memo, p, object, view); err != nil {
		a.tell(a.job.defect("the manifest cannot be normalized: %v", err))
	}
	return normal, err == nil
}

// unstored reports the values of manifests that a server stores in another form, or not at all.
var unstored = Observer{admit: func(r *run, w *written) {
	j, raw := w.job, w.loaded.raw
	if r.set.settings.options.Plain || j.made != nil {
		return
	}
	normal, ok := r.server.normal(w.admitted, raw)
	if !ok {
		return
	}
	for _, c := range change.Diff(raw, normal, j.place.kind.Type()) {
		d := source.Diagnostic{At: j.document.At(c.Path), Severity: source.Info, Code: "value-not-stored", Field: c.Path.String(), Message: "the server drops this value"}
		switch {
		case admission.ServerOwned(j.place.kind, c.Path):
			d.Message = "the server sets this field itself"
		case c.Op == change.Add:
			continue // it follows from a removal elsewhere
		case redact.IsSecret(raw) && c.Path[0].Key == "stringData":
			d.Message = "the server stores this value in data"
		case c.Op == change.Replace && !redact.IsSecret(raw):
			d.Message = fmt.Sprintf("the server stores %s", manifest.JSON(c.New))
		case c.Op == change.Replace:
			d.Message = "the server stores this value in another form"
		}
		w.admitted.tell(d)
	}
}}
