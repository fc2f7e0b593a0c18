package celenv

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// values declares functions on maps, numbers and names.
func (l kyvernoLibrary) values() []cel.EnvOption {
	anyMap, anyList := cel.MapType(cel.DynType, cel.DynType), cel.ListType(cel.DynType)
	toMap := func(id string) cel.FunctionOpt {
		return cel.Overload(id, []*cel.Type{anyList, anyList, cel.StringType, cel.StringType}, anyMap, cel.FunctionBinding(l.listObjToMap))
	}
	account := func(id string) cel.FunctionOpt {
		return cel.Overload(id, []*cel.Type{cel.StringType}, serviceAccountType, cel.UnaryBinding(parseServiceAccount))
	}
	return []cel.EnvOption{
		cel.Function("listObjToMap", toMap("list_of_object_to_map_non_prefixed")),
		cel.Function("transform.listObjToMap", toMap("list_of_object_to_map_prefixed")),
		cel.Function("parseServiceAccount", account("parse_service_account_string_non_prefixed")),
		cel.Function("user.parseServiceAccount", account("parse_service_account_string_prefixed")),
		cel.Function("math.round", cel.Overload("math_round_float_int", []*cel.Type{cel.DoubleType, cel.IntType}, cel.DoubleType,
			cel.BinaryBinding(func(value, digits ref.Val) ref.Val {
				shift := math.Pow(10, float64(digits.(types.Int)))
				return types.Double(math.Round(float64(value.(types.Double))*shift) / shift)
			}))),
	}
}

// listObjToMap makes a map of two lists of maps. For each pair of maps, the value under keyName
// in the first is the key, and the value under valueName in the second is the value.
func (l kyvernoLibrary) listObjToMap(args ...ref.Val) ref.Val {
	keys, values := args[0].(traits.Lister), args[1].(traits.Lister)
	if keys.Size() != values.Size() {
		return types.WrapErr(fmt.Errorf("listObjToMap must take lists of equal length. list1: %d, list2: %d", keys.Size(), values.Size()))
	}
	result := map[ref.Val]ref.Val{}
	for i := types.Int(0); i < keys.Size().(types.Int); i++ {
		of, ok := keys.Get(i).(traits.Mapper)
		if !ok {
			return types.WrapErr(errors.New("object cannot be handled as a map string to any in the key object list"))
		}
		key, _ := of.Find(args[2])
		name, ok := key.(types.String)
		if !ok {
			return types.WrapErr(errors.New("the passed key name cannot be handled as a string in the key object list"))
		}
		from, ok := values.Get(i).(traits.Mapper)
		if !ok {
			return types.WrapErr(errors.New("object cannot be handled as a map string to any in the value object list"))
		}
		value, found := from.Find(args[3])
		if !found {
			value = types.NullValue
		}
		result[name] = value
	}
	return l.NativeToValue(result)
}

var (
	serviceAccountType = types.NewObjectType("user.ServiceAccount")
	exceptionType      = types.NewObjectType("libs.Exception")
)

func parseServiceAccount(value ref.Val) ref.Val {
	account, ok := strings.CutPrefix(string(value.(types.String)), "system:serviceaccount:")
	namespace, name, found := strings.Cut(account, ":")
	if !ok || !found {
		namespace, name = "", ""
	}
	return newRecord("user.ServiceAccount", map[string]ref.Val{"Name": types.String(name), "Namespace": types.String(namespace)})
}

// record is a value of a declared type. Missing fields are empty.
type record struct {
	opaque
	fields map[string]ref.Val
}

// newRecord returns a value of one of the types of kyvernoRecords.
func newRecord(name string, fields map[string]ref.Val) ref.Val {
	all := map[string]ref.Val{}
	for field, t := range kyvernoRecords[name] {
		all[field] = types.String("")
		if t.Kind() == types.ListKind {
			all[field] = types.NewStringList(types.DefaultTypeAdapter, nil)
		}
	}
	maps.Copy(all, fields)
	return &record{opaque{types.NewObjectType(name)}, all}
}

// Get implements traits.Indexer.
func (r *record) Get(field ref.Val) ref.Val {
	name, _ := field.Value().(string)
	if value, ok := r.fields[name]; ok {
		return value
	}
	return types.NewErr("no such field '%s'", name)
}

// IsSet implements traits.FieldTester.
func (r *record) IsSet(field ref.Val) ref.Val {
	value := r.Get(field)
	zero, ok := value.(traits.Zeroer)
	return types.Bool(!types.IsError(value) && !(ok && zero.IsZeroValue()))
}

// Equal implements ref.Val.
func (r *record) Equal(other ref.Val) ref.Val {
	s, ok := other.(*record)
	if !ok || r.typ.TypeName() != s.typ.TypeName() {
		return types.False
	}
	for _, name := range slices.Sorted(maps.Keys(r.fields)) {
		if r.fields[name].Equal(s.fields[name]) != types.True {
			return types.False
		}
	}
	return types.True
}

// Value implements ref.Val.
func (r *record) Value() any { return r }
