package admission

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/schema"
)

// A GoType is the Go type of a value on an API server. Custom resources, and fields that can hold
// anything, have the zero GoType.
type GoType struct{ typ *schema.Type }

// GoTypeOf returns the Go type of the objects of a kind.
func GoTypeOf(kind *schema.Kind) GoType { return GoType{kind.GoType()} }

// NamespaceGoType returns the Go type of Namespaces in Kubernetes 1.minor.
func NamespaceGoType(minor int) GoType {
	return GoType{schema.Component(minor, "io.k8s.api.core.v1.Namespace")}
}

// RequestGoType returns the Go type of AdmissionRequests in Kubernetes 1.minor.
func RequestGoType(minor int) GoType {
	return GoType{schema.Component(minor, "io.k8s.api.admission.v1.AdmissionRequest")}
}

// is reports whether the type is known and of a kind.
func (s GoType) is(kind goKind) bool { return s.typ != nil && kindOf(s.typ) == kind }

// IsStruct reports whether the type is a struct that CEL reads by its fields.
func (s GoType) IsStruct() bool { return s.is(goStruct) }

// IsMap reports whether the type is a map.
func (s GoType) IsMap() bool { return s.is(goMap) }

// IsList reports whether the type is a slice.
func (s GoType) IsList() bool { return s.is(goList) }

// IsQuantity reports whether the type is resource.Quantity, which CEL reads as a text.
func (s GoType) IsQuantity() bool { return s.is(goQuantity) }

// Elem returns the type of the items of a slice.
func (s GoType) Elem() GoType { return GoType{s.typ.Elem} }

// At returns the type of a field of a struct, or of the values of a map.
func (s GoType) At(key string) GoType {
	switch {
	case s.IsMap():
		return s.Elem()
	case s.IsStruct():
		if f := s.typ.Declared(key); f != nil {
			return GoType{f.Type}
		}
	}
	return GoType{}
}

// String returns the type as Go prints it. A named type of string is "string", because the table
// has no names for these.
func (s GoType) String() string {
	if s.typ == nil {
		return "interface {}"
	}
	return s.typ.GoName()
}

// Print prints a value of the type, given as JSON, as Go prints it with %v. It differs for
// pointers, which it prints as 0x…, for quantities, which it prints as text, and for embedded
// structs, which it prints without braces.
func (s GoType) Print(value any) string {
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

func (s GoType) printStruct(object map[string]any) string {
	if s.typ.Name == meta+"GroupVersionKind" { // it implements fmt.Stringer
		return fmt.Sprintf("%v/%v, Kind=%v", object["group"], object["version"], object["kind"])
	}
	var parts []string
	for f := range s.typ.GoFields() {
		value, given := object[f.Name]
		field := GoType{f.Type}
		isPointer := f.Zero == schema.NilOmitted || f.Zero == schema.NilWritten && !field.IsList() && !field.IsMap()
		switch {
		case isPointer && given && value != nil:
			parts = append(parts, "0x…")
		case isPointer && field.IsStruct(): // it has a String method, as all structs of the API
			parts = append(parts, "nil")
		case isPointer:
			parts = append(parts, "<nil>")
		default:
			parts = append(parts, field.Print(value))
		}
	}
	return "{" + strings.Join(parts, " ") + "}"
}

// zero returns what Go prints for the zero value of the type.
func (s GoType) zero() string {
	switch {
	case s.IsList():
		return "[]"
	case s.IsMap():
		return "map[]"
	case s.IsStruct():
		return s.printStruct(nil)
	case s.typ == nil:
		return "<nil>"
	}
	return map[goKind]string{goBool: "false", goInt32: "0", goInt64: "0", goFloat: "0", goBytes: "[]", goTime: zeroTime, goMicroTime: zeroTime}[kindOf(s.typ)]
}

const zeroTime = "0001-01-01 00:00:00 +0000 UTC"

// Equal reports whether two values of the type are equal in Go
// (k8s.io/apimachinery/pkg/api/equality.Semantic): 1Gi equals 1024Mi, and a missing list or map
// equals an empty one.
func (s GoType) Equal(a, b any) bool {
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
func (s GoType) contains(entries, others map[string]any) bool {
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
