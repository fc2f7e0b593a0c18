// Package jsonpatch applies JSON Patches (RFC 6902) to objects, each in the dialect
// of the host that would apply it: hosts disagree on missing keys, nulls and the
// texts of errors. The dialects are those of libraries, of which the tests hold
// github.com/evanphx/json-patch/v5 itself, and recordings of the other, against them.
//
// Laws:
//
//	Apply modifies neither the object nor the operations
//	what no operation touches is the same in the result, including the types of its numbers
//	a patch costs what it touches: twice as many operations take twice as long
//
// The files in order: jsonpatch.go (Operation, Dialect, Apply), document.go (the object
// while it changes), usage.go (what a patch may use), equal.go (tests), apiserver.go and
// kyverno.go (the dialects).
package jsonpatch

import (
	"errors"

	"github.com/preadmit/preadmit/engine/internal/number"
	"github.com/preadmit/preadmit/engine/limit"
)

// Operation is one operation of a patch.
type Operation struct {
	// Op is add, remove, replace, move, copy or test.
	Op string
	// Path and From are JSON Pointers (RFC 6901). An empty From is none.
	Path, From string
	// Value is the value to add, to replace by or to test for. A float64 that JSON
	// prints as an integer is one; NaN and infinities must not occur.
	Value any
	// NoValue says that there is no value at all, which hosts tell from null.
	NoValue bool
}

// ErrTestFailed is what the error of a failed test wraps. The API server then
// leaves the object as it is and goes on; other hosts fail.
var ErrTestFailed = errors.New("test failed")

// Dialect is how a host understands patches.
type Dialect struct {
	apply func(d *document, op Operation) error
}

// Apply returns the object with the operations carried out in order. The result
// shares with object what no operation touches; if all only test, it is object itself. The
// texts of errors are the host's; the first error ends the patch.
func (dialect Dialect) Apply(object map[string]any, ops []Operation) (map[string]any, error) {
	d := document{root: object}
	for i, op := range ops {
		if i == limit.Operations {
			return nil, limit.Exceeded(limit.Patch, "split the patch", "the JSON Patch has more than %d operations", limit.Operations)
		}
		op.Value = normalize(op.Value)
		if err := dialect.apply(&d, op); err != nil {
			return nil, err
		}
	}
	return d.close(), nil
}

// written is the value that an operation writes.
func (op Operation) written() any {
	if op.Value == nil && !op.NoValue {
		return null{}
	}
	return op.Value
}

// normalize copies a value of a patch as if it had been written to JSON and read
// again: 3.0 becomes the integer 3.
func normalize(value any) any {
	switch value := value.(type) {
	case map[string]any:
		copied := make(map[string]any, len(value))
		for key, member := range value {
			copied[key] = normalize(member)
		}
		return copied
	case []any:
		copied := make([]any, len(value))
		for i, item := range value {
			copied[i] = normalize(item)
		}
		return copied
	case float64:
		return number.Whole(value)
	}
	return value
}
