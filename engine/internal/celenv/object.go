package celenv

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"google.golang.org/protobuf/types/known/structpb"
)

// opaque is the common part of our CEL types: CEL can pass their values around, but cannot
// convert them.
type opaque struct{ typ *types.Type }

// Type implements ref.Val.
func (o opaque) Type() ref.Type { return o.typ }

// ConvertToNative implements ref.Val.
func (o opaque) ConvertToNative(want reflect.Type) (any, error) {
	return nil, fmt.Errorf("unable to convert %s to %v", o.typ, want)
}

// ConvertToType implements ref.Val.
func (o opaque) ConvertToType(want ref.Type) ref.Val {
	if want == types.TypeType {
		return types.NewTypeTypeWithParam(o.typ)
	}
	return types.NewErr("unsupported conversion into %v", want)
}

// objectValue is the value of an Object literal. The API server's value converts every level of
// nesting three times; this one converts each level once.
type objectValue struct {
	opaque
	fields  map[string]ref.Val
	convert conversion
	// size is the size of the value; 0 until it is computed.
	size int
}

func newObjectValue(name string, fields map[string]ref.Val, convert conversion) *objectValue {
	return &objectValue{opaque: opaque{objectTypeOf(name)}, fields: fields, convert: convert}
}

// objectTypes are the types of Object literals by name. Expressions may use any number of names.
var objectTypes sync.Map

func objectTypeOf(name string) *types.Type {
	if known, ok := objectTypes.Load(name); ok {
		return known.(*types.Type)
	}
	made, _ := objectTypes.LoadOrStore(name, types.NewObjectType(name))
	return made.(*types.Type)
}

// Equal implements ref.Val.
func (o *objectValue) Equal(other ref.Val) ref.Val {
	p, ok := other.(*objectValue)
	if !ok || o.typ.TypeName() != p.typ.TypeName() || len(o.fields) != len(p.fields) {
		return types.False
	}
	for name, value := range o.fields {
		if other, ok := p.fields[name]; !ok || value.Equal(other) != types.True {
			return types.False
		}
	}
	return types.True
}

// IsZeroValue implements traits.Zeroer.
func (o *objectValue) IsZeroValue() bool { return len(o.fields) == 0 }

// Value implements ref.Val: it returns the fields as a map.
func (o *objectValue) Value() any {
	native, err := o.native(o.convert)
	if err != nil {
		return types.WrapErr(err)
	}
	return native
}

var (
	nativeObject = reflect.TypeFor[map[string]any]()
	nativeJSON   = reflect.TypeFor[*structpb.Value]()
)

// ConvertToNative implements ref.Val.
func (o *objectValue) ConvertToNative(want reflect.Type) (any, error) {
	native, err := o.native(o.convert)
	switch {
	case err != nil:
		return nil, err
	case want == nativeObject:
		return native, nil
	case want == nativeJSON:
		if value, found := goValueIn(native); found {
			return nil, fmt.Errorf("proto: invalid type: %v", value.goType)
		}
		s, err := structpb.NewStruct(native)
		if err != nil {
			return nil, err
		}
		return structpb.NewStructValue(s), nil
	default:
		return o.opaque.ConvertToNative(want)
	}
}

// native converts the fields of the object. The schema refuses values that cannot be converted,
// like null, uint or timestamp values.
func (o *objectValue) native(convert conversion) (map[string]any, error) {
	result := make(map[string]any, len(o.fields))
	for name, value := range o.fields {
		converted, err := convert(value)
		if err != nil {
			return nil, fmt.Errorf("fail to convert field %q: %w", name, err)
		}
		result[name] = converted
	}
	return result, nil
}

// conversion converts the value of an Object's field to a Go value.
type conversion func(ref.Val) (any, error)

// conversionOf returns the conversion of kube-apiserver 1.minor.
func conversionOf(minor int) conversion {
	if minor >= 37 {
		return since37
	}
	return before37
}

// before37 converts the first level of a list or map literal. Object literals become maps at any
// depth, but nested lists and maps stay CEL values.
func before37(value ref.Val) (any, error) {
	if isLiteral(value) {
		return parts(value, itself, mapKey)
	}
	return itself(value)
}

// since37 converts literals as before37 does. In other lists and maps, for instance the sum of
// two lists, each item is converted like a field (kube-apiserver 1.37.0 and 1.37.1).
func since37(value ref.Val) (any, error) {
	if isLiteral(value) {
		return before37(value)
	}
	return parts(value, since37, mapKey)
}

// everyLevel converts lists and maps at any depth. No server does this.
func everyLevel(value ref.Val) (any, error) {
	if object, ok := value.(*objectValue); ok {
		return object.native(everyLevel)
	}
	return parts(value, everyLevel, mapKey)
}

// isLiteral reports whether a value is a list or map literal, or the result of a macro.
func isLiteral(value ref.Val) bool {
	if _, ok := value.(*objectValue); ok {
		return false
	}
	switch unread(value).(type) {
	case []ref.Val, map[ref.Val]ref.Val:
		return true
	}
	return false
}

