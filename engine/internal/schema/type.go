package schema

import (
	"iter"
	"regexp"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
)

// Scalar is the type of values without fields or items.
type Scalar uint8

// The scalars of the Kubernetes API. Maps, structs and lists are NotScalar.
const (
	NotScalar Scalar = iota
	String
	Integer
	Number
	Boolean
	IntOrString
	Quantity
	// Untyped allows any value: x-kubernetes-preserve-unknown-fields, RawExtension, JSON,
	// FieldsV1.
	Untyped
)

// ListType says how lists merge (x-kubernetes-list-type).
type ListType uint8

// The list types. Lists are atomic unless their schema says otherwise.
const (
	Atomic ListType = iota
	Set
	Associative // x-kubernetes-list-type: map
)

// Field is a declared field of a struct type.
type Field struct {
	Name string
	Type *Type
	// Default is the default of the field, nil if the field has no default. It must not be
	// modified.
	Default any
	// Required says that the schema lists the field as required.
	Required bool
	// Nullable says that the field may be null (custom resources only).
	Nullable bool
	// Zero says how the API server writes the field when it has its zero value in Go (Go structs
	// only).
	Zero Zero
}

// Zero says how a field of a Go struct is written as JSON when it has its zero value.
type Zero byte

// The ways to write a zero value, with the characters of the embedded text.
const (
	ZeroWritten   Zero = '!' // a value without omitempty, or a struct
	ZeroOmitted   Zero = '~' // a value with omitempty
	StructOmitted Zero = '?' // a struct or time with omitzero
	NilOmitted    Zero = '*' // a pointer with omitempty, whose zero value is nil
	NilWritten    Zero = '^' // null for a pointer, list or map without omitempty
)

// Omits reports whether an explicit zero value is omitted.
func (z Zero) Omits() bool { return z == ZeroOmitted || z == StructOmitted }

// Writes reports whether the field is written even if it is absent.
func (z Zero) Writes() bool { return z == ZeroWritten || z == NilWritten }

// Type describes the values of a field: a scalar, a list (Elem and List are set), a
// struct (Fields, sorted by name) or a map (Elem is set, List is not). A struct may
// have an Elem too, for the fields it does not declare. Types are shared and must
// not be modified.
type Type struct {
	// Name is the name of the OpenAPI component ("io.k8s.api.core.v1.Container"); "" for types
	// that are written in place.
	Name   string
	Scalar Scalar
	// Format is the OpenAPI format: int32, int64, double, date-time, byte ….
	Format string

	Fields []Field
	// Elem is the type of the items of a list, or of the values of a map.
	Elem *Type
	// ElemDefault and ElemNullable are Default and Nullable of the items of a list or of the
	// values of a map (custom resources only).
	ElemDefault  any
	ElemNullable bool
	// IsList distinguishes a list from a map.
	IsList bool
	List   ListType
	// ListKeys are the fields that identify the items of an associative list.
	ListKeys []string
	// AtomicMap says that a map or struct is replaced as a whole
	// (x-kubernetes-map-type: atomic).
	AtomicMap bool
	// Preserve says that undeclared fields are kept
	// (x-kubernetes-preserve-unknown-fields).
	Preserve bool
	// Prunes says that undeclared fields are dropped after a merge, even if Elem allows a patch
	// to write them (objects of custom resources).
	Prunes bool
	// Embedded says that the value is a complete object with apiVersion, kind and metadata
	// (x-kubernetes-embedded-resource).
	Embedded bool
	// Strategy is x-kubernetes-patch-strategy and MergeKey x-kubernetes-patch-merge-key,
	// for strategic merge patches.
	Strategy, MergeKey string
	// Minor is the version of Kubernetes, 1.Minor, in which the type is a Go struct; 0 for all
	// other types.
	Minor int
	// Bounds are the bounds of strings (custom resources only); nil if they have none.
	Bounds *Bounds
	// Facts are what a change.Memo can remember about values of the type.
	Facts Facts

	// order has the fields in the order of the Go struct, each as '0' plus its index.
	order string
}

