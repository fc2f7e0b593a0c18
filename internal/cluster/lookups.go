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
	Resource
	// places are the objects: their namespaces and names, each of which may be empty for all.
	places []place
}

type place struct{ namespace, name string }

// covers reports whether a place contains another one.
func (p place) covers(other place) bool {
	return (p.namespace == "" || p.namespace == other.namespace) && (p.name == "" || p.name == other.name)
}

// add adds a place, unless another one covers it.
func (l *lookup) add(p place) {
	if p.name != "" && l.Namespaced && p.namespace == "" {
		p.name = "" // one name in all namespaces: a list
	}
	if !l.Namespaced {
		p.namespace = ""
	}
	if slices.ContainsFunc(l.places, func(other place) bool { return other.covers(p) }) {
		return
	}
	l.places = append(slices.DeleteFunc(l.places, p.covers), p)
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
			of[r] = &lookup{Resource: r}
			found = append(found, of[r])
		}
		of[r].add(place{read.Namespace, read.Name})
	}
	slices.SortFunc(found, func(a, b *lookup) int {
		return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Kind, b.Kind))
	})
	return found, unknown, nil
}

// isGathered reports whether a snapshot has all objects of a resource, whoever looks them up.
func isGathered(r Resource) bool {
	kind := gvk.Kind{Group: r.Group, Kind: r.Kind}
	return slices.Contains(engine.PolicyKinds(), kind) || kind == gvk.Kind{Kind: namespaceKind.Kind} || kind == gvk.Kind{Group: definitionKind.Group, Kind: definitionKind.Kind}
}
