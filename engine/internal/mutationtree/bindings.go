package mutationtree

import (
	"fmt"
	"sync"

	"github.com/jmespath-community/go-jmespath/pkg/binding"
)

// bindings are the names that expressions can use, each with its "$". They form a chain, so that
// adding a binding does not change the others. The nil chain is empty.
type bindings struct {
	outer *bindings
	name  string
	value func() (any, error)
}

// with adds a binding, which hides an earlier one of the same name.
func (b *bindings) with(name string, value any) *bindings {
	return &bindings{outer: b, name: name, value: func() (any, error) { return value, nil }}
}

// withLazy adds a binding whose value is computed once, when it is first used.
func (b *bindings) withLazy(name string, value func() (any, error)) *bindings {
	return &bindings{outer: b, name: name, value: sync.OnceValues(value)}
}

// resolve returns the value of a binding.
func (b *bindings) resolve(name string) (any, error) {
	for ; b != nil; b = b.outer {
		if b.name == name {
			return b.value()
		}
	}
	return nil, fmt.Errorf("there is no binding %s", name)
}

// named are the bindings as JMESPath sees them.
type named struct {
	bindings *bindings
	numbers  *numbers
}

var _ binding.Bindings = named{}

// Get implements binding.Bindings of the JMESPath library.
func (b named) Get(name string) (any, error) {
	value, err := b.bindings.resolve(name)
	return b.numbers.floats(value), err
}

// Register implements binding.Bindings, for the let of JMESPath.
func (b named) Register(name string, value any) binding.Bindings {
	return named{b.bindings.with(name, value), b.numbers}
}
