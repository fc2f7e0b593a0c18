//go:build reference

package change

import (
	"fmt"
	"unsafe"
)

// Reference is explained in memo.go.
const Reference = true

// A Fact is identified by its address.
type Fact struct{ _ byte }

// A Memo recalls nothing in this build. It checks that noted values are not modified.
type Memo struct{ noted map[identified]noted }

type identified struct {
	at     unsafe.Pointer
	length int
}

type noted struct{ value, before any }

// Note keeps a copy of a value.
func (m *Memo) Note(_ *Fact, value any, _ int) {
	at, length := identity(value)
	if m == nil || at == nil {
		return
	}
	key := identified{at, length}
	m.noted[key].check()
	if m.noted == nil {
		m.noted = map[identified]noted{}
	}
	m.noted[key] = noted{value, Clone(value)}
}

// Recall always returns false.
func (m *Memo) Recall(_ *Fact, value any) (answer int, known bool) {
	if at, length := identity(value); m != nil && at != nil {
		m.noted[identified{at, length}].check()
	}
	return 0, false
}

// Reset checks all values and forgets them.
func (m *Memo) Reset() {
	for _, n := range m.noted {
		n.check()
	}
	m.noted = nil
}

func (n noted) check() {
	if Equal(n.before, n.value) {
		return
	}
	before, now := fmt.Sprint(n.before), fmt.Sprint(n.value)
	if before != now { // NaN does not equal itself
		panic(fmt.Sprintf("change: a value that a Memo knows has been modified: it was\n%s\nand is\n%s", before, now))
	}
}
