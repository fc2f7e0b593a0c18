package admissionpolicy

import (
	"cmp"
	"maps"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/internal/witness"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// resolveParamKind returns the policy's paramKind; nil if it has no paramKind.
func (p *Policy) resolveParamKind(r *policy.Request) (*schema.Kind, error) {
	if p.ParamKind == (gvk.Kind{}) {
		return nil, nil
	}
	kind := r.Schemas.Lookup(p.ParamKind)
	if kind == nil {
		return nil, source.Messagef("failed to find resource referenced by paramKind: '%s'", source.Name(p.ParamKind.String()))
	}
	return kind, nil
}

// params returns the params of a binding: one nil param if the policy or the binding has no
// params, and an empty list if params are missing.
func (l *Language) params(b *Binding, kind *schema.Kind, r *policy.Request) ([]map[string]any, error) {
	if kind == nil || b.params == nil {
		return []map[string]any{nil}, nil
	}
	namespace := b.params.namespace
	switch {
	case kind.Namespaced && namespace == "" && r.Namespace == "":
		return nil, source.Messagef("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources")
	case kind.Namespaced && namespace == "":
		namespace = r.Namespace
	case !kind.Namespaced && namespace != "":
		return nil, source.Messagef("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
	}
	return l.find(b.params, kind, namespace, r)
}

// id returns the ID of the target for a request in a namespace; "" if the reference has no name.
func (p *paramRef) id(kind *schema.Kind, namespace string) string {
	switch {
	case p.name == "":
		return ""
	case !kind.Namespaced:
		namespace = ""
	}
	return kind.Kind.ID(cmp.Or(p.namespace, namespace), p.name)
}

// describe names the target of the reference.
func (p *paramRef) describe(kind *schema.Kind) string {
	what := kind.Kind.Kind
	if p.name != "" {
		what += " " + p.name
	} else {
		what += " that the selector selects"
	}
	if p.namespace != "" {
		what += " in namespace " + p.namespace
	} else if kind.Namespaced {
		what += " in the namespace of the object"
	}
	return what
}

// unfound returns a diagnostic about the param of a binding that is not found, with the name that was probably meant, and
// with the param as a document after the binding.
func (b *Binding) unfound(kind *schema.Kind, found source.Diagnostic, r *policy.Request) source.Diagnostic {
	if b.params.name == "" {
		return found
	}
	namespace := b.params.namespace
	if kind.Namespaced && namespace == "" {
		namespace = r.Namespace
	}
	found = b.misnamed(kind, namespace, found, r)
	object := witness.Example(kind)
	metadata := map[string]any{"name": b.params.name}
	if kind.Namespaced {
		metadata["namespace"] = namespace
	}
	object["metadata"] = metadata
	if edit, ok := b.Document.After("---\n" + string(manifest.YAML(object))); ok {
		found = found.Mended("Add the param", edit)
	}
	return found
}

// misnamed returns a diagnostic about the param of a binding that is not found in a namespace, with the name that was
// probably meant.
func (b *Binding) misnamed(
	kind *schema.Kind, namespace string, found source.Diagnostic, r *policy.Request,
) source.Diagnostic {
	p := b.params
	near, err := r.Snapshot.Once(nearest{p, namespace}, func() (any, error) {
		var names []string
		_, err := r.Snapshot.Select(kind.Kind, namespace, func(_, name string) bool {
			names = append(names, name)
			return false // the names are enough
		})
		return source.Misspelt(p.name, names), err
	})
	if err != nil || near == "" {
		return found
	}
	mend := source.Meant(p.name, near.(string)).In(p.name, 0)
	mend.Advice += " Or " + found.Advice
	return b.Document.Mended(found, change.Keys("spec", "paramRef", "name"), mend)
}

// nearest is a key for the name of an object in a namespace that a paramRef probably misspells.
type nearest struct {
	ref       *paramRef
	namespace string
}

func (l *Language) find(p *paramRef, kind *schema.Kind, namespace string, r *policy.Request) ([]map[string]any, error) {
	r.Snapshot.Ask()
	if p.name != "" {
		object, err := r.Snapshot.Get(kind.Kind, namespace, p.name)
		if err != nil || object == nil {
			return nil, err
		}
		return []map[string]any{l.typed(kind, object)}, nil
	}
	selected, err := r.Snapshot.Once(selection{p, kind, namespace}, func() (any, error) { return l.selected(p, kind, namespace, r) })
	if err != nil {
		return nil, err
	}
	return selected.([]map[string]any), nil
}

// selection is a key for the objects that the selector of a paramRef selects in a namespace.
// They are the same for all requests.
type selection struct {
	ref       *paramRef
	kind      *schema.Kind
	namespace string
}

func (l *Language) selected(p *paramRef, kind *schema.Kind, namespace string, r *policy.Request) ([]map[string]any, error) {
	objects, err := r.Snapshot.List(kind.Kind, namespace)
	if err != nil {
		return nil, err
	}
	var params []map[string]any
	for _, object := range objects {
		if p.selector.Matches(policy.LabelsOf(object)) {
			params = append(params, l.typed(kind, object))
		}
	}
	return params, nil
}

// typed returns a param as expressions see it. For mutating policies, a server reads built-in kinds
// with its own types, which have no apiVersion and kind.
func (l *Language) typed(kind *schema.Kind, object map[string]any) map[string]any {
	if kind.Custom || l.TypedParams {
		return object
	}
	object = maps.Clone(object)
	delete(object, "apiVersion")
	delete(object, "kind")
	return object
}
