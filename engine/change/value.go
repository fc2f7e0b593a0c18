package change

import (
	"maps"
	"math"
	"slices"
	"unsafe"
)

// Equal reports whether two values are equal. Numbers of different types are not equal: 1 is not
// 1.0, as in CEL and in a JSON Patch test. Equal does not look into maps and lists that are
// identical, such as the parts that a change shares.
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

// Same reports whether two values are equal, but does not look into maps and lists: they are the
// same only if they are identical.
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

func sameMap(a, b map[string]any) bool { return addressOf(a) == addressOf(b) }

// addressOf returns the address of a map, which is what a variable of its type holds. Package reflect
// takes ten times as long.
func addressOf(object map[string]any) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&object))
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

// identity returns the address of a map or list, and the length of a list. For other values and
// empty lists the address is nil.
func identity(value any) (at unsafe.Pointer, length int) {
	switch value := value.(type) {
	case map[string]any:
		return addressOf(value), 0
	case []any:
		if len(value) > 0 {
			return unsafe.Pointer(&value[0]), len(value)
		}
	}
	return nil, 0
}

// Clone returns a deep copy of a value.
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

// CloneObject returns a deep copy of an object.
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

// List returns a list with the items of another type of list.
func List[T any](items []T) []any {
	list := make([]any, len(items))
	for i, item := range items {
		list[i] = item
	}
	return list
}

// Copies are the maps and lists of an object that may be modified, because they are copies of shared
// ones. The zero value has none and takes none.
type Copies map[unsafe.Pointer]bool

// Object returns a copy of a map with the same members; the map itself if it is a copy.
func (c Copies) Object(object map[string]any) map[string]any {
	at, _ := identity(object)
	if c[at] {
		return object
	}
	copied := maps.Clone(object)
	if copied == nil {
		copied = map[string]any{}
	}
	if c != nil {
		at, _ = identity(copied)
		c[at] = true
	}
	return copied
}

// list is Object for a list.
func (c Copies) list(list []any) []any {
	at, _ := identity(list)
	if at == nil || c[at] {
		return list
	}
	copied := slices.Clone(list)
	at, _ = identity(copied)
	c[at] = true
	return copied
}

// Apply is Apply for one change of an object that is a copy. It modifies no shared map or list.
func (c Copies) Apply(object map[string]any, one Change) error {
	c.around(object, one.Path)
	return Apply(object, []Change{one})
}

// around makes copies of the maps and lists around the value at a path of an object.
func (c Copies) around(object map[string]any, path Path) {
	around := any(object)
	for i := range len(path) - 1 {
		inside, found := path[i : i+1].Get(around)
		if !found {
			return
		}
		switch value := inside.(type) {
		case map[string]any:
			inside = c.Object(value)
		case []any:
			inside = c.list(value)
		}
		switch around := around.(type) {
		case map[string]any:
			around[path[i].Key] = inside
		case []any:
			around[path[i].Index] = inside
		}
		around = inside
	}
}

// WithItem sets an item of out. out is in until an item differs, and a copy from then on.
func WithItem(in, out []any, i int, item any) []any {
	if Same(in[i], item) {
		return out
	}
	if Same(in, out) {
		out = slices.Clone(in)
	}
	out[i] = item
	return out
}

// IsCollection reports whether a value is a map or a list.
func IsCollection(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// Describe returns the type of a value, for messages that must not contain the value.
func Describe(value any) string {
	switch v := value.(type) {
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
		if math.Abs(v) >= 1<<63 {
			return "a number beyond 64 bits"
		}
		return "a number with a fraction"
	}
	return "null"
}
