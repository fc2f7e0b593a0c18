package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/schema"
)

// Lookup returns an object that the cluster holds, as far as it is in the input, in the
// version of a kind; nil if it is not there. The object of the request is there as it was
// before.
func (r *Request) Lookup(kind *schema.Kind, namespace, name string) (map[string]any, error) {
	r.Snapshot.Ask()
	if r.isOwn(kind, namespace, name) {
		return r.OldObject, nil
	}
	for _, version := range append([]*schema.Kind{kind}, r.Schemas.Versions(kind)...) {
		object, err := r.Snapshot.Get(version.Kind, namespace, name)
		if err != nil || object != nil {
			return converted(object, version, kind, err)
		}
	}
	return nil, nil
}

// LookupAll returns the objects of a kind in a namespace, or everywhere if that is empty,
// that are wanted, sorted by namespace and name. given says that there are any at all.
func (r *Request) LookupAll(kind *schema.Kind, namespace string, wants func(namespace, name string) bool) (objects []map[string]any, given bool, err error) {
	r.Snapshot.Ask()
	for _, version := range append([]*schema.Kind{kind}, r.Schemas.Versions(kind)...) {
		found, err := r.Snapshot.Select(version.Kind, namespace, func(namespace, name string) bool {
			given = true
			return wants(namespace, name) && !r.isOwn(kind, namespace, name)
		})
		if err != nil {
			return nil, given, err
		}
		for _, object := range found {
			if object, err = converted(object, version, kind, nil); err != nil {
				return nil, given, err
			}
			objects = append(objects, object)
		}
	}
	if r.OldObject != nil && r.isOwn(kind, r.Namespace, r.Name) && (namespace == "" || namespace == r.Namespace) && wants(r.Namespace, r.Name) {
		objects = append(objects, r.OldObject)
	}
	slices.SortStableFunc(objects, func(a, b map[string]any) int {
		x, y := Node{Value: a}.At("metadata"), Node{Value: b}.At("metadata")
		return cmp.Or(cmp.Compare(x.At("namespace").Text(), y.At("namespace").Text()), cmp.Compare(x.At("name").Text(), y.At("name").Text()))
	})
	return objects, given, nil
}

// isOwn reports whether an object is that of the request, which the cluster does not have
// yet, or has as it was before.
func (r *Request) isOwn(kind *schema.Kind, namespace, name string) bool {
	return r.Kind.Group == kind.Group && r.Kind.Kind.Kind == kind.Kind.Kind && r.Name == name && (!kind.Namespaced || r.Namespace == namespace)
}

// converted is an object in the version of a kind. Custom resources are the same in every
// version, as far as conversion without a webhook goes.
func converted(object map[string]any, given, asked *schema.Kind, err error) (map[string]any, error) {
	switch {
	case err != nil || object == nil || given == asked:
		return object, err
	case !given.Custom:
		return nil, fmt.Errorf("the input has a %s of another version than %s, which only a cluster converts", asked.Kind.Kind, asked.APIVersion())
	}
	return InVersion(object, asked), nil
}

// KindOf finds the kind of a plural resource; nil if it is not known. One that nobody
// defined is that of an object in the input whose name it seems to be.
func (r *Request) KindOf(resource gvk.Resource) *schema.Kind {
	if kind := r.Schemas.LookupResource(resource); kind != nil {
		return kind
	}
	for _, kind := range r.Snapshot.Kinds() {
		if kind.Group == resource.Group && kind.Version == resource.Version && r.Schemas.Lookup(kind) == nil && seemsPlural(resource.Resource, kind.Kind) {
			return r.Schemas.Unknown(kind)
		}
	}
	return nil
}

// seemsPlural reports whether a resource is named like the plural of a kind.
func seemsPlural(resource, kind string) bool {
	singular := strings.ToLower(kind)
	plurals := []string{singular + "s", singular + "es"}
	if stem, ok := strings.CutSuffix(singular, "y"); ok {
		plurals = append(plurals, stem+"ies")
	}
	if strings.HasSuffix(singular, "s") {
		plurals = append(plurals, singular)
	}
	return slices.Contains(plurals, resource)
}
