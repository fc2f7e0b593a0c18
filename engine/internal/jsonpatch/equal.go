package jsonpatch

import (
	"fmt"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/number"
)

// failed returns the error of a failed test.
func failed(op Operation) error {
	return fmt.Errorf("testing value %s failed: %w", op.Path, ErrTestFailed)
}

// equal compares a value of the document with a value of an operation. Numbers are compared as
// JSON prints them: 3.0 is 3. like says whether the host treats a null that an operation wrote
// as equal to a value.
func equal(value, want any, like func(want any) bool) bool {
	if _, ok := value.(null); ok {
		return like(want)
	}
	if object, ok := mapOf(value); ok {
		other, ok := want.(map[string]any)
		if !ok || len(object) != len(other) {
			return false
		}
		for key, member := range object {
			if wanted, ok := other[key]; !ok || !equal(member, wanted, like) {
				return false
			}
		}
		return true
	}
	if list, ok := listOf(value); ok {
		other, ok := want.([]any)
		if !ok || len(list) != len(other) {
			return false
		}
		for i, item := range list {
			if !equal(item, other[i], like) {
				return false
			}
		}
		return true
	}
	return change.Equal(number.Wholes(value), want)
}

func isEmptyMap(value any) bool {
	object, ok := mapOf(value)
	return ok && len(object) == 0
}

func isEmptyList(value any) bool {
	list, ok := listOf(value)
	return ok && len(list) == 0
}
