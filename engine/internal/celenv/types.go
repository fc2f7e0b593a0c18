package celenv

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// The declared types. As on the API server, a field that is not declared is a compile error. The
// fields of object, oldObject and params are not declared at all.
var (
	requestType   = types.NewObjectType("kubernetes.AdmissionRequest")
	namespaceType = types.NewObjectType("kubernetes.Namespace")
	variablesType = types.NewObjectType("kubernetes.variables")
	objectType    = types.NewObjectType("Object")
	patchType     = types.NewObjectType("JSONPatch")

	patchesType = types.NewListType(patchType)

	stringList = types.NewListType(types.StringType)
)

// structs are the fields of the declared types, after k8s.io/apiserver v0.36.3,
// pkg/admission/plugin/cel/compile.go.
var structs = map[string]map[string]*types.Type{
	"kubernetes.AdmissionRequest": {
		"kind":               types.NewObjectType("kubernetes.GroupVersionKind"),
		"resource":           types.NewObjectType("kubernetes.GroupVersionResource"),
		"subResource":        types.StringType,
		"requestKind":        types.NewObjectType("kubernetes.GroupVersionKind"),
		"requestResource":    types.NewObjectType("kubernetes.GroupVersionResource"),
		"requestSubResource": types.StringType,
		"name":               types.StringType,
		"namespace":          types.StringType,
		"operation":          types.StringType,
		"userInfo":           types.NewObjectType("kubernetes.UserInfo"),
		"dryRun":             types.BoolType,
		"options":            types.DynType,
	},
	"kubernetes.GroupVersionKind":     {"group": types.StringType, "version": types.StringType, "kind": types.StringType},
	"kubernetes.GroupVersionResource": {"group": types.StringType, "version": types.StringType, "resource": types.StringType},
	"kubernetes.UserInfo": {
		"username": types.StringType,
		"uid":      types.StringType,
		"groups":   stringList,
		"extra":    types.NewMapType(types.StringType, stringList),
	},
	"kubernetes.Namespace": {
		"metadata": types.NewObjectType("kubernetes.NamespaceMetadata"),
		"spec":     types.NewObjectType("kubernetes.NamespaceSpec"),
		"status":   types.NewObjectType("kubernetes.NamespaceStatus"),
	},
	"kubernetes.NamespaceMetadata": {
		"name":                       types.StringType,
		"generateName":               types.StringType,
		"namespace":                  types.StringType,
		"labels":                     types.NewMapType(types.StringType, types.StringType),
		"annotations":                types.NewMapType(types.StringType, types.StringType),
		"UID":                        types.StringType,
		"creationTimestamp":          types.TimestampType,
		"deletionGracePeriodSeconds": types.IntType,
		"deletionTimestamp":          types.TimestampType,
		"generation":                 types.IntType,
		"resourceVersion":            types.StringType,
		"finalizers":                 stringList,
	},
	"kubernetes.NamespaceSpec": {"finalizers": stringList},
	"kubernetes.NamespaceStatus": {
		"conditions": types.NewListType(types.NewObjectType("kubernetes.NamespaceCondition")),
		"phase":      types.StringType,
	},
	"kubernetes.NamespaceCondition": {
		"status":             types.StringType,
		"type":               types.StringType,
		"lastTransitionTime": types.TimestampType,
		"message":            types.StringType,
		"reason":             types.StringType,
	},
	"JSONPatch": {
		"op":    types.StringType,
		"path":  types.StringType,
		"from":  types.StringType,
		"value": types.DynType,
	},
}

// provider resolves the declared types.
type provider struct {
	types.Provider
	// declared are the types that the host declares; scope is the name of the type of the
	// variable variables.
	declared map[string]map[string]*types.Type
	scope    string
	// variables are the types of the variables declared so far.
	variables map[string]*types.Type
	// missed are the fields of the types that do not have a field which expressions read, by its name; nil if
	// nobody asks.
	missed map[string][]string
	// patches says that Object and JSONPatch are declared.
	patches bool
	// convert converts the fields of Object literals.
	convert conversion
}

