package admission

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/release"
	"github.com/preadmit/preadmit/engine/internal/schema"
)

// A Shape is the Go type of a value on an API server. Custom resources, and fields that can hold
// anything, have the zero Shape.
type Shape struct{ value *goValue }

// ShapeOf returns the Go type of the objects of a kind.
func ShapeOf(kind *schema.Kind) Shape {
	if kind == nil || kind.Custom || kind.Unknown {
		return Shape{}
	}
	return catalogOf(kind).shape(kind.APIVersion() + "." + kind.Kind.Kind)
}

// NamespaceShape returns the Go type of Namespaces in Kubernetes 1.minor.
func NamespaceShape(minor int) Shape { return catalogs[release.Index(minor)].shape("v1.Namespace") }

// RequestShape returns the Go type of AdmissionRequests in Kubernetes 1.minor.
func RequestShape(minor int) Shape {
	return catalogs[release.Index(minor)].shape("admission.k8s.io/v1.AdmissionRequest")
}

// requestTypes are the types of an AdmissionRequest, sorted, as in gotypes.txt.
const requestTypes = `admission.k8s.io/v1.AdmissionRequest uid!s kind!meta/v1.GroupVersionKind resource!meta/v1.GroupVersionResource subResource~s requestKind*meta/v1.GroupVersionKind requestResource*meta/v1.GroupVersionResource requestSubResource~s name~s namespace~s operation!s userInfo!authentication.k8s.io/v1.UserInfo object!r oldObject!r dryRun*b options!r
authentication.k8s.io/v1.UserInfo username~s uid~s groups~[s extra~{[s
meta/v1.GroupVersionKind group!s version!s kind!s
meta/v1.GroupVersionResource group!s version!s resource!s
`

// shape returns the Shape of a struct, or the zero Shape for an unknown name.
func (c *catalog) shape(name string) Shape {
	if c.lookup(name) == nil {
		return Shape{}
	}
	return Shape{&goValue{name: name, of: c}}
}

// IsStruct reports whether the type is a struct that CEL reads by its fields.
func (s Shape) IsStruct() bool { return s.value != nil && s.value.code == 0 }

// IsMap reports whether the type is a map.
func (s Shape) IsMap() bool { return s.value != nil && s.value.code == '{' }

// IsList reports whether the type is a slice.
func (s Shape) IsList() bool { return s.value != nil && s.value.code == '[' }

// IsQuantity reports whether the type is resource.Quantity, which CEL reads as a text.
func (s Shape) IsQuantity() bool { return s.value != nil && s.value.code == 'q' }

// Elem returns the type of the items of a slice.
func (s Shape) Elem() Shape { return Shape{s.value.elem} }

// At returns the type of a field of a struct, or of the values of a map.
func (s Shape) At(key string) Shape {
	switch {
	case s.IsMap():
		return s.Elem()
	case s.IsStruct():
		if f := s.value.object().byName[key]; f != nil {
			return Shape{&f.value}
		}
	}
	return Shape{}
}

// String returns the type as Go prints it. A named type of string is "string", because the table
// has no names for these.
func (s Shape) String() string {
	switch {
	case s.IsList():
		return "[]" + s.Elem().String()
	case s.IsMap():
		return "map[string]" + s.Elem().String()
	case s.IsStruct():
		return s.value.name[strings.LastIndexByte(s.value.name, '/')+1:]
	case s.value == nil:
		return "interface {}"
	}
	return basicTypes[s.value.code]
}

var basicTypes = map[byte]string{
	's': "string", 'b': "bool", 'i': "int32", 'l': "int64", 'f': "float64", 'y': "[]uint8",
	'q': "resource.Quantity", 't': "v1.Time", 'm': "v1.MicroTime", 'x': "intstr.IntOrString", 'r': "runtime.RawExtension",
	'j': "v1.JSON", 'B': "v1.JSONSchemaPropsOrBool", 'A': "v1.JSONSchemaPropsOrArray", 'S': "v1.JSONSchemaPropsOrStringArray",
}

// Print prints a value of the type, given as JSON, as Go prints it with %v. It differs for
// pointers, which it prints as 0x…, for quantities, which it prints as text, and for embedded
// structs, which it prints without braces.
func (s Shape) Print(value any) string {
	var parts []string
	switch v := value.(type) {
	case nil:
		return s.zero()
	case []any:
		for _, item := range v {
			parts = append(parts, s.Elem().Print(item))
		}
		return "[" + strings.Join(parts, " ") + "]"
	case map[string]any:
		if s.IsStruct() {
			return s.printStruct(v)
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, key+":"+s.At(key).Print(v[key]))
		}
		return "map[" + strings.Join(parts, " ") + "]"
	}
	return fmt.Sprint(value)
}

func (s Shape) printStruct(object map[string]any) string {
	if s.value.name == "meta/v1.GroupVersionKind" { // it implements fmt.Stringer
		return fmt.Sprintf("%v/%v, Kind=%v", object["group"], object["version"], object["kind"])
	}
	var parts []string
	for i := range s.value.object().fields {
		f := &s.value.object().fields[i]
		value, given := object[f.name]
		field := Shape{&f.value}
		isPointer := f.zero == '*' || f.zero == '^' && !field.IsList() && !field.IsMap()
		switch {
		case isPointer && given && value != nil:
			parts = append(parts, "0x…")
		case isPointer:
			parts = append(parts, "<nil>")
		default:
			parts = append(parts, field.Print(value))
		}
	}
	return "{" + strings.Join(parts, " ") + "}"
}

// zero returns what Go prints for the zero value of the type.
func (s Shape) zero() string {
	switch {
	case s.IsList():
		return "[]"
	case s.IsMap():
		return "map[]"
	case s.IsStruct():
		return s.printStruct(nil)
	case s.value == nil:
		return "<nil>"
	}
	return map[byte]string{'b': "false", 'i': "0", 'l': "0", 'f': "0", 'y': "[]", 't': "0001-01-01 00:00:00 +0000 UTC", 'm': "0001-01-01 00:00:00 +0000 UTC"}[s.value.code]
}

// Equal reports whether two values of the type are equal in Go
// (k8s.io/apimachinery/pkg/api/equality.Semantic): 1Gi equals 1024Mi, and a missing list or map
// equals an empty one.
func (s Shape) Equal(a, b any) bool {
	switch {
	case s.IsList():
		list, _ := a.([]any)
		other, _ := b.([]any)
		return slices.EqualFunc(list, other, s.Elem().Equal)
	case s.IsMap(), s.IsStruct() && a != nil && b != nil:
		entries, _ := a.(map[string]any)
		others, _ := b.(map[string]any)
		return s.contains(entries, others) && s.contains(others, entries)
	case s.IsQuantity():
		return equalQuantities(a, b)
	}
	return change.Equal(a, b)
}

// contains reports whether the first struct or map has the entries of the second.
func (s Shape) contains(entries, others map[string]any) bool {
	for key, other := range others {
		if !s.At(key).Equal(entries[key], other) {
			return false
		}
	}
	return true
}

func equalQuantities(a, b any) bool {
	text, isText := a.(string)
	other, isToo := b.(string)
	if !isText || !isToo {
		return false
	}
	x, err := resource.ParseQuantity(text)
	y, otherErr := resource.ParseQuantity(other)
	return err == nil && otherErr == nil && x.Cmp(y) == 0
}
