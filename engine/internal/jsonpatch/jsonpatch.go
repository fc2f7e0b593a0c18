// Package jsonpatch applies JSON Patches (RFC 6902) to objects, in the dialect of a host. Hosts
// differ in missing keys, nulls and error texts. Each dialect copies a library. The tests
// compare Kyverno's with github.com/evanphx/json-patch/v5 itself, and the API server's with
// recordings of its library.
//
// Laws:
//
//	Apply modifies neither the object nor the operations
//	untouched values are the same in the result, including the types of numbers
//	the cost of a patch depends on what it touches: twice as many operations take twice as long
//
// The files in order: jsonpatch.go (Operation, Dialect, Apply), decode.go (patches as JSON), document.go (the object while it
// changes), usage.go (the resources of a patch), equal.go (tests), apiserver.go and kyverno.go
// (the dialects), check.go (operations that do not fit a kind).
package jsonpatch

import (
	"errors"
	"fmt"

	"github.com/preadmit/preadmit/engine/internal/number"
	"github.com/preadmit/preadmit/engine/limit"
)

// Operation is one operation of a patch.
type Operation struct {
	// Op is add, remove, replace, move, copy or test.
	Op string
	// Path and From are JSON Pointers (RFC 6901). An empty From means that from is missing.
	Path, From string
	// Value is the value to add, to replace by or to test for. A float64 that JSON prints as an
	// integer counts as an integer; NaN and infinities must not occur.
	Value any
	// NoValue says that the operation has no value, which hosts distinguish from null.
	NoValue bool
	// pathless is the error of an operation whose path could not be decoded.
	pathless error
}

// ErrTestFailed is wrapped by the error of a failed test. The API server then does not change
// the object and continues; other hosts fail.
var ErrTestFailed = errors.New("test failed")

// Dialect is a host's interpretation of patches: what its operations do, and what they share.
type Dialect struct {
	add, remove, replace, test func(d *document, op Operation) error
	// parent returns the map or list in which the last key is looked up. It returns nil if the document has no such part.
	parent func(d *document, keys []string) any
	// take returns the value that move or copy takes from a place. Move removes it there.
	take func(d *document, op Operation, from []string) (any, error)
	// tooLarge is the error of copies that add too many bytes.
	tooLarge func(copied int) error
}

// apply applies one operation.
func (dialect Dialect) apply(d *document, op Operation) error {
	if _, known := noPath[op.Op]; known && op.pathless != nil {
		return fmt.Errorf("%s operation failed to decode path: %w", op.Op, op.pathless)
	}
	switch op.Op {
	case "add":
		return dialect.add(d, op)
	case "remove":
		return dialect.remove(d, op)
	case "replace":
		return dialect.replace(d, op)
	case "test":
		return dialect.test(d, op)
	case "move", "copy":
		return d.transfer(op)
	}
	return errors.New(unknownOp + op.Op)
}

// Apply applies the operations in order and returns the object. The result shares with object
// the parts that no operation touches; if all operations only test, it is object itself. Error
// texts are the host's; the first error ends the patch.
func (dialect Dialect) Apply(object map[string]any, ops []Operation) (map[string]any, error) {
	d := document{dialect: dialect, root: object, begun: object}
	for i, op := range ops {
		if i == limit.Operations {
			return nil, limit.Exceeded(limit.Patch, "split the patch", "the JSON Patch has more than %d operations", limit.Operations)
		}
		op.Value = number.Wholes(op.Value)
		if err := dialect.apply(&d, op); err != nil {
			return nil, err
		}
	}
	return d.close(), nil
}

// written returns the value that an operation writes.
func (op Operation) written() any {
	if op.Value == nil && !op.NoValue {
		return null{}
	}
	return op.Value
}
