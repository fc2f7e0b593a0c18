package schema

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/release"
)

// Registry holds kinds. The zero Registry is empty. Kinds may be looked up concurrently, but not
// while kinds are added.
type Registry struct {
	base      *library
	kinds     map[gvk.Kind]*Kind
	resources map[gvk.Resource]*Kind
	// added are the added kinds in the order of their definition.
	added []*Kind
	// sorted are the results of Kinds; nil before it is called.
	sorted atomic.Pointer[[]*Kind]
}

// Builtin returns a registry of the built-in kinds of the default version of Kubernetes. It is
// cheap: all such registries share the types that were parsed.
func Builtin() *Registry { return BuiltinOf(release.Default) }

// BuiltinOf returns a registry of the built-in kinds of Kubernetes 1.minor.
func BuiltinOf(minor int) *Registry { return &Registry{base: libraries[release.Index(minor)]} }

// Clone returns a registry with the same kinds, to which other kinds can be added.
func (r *Registry) Clone() *Registry {
	return &Registry{
		base:      r.base,
		kinds:     maps.Clone(r.kinds),
		resources: maps.Clone(r.resources),
		added:     slices.Clone(r.added),
	}
}

// Lookup returns a kind, nil if the registry lacks it.
func (r *Registry) Lookup(kind gvk.Kind) *Kind {
	if k := r.kinds[kind]; k != nil {
		return k
	}
	return r.base.lookup(kind)
}

// LookupResource returns the kind of a resource, nil if the registry lacks it.
func (r *Registry) LookupResource(resource gvk.Resource) *Kind {
	if k := r.resources[resource]; k != nil {
		return k
	}
	return r.base.lookupResource(resource)
}

// Kinds returns all kinds, sorted by group, version and kind. The result must not be changed.
func (r *Registry) Kinds() []*Kind {
	if known := r.sorted.Load(); known != nil {
		return *known
	}
	all := slices.Clone(r.added)
	for _, k := range r.base.all() {
		if r.kinds[k.Kind] == nil {
			all = append(all, k)
		}
	}
	slices.SortFunc(all, func(a, b *Kind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Kind.Kind, b.Kind.Kind))
	})
	all = slices.Clip(all)
	r.sorted.Store(&all)
	return all
}

// sameStorage are pairs of resources of two groups with the same storage. The server treats them
// as equivalent (k8s.io/kubernetes v1.36.3,
// pkg/kubeapiserver/default_storage_factory_builder.go).
var sameStorage = [][2]gvk.Resource{{
	{Group: "", Resource: "events"},
	{Group: "events.k8s.io", Resource: "events"},
}}

// Versions returns the kinds of the other resources under which the server stores the same
// objects. A rule with matchPolicy Equivalent reaches these kinds. They are the other versions
// of the resource, the newest stable version first; the versions of a custom resource have the
// order of its definition.
func (r *Registry) Versions(k *Kind) []*Kind {
	if k == nil || k.Resource == "" {
		return nil
	}
	resources := []gvk.Resource{{Group: k.Group, Resource: k.Resource}}
	for _, pair := range sameStorage {
		if slices.Contains(pair[:], resources[0]) {
			resources = pair[:]
		}
	}
	var others []*Kind
	for _, resource := range resources {
		for _, other := range r.served(resource.Group, resource.Resource) {
			if other.Kind != k.Kind {
				others = append(others, other)
			}
		}
	}
	return others
}

// served returns the kinds of a resource in all its versions.
func (r *Registry) served(group, resource string) []*Kind {
	var kinds []*Kind
	for _, k := range r.added {
		if k.Group == group && k.Resource == resource {
			kinds = append(kinds, k)
		}
	}
	builtin := r.base.versions(group, resource)
	if len(builtin) == 0 {
		return kinds
	}
	for _, k := range builtin {
		if r.kinds[k.Kind] == nil {
			kinds = append(kinds, k)
		}
	}
	slices.SortStableFunc(kinds, func(a, b *Kind) int { return compareVersions(b.Version, a.Version) })
	return kinds
}

// compareVersions orders v1alpha1 < v1alpha2 < v2beta1 < v1 < v2. Other texts come first and are
// compared as text.
func compareVersions(a, b string) int {
	x, y := versionRank(a), versionRank(b)
	return cmp.Or(slices.Compare(x[:], y[:]), cmp.Compare(a, b))
}

// versionRank returns stability, major and minor.
func versionRank(version string) [3]int {
	rest, found := strings.CutPrefix(version, "v")
	if !found {
		return [3]int{}
	}
	rank := [3]int{3}
	for stability, word := range []string{"alpha", "beta"} {
		if major, minor, found := strings.Cut(rest, word); found {
			n, err := strconv.Atoi(minor)
			if err != nil {
				return [3]int{}
			}
			rank, rest = [3]int{stability + 1, 0, n}, major
		}
	}
	n, err := strconv.Atoi(rest)
	if err != nil {
		return [3]int{}
	}
	rank[1] = n
	return rank
}

// Unknown returns a Kind for a name that the registry lacks. Its Type has apiVersion, kind and
// metadata, and allows any other fields.
func (r *Registry) Unknown(kind gvk.Kind) *Kind {
	return &Kind{Kind: kind, Unknown: true, lazy: &lazyType{load: unknownType}}
}

// mostChecked is the maximum number of kinds that a policy is checked for one by one. A policy that selects more
// uses only fields that all kinds have.
const mostChecked = 40

// Checked returns the kinds that a policy for some kinds is checked for: these, or, if they are too many, an
// Unknown one, which has what all have in common.
func (r *Registry) Checked(kinds []*Kind) []*Kind {
	if len(kinds) <= mostChecked {
		return kinds
	}
	return []*Kind{r.Unknown(gvk.Kind{})}
}

func unknownType() *Type {
	t := &Type{Fields: typeMeta(), Elem: untyped, Preserve: true}
	return t
}

// typeMeta returns the fields that every object has, sorted by name.
func typeMeta() []Field {
	text := &Type{Scalar: String}
	return []Field{
		{Name: "apiVersion", Type: text},
		{Name: "kind", Type: text},
		{Name: "metadata", Type: libraries[release.Index(release.Default)].typeNamed(objectMeta)},
	}
}

const objectMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

// add adds a kind to the registry, or replaces the kind of the same name.
func (r *Registry) add(k *Kind) {
	r.sorted.Store(nil)
	if r.kinds == nil {
		r.kinds = map[gvk.Kind]*Kind{}
		r.resources = map[gvk.Resource]*Kind{}
	}
	if old := r.kinds[k.Kind]; old != nil {
		r.added = slices.DeleteFunc(r.added, func(other *Kind) bool { return other == old })
		delete(r.resources, old.resource())
	}
	r.kinds[k.Kind] = k
	r.added = append(r.added, k)
	if k.Resource != "" {
		r.resources[k.resource()] = k
	}
}

func (k *Kind) resource() gvk.Resource {
	return gvk.Resource{Group: k.Group, Version: k.Version, Resource: k.Resource}
}
