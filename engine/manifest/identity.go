package manifest

import (
	"hash/maphash"
	"slices"
	"sync/atomic"
)

// Identity identifies a document with its place. Documents with the same Identity, of any streams, have the
// same values, and these have the same positions.
type Identity struct {
	stream     *Stream // of a document that was not read
	name, text string
	lineBreak  string
	// line is the line on which the text begins, and root the index of the document in it.
	line, root                          int
	exact, last                         bool
	isSensitive, isPrivate, isOfPlugins bool
}

var identitySeed = maphash.MakeSeed()

// IdentityHash returns a number that is the same for documents with the same Identity.
func (d *Document) IdentityHash() uint32 {
	if known := atomic.LoadUint32(&d.hash); known != 0 {
		return known
	}
	id, h := d.Identity(), maphash.Hash{}
	h.SetSeed(identitySeed)
	h.WriteString(id.name)
	h.WriteString(id.text)
	maphash.WriteComparable(&h, [2]int{id.line, id.root})
	sum := max(1, uint32(h.Sum64()))
	atomic.StoreUint32(&d.hash, sum)
	return sum
}

// Identity returns the identity of the document.
func (d *Document) Identity() Identity {
	u, s := d.unit, d.unit.stream
	id := Identity{
		name: s.name, lineBreak: u.lineBreak, root: d.root, exact: u.exact, last: u.end == len(s.text),
		isSensitive: s.sensitive, isPrivate: s.private, isOfPlugins: s.plugin,
	}
	if s.origin != nil {
		id.stream = s
		return id
	}
	id.text = s.text[u.start:u.end]
	line, _ := slices.BinarySearch(s.lines(), int32(u.start))
	id.line = line
	return id
}
