package policy

import (
	"context"
	"maps"
	"slices"
	"sync"

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

// keptKey identifies what was made: by what it is, and by the first document.
type keptKey struct {
	what  any
	first manifest.Identity
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
	identities := identify(documents)
	key := keptKey{what: what}
	if len(identities) > 0 {
		key.first = identities[0]
	}
	if made, known := k.find(key, identities); known {
		return made.(T)
	}
	made := make()
	k.add(key, kept{identities, made})
	return made
}

func identify(documents []*manifest.Document) []manifest.Identity {
	identities := make([]manifest.Identity, len(documents))
	for i, d := range documents {
		identities[i] = d.Identity()
	}
	return identities
}

// find finds what was made, and keeps it for the next run.
func (k *Kept) find(key keptKey, documents []manifest.Identity) (made any, known bool) {
	k.lock.Lock()
	one, has := k.made[key]
	k.lock.Unlock()
	if has && slices.Equal(one.documents, documents) {
		return one.made, true
	}
	if k.earlier == nil {
		return nil, false
	}
	if made, known = k.earlier.find(key, documents); known {
		k.add(key, kept{documents, made})
	}
	return made, known
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