// Bounds are the bounds of strings in the schema of a custom resource.
type Bounds struct {
	// Enum has the allowed values; nil allows all.
	Enum []string
	// Pattern must match a value; nil allows all. It panics if the schema has no valid pattern.
	Pattern func() *regexp.Regexp
	// MaxLength is the length of the longest value in bytes; 0 is no bound.
	MaxLength int
}

// Facts are what a change.Memo can remember about the values of a type. Each package defines its
// own facts.
type Facts struct {
	// Decoded, Pruned and Defaulted are for package admission, Merged is for package strategicmerge.
	Decoded, Pruned, Defaulted, Merged change.Fact

	conforms, decodes change.Fact
}

var _ change.Shape = (*Type)(nil)

// validated are fields that validation requires although the schema does not, with the types that have
// them: pods, pod controllers, and what these have a template of.
var validated = map[string][]string{
	"spec": {
		"core.v1.Pod", "core.v1.PodTemplateSpec", "core.v1.ReplicationController", "batch.v1.Job", "batch.v1.JobTemplateSpec", "batch.v1.CronJob",
		"apps.v1.Deployment", "apps.v1.DaemonSet", "apps.v1.StatefulSet", "apps.v1.ReplicaSet",
	},
	"template": {"apps.v1.ReplicaSetSpec", "core.v1.ReplicationControllerSpec"},
}

// Requires reports whether every valid value of a type has a field.
func (t *Type) Requires(key string) bool {
	declared := t.Declared(key)
	return declared != nil && (declared.Required || slices.Contains(validated[key], strings.TrimPrefix(t.Name, "io.k8s.api.")))
}

// Declared returns the declared field of a struct; nil if the field is missing, or if t is nil.
func (t *Type) Declared(name string) *Field {
	if t == nil {
		return nil
	}
	low, high := 0, len(t.Fields) // package slices would copy every field that it compares
	for low < high {
		if middle := (low + high) / 2; isBefore(t.Fields[middle].Name, name) {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low == len(t.Fields) || t.Fields[low].Name != name {
		return nil
	}
	return &t.Fields[low]
}

// isBefore reports whether a < b. Most names differ in their first letters.
func isBefore(a, b string) bool {
	if len(a) > 0 && len(b) > 0 && a[0] != b[0] {
		return a[0] < b[0]
	}
	return a < b
}

// FieldNames returns the names of the declared fields.
func (t *Type) FieldNames() []string {
	var names []string
	for _, f := range t.Fields {
		names = append(names, f.Name)
	}
	return names
}

// GoFields returns the fields of a Go struct in its order.
func (t *Type) GoFields() iter.Seq[*Field] {
	return func(yield func(*Field) bool) {
		for i := range len(t.order) {
			if !yield(&t.Fields[t.order[i]-'0']) {
				return
			}
		}
	}
}

// FieldType returns the type of the value under name in a struct or a map; nil if the type is
// not known.
func (t *Type) FieldType(name string) *Type {
	if f := t.Declared(name); f != nil {
		return f.Type
	}
	if t == nil || t.IsList {
		return nil
	}
	return t.Elem
}

// ItemType returns the type of a list's items; nil if t is not a list.
func (t *Type) ItemType() *Type {
	if t == nil || !t.IsList {
		return nil
	}
	return t.Elem
}

// At returns the type of the value at a path; nil if it is not known.
func (t *Type) At(path change.Path) *Type {
	for _, e := range path {
		if e.IsIndex() {
			t = t.ItemType()
		} else {
			t = t.FieldType(e.Key)
		}
	}
	return t
}

// Field implements change.Shape.
func (t *Type) Field(name string) change.Shape { return t.FieldType(name) }

// Item implements change.Shape.
func (t *Type) Item() change.Shape { return t.ItemType() }

// Keys implements change.Shape: it returns the keys of an associative list.
func (t *Type) Keys() []string {
	if t == nil {
		return nil
	}
	return t.ListKeys
}
