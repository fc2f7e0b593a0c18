package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/schema"
)

// Lookup returns an object of the cluster in the version of kind, or nil if the input does not
// contain it. For the object of the request, Lookup returns the old object.
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

// LookupAll returns the wanted objects of a kind in a namespace, sorted by namespace and name. An
// empty namespace means all namespaces. given reports whether the input has any object of the kind
// there.
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

// isOwn reports whether an object is the object of the request. The cluster does not have it yet,
// or has its old state.
func (r *Request) isOwn(kind *schema.Kind, namespace, name string) bool {
	return r.Kind.Group == kind.Group && r.Kind.Kind.Kind == kind.Kind.Kind && r.Name == name && (!kind.Namespaced || r.Namespace == namespace)
}

// converted returns an object in the version of the kind asked. Custom resources only change their
// apiVersion, as in a conversion without a webhook.
func converted(object map[string]any, given, asked *schema.Kind, err error) (map[string]any, error) {
	switch {
	case err != nil || object == nil || given == asked:
		return object, err
	case !given.Custom:
		return nil, fmt.Errorf("the input has a %s of another version than %s, which only a cluster converts", asked.Kind.Kind, asked.APIVersion())
	}
	return InVersion(object, asked), nil
}

// KindOf returns the kind of a plural resource, or nil if it is unknown. For a resource without a
// definition, it returns the kind of an object in the input with a similar name.
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

// seemsPlural reports whether a resource is probably the plural name of a kind.
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
