package change

import (
	"reflect"
	"unsafe"
)

// Equal reports whether two values are the same. Numbers are equal only in the same
// type: 1 is not 1.0, as in CEL and in a JSON Patch test. Of maps and lists that are one,
// as what a change did not touch is, it looks no further.
func Equal(a, b any) bool {
	switch a := a.(type) {
	case string:
		b, ok := b.(string)
		return ok && a == b
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && equalMaps(a, b)
	case []any:
		b, ok := b.([]any)
		return ok && equalLists(a, b)
	}
	return sameScalar(a, b)
}

func equalMaps(a, b map[string]any) bool {
	if len(a) != len(b) {
		return false
	}
	if sameMap(a, b) {
		return true
	}
	for key, value := range a {
		other, ok := b[key]
		if !ok || !Equal(value, other) {
			return false
		}
	}
	return true
}

func equalLists(a, b []any) bool {
	if len(a) != len(b) {
		return false
	}
	if sameList(a, b) {
		return true
	}
	for i := range a {
		if !Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

// Same reports whether two values are equal without looking into maps and lists: these
// are the same only if they are one.
func Same(a, b any) bool {
	switch a := a.(type) {
	case string:
		b, ok := b.(string)
		return ok && a == b
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && sameMap(a, b)
	case []any:
		b, ok := b.([]any)
		return ok && sameList(a, b)
	}
	return sameScalar(a, b)
}

func sameMap(a, b map[string]any) bool {
	return reflect.ValueOf(a).UnsafePointer() == reflect.ValueOf(b).UnsafePointer()
}

func sameList(a, b []any) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

func sameScalar(a, b any) bool {
	switch b.(type) {
	case map[string]any, []any:
		return false // comparing these with == would panic
	}
	return a == b
}

// identity tells a map or a list from others: where it is, and how long a list is there.
// Other values and empty lists have none.
func identity(value any) (at unsafe.Pointer, length int) {
	switch value := value.(type) {
	case map[string]any:
		return reflect.ValueOf(value).UnsafePointer(), 0
	case []any:
		if len(value) > 0 {
			return unsafe.Pointer(&value[0]), len(value)
		}
	}
	return nil, 0
}

// Clone copies a value and everything in it.
func Clone(value any) any {
	switch value := value.(type) {
	case map[string]any:
		return CloneObject(value)
	case []any:
		if value == nil {
			return value
		}
		list := make([]any, len(value))
		for i := range value {
			list[i] = Clone(value[i])
		}
		return list
	default:
		return value
	}
}

// CloneObject copies an object and everything in it.
func CloneObject(object map[string]any) map[string]any {
	if object == nil {
		return nil
	}
	copied := make(map[string]any, len(object))
	for key, value := range object {
		copied[key] = Clone(value)
	}
	return copied
}

// Describe says what kind of value it is, for messages that must not tell the value
// itself.
func Describe(value any) string {
	switch value.(type) {
	case map[string]any:
		return "a map"
	case []any:
		return "a list"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case int64:
		return "a whole number"
	case float64:
		return "a number with a fraction"
	}
	return "null"
}
