package change

import "reflect"

// Equal reports whether two values are the same. Numbers are equal only in the
// same type: 1 is not 1.0, as in CEL and in a JSON Patch test.
func Equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		if Same(a, b) {
			return true // what a change did not touch is often shared
		}
		for key, value := range a {
			other, ok := b[key]
			if !ok || !Equal(value, other) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		if Same(a, b) {
			return true
		}
		for i := range a {
			if !Equal(a[i], b[i]) {
				return false
			}
		}
		return true
	default:
		switch b.(type) {
		case map[string]any, []any:
			return false // comparing these with == would panic
		}
		return a == b
	}
}

// Same reports whether two values are equal without looking into maps and lists: these
// are the same only if they are one.
func Same(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && reflect.ValueOf(a).UnsafePointer() == reflect.ValueOf(b).UnsafePointer()
	case []any:
		b, ok := b.([]any)
		return ok && len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
	default:
		switch b.(type) {
		case map[string]any, []any:
			return false
		}
		return a == b
	}
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
