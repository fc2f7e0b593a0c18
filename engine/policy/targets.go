package policy

import (
	"slices"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/schema"
)

// Targets are the objects that a Follower may change. Policies select them again for every object
// that triggers them, so they are indexed. The zero value is empty.
type Targets struct {
	// All are the targets. Their objects may be replaced.
	All []Target

	kinds  []*schema.Kind
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
		t.kinds = append(t.kinds, target.Kind)
	}
	t.All = append(t.All, target)
	t.byKind[kind] = append(t.byKind[kind], i)
	t.byName[target.Name] = append(t.byName[target.Name], i)
}

// Named returns, in order, the indexes of the targets with one of some names.
func (t *Targets) Named(names ...string) []int {
	if len(names) == 1 {
		return t.byName[names[0]]
	}
	var found []int
	for _, name := range names {
		found = append(found, t.byName[name]...)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// OfKinds returns, in order, the indexes of the targets whose kind is wanted.
func (t *Targets) OfKinds(wanted func(*schema.Kind) bool) []int {
	var found []int
	several := false
	for _, kind := range t.kinds {
		if wanted(kind) {
			several = several || found != nil
			found = append(found, t.byKind[kind.Kind]...)
		}
	}
	if several {
		slices.Sort(found)
	}
	return found
}