// itself returns the Go value of a CEL value. For an Object literal that cannot be converted,
// this is the error.
func itself(value ref.Val) (any, error) { return value.Value(), nil }

// parts converts the items of a list, or the values of a map. name returns the text of a
// key.
func parts(value ref.Val, convert conversion, name func(key ref.Val) (string, error)) (any, error) {
	switch value := value.(type) {
	case traits.Lister:
		list := []any{}
		for it := value.Iterator(); it.HasNext() == types.True; {
			item, err := convert(it.Next())
			if err != nil {
				return nil, err
			}
			list = append(list, item)
		}
		return list, nil
	case traits.Mapper:
		object := map[string]any{}
		for it := value.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			text, err := name(key)
			if err != nil {
				return nil, err
			}
			if object[text], err = convert(value.Get(key)); err != nil {
				return nil, err
			}
		}
		return object, nil
	}
	return itself(value)
}

// mapKey returns a key whose Go value is a string.
func mapKey(key ref.Val) (string, error) {
	if text, ok := key.Value().(string); ok {
		return text, nil
	}
	return "", fmt.Errorf("map key %q is of type %T, not string", key, key)
}

// stringKey returns a key that is a string. The error about others is problem.
func stringKey(problem string) func(key ref.Val) (string, error) {
	return func(key ref.Val) (string, error) {
		if text, ok := key.(types.String); ok {
			return string(text), nil
		}
		return "", errors.New(problem)
	}
}

// checkTypeNames reports every Object literal whose type name differs from the field path at
// which it is.
func (o *objectValue) checkTypeNames() error {
	if namesAreRight(o, o.typ.TypeName()) {
		return nil
	}
	return errors.Join(typeNameErrors(o, o.typ.TypeName())...)
}

// namesAreRight reports whether there is no typeNameError, which is the usual case. name is the
// type name that a literal must have.
func namesAreRight(value ref.Val, name string) bool {
	if object, ok := value.(*objectValue); ok {
		if object.typ.TypeName() != name {
			return false
		}
		for field, inside := range object.fields {
			switch inside := inside.(type) {
			case types.String, types.Bool, types.Int:
			case *objectValue:
				of, ok := strings.CutPrefix(inside.typ.TypeName(), name)
				if of, dotted := strings.CutPrefix(of, "."); !ok || !dotted || of != field || !namesAreRight(inside, inside.typ.TypeName()) {
					return false
				}
			default:
				if !namesAreRight(inside, name+"."+field) {
					return false
				}
			}
		}
		return true
	}
	list, ok := value.Value().([]ref.Val)
	if !ok {
		return len(typeNameErrors(value, name)) == 0
	}
	return !slices.ContainsFunc(list, func(item ref.Val) bool { return !namesAreRight(item, name) })
}

// TypeNameError reports that an Object literal has another type name than its place wants.
type TypeNameError struct{ Name, Want string }

// Error returns the server's message.
func (e *TypeNameError) Error() string {
	return fmt.Sprintf("unexpected type name %q, expected %q, which matches field name path from root Object type", e.Name, e.Want)
}

func typeNameErrors(value ref.Val, path string) []error {
	var errs []error
	if object, ok := value.(*objectValue); ok {
		if name := object.typ.TypeName(); name != path {
			errs = append(errs, &TypeNameError{name, path})
		}
		for _, field := range slices.Sorted(maps.Keys(object.fields)) {
			errs = append(errs, typeNameErrors(object.fields[field], path+"."+field)...)
		}
		return errs
	}
	switch raw := unread(value).(type) {
	case []ref.Val:
		for _, item := range raw {
			errs = append(errs, typeNameErrors(item, path)...)
		}
	case map[ref.Val]ref.Val:
		for _, item := range raw {
			errs = append(errs, typeNameErrors(item, path)...)
		}
		slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	}
	return errs
}

// ApplyConfiguration evaluates a mutation that is an Object. Values that no object can have
// (null, uint, timestamps, nested literals) stay Go values, which package schema refuses with
// the API server's texts. The result is shared, and must not be modified.
func (a *Activation) ApplyConfiguration(p *Program) (map[string]any, error) {
	value, err := a.eval(p, a.host.mutationBudget())
	if err != nil {
		return nil, err
	}
	if known := p.given.Load(); known != nil && known.object != nil {
		return known.object, nil
	}
	object, ok := value.(*objectValue)
	if !ok {
		return nil, fmt.Errorf("unsupported return type from ApplyConfiguration expression: %v", value.Type())
	}
	if err := object.checkTypeNames(); err != nil {
		return nil, fmt.Errorf("type mismatch: %w", err)
	}
	native, err := object.native(object.convert)
	if err != nil {
		return nil, errors.New("invalid return type: *dynamic.ObjectVal")
	}
	if known := p.given.Load(); known != nil {
		p.given.Store(&given{value: known.value, cost: known.cost, object: native})
	}
	return native, nil
}
