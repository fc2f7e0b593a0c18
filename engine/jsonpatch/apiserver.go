package jsonpatch

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// APIServer is the dialect of MutatingAdmissionPolicy: that of
// gopkg.in/evanphx/json-patch.v4 v4.13.0 as k8s.io/apiserver v0.36.3 calls it, with
// the texts of its errors.
//
//   - replace of a missing key adds it
//   - copy from a missing key writes null, as does add without a value
//   - a test of a missing key passes only without a value; a test for null finds
//     empty maps and lists, but no null
//   - a negative index counts from the end of a list
//   - a pointer need not start with a slash: what stands before the first is ignored
//   - the empty pointer is known to replace and test only
//
// Where that library crashes (a root replaced without a value, a test of a list that
// holds null) there is an error or what JSON Patch asks for.
var APIServer = Dialect{odd: oddV4, copied: serverCopied}

// Texts of v4.13 that v5 lacks or words otherwise, by operation where they differ.
const (
	v4NoDestination = "%s operation does not apply: doc is missing destination path: %s: missing value"
	v4NoFrom        = "%s operation failed to decode from: operation, missing from field: missing value"
	v4NoKey         = "error in %s for path: '%s': Unable to remove nonexistent key: %s: missing value"
	v4CopyFailed    = "error while adding value during copy"
	v4MoveFailed    = "error in move for path: '%s'"
	v4NotContainer  = "replace operation value must be object or array: %!w(<nil>)"
	v4UnknownOp     = "Unexpected kind: "
)

var v4NoPath = map[string]string{
	"add":     "add operation does not apply: doc is missing path: \"%s\": missing value",
	"remove":  "remove operation does not apply: doc is missing path: \"%s\": missing value",
	"replace": "replace operation does not apply: doc is missing path: %s: missing value",
	"test":    "test operation does not apply: is missing path: %s: missing value",
	"move":    "move operation does not apply: doc is missing from path: %s: missing value",
	"copy":    "copy operation does not apply: doc is missing from path: %s: missing value",
}

func oddV4(object map[string]any, op Operation) (map[string]any, error) {
	pointer := op.Path
	switch {
	case v4NoPath[op.Op] == "":
		return nil, errors.New(v4UnknownOp + op.Op)
	case op.Op == "move" || op.Op == "copy":
		if pointer = op.From; pointer == "" {
			return nil, fmt.Errorf(v4NoFrom, op.Op)
		}
	case op.Path == "" && op.Op == "replace":
		return replaceRootV4(op)
	case op.Path == "" && op.Op == "test":
		return testRootV4(object, op)
	}
	parent, key := locateV4(object, pointer)
	if parent == nil {
		return nil, fmt.Errorf(v4NoPath[op.Op], pointer)
	}
	switch op.Op {
	case "test":
		return testV4(object, op, parent, key)
	case "move", "copy":
		return transferV4(object, op, parent, key)
	}
	if isMissingKey(parent, key) {
		switch op.Op {
		case "remove":
			return nil, fmt.Errorf(v4NoKey, op.Op, op.Path, key)
		case "replace":
			op.Op = "add"
		}
	}
	return library(object, op)
}

func replaceRootV4(op Operation) (map[string]any, error) {
	switch value := op.Value.(type) {
	case map[string]any:
		return value, nil
	case nil:
		return nil, errors.New("replace operation of the whole object needs an object, not null")
	case []any:
		return nil, errors.New("replace operation of the whole object needs an object, not a list")
	}
	return nil, errors.New(v4NotContainer)
}

func testRootV4(object map[string]any, op Operation) (map[string]any, error) {
	if op.NoValue {
		return nil, errors.New("test operation of the whole object needs a value")
	}
	return object, test(object, op)
}

// testV4 is for tests that involve null; v5 takes null for a missing value.
func testV4(object map[string]any, op Operation, parent any, key string) (map[string]any, error) {
	value, ok := memberV4(parent, key)
	passed := false
	switch {
	case !ok && !isMissingKey(parent, key):
		return library(object, op) // which explains what is wrong with the index
	case op.NoValue:
		passed = value == nil
	case op.Value == nil:
		passed = isEmpty(value)
	case value != nil:
		return object, test(value, op)
	}
	if !passed {
		return nil, failed(op)
	}
	return object, nil
}

// isEmpty reports whether value is a map or a list without members.
func isEmpty(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		return len(value) == 0
	case []any:
		return len(value) == 0
	}
	return false
}

// transferV4 carries out move and copy as what they consist of: v5 refuses to copy
// what is missing.
func transferV4(object map[string]any, op Operation, parent any, key string) (map[string]any, error) {
	value, ok := memberV4(parent, key)
	switch {
	case !ok && !isMissingKey(parent, key):
		return library(object, op) // which explains what is wrong with the index
	case !ok && op.Op == "move":
		return nil, fmt.Errorf(v4NoKey, op.Op, key, key)
	}
	adding := v4CopyFailed
	if op.Op == "move" {
		adding = fmt.Sprintf(v4MoveFailed, op.Path)
		var err error
		if object, err = library(object, Operation{Op: "remove", Path: op.From}); err != nil {
			return nil, err
		}
	}
	if destination, _ := locateV4(object, op.Path); destination == nil {
		return nil, fmt.Errorf(v4NoDestination, op.Op, op.Path)
	}
	result, err := library(object, Operation{Op: "add", Path: op.Path, Value: value})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", adding, errors.Unwrap(err))
	}
	return result, nil
}

// locateV4 returns the map or list in which the last key of a pointer selects, and
// that key; nil if the way there is not all maps and lists.
func locateV4(object map[string]any, pointer string) (parent any, key string) {
	keys := strings.Split(pointer, "/")[1:]
	if len(keys) == 0 {
		return nil, ""
	}
	parent = object
	for _, key := range keys[:len(keys)-1] {
		parent, _ = memberV4(parent, unescape(key))
	}
	switch parent.(type) {
	case map[string]any, []any:
		return parent, unescape(keys[len(keys)-1])
	}
	return nil, ""
}

// memberV4 returns the member that key selects in a map or list.
func memberV4(parent any, key string) (any, bool) {
	switch parent := parent.(type) {
	case map[string]any:
		member, ok := parent[key]
		return member, ok
	case []any:
		i, err := strconv.Atoi(key)
		if i < 0 {
			i += len(parent)
		}
		if err != nil || i < 0 || i >= len(parent) {
			return nil, false
		}
		return parent[i], true
	}
	return nil, false
}

func isMissingKey(parent any, key string) bool {
	object, ok := parent.(map[string]any)
	_, found := object[key]
	return ok && !found
}
