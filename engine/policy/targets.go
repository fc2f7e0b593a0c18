package policy

import (
	"slices"

	"github.com/preadmit/preadmit/engine/gvk"
)

// Targets are the objects that a Follower may change. Policies select them again for every object
// that triggers them, so they are indexed. The zero value is empty.
type Targets struct {
	// All are the targets. Their objects may be replaced.
	All []Target

	kinds  []gvk.Kind
	byKind map[gvk.Kind][]int
	byName map[string][]int
}

// Add adds a target.
func (t *Targets) Add(target Target) {
	if t.byKind == nil {
		t.byKind, t.byName = map[gvk.Kind][]int{}, map[string][]int{}
	}
	i, kind := len(t.All), target.Kind.Kind
	if t.byKind[kind] == nil {
		t.kinds = append(t.kinds, kind)
	}
	t.All = append(t.All, target)
	t.byKind[kind] = append(t.byKind[kind], i)
	t.byName[target.Name] = append(t.byName[target.Name], i)
}

// Named returns the indexes of the targets with a name.
func (t *Targets) Named(name string) []int { return t.byName[name] }

// OfKinds returns, in order, the indexes of the targets whose kind is wanted.
func (t *Targets) OfKinds(wanted func(gvk.Kind) bool) []int {
	var found []int
	several := false
	for _, kind := range t.kinds {
		if wanted(kind) {
			several = several || found != nil
			found = append(found, t.byKind[kind]...)
		}
	}
	if several {
		slices.Sort(found)
	}
	return found
}
