package policy

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/preadmit/preadmit/engine/internal/parallel"
	"github.com/preadmit/preadmit/engine/manifest"
)

// Kept is what was made of documents, so that it is made once: compiled policies, and what was found about
// them. A later run takes over what was made of documents that it still has. A nil Kept keeps nothing.
//
// Laws:
//
//	what is made of documents depends on them and on its key alone
//	it is not changed any more
type Kept struct {
	// ctx has ended if what is made may not be whole.
	ctx     context.Context
	earlier *Kept
	lock    sync.Mutex
	made    map[keptKey]kept
}

// keptKey identifies what was made: by what it is, and by the first document, which is almost always the only one.
type keptKey struct {
	what  any
	first uint32
}

type kept struct {
	documents []manifest.Identity
	made      any
}

// NewKept returns a Kept that takes over what an earlier one has, which may be nil. It keeps what is made before
// ctx ends.
func NewKept(ctx context.Context, earlier *Kept) *Kept {
	return &Kept{ctx: ctx, earlier: earlier, made: map[keptKey]kept{}}
}

// Keep returns what is made of documents, or what has been made of the same ones before under the same key.
func Keep[T any](k *Kept, what any, documents []*manifest.Document, make func() T) T {
	if k == nil {
		return make()
	}
	key := keptKey{what: what}
	if len(documents) > 0 {
		key.first = documents[0].IdentityHash()
	}
	one, isOwn, known := k.find(key, documents)
	if !known {
		one = kept{identify(documents), make()}
	}
	if !isOwn {
		k.add(key, one)
	}
	return one.made.(T)
}

// KeepEach returns what is made of each document, in parallel, because compiling policies is most of the work of a
// run on few manifests.
func KeepEach[T any](k *Kept, what any, documents []*manifest.Document, make func(*manifest.Document) T) []T {
	type result struct {
		of  []*manifest.Document
		one T
	}
	var all []*result
	for i := range documents {
		all = append(all, &result{of: documents[i : i+1]})
	}
	parallel.Each(all, func(r *result) { r.one = Keep(k, what, r.of, func() T { return make(r.of[0]) }) })
	var made []T
	for _, r := range all {
		made = append(made, r.one)
	}
	return made
}

func identify(documents []*manifest.Document) []manifest.Identity {
	identities := make([]manifest.Identity, len(documents))
	for i, d := range documents {
		identities[i] = d.Identity()
	}
	return identities
}

// find finds what was made, by itself or earlier.
func (k *Kept) find(key keptKey, documents []*manifest.Document) (one kept, isOwn, known bool) {
	for from := k; from != nil; from = from.earlier {
		from.lock.Lock()
		one, known = from.made[key]
		from.lock.Unlock()
		if known && one.isOf(documents) {
			return one, from == k, true
		}
	}
	return kept{}, false, false
}

func (one kept) isOf(documents []*manifest.Document) bool {
	return slices.EqualFunc(one.documents, documents, func(was manifest.Identity, d *manifest.Document) bool { return was == d.Identity() })
}

func (k *Kept) add(key keptKey, one kept) {
	if k.ctx.Err() != nil {
		return
	}
	k.lock.Lock()
	defer k.lock.Unlock()
	k.made[key] = one
}

// Merged returns what any of them has, without what they could take over.
func Merged(all ...*Kept) *Kept {
	merged, size := NewKept(context.Background(), nil), 0
	for _, one := range all {
		one.lock.Lock()
		size += len(one.made)
		one.lock.Unlock()
	}
	merged.made = make(map[keptKey]kept, size)
	for _, one := range all {
		one.lock.Lock()
		maps.Copy(merged.made, one.made)
		one.lock.Unlock()
	}
	return merged
}
