//go:build !reference

package change

import "unsafe"

// Reference says that everything is worked out in full, by the slow way that the quick
// one must agree with: nothing is remembered, and libraries merge and patch. It is set by
// the build tag reference, with which the tests run once more in CI.
const Reference = false

// A Fact is something that can be true of a value, for instance that it conforms to a
// type. It is told by its address: what the fact is about holds it.
type Fact struct{ _ byte }

// A Memo remembers facts about maps and lists, so that a step that changes one field of
// an object costs the path to that field and not the object: what the step did not
// change is the same map, of which everything is known. The nil Memo remembers nothing.
//
// Laws:
//
//	Recall gives what Note was given for the same fact and the same map or list
//	a fact depends on the value alone, never on what is around it
//	a value that a Memo knows is not modified again
//
// The second and the third bind those who use it; the build tag reference checks the
// third. A Memo keeps the values that it knows, so that it should live no longer than
// the work on one object. It is not safe for concurrent use.
type Memo struct {
	slots []slot // a power of two of them, at most half of them used
	used  int
}

type slot struct {
	fact   *Fact // nil if the slot is free
	value  unsafe.Pointer
	length int // of a list
	answer int
}

// Note remembers an answer about a value. Scalars and empty lists are not worth it.
func (m *Memo) Note(fact *Fact, value any, answer int) {
	at, length := identity(value)
	if m == nil || at == nil {
		return
	}
	if 2*m.used >= len(m.slots) {
		m.grow()
	}
	s := m.find(fact, at, length)
	if s.fact == nil {
		m.used++
	}
	*s = slot{fact, at, length, answer}
}

// Recall returns what has been noted about a value.
func (m *Memo) Recall(fact *Fact, value any) (answer int, known bool) {
	if m == nil || m.used == 0 {
		return 0, false
	}
	at, length := identity(value)
	if at == nil {
		return 0, false
	}
	s := m.find(fact, at, length)
	return s.answer, s.fact != nil
}

// Reset forgets everything. It keeps the memory for the next object, if that is not much.
func (m *Memo) Reset() {
	if len(m.slots) > maxKept {
		m.slots = nil
	}
	clear(m.slots)
	m.used = 0
}

// maxKept is how many slots are kept for the next object: enough for those of usual size,
// and few enough to be cleared for each.
const maxKept = 2048

// find returns the slot of a fact about a value, or the free one where it belongs.
func (m *Memo) find(fact *Fact, value unsafe.Pointer, length int) *slot {
	const golden = 0x9E3779B97F4A7C15 // spreads what addresses have in common
	hash := (uint64(uintptr(value))>>4 + uint64(uintptr(unsafe.Pointer(fact)))) * golden >> 32
	for ; ; hash++ {
		s := &m.slots[hash&uint64(len(m.slots)-1)]
		if s.fact == nil || s.value == value && s.fact == fact && s.length == length {
			return s
		}
	}
}

func (m *Memo) grow() {
	old := m.slots
	m.slots = make([]slot, max(128, 2*len(old)))
	for i := range old {
		if s := &old[i]; s.fact != nil {
			*m.find(s.fact, s.value, s.length) = *s
		}
	}
}
