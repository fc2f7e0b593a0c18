package cluster

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/manifest"
)

// Source has the objects of a cluster.
type Source interface {
	// Server describes the server, as far as the source knows it.
	Server(ctx context.Context) (Server, error)
	// Find and FindResource return a resource; ok is false if the cluster does not serve it.
	Find(ctx context.Context, kind gvk.Kind) (r Resource, ok bool, err error)
	FindResource(ctx context.Context, resource gvk.Resource) (r Resource, ok bool, err error)
	// List calls each for the objects of a resource: all, those of a namespace, or the one with a
	// name.
	List(ctx context.Context, r Resource, namespace, name string, each func(object map[string]any) error) error
}

// Server describes a server.
type Server struct {
	// Version is its version, such as v1.36.3; "" if it is not known.
	Version string
	// Gates are the feature gates that are on although they are alpha, or off although they are beta.
	Gates map[string]bool
}

var (
	_ Source = (*Kubectl)(nil)
	_ Source = (*Dump)(nil)
)

// Dump is the objects of a cluster in files, such as those of a must-gather.
type Dump struct {
	// objects are sorted by their paths. byKind are those of a kind, without its version.
	objects []map[string]any
	byKind  map[gvk.Kind][]map[string]any
	byPath  map[string]map[string]any
	served  []Resource
}

// NewDump returns a source with the objects of files. Of several states of an object, the last one
// counts.
func NewDump(streams []*manifest.Stream) *Dump {
	d := &Dump{byKind: map[gvk.Kind][]map[string]any{}, byPath: map[string]map[string]any{}}
	plurals := map[gvk.Kind]string{}
	at := map[string]int{}
	for _, s := range streams {
		for _, document := range s.Documents() {
			object := document.Object()
			if document.Kind().Version == "" || document.Name() == "" {
				continue
			}
			if document.Kind().Kind == definitionKind.Kind {
				spec := change.Keys("spec", "names", "plural")
				plural, _ := spec.Get(object)
				plurals[gvk.Kind{Group: document.TextAt("spec", "group"), Kind: document.TextAt("spec", "names", "kind")}], _ = plural.(string)
			}
			path := Path(object)
			if i, again := at[path]; again {
				d.objects[i] = object
				continue
			}
			at[path] = len(d.objects)
			d.objects = append(d.objects, object)
		}
	}
	slices.SortFunc(d.objects, func(a, b map[string]any) int { return strings.Compare(Path(a), Path(b)) })
	known := map[Resource]bool{}
	for _, object := range d.objects {
		kind := kindOf(object)
		unversioned := gvk.Kind{Group: kind.Group, Kind: kind.Kind}
		d.byKind[unversioned], d.byPath[Path(object)] = append(d.byKind[unversioned], object), object
		r := Resource{gvk.Resource{Group: kind.Group, Version: kind.Version}, kind.Kind, textAt(object, "metadata", "namespace") != ""}
		r.Resource.Resource = cmp.Or(plurals[gvk.Kind{Group: kind.Group, Kind: kind.Kind}], kind.Plural())
		if !known[r] {
			known[r] = true
			d.served = append(d.served, r)
		}
	}
	return d
}

// Server implements Source. Dumps do not describe it in a common form.
func (d *Dump) Server(context.Context) (Server, error) { return Server{}, nil }

// Find implements Source.
func (d *Dump) Find(_ context.Context, kind gvk.Kind) (Resource, bool, error) {
	return d.find(func(r Resource) bool {
		return r.Group == kind.Group && r.Kind == kind.Kind && (kind.Version == "" || r.Version == kind.Version)
	})
}

// FindResource implements Source.
func (d *Dump) FindResource(_ context.Context, resource gvk.Resource) (Resource, bool, error) {
	return d.find(func(r Resource) bool {
		return r.Group == resource.Group && r.Resource.Resource == resource.Resource && (resource.Version == "" || r.Version == resource.Version)
	})
}

func (d *Dump) find(matches func(Resource) bool) (Resource, bool, error) {
	if i := slices.IndexFunc(d.served, matches); i >= 0 {
		return d.served[i], true, nil
	}
	return Resource{}, false, nil
}

// List implements Source.
func (d *Dump) List(_ context.Context, r Resource, namespace, name string, each func(object map[string]any) error) error {
	objects := d.byKind[gvk.Kind{Group: r.Group, Kind: r.Kind}]
	if name != "" {
		named := map[string]any{"apiVersion": r.APIVersion(), "kind": r.Kind, "metadata": map[string]any{"namespace": namespace, "name": name}}
		if objects = nil; d.byPath[Path(named)] != nil {
			objects = append(objects, d.byPath[Path(named)])
		}
	}
	for _, object := range objects {
		if namespace != "" && textAt(object, "metadata", "namespace") != namespace {
			continue
		}
		if err := each(object); err != nil {
			return err
		}
	}
	return nil
}
