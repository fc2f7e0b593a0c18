package celenv

import (
	"maps"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"

	"github.com/preadmit/preadmit/engine/internal/schema"
)

// Place is a place in an expression of a policy, for editors: what can be named there.
type Place struct {
	// Kind is the kind of object, and Param the type of params; nil if it is not known.
	Kind  *schema.Kind
	Param *schema.Type
	// Variables are the variables of the policy in their order.
	Variables []Local
	// Loops are the names that the macros around the place declare, the outermost first: each is an item of the value
	// of its expression.
	Loops []Local
}

// Local is a name with an expression.
type Local struct{ Name, Expression string }

// Value is what is known about the value of an expression, for editors.
type Value struct {
	// Type is the type of the value; nil if it depends on the object.
	Type *schema.Type
	// Name is the type in the words of CEL. IsOptional says that Type is that of the value in an optional value.
	Name       string
	IsOptional bool
	// Functions are those that can be called of the value, with the forms for its type.
	Functions []Function
}

// Value returns what is known about the value of an expression at a place; ok is false if its type depends on the
// object, or the expression does not compile.
func (e *Env) Value(at Place, expression string) (v Value, ok bool, err error) {
	t := e.typedBy(at.Kind)
	t.param = at.Param
	env, err := e.typedEnv(t, true)
	if err != nil {
		return v, false, err
	}
	typeOf := func(expression string) *types.Type {
		checked, issues := env.Compile(expression)
		if issues != nil && issues.Err() != nil {
			return types.DynType
		}
		return checked.OutputType()
	}
	for _, variable := range at.Variables {
		t.variables[variable.Name] = typeOf(variable.Expression)
	}
	for _, loop := range at.Loops {
		if env, err = env.Extend(cel.Variable(loop.Name, itemType(typeOf(loop.Expression)))); err != nil {
			return v, false, err
		}
	}
	of := typeOf(expression)
	v = Value{Type: t.schemaType(of), Name: t.readable(of.String()), IsOptional: of.TypeName() == optionalName}
	found, err := e.Functions()
	for _, f := range found {
		if f = f.of(of); len(f.Signatures) > 0 {
			v.Functions = append(v.Functions, f)
		}
	}
	return v, of.Kind() != types.DynKind, err
}

// itemType returns the type of what a macro goes over: the items of a list, the keys of a map, or what is in an
// optional value.
func itemType(t *types.Type) *types.Type {
	if len(t.Parameters()) == 0 {
		return types.DynType
	}
	return t.Parameters()[0]
}

// of returns a function with the forms that can be called of a value.
func (f Function) of(receiver *types.Type) Function {
	own := f
	own.Signatures = nil
	for i, form := range f.Signatures {
		if f.receivers[i] != nil && accepts(f.receivers[i], receiver) {
			own.Signatures = append(own.Signatures, form)
		}
	}
	return own
}

// accepts reports whether a function that wants a type may be called with a value of a type.
func accepts(wanted, given *types.Type) bool {
	switch {
	case given.Kind() == types.DynKind: // of an object
		return slices.Contains(objectKinds, wanted.Kind())
	case wanted.Kind() == types.DynKind || wanted.Kind() == types.TypeParamKind:
		return true
	case wanted.Kind() != given.Kind() || wanted.TypeName() != given.TypeName():
		return false
	}
	return slices.EqualFunc(wanted.Parameters(), given.Parameters(), accepts)
}

// objectKinds are the kinds of the values in objects, and those that may be any of them.
var objectKinds = []types.Kind{
	types.StringKind, types.ListKind, types.MapKind, types.IntKind, types.DoubleKind, types.BoolKind,
	types.DynKind, types.TypeParamKind,
}

// optionalName is the name of the type of optional values.
var optionalName = types.NewOptionalType(types.DynType).TypeName()

// schemaType returns the schema of a CEL type; nil if it has none.
func (t *typed) schemaType(of *types.Type) *schema.Type {
	switch of.Kind() {
	case types.ListKind:
		return &schema.Type{IsList: true, Elem: t.schemaType(of.Parameters()[0])}
	case types.MapKind:
		return &schema.Type{Elem: t.schemaType(of.Parameters()[1])}
	case types.StringKind:
		return &schema.Type{Scalar: schema.String}
	case types.IntKind, types.UintKind:
		return &schema.Type{Scalar: schema.Integer}
	case types.DoubleKind:
		return &schema.Type{Scalar: schema.Number}
	case types.BoolKind:
		return &schema.Type{Scalar: schema.Boolean}
	case types.OpaqueKind:
		if of.TypeName() == optionalName {
			return t.schemaType(of.Parameters()[0]) // its fields can be read, too
		}
	}
	if known := t.types[of.TypeName()]; known != nil {
		return known
	}
	if known := t.objectType(of.TypeName()); known != nil {
		return known
	}
	declared := t.declared[of.TypeName()]
	if of.TypeName() == t.scope {
		declared = t.variables
	}
	if declared == nil {
		return nil
	}
	fields := &schema.Type{}
	for _, name := range slices.Sorted(maps.Keys(declared)) {
		fields.Fields = append(fields.Fields, schema.Field{Name: name, Type: t.schemaType(declared[name])})
	}
	return fields
}
