// Package jsonpatch applies JSON Patches (RFC 6902) to objects, each in the dialect
// of the host that would apply it: hosts disagree on missing keys, nulls and the
// texts of errors.
//
// What every host does alike (pointers that lead to values which are there, plain
// indexes) is carried out on the maps and lists themselves. The rest goes through
// github.com/evanphx/json-patch/v5, whose behaviour the dialect of the host corrects
// beforehand. This is the only package that imports that library.
//
// Laws:
//
//	Apply modifies neither the object nor the operations
//	what no operation touches is the same in the result, including the types of its numbers
//	where an operation can be carried out in place, the library does the same
//
// The files in order: jsonpatch.go (Operation, Dialect, Apply), usage.go (what a patch
// may use), plain.go (in place), apiserver.go and kyverno.go (the dialects), library.go (the rest).
package jsonpatch

import (
	"math"

	jsonpatch "github.com/evanphx/json-patch/v5"

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
	// NoValue says that there is no value at all, which a test tells from null.
	NoValue bool
}

// ErrTestFailed is what the error of a failed test wraps. The API server then
// leaves the object as it is and goes on; other hosts fail.
var ErrTestFailed = jsonpatch.ErrTestFailed

// Dialect is how a host understands patches.
type Dialect struct {
	// odd carries out an operation that is not plain, by the library where that
	// agrees with the host.
	odd func(object map[string]any, op Operation) (map[string]any, error)
	// copied is the error of copies that add too much, in bytes.
	copied func(size int) error
}

// Apply returns the object with the operations carried out in order. The result
// shares with object what no operation touches; without operations it is object
// itself. The texts of errors are the host's; the first error ends the patch.
func (d Dialect) Apply(object map[string]any, ops []Operation) (map[string]any, error) {
	var used usage
	for i, op := range ops {
		if i == limit.Operations {
			return nil, limit.Exceeded(limit.Patch, "split the patch", "the JSON Patch has more than %d operations", limit.Operations)
		}
		if op.Op == "copy" && used.copy(object, op) > limit.CopyBytes {
			return nil, d.copied(used.copied)
		}
		op.Value = normalize(op.Value)
		result, done, err := plain(object, op)
		if !done {
			if err := used.odd(object); err != nil {
				return nil, err
			}
			result, err = d.odd(object, op)
		}
		if err != nil {
			return nil, err
		}
		object = result
	}
	return object, nil
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
		// Outside these bounds the text is no integer, or none that fits.
		if value == math.Trunc(value) && value >= math.MinInt64 && value < math.MaxInt64 {
			return int64(value)
		}
	}
	return value
}