func (e *Env) newProvider(env *cel.Env, patches bool) *provider {
	return &provider{Provider: env.CELTypeProvider(), declared: e.host.types, scope: e.host.variable.TypeName(), patches: patches, convert: conversionOf(e.host.minor)}
}

// isObject reports whether name is Object or the type of a field below it. Every such name is
// accepted: type names are compared with field paths after a mutation was evaluated.
func isObject(name string) bool {
	return name == "Object" || strings.HasPrefix(name, "Object.")
}

func (p *provider) knows(name string) bool {
	if name == "JSONPatch" || isObject(name) {
		return p.patches
	}
	return name == p.scope || p.declared[name] != nil
}

// FindStructType implements types.Provider.
func (p *provider) FindStructType(name string) (*types.Type, bool) {
	if p.knows(name) {
		return types.NewTypeTypeWithParam(types.NewObjectType(name)), true
	}
	return p.Provider.FindStructType(name)
}

// FindStructFieldNames implements types.Provider.
func (p *provider) FindStructFieldNames(name string) ([]string, bool) {
	if p.knows(name) {
		return nil, true
	}
	return p.Provider.FindStructFieldNames(name)
}

// FindStructFieldType implements types.Provider.
func (p *provider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	switch {
	case !p.knows(name):
		return p.Provider.FindStructFieldType(name, field)
	case isObject(name):
		return objectField(field), true
	case name == p.scope:
		return p.field(p.variables, field)
	case name == "JSONPatch":
		// The API server declares every field and leaves unknown fields without a type, which
		// shows in its messages.
		return &types.FieldType{Type: p.declared[name][field]}, true
	default:
		return p.field(p.declared[name], field)
	}
}

// field returns a field of a type, and remembers the fields that there are if it is missing.
func (p *provider) field(of map[string]*types.Type, name string) (*types.FieldType, bool) {
	t, ok := of[name]
	if !ok && p.missed != nil {
		p.missed[name] = slices.Sorted(maps.Keys(of))
	}
	return &types.FieldType{Type: t}, ok
}

// objectField returns the type of a field of Object: any name, any value.
func objectField(name string) *types.FieldType {
	return &types.FieldType{
		Type: types.DynType,
		IsSet: func(target any) bool {
			fields, _ := target.(map[string]any)
			_, ok := fields[name]
			return ok
		},
		GetFrom: func(target any) (any, error) {
			fields, _ := target.(map[string]any)
			value, ok := fields[name]
			if !ok {
				return nil, fmt.Errorf("no such key: %s", name)
			}
			return value, nil
		},
	}
}

// NewValue implements types.Provider.
func (p *provider) NewValue(name string, fields map[string]ref.Val) ref.Val {
	switch {
	case !p.patches:
	case isObject(name):
		return newObjectValue(name, fields, p.convert)
	case name == "JSONPatch":
		return newPatchValue(fields)
	case p.declared[name] != nil && kyvernoRecords[name] != nil:
		return newRecord(name, fields)
	}
	return p.Provider.NewValue(name, fields)
}

func (h *host) variableType(t *cel.Type) *types.Type {
	if h.keepTypes {
		return t
	}
	return variableType(t)
}

// variableType returns the type of a variable in expressions of Kubernetes: scalars, lists and
// maps keep their types, and everything else is dynamic.
func variableType(t *cel.Type) *types.Type {
	switch t {
	case cel.AnyType, cel.BoolType, cel.BytesType, cel.DoubleType, cel.DurationType, cel.IntType,
		cel.NullType, cel.StringType, cel.TimestampType, cel.UintType:
		return t
	}
	switch t.Kind() {
	case types.ListKind:
		return types.NewListType(variableType(t.Parameters()[0]))
	case types.MapKind:
		return types.NewMapType(variableType(t.Parameters()[0]), variableType(t.Parameters()[1]))
	default:
		return types.DynType
	}
}
