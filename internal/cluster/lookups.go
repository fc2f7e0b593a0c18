package cluster

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/policy"
)

// lookup is what is read of a resource.
type lookup struct {
	resource Resource
	// places are the objects.
	places map[named]bool
}

// named are the objects of a namespace and a name, each of which may be empty for all.
type named struct{ namespace, name string }

// around returns the places that contain a place, itself included.
func (p named) around() []named { return []named{p, {p.namespace, ""}, {"", p.name}, {"", ""}} }

// add adds a place.
func (l *lookup) add(p named) {
	if p.name != "" && l.resource.Namespaced && p.namespace == "" {
		p.name = "" // one name in all namespaces: a list
	}
	if !l.resource.Namespaced {
		p.namespace = ""
	}
	l.places[p] = true
}

// sorted returns the places that no other place contains, sorted.
func (l *lookup) sorted() []named {
	var kept []named
	for p := range l.places {
		if !slices.ContainsFunc(p.around(), func(other named) bool { return other != p && l.places[other] }) {
			kept = append(kept, p)
		}
	}
	slices.SortFunc(kept, func(a, b named) int {
		return cmp.Or(strings.Compare(a.namespace, b.namespace), strings.Compare(a.name, b.name))
	})
	return kept
}

// lookups returns what policies look up, sorted by resource. unknown are the reads whose kind is known
// only when the policies run.
func lookups(ctx context.Context, from Source, reads []policy.Read) (found []*lookup, unknown []policy.Read, err error) {
	of := map[Resource]*lookup{}
	for _, read := range reads {
		var r Resource
		ok := false
		switch {
		case read.Resource.Resource != "":
			r, ok, err = from.FindResource(ctx, read.Resource)
		case read.Kind == policy.AnyKind:
			unknown = append(unknown, read)
		default:
			r, ok, err = from.Find(ctx, read.Kind)
		}
		if err != nil {
			return nil, nil, err
		}
		if !ok || isGathered(r) {
			continue
		}
		if of[r] == nil {
			of[r] = &lookup{resource: r, places: map[named]bool{}}
			found = append(found, of[r])
		}
		of[r].add(named{read.Namespace, read.Name})
	}
	slices.SortFunc(found, func(a, b *lookup) int {
		return cmp.Or(strings.Compare(a.resource.Group, b.resource.Group), strings.Compare(a.resource.Kind, b.resource.Kind))
	})
	return found, unknown, nil
}

// isGathered reports whether a snapshot has all objects of a resource, whoever looks them up.
func isGathered(r Resource) bool {
	kind := gvk.Kind{Group: r.Group, Kind: r.Kind}
	return slices.Contains(engine.PolicyKinds(), kind) || kind == gvk.Kind{Kind: namespaceKind.Kind} || kind == gvk.Kind{Group: definitionKind.Group, Kind: definitionKind.Kind}
}
