package jsonpatch

import (
	"errors"
	"fmt"

	"github.com/preadmit/preadmit/engine/limit"
)

// APIServer is the dialect of MutatingAdmissionPolicy: that of gopkg.in/evanphx/json-patch.v4
// v4.13.0 as k8s.io/apiserver v0.36.3 calls it, with the same error texts.
//
//   - replace of a missing key adds the key
//   - copy from a missing key writes null, as does add without a value
//   - a test of a missing key passes only without a value; a test for null passes for empty maps
//     and lists, and for nulls that the patch wrote, but not for nulls of the object
//   - a negative index counts from the end of a list
//   - a pointer need not start with a slash: text before the first slash is ignored
//   - only replace and test support the empty pointer
//
// Where that library crashes (a root replaced without a value, something written below a null
// that the patch wrote, a test of a list that holds null), the result is an error or the result
// that RFC 6902 requires.
var APIServer = Dialect{
	(*document).add, (*document).removeV4, (*document).replaceV4, (*document).testV4, (*document).parent, (*document).takeV4,
	func(copied int) error { return copySizeError(copied) },
}

// The error texts of v4.13, by operation where they differ. v5 has most of them, too.
const (
	noDestination = "%s operation does not apply: doc is missing destination path: %s: %w"
	noFrom        = "%s operation failed to decode from: operation, missing from field: %w"
	noKey         = "Unable to remove nonexistent key: %s: %w"
	noMember      = "replace operation does not apply: doc is missing key: %s: %w"
	failedFor     = "error in %s for path: '%s': %w"
	copyFrom      = "error in copy for from: '%s': %w"
	copyFailed    = "error while adding value during copy: %w"
	notContainer  = "replace operation value must be object or array: %!w(<nil>)"
	unknownOp     = "Unexpected kind: "
)

var noPath = map[string]string{
	"add":     "add operation does not apply: doc is missing path: \"%s\": %w",
	"remove":  "remove operation does not apply: doc is missing path: \"%s\": %w",
	"replace": "replace operation does not apply: doc is missing path: %s: %w",
	"test":    "test operation does not apply: is missing path: %s: %w",
	"move":    "move operation does not apply: doc is missing from path: %s: %w",
	"copy":    "copy operation does not apply: doc is missing from path: %s: %w",
}

func last(keys []string) string { return keys[len(keys)-1] }

func (d *document) removeV4(op Operation) error {
	keys, err := d.locate(op.Op, op.Path)
	if err != nil {
		return err
	}
	return d.removeAtV4(keys, op.Op, op.Path)
}

// removeAtV4 removes the value at keys, for the operation op on the pointer name.
func (d *document) removeAtV4(keys []string, op, name string) error {
	key := last(keys)
	_, ok, err := get(d.parent(keys), key)
	if err == nil && !ok {
		err = fmt.Errorf(noKey, key, errMissing)
	}
	if err != nil {
		return fmt.Errorf(failedFor, op, name, err)
	}
	remove(d.opened(keys), key)
	return nil
}

func (d *document) replaceV4(op Operation) error {
	if op.Path == "" {
		return d.replaceRoot(op)
	}
	keys, err := d.locate(op.Op, op.Path)
	if err != nil || d.holds(keys, op.written()) {
		return err
	}
	if _, _, err := get(d.parent(keys), last(keys)); err != nil {
		return fmt.Errorf(noMember, op.Path, errMissing)
	}
	parent, err := d.writable(keys, op)
	if err == nil {
		put(parent, last(keys), op.written())
	}
	return err
}

func (d *document) replaceRoot(op Operation) error {
	switch value := op.Value.(type) {
	case map[string]any:
		d.root = value
		return nil
	case nil:
		return errors.New("replace operation of the whole object needs an object, not null")
	case []any:
		return errors.New("replace operation of the whole object needs an object, not a list")
	}
	return errors.New(notContainer)
}

func (d *document) testV4(op Operation) error {
	value, pointer := d.root, op.Path
	if pointer == "" && op.NoValue {
		return errors.New("test operation of the whole object needs a value")
	}
	if pointer != "" {
		keys, err := d.locate(op.Op, pointer)
		if err != nil {
			return err
		}
		if value, _, err = get(d.parent(keys), last(keys)); err != nil {
			return fmt.Errorf(failedFor, op.Op, pointer, err)
		}
	}
	if value == nil && op.NoValue || value != nil && !op.NoValue && equalsV4(value, op.Value) {
		return nil
	}
	return failed(op)
}

// equalsV4 is the equality of a test: null equals an empty map or list, and a null of the patch
// equals an empty map.
func equalsV4(value, want any) bool {
	if want == nil {
		return value == any(null{}) || isEmptyMap(value) || isEmptyList(value)
	}
	return equal(value, want, isEmptyMap)
}

func (d *document) takeV4(op Operation, from []string) (any, error) {
	value, _, err := get(d.parent(from), last(from))
	switch {
	case op.Op == "move":
		err = d.removeAtV4(from, op.Op, last(from))
	case err != nil:
		err = fmt.Errorf(copyFrom, op.From, err)
	}
	return value, err
}

// CrashError reports that a patch makes an API server crash: the request fails, whatever the
// failurePolicy of the policy.
type CrashError struct{ text string }

// Crash returns a CrashError.
func Crash(format string, args ...any) *CrashError {
	return &CrashError{fmt.Sprintf(format, args...)}
}

// Error implements error.
func (e *CrashError) Error() string { return e.text }

// copySizeError reports that copies add too many bytes, and how many.
type copySizeError int

// Error implements error.
func (e copySizeError) Error() string {
	return fmt.Sprintf("Unable to complete the copy, the accumulated size increase of copy is %d, exceeding the limit %d", int(e), limit.CopyBytes)
}
