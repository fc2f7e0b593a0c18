package mapolicy

import (
	"errors"
	"fmt"
	"maps"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/policy"
)

// paramKind is what is known about the kind of a policy's params.
type paramKind struct {
	gvk.Kind
	namespaced bool
	// typed says that a server reads the params with its own types, which have no
	// apiVersion and kind.
	typed bool
}

// resolveParamKind finds the policy's paramKind; nil if it has none. A kind without a
// definition passes as soon as there is an object of it.
func (d *definition) resolveParamKind(r *policy.Request) (*paramKind, error) {
	if d.paramKind == (gvk.Kind{}) {
		return nil, nil
	}
	if kind := r.Schemas.Lookup(d.paramKind); kind != nil {
		return &paramKind{Kind: d.paramKind, namespaced: kind.Namespaced, typed: !kind.Custom}, nil
	}
	objects, err := r.Snapshot.List(d.paramKind, "")
	if err != nil {
		return nil, err
	}
	if len(objects) == 0 {
		return nil, fmt.Errorf("failed to find resource referenced by paramKind: '%s'", d.paramKind)
	}
	metadata, _ := objects[0]["metadata"].(map[string]any)
	return &paramKind{Kind: d.paramKind, namespaced: metadata["namespace"] != nil}, nil
}

// params finds the params of a binding: one nil if there is nothing to find, none if
// the binding is content with that.
func (d *definition) params(b *binding, kind *paramKind, r *policy.Request) ([]map[string]any, error) {
	if kind == nil || b.params == nil {
		return []map[string]any{nil}, nil
	}
	namespace := b.params.namespace
	switch {
	case kind.namespaced && namespace == "" && r.Namespace == "":
		return nil, errors.New("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources")
	case kind.namespaced && namespace == "":
		namespace = r.Namespace
	case !kind.namespaced && namespace != "":
		return nil, errors.New("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
	}
	params, err := b.params.find(kind, namespace, r)
	if err != nil {
		return nil, err
	}
	if len(params) == 0 && !b.params.allowNone {
		return nil, errors.New("no params found for policy binding with `Deny` parameterNotFoundAction")
	}
	return params, nil
}

func (p *paramRef) find(kind *paramKind, namespace string, r *policy.Request) ([]map[string]any, error) {
	var params []map[string]any
	if p.name != "" {
		object, err := r.Snapshot.Get(kind.Kind, namespace, p.name)
		if err != nil || object == nil {
			return nil, err
		}
		return append(params, kind.shape(object)), nil
	}
	objects, err := r.Snapshot.List(kind.Kind, namespace)
	if err != nil {
		return nil, err
	}
	for _, object := range objects {
		if p.selector.Matches(labelsOf(object)) {
			params = append(params, kind.shape(object))
		}
	}
	return params, nil
}

// shape gives a param the form in which expressions see it.
func (k *paramKind) shape(object map[string]any) map[string]any {
	if !k.typed {
		return object
	}
	object = maps.Clone(object)
	delete(object, "apiVersion")
	delete(object, "kind")
	return object
}
