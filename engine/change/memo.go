//go:build !reference

package change

import "unsafe"

// Reference selects the reference implementation of everything that is optimised: nothing is
// remembered, and libraries do merges and patches. The optimised code must agree with it. The build
// tag reference sets it; CI runs the tests with that tag as well.
const Reference = false

// A Fact is something that can be true of a value, for instance that it conforms to a type. Its
// address identifies it, so it is a variable or a field, in the example a field of the type.
type Fact struct{ _ byte }

// A Memo remembers facts about maps and lists. With it, a step that changes one field of an object
// costs as much as the path to the field, not as much as the object: the unchanged maps are the
// same maps, with known facts. The nil Memo remembers nothing.
//
// Laws:
//
//	Recall returns what Note was given for the same fact and the same map or list
//	a fact depends only on the value, never on its surroundings
//	a value in a Memo is never modified
//
// Callers must keep the second and third law; the build tag reference checks the third. A Memo
// keeps its values alive, so it should live no longer than the work on one object. It is not safe
// for concurrent use.
type Memo struct {
	slots []slot // a power of two; at most half of them are used
	used  int
}

type slot struct {
	fact   *Fact // nil if the slot is free
	value  unsafe.Pointer
	length int // of a list
	answer int
}

// Note remembers an answer about a value. It ignores scalars and empty lists, which are cheap.
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

// Recall returns the answer that was noted about a value, and whether there was one.
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

// Reset forgets everything. It keeps the memory for the next object if there is not too much of it.
func (m *Memo) Reset() {
	if len(m.slots) > maxKept {
		m.slots = nil
	}
	clear(m.slots)
	m.used = 0
}

// maxKept is how many slots are kept for the next object: enough for objects of usual size, and few
// enough to clear for each object.
const maxKept = 2048

// find returns the slot of a fact about a value, or the free slot for it.
func (m *Memo) find(fact *Fact, value unsafe.Pointer, length int) *slot {
	const golden = 0x9E3779B97F4A7C15 // hashes similar addresses to different slots
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
